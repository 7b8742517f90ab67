"""Tournaments played by dice for tests of reports, and pages read by a strict parser."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from enginetour.formats.base import make_format, options_model
from enginetour.model.game import (
    Entrant,
    Game,
    GameFinished,
    Incident,
    MoveMade,
    Opening,
    Outcome,
    Pairing,
    SideRecord,
    Termination,
)
from enginetour.model.task import EngineSpec
from enginetour.store.log import TournamentLog
from enginetour.store.tournaments import Draft, Store
from tests.storing import add_game

STARTED = 1_700_000_000.0
OPENINGS = (("Open", "e2e4", "e4"), ("Closed", "d2d4", "d4"))
BUBBLE = {"size": 3, "min_matches": 2, "unpark_threshold": 2, "games_per_pairing": 2}


def played(
    path: Path,
    names: tuple[str, ...],
    system: str = "roundrobin",
    options: dict[str, Any] | None = None,
    *,
    name: str = "autumn",
    most: int = 10_000,
    seed: int = 1,
) -> tuple[Store, TournamentLog]:
    """A tournament in a new store or the next one in an old, played by dice up to `most` games; best first win more.

    Every seventh game has a time forfeit with traffic, every fifth used the margin once.
    """
    dice = random.Random(seed)
    model = options_model(system)(**(options or {}))
    format_ = make_format(system, model, seed)
    entrants = tuple(Entrant(one) for one in names)
    specs = {one: EngineSpec(one, (f"/opt/{n}/engine",), "uci", fingerprint=f"f{n}") for n, one in enumerate(names)}
    state = format_.start(entrants)
    config = {
        "format": model.model_dump(mode="json"),
        "play": {"tc": "10+0.1", "openings": {"file": "suite.epd", "order": "random"}},
        "ratings": {"systems": ["ml"], "anchor": {}},
    }
    store = Store.open(path)
    draft = Draft(name, system, format_.version, config, seed, entrants, specs)
    log = store.create_tournament(draft, format_.notes(state))
    told, number = len(format_.notes(state)), 0
    while number < most and (offers := format_.offers(state)):
        number += 1
        game = _game(offers[0], number, names, dice)
        state = format_.step(state, GameFinished(game.pairing, game.outcome))
        notes = format_.notes(state)
        add_game(log, game, notes[told:])
        told = len(notes)
    return store, log


def _game(pairing: Pairing, number: int, names: tuple[str, ...], dice: random.Random) -> Game:
    better = names.index(pairing.white) < names.index(pairing.black)
    outcome = dice.choices((Outcome.WHITE, Outcome.DRAW, Outcome.BLACK), (3, 2, 1) if better else (1, 2, 3))[0]
    opening, uci, san = OPENINGS[pairing.encounter % 2]
    game = Game(
        pairing,
        outcome,
        Termination.REPETITION if outcome is Outcome.DRAW else Termination.MATE,
        opening=Opening(opening, 1 + pairing.encounter % 2),
        moves=(MoveMade(uci, san, book=True), MoveMade("e7e5", "e5", 120, 9_880, -15, 14)),
        white=SideRecord("own name", 20, 2_000, 300, margin_uses=int(number % 5 == 0), effort=(("depth", 20, 200),)),
        black=SideRecord("own name", 20, 1_500, 200),
        white_tc="10+0.1",
        black_tc="10+0.1",
        started=STARTED + 60 * number,
        ended=STARTED + 60 * number + 45,
        relay_us=(100, 200, 300 + number),
        hardware="Example CPU",
        load=1.5,
        cores=2,
        steal=0.0,
    )
    if number % 7 or outcome is Outcome.DRAW:
        return game
    loser = pairing.black if outcome is Outcome.WHITE else pairing.white
    cause = f"{'Black' if loser == pairing.black else 'White'} loses on time, 80 ms over"
    late = Incident(
        loser, "time", cause, 2, ("1.000000 > go wtime 100", "1.180000 < bestmove e7e5"), ("slow",), "", 1_000_000
    )
    return replace(
        game, termination=Termination.TIME, cause=cause, culprit=loser, category="time", incidents=(late,), own_us=400
    )


VOID = frozenset({"meta", "link", "input", "br", "hr", "img", "use", "wbr"})
ADDRESSES = ("href", "src", "action", "formaction", "poster", "xlink:href", "srcset")
SCHEME = re.compile(r"\s*([a-z][a-z0-9+.-]*:|//)", re.IGNORECASE)


@dataclass
class Page(HTMLParser):
    """A page, refused where an element is not closed in its turn; what it links to, its ids and its words."""

    text: str
    links: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    elements: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._open: list[str] = []
        self.feed(self.text)
        self.close()
        assert not self._open, f"not closed: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._noted(tag, attrs)
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._noted(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self._open and self._open[-1] == tag, f"</{tag}> inside {self._open[-3:]}"
        self._open.pop()

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def _noted(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), f"twice the same attribute in <{tag}>"
        found = dict(attrs)
        self.elements.append((tag, found))
        self.links += [value for name in ADDRESSES if (value := found.get(name)) is not None]
        self.ids += [value for value in (found.get("id"),) if value is not None]

    @property
    def said(self) -> str:
        """All its words."""
        return "".join(self.words)

    def tags(self, name: str) -> Iterator[dict[str, str | None]]:
        """The attributes of every element of that name."""
        return (attributes for tag, attributes in self.elements if tag == name)


def leads_away(page: Page) -> list[str]:
    """Addresses with a scheme or a host; downloads that the page itself carries are none."""
    return [link for link in page.links if SCHEME.match(link) and not link.startswith("data:")]


def runs_strange(page: Page) -> list[str]:
    """What could run or style but is not one of our own files: handlers, inline scripts and styles."""
    found = [f"{tag} {name}" for tag, own in page.elements for name in own if name.startswith("on") or name == "style"]
    found += [
        f"script {own}" for own in page.tags("script") if "src" not in own and own.get("type") != "application/json"
    ]
    return found + ["style" for _ in page.tags("style")]


def broken(folder: Path, here: str, pages: dict[str, Page]) -> list[str]:
    """Links of a page that lead to no file of the folder, or to no place in it."""
    ids = {(folder / address).resolve(): page.ids for address, page in pages.items()}
    missing = []
    for link in pages[here].links:
        address, _, part = link.partition("#")
        target = ((folder / here).parent / address if address else folder / here).resolve()
        if not link.startswith("data:") and (not target.is_file() or (part and part not in ids[target])):
            missing.append(link)
    return missing
