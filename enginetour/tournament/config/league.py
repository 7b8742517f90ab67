"""League file (TOML with ``[league]``): divisions, rules of promotion, and the tournaments of a season.

The other sections are those of a configuration: they apply to all tournaments of the league. A division has its own
format, and may change settings of ``[play]``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from enginetour.engines.registry import Registry
from enginetour.formats.base import options_model
from enginetour.formats.league import Entry, Rules
from enginetour.interop.toml import place_of_key, validation_error
from enginetour.model.errors import InputRefused, did_you_mean, suggest
from enginetour.model.validation import known_keys
from enginetour.ratings.grades import Scale
from enginetour.store.address import stage_name
from enginetour.store.seasons import Kind
from enginetour.tournament.config.entrants import engines_of
from enginetour.tournament.config.load import Config, format_options, read_current, validated
from enginetour.tournament.config.sections import (
    EntrantSection,
    PlaySection,
    TournamentSection,
    listed_order,
    printable,
)

_SECTIONS = ("league", "play", "quality", "ratings", "notify", "report", "defaults", "entrants")
_SEEDS = 1 << 32  # larger than seeds that users choose, so that no season has the seed of another tournament
_STAGE_SEEDS = 1 << 20  # distance of the seeds of two tournaments of a season; larger than their number


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


def _own_play(changes: dict[str, Any]) -> dict[str, Any]:
    """Return changes of ``[play]``. Raise ValueError for a key that only the whole league can have."""
    if "concurrency" in changes:
        raise ValueError("concurrency is for the whole league. Hint: set it under [play]; share = ... divides it")
    return changes


_Play = Annotated[dict[str, Any], AfterValidator(_own_play)]


class DivisionSection(_Table):
    """``[[league.divisions]]``: one division, from top to bottom."""

    name: Annotated[str, Field(min_length=1, max_length=20)] = Field(description="Name of the division.")
    size: int = Field(ge=2, le=1000, description="Number of engines.")
    format: dict[str, Any] = Field(description="Tournament system and its settings, as under [format].")
    play: _Play = Field(default={}, description="Settings of [play] that are different in this division.")
    share: float = Field(
        default=1.0, gt=0, le=1000, description="Weight of this division when divisions share the concurrency."
    )
    _name = field_validator("name")(printable)


class SprtTable(_Table):
    """``sprt`` of a playoff: hypotheses about the difference of the lower engine from the upper engine."""

    elo0: float = Field(description="Elo difference of hypothesis H0: the upper engine stays.")
    elo1: float = Field(description="Elo difference of hypothesis H1: the lower engine is promoted.")
    alpha: float = Field(default=0.05, gt=0, lt=0.5, description="Probability of a wrong decision for H1.")
    beta: float = Field(default=0.05, gt=0, lt=0.5, description="Probability of a wrong decision for H0.")


class PlayoffTable(_Table):
    """``[league.playoff]``: matches that decide border places."""

    places: int = Field(default=1, ge=1, le=100, description="Number of matches at each border.")
    games: int = Field(
        default=20,
        ge=2,
        le=100_000,
        multiple_of=2,
        description="Number of games; with sprt or los, the most.",
    )
    sprt: SprtTable | None = Field(
        default=None, description="Sequential test of each match. The lower engine is promoted if H1 is accepted."
    )
    los: float | None = Field(
        default=None, gt=0.5, lt=1, description="Likelihood of superiority at which a match stops. Default: none."
    )
    play: _Play = Field(default={}, description="Settings of [play] that are different in playoffs.")

    @model_validator(mode="after")
    def _one_end(self) -> PlayoffTable:
        if self.sprt is not None and self.los is not None:
            raise ValueError("sprt and los exclude each other. Hint: remove one of them")
        return self

    def format(self) -> dict[str, Any]:
        """Return the format of a playoff match."""
        if self.los is not None:
            return {"system": "adaptive", "goal": {"top": 1, "los": self.los}, "games": self.games, "share": 1.0}
        test = {} if self.sprt is None else {"sprt": self.sprt.model_dump()}
        return {"system": "match", "games": self.games, **test}


class CrossTable(_Table):
    """``[league.cross]``: matches between divisions, which connect the rating pools."""

    error: float | None = Field(
        default=None,
        gt=0,
        le=1000,
        description="Error of the rating difference between neighboring divisions, in Elo, that the matches reach with "
        "the fewest games. Default: a fixed scheme.",
    )
    games: int = Field(default=10_000, ge=2, le=100_000, description="With error: the largest number of games.")
    engines: int = Field(
        default=3, ge=1, le=100, description="Without error: the last N engines of a division meet the first N below."
    )
    games_per_pairing: int = Field(default=2, ge=1, le=1000, description="Without error: number of games of each pair.")
    play: _Play = Field(default={}, description="Settings of [play] that are different in matches between divisions.")

    def matches(
        self,
        tables: Sequence[Sequence[str]],
        results: Mapping[tuple[str, str], tuple[int, int, int]],
        slots: int,
    ) -> tuple[tuple[str, ...], dict[str, Any]]:
        """Return the entrants and the format of the matches.

        Args:
            tables: the engines of each division, best first.
            results: wins, draws and losses of White in the games of the divisions, by pair.
            slots: number of concurrent games.
        """
        if self.error is not None:
            return tuple(name for one in tables for name in one), {
                "system": "adaptive",
                "goal": {"divisions": [list(one) for one in tables], "error": self.error},
                "games": self.games,
                "known": [[*pair, *counts] for pair, counts in sorted(results.items())],
                "ahead": 2 * slots,
            }
        pairs = [
            [upper, lower]
            for above, below in pairwise(tables)
            for upper in above[-self.engines :]
            for lower in below[: self.engines]
        ]
        named = {name for pair in pairs for name in pair}
        names = tuple(name for one in tables for name in one if name in named)
        return names, {"system": "roundrobin", "pairs": pairs, "games_per_pairing": self.games_per_pairing}


class QualifierTable(_Table):
    """``[league.qualifier]``: the tournament for the places of new engines."""

    format: dict[str, Any] = Field(
        default={"system": "roundrobin"}, description="Tournament system and its settings, as under [format]."
    )
    play: _Play = Field(default={}, description="Settings of [play] that are different in the qualifier.")


_STARTS = ("file", "rating", "qualifier")


class LeagueSection(_Table):
    """``[league]``: name, start, and the rules by which engines move between divisions."""

    name: Annotated[str, Field(min_length=1, max_length=24)] = Field(description="Name of the league.")
    seed: int = Field(default=1, ge=0, lt=2**31, description="Random seed of openings and pairings.")
    start: str = Field(
        default="file",
        description='Divisions of the first season: "file" (the order of the entrants), "rating", "qualifier", '
        '"list:NAME" or "list:NAME#EDITION".',
    )
    promote: int | Annotated[tuple[int, ...], Field(strict=False)] = Field(
        default=1,
        description="Number of engines that move up and down at each border, or a list from the top border to the "
        "bottom border.",
    )
    new: Entry = Field(
        default="bottom",
        description='Where new engines enter: "bottom", "qualifier", or "rating" (the division with the nearest mean '
        "rating).",
    )
    entries: int | None = Field(
        default=None,
        ge=0,
        le=1000,
        description="Largest number of engines per season that enter the last division in place of its last engines. "
        "Default: as promote.",
    )
    parallel: int = Field(
        default=1,
        ge=1,
        le=1000,
        description="Number of tournaments that play at the same time.",
    )
    rating_scale: Scale | None = Field(default=None, description="Scale of the entrants' ratings. Default: unknown.")
    playoff: PlayoffTable | None = Field(default=None, description="Matches for border places. Default: none.")
    cross: CrossTable | None = Field(default=None, description="Matches between divisions. Default: none.")
    qualifier: QualifierTable = Field(
        default=QualifierTable(), description="Tournament for places. Default: a round robin."
    )
    divisions: Annotated[tuple[DivisionSection, ...], Field(min_length=1, max_length=100, strict=False)] = Field(
        description="Divisions, from top to bottom."
    )
    _name = field_validator("name")(printable)

    @field_validator("start")
    @classmethod
    def _known_start(cls, start: str) -> str:
        if start in _STARTS or listed_order(start):
            return start
        allowed = f"must be {', '.join(_STARTS)}, list:NAME or list:NAME#EDITION"
        raise ValueError(f"{allowed} (found {start!r}){did_you_mean(start, _STARTS)}")

    @model_validator(mode="after")
    def _fitting(self) -> LeagueSection:
        titles = [division.name.casefold() for division in self.divisions]
        for name in (division.name for division in self.divisions):
            if titles.count(name.casefold()) > 1:
                raise ValueError(f"divisions: the name {name!r} is given twice")
            if name.casefold() in ("qualifier", "cross") or name.casefold().startswith("playoff "):
                what = f"divisions: {name!r} is the name of another tournament of a season"
                raise ValueError(f"{what}. Hint: choose another name")
        rules, borders = self.rules(), len(self.divisions) - 1
        if len(rules.promote) != borders or min(rules.promote, default=0) < 0:
            raise ValueError(f"promote must be a number, or a list of {borders} numbers that are at least 0")
        what, place = rules.fault()
        if what:
            step = f"reduce promote, playoff or entries, or increase the size of {self.divisions[place].name}"
            raise ValueError(f"divisions: {what}. Hint: {step}")
        return self

    def rules(self) -> Rules:
        """Return the rules of the league."""
        borders = len(self.divisions) - 1
        promote = self.promote if isinstance(self.promote, tuple) else (self.promote,) * borders
        usual = promote[-1] if promote else 1
        return Rules(
            names=tuple(division.name for division in self.divisions),
            sizes=tuple(division.size for division in self.divisions),
            promote=promote,
            playoff=(self.playoff.places if self.playoff else 0,) * borders,
            new=self.new,
            entries=usual if self.entries is None else self.entries,
        )

    def format_of(self, kind: Kind, number: int) -> Mapping[str, Any]:
        """Return the format of a division, of the qualifier or of a playoff match."""
        if kind == "division":
            return self.divisions[number].format
        return self.qualifier.format if kind == "qualifier" else (self.playoff or PlayoffTable()).format()

    def after_divisions(self) -> str:
        """Return what a season plays after its divisions, or "" if that is nothing."""
        rules, found = self.rules(), list[str]()
        if self.cross is not None and len(rules.sizes) > 1:
            if self.cross.error is not None:
                goal = f"until each difference is known to ± {self.cross.error:g} Elo"
                found.append(f"matches between them {goal} (at most {self.cross.games} games)")
            else:
                pairs = (min(self.cross.engines, a) * min(self.cross.engines, b) for a, b in pairwise(rules.sizes))
                found.append(f"{sum(pairs) * self.cross.games_per_pairing} games between them")
        if self.playoff is not None and (count := sum(rules.playoff)):
            most = "" if self.playoff.sprt is None and self.playoff.los is None else "at most "
            found.append(f"{count} playoff{'s' * (count > 1)} of {most}{self.playoff.games} games")
        return ", and ".join(found)


@dataclass(frozen=True, slots=True)
class StagePlan:
    """One tournament of a season.

    Attributes:
        kind: what it decides.
        label: its name within the season.
        number: number of the division, or of the border of a playoff, from 0.
        entrants: the engines, in starting order.
        format: table of its format; None for that of the file.
    """

    kind: Kind
    label: str
    number: int
    entrants: tuple[str, ...]
    format: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class League:
    """A league file with its entrants.

    Attributes:
        section: the section ``[league]``.
        base: the other sections, as a configuration.
        entrants: each entrant and reserve by its name, with its position in the file.
        ratings: prior ratings of the entrants that have one.
        families: families of the entrants that have one.
        play: settings ``[play]`` of the tables that change some of them, by the place of the table.
    """

    section: LeagueSection
    base: Config
    entrants: Mapping[str, tuple[EntrantSection, int]]
    ratings: Mapping[str, float]
    families: Mapping[str, str]
    play: Mapping[tuple[str | int, ...], PlaySection]

    @property
    def path(self) -> Path:
        """The file."""
        return self.base.path

    @property
    def name(self) -> str:
        """Name of the league."""
        return self.section.name

    @property
    def members(self) -> list[str]:
        """The entrants without the reserves, in the order of the file."""
        return [name for name, (section, _) in self.entrants.items() if not section.reserve]

    @property
    def reserves(self) -> list[str]:
        """The reserves, in the order in which they are used."""
        return [name for name, (section, _) in self.entrants.items() if section.reserve]

    @property
    def versions(self) -> dict[str, str]:
        """New versions of engines, and the names of their predecessors."""
        return {name: each.replaces for name, (each, _) in self.entrants.items() if each.replaces is not None}

    def at(self, *keys: str | int) -> str:
        """Return ``file:line`` of a key."""
        return place_of_key(self.path, self.base.text, keys)

    def config(self, season: int, stage: StagePlan) -> Config:
        """Return the configuration of a tournament of a season. Divisions have the reserves of the league.

        Raise InputRefused if an entrant is not in the file.
        """
        for name in stage.entrants:
            if name not in self.entrants:
                what = f"{name!r} plays in season {season} but is not an entrant{suggest(name, self.entrants)}"
                step = "add it to the file; engines leave a league at the end of a season"
                raise InputRefused(what, place=str(self.path), step=step)
        found = [(self._entering(name), self.entrants[name][1]) for name in stage.entrants]
        if stage.kind == "division":
            found += [self.entrants[name] for name in self.reserves if name not in stage.entrants]
        place = _place(stage.kind, stage.number)
        form = (*place, "format") if stage.kind in ("division", "qualifier") else place
        table = dict(self.section.format_of(stage.kind, stage.number) if stage.format is None else stage.format)
        written: dict[tuple[str | int, ...], tuple[str | int, ...]] = {
            ("entrants", number): ("entrants", origin) for number, (_, origin) in enumerate(found)
        }
        written |= {("tournament",): ("league",), ("format",): form}
        written |= {("play", key): (*place, "play", key) for key in self._changes(stage)}
        options = format_options(self.path, self.base.text, table, self.section.rating_scale, form)
        order = (season - 1) * _SEEDS + self._ordinal(stage) * _STAGE_SEEDS
        tournament = TournamentSection(
            name=stage_name(self.name, season, stage.label),
            seed=self.section.seed + order,
            order="file",
            rating_scale=self.section.rating_scale,
        )
        changes = {
            "tournament": tournament,
            "format": table,
            "format_options": options,
            "play": self.play_of(stage.kind, stage.number),
            "entrants": tuple(section for section, _ in found),
            "written": written,
        }
        anchor = {name: rating for name, rating in self.base.ratings.anchor.items() if name in stage.entrants}
        changes["ratings"] = self.base.ratings.model_copy(update={"anchor": anchor})
        return self.base.model_copy(update=changes)

    def play_of(self, kind: Kind, number: int) -> PlaySection:
        """Return the settings ``[play]`` of a tournament."""
        return self.play.get(_place(kind, number), self.base.play)

    def _entering(self, name: str) -> EntrantSection:
        """Return an entrant. A new version has the family of its predecessor, from which it can inherit a rating."""
        section = self.entrants[name][0]
        family = section.family or self.families.get(section.replaces or "", "")
        return section.model_copy(update={"reserve": False, "family": family})

    def _changes(self, stage: StagePlan) -> Iterable[str]:
        if stage.kind == "division":
            return self.section.divisions[stage.number].play
        table = getattr(self.section, stage.kind)
        return table.play if table is not None else ()

    def _ordinal(self, stage: StagePlan) -> int:
        """Return a number of the tournament within its season, from which its seed is computed."""
        count = len(self.section.divisions)
        first = {"division": 0, "qualifier": count, "cross": count + 1, "playoff": count + 2}
        return first[stage.kind] + stage.number


def _place(kind: Kind, number: int) -> tuple[str | int, ...]:
    """Return the keys of the table that describes a tournament."""
    return ("league", "divisions", number) if kind == "division" else ("league", kind)


def load_league(path: Path, registry: Registry) -> League:
    """Read and validate a league file. Raise InputRefused with the file, the line and the allowed values.

    The engine files of the `registry` have names and ratings of the entrants.
    """
    table, text, notices = read_current(path)
    if "league" not in table:
        step = 'add [league] with name = "..." and [[league.divisions]]'
        raise InputRefused("is not a league file: [league] is missing", place=str(path), step=step)
    for key in table:
        if key not in _SECTIONS:
            what = f"unknown key {key!r}{suggest(key, _SECTIONS)}"
            step = "divisions have their own formats" if key == "format" else ""
            raise InputRefused(what, place=place_of_key(path, text, (key,)), step=step)
    if not isinstance(table["league"], dict):
        raise InputRefused("league must be a table", place=place_of_key(path, text, ("league",)), step="write [league]")
    if not isinstance(table.get("entrants"), list) or not table["entrants"]:
        step = 'add [[entrants]] with engine = "..." for each engine'
        raise InputRefused("no entrants", place=place_of_key(path, text, ("entrants",)), step=step)
    try:
        section = LeagueSection.model_validate(table["league"])
    except ValidationError as error:
        raise validation_error(error, path, text, LeagueSection, under=("league",), meant=_meant) from None
    tournament: dict[str, Any] = {"name": section.name, "seed": section.seed}
    if section.rating_scale is not None:
        tournament["rating_scale"] = section.rating_scale
    rest = {key: value for key, value in table.items() if key != "league"}
    rest |= {"tournament": tournament, "format": {"system": "roundrobin"}}
    base = validated(path, text, rest, notices)
    entrants, ratings, families = _entrants(base, registry)
    for name in base.ratings.anchor:
        if name not in entrants:
            what = f"anchor {name!r} is not an entrant{suggest(name, entrants)}"
            raise InputRefused(what, place=base.at("ratings", "anchor", name))
    league = League(
        section, base, entrants, ratings, families, dict(_plays(section, table.get("play", {}), path, text))
    )
    _check(league)
    return league


def _meant(keys: tuple[str | int, ...], _: Any) -> str:
    return suggest(str(keys[-1]), known_keys(LeagueSection, ())) if len(keys) == 2 else ""


def _plays(section: LeagueSection, usual: Mapping[str, Any], path: Path, text: str) -> Iterable[Any]:
    """Yield the settings ``[play]`` of each table of the league that changes some of them, with its place."""
    tables: list[tuple[tuple[str | int, ...], Mapping[str, Any]]] = [
        (("league", "divisions", number), division.play) for number, division in enumerate(section.divisions)
    ]
    others = {"playoff": section.playoff, "cross": section.cross, "qualifier": section.qualifier}
    tables += [(("league", key), table.play) for key, table in others.items() if table is not None]
    for place, changes in tables:
        try:
            yield place, PlaySection.model_validate({**usual, **changes})
        except ValidationError as error:
            raise validation_error(error, path, text, PlaySection, under=(*place, "play")) from None


def _entrants(
    base: Config, registry: Registry
) -> tuple[dict[str, tuple[EntrantSection, int]], dict[str, float], dict[str, str]]:
    """Return the entrants by name, one for each engine of a glob, with their ratings and families."""
    found: dict[str, tuple[EntrantSection, int]] = {}
    ratings: dict[str, float] = {}
    families: dict[str, str] = {}
    for number, section in enumerate(base.entrants):
        place = base.at("entrants", number)
        for entry in engines_of(section, registry, base.path.resolve().parent, place):
            name = section.name or entry.name
            if name in found:
                step = "give each entrant its own name"
                raise InputRefused(f"two entrants have the name {name!r}", place=place, step=step)
            one = section.model_copy(update={"glob": None, "engine": entry.id}) if section.glob else section
            found[name] = one, number
            rating = section.rating if section.rating is not None else entry.rating
            if rating is not None:
                ratings[name] = rating
            if family := section.family or entry.family:
                families[name] = family
    for name, (section, number) in found.items():
        place = base.at("entrants", number, "replaces")
        if section.replaces == name:
            raise InputRefused(f"{name} cannot replace itself", place=place, step="give the new version its own name")
        if section.replaces is not None and section.reserve:
            what = f"{name} is a reserve, which has no place in the league"
            raise InputRefused(what, place=place, step="remove replaces or reserve")
    heirs = [section.replaces for section, _ in found.values() if section.replaces is not None]
    for number, section in enumerate(base.entrants):
        if section.replaces is not None and heirs.count(section.replaces) > 1:
            place = base.at("entrants", number, "replaces")
            raise InputRefused(f"two entrants replace {section.replaces!r}", place=place, step="remove one replaces")
    return found, ratings, families


def _check(league: League) -> None:
    """Raise InputRefused if the settings of a format are not valid, or tournaments would use the same cores."""
    for place, play in {("play",): league.base.play, **league.play}.items():
        if play.affinity is True and league.section.parallel > 1:
            what = f"affinity = true needs parallel = 1 (found {league.section.parallel})"
            keys = place if place == ("play",) else (*place, "play")
            step = "set parallel = 1, because tournaments that play at the same time would use the same cores"
            raise InputRefused(what, place=league.at(*keys, "affinity"), step=step)
    for number, division in enumerate(league.section.divisions):
        league.config(1, StagePlan("division", division.name, number, ()))
        options = options_model(str(division.format["system"])).model_fields
        for key in ("seeds", "team", "pairs", "absent", "half_bye"):
            if key in options and isinstance(division.format.get(key), list | dict):
                what = f"{key} cannot name engines, because the engines of a division change"
                raise InputRefused(what, place=league.at("league", "divisions", number, "format", key))
    league.config(1, StagePlan("qualifier", "Qualifier", 0, ()))
    if league.section.playoff is not None:
        league.config(1, StagePlan("playoff", "Playoff", 0, ()))
