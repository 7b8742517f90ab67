"""Tests of interop/roundfiles."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from enginetour.formats.base import SYSTEMS, make_format, options_model
from enginetour.formats.dutch import Dutch, DutchOptions
from enginetour.formats.pairing.field import Board, Field, Kind, Member, Paired
from enginetour.formats.pairing.matching import relaxed_matching
from enginetour.formats.rounds import PairingSystem, Reason, Rounds, RoundsOptions, WeightedRound
from enginetour.interop import tde, trf
from enginetour.interop.foreign import SeparatedField, next_round
from enginetour.interop.pairers import read_tournament
from enginetour.interop.roundfiles import (
    PlayedTournament,
    TableGame,
    explain_pair,
    pair_facts,
    played_tournament,
    register,
    trf_report,
)
from enginetour.interop.trf import read_header
from enginetour.model.errors import InputRefused
from enginetour.model.game import RESULTS, Entrant, GameFinished, Withdrawn
from enginetour.reports.standings import why_lines
from tests.support.databases import after, field_of, rated
from tests.support.tournaments import config, tour

# Tournaments in rounds as files of FIDE and the AGA, and read again.

CASES = Path(__file__).parents[1] / "cases" / "pairing"
FIVE = tuple(
    Entrant(name, rating=2000.0 - 10 * place, family="f" * (place < 2), origin="fin")
    for place, name in enumerate("ABCDE")
)


def tournament(games: int, *, each: int = 1, gone: str = "", **settings: object) -> tuple[PlayedTournament, Field]:
    """Play this many games of a Dutch tournament of five, then withdraw an engine."""
    options = DutchOptions.model_validate(
        {"rounds": 3, "games_per_pairing": each, "initial_color": "white", **settings}
    )
    format_ = Rounds(Dutch(options))
    state = format_.start(FIVE)
    kept: dict[tuple[int, frozenset[str]], list[TableGame]] = {}
    for count in range(games):
        game, outcome = format_.offers(state)[0], RESULTS[count % 3]
        kept.setdefault((game.round, frozenset(game.pair)), []).append(TableGame(game.white, outcome))
        state = format_.step(state, GameFinished(game, outcome))
    if gone:
        state = format_.step(state, Withdrawn(gone))
    return played_tournament("T", "dutch", format_, state, kept), state.field


def test_a_report_reads_back_as_the_field() -> None:
    """A report read again gives the same field, and the same next round."""
    one, field = tournament(4)
    text = trf_report(one).text()
    assert "142   3\r\n" in text and "192 FIDE_DUTCH_2025\r\n" in text and "260" not in text
    before = read_tournament(trf.read(text), number=3)
    assert before.field.history == field.history and before.warnings == ()
    assert [member.rating for member in before.field.members] == [2000, 1990, 1980, 1970, 1960]
    assert {member.origin for member in before.field.members} == {"FIN"}


def test_a_running_round_has_no_results_yet() -> None:
    """A round in progress has opponents and colors, but no results."""
    one, _ = tournament(1)
    cells = [entry.cells[0] for entry in trf_report(one).entries]
    assert sorted(cell.result for cell in cells) == [" ", " ", "0", "1", "U"]
    assert sorted(cell.color for cell in cells) == ["-", "b", "b", "w", "w"]


def test_a_withdrawal_is_a_forfeit() -> None:
    """A withdrawal is a forfeit of games not played, and later an absence."""
    one, field = tournament(1, gone="D")
    letters = [[cell.result for cell in entry.cells] for entry in trf_report(one).entries]
    assert [row[0] for row in letters].count("+") == 1 and letters[3][0] == "-"
    assert letters[3][1] == "Z" and field.history[0][3].kind is Kind.FORFEIT


def test_a_match_of_two_games_is_two_rounds() -> None:
    """A match of two games is two rounds with colors; a bye is two byes."""
    one, _ = tournament(4, each=2)
    found = trf_report(one)
    assert "142   6" in found.text() and "192" not in found.text()
    for entry in found.entries:
        first, second = entry.cells[:2]
        assert first.opponent == second.opponent
        assert {first.color, second.color} == ({"w", "b"} if first.opponent else {"-"})
    assert sum(entry.points for entry in found.entries) == 2 * (4 + 2 + 2)  # games, and a bye of two in both rounds


def test_absences_of_rounds_to_come_are_exported() -> None:
    """Future absences and withdrawals are exported in lines 240."""
    one, _ = tournament(2, gone="D", absent={"A": [3]}, half_bye={"B": [1]})
    text = trf_report(one).text()
    assert [line for line in text.split("\r\n") if line.startswith("240")] == ["240 Z 003    1    4"]
    following = read_header(trf.read(text))
    assert following.byes == {(3, 1): "Z", (3, 4): "Z"}
    matches, _ = tournament(0, each=2, half_bye={"B": [2]})
    assert "240 H 003    2\r\n240 H 004    2\r\n" in trf_report(matches).text()


def test_forbidden_families_are_forbidden_pairs() -> None:
    """Forbidden families are exported as pairs for all rounds; Baku is in the code of the system."""
    text = trf_report(tournament(0, forbid_family=True, acceleration="baku")[0]).text()
    assert "260 001 003    1    2\r\n" in text and "192 FIDE_DUTCH_2025_BAKU" in text
    assert read_tournament(trf.read(text), number=1).field.apart == {(0, 1)}


def test_virtual_points_are_exported() -> None:
    """Virtual points are exported in lines 250 for all accelerated rounds."""
    text = trf_report(tournament(0, acceleration="baku")[0]).text()
    assert "250       1.0 001 001    1    4\r\n250       0.5 002 002    1    4\r\n" in text
    assert "250" not in trf_report(tournament(0)[0]).text()
    case = read_tournament(trf.read((CASES / "own-export-baku.trf").read_bytes()), number=5).field
    written = trf_report(PlayedTournament("A case", "dutch", case, {}, accelerated=3))
    worth = {1: 2, 2: 2, 3: 1}  # eight were paired in round 1, so the upper half has four
    assert read_header(written).virtual == {(n, one): points for n, points in worth.items() for one in range(1, 5)}


@pytest.mark.parametrize(
    ("each", "scoring", "points", "said", "letters"),
    [
        (1, "games", None, "", "U"),
        (1, "games", 0.5, "162  P 0.5\r\n", "U"),
        (1, "games", 0.0, "162  P 0.0\r\n", "U"),
        (2, "games", 1.0, "162  P 0.5\r\n", "UU"),
        (2, "games", 1.5, "162  P 1.5\r\n", "U "),
        (2, "match", 0.5, "162  P 0.5\r\n", "UU"),
        (2, "match", None, "", "UU"),
    ],
)
def test_the_worth_of_a_bye_is_exported(each: int, scoring: str, points: float | None, said: str, letters: str) -> None:
    """Line 162 has the points of a bye unless it is a win; points and rounds agree."""
    one, _ = tournament(0, each=each, scoring=scoring, bye_points=points)
    found = trf_report(one)
    assert (said in found.text()) if said else ("162" not in found.text())
    resting = next(entry for entry in found.entries if entry.cells[0].result == "U")
    assert "".join(cell.result for cell in resting.cells) == letters
    assert resting.points == sum(read_header(found).worth("P") for letter in letters if letter == "U")


def test_too_many_entrants() -> None:
    """More entrants than four columns can number raise an error."""
    one, field = tournament(0)
    crowd = replace(field, members=field.members * 2000, history=())
    with pytest.raises(InputRefused, match=r"at most 9999 entrants .found 10000"):
        trf_report(replace(one, field=crowd))


def test_a_register_reads_back_as_the_field(tmp_path: Path) -> None:
    """A register read again gives the same field; families are clubs, absences drops."""
    one, field = tournament(4)
    for name, text in register(one).items():
        (tmp_path / name).write_text(text)
    found = tde.read_tournament(tde.read(tmp_path / "register.tde"), number=3, rounds=3).field
    assert found.history == field.history
    assert [(m.name, m.rating, m.family) for m in found.members] == [
        (m.name, m.rating, m.family) for m in field.members
    ]
    dan = tuple(replace(member, rating=2050 + 50.0 * at) for at, member in enumerate(field.members))
    by_go = register(replace(one, field=replace(field, members=dan)), one_dan=2050)["register.tde"]
    assert [line.split()[2] for line in by_go.splitlines()][:3] == ["1.00", "1.50", "2.00"]
    away = register(tournament(1, gone="D")[0])
    assert "ET4 D 20.70 # DROP2" in away["register.tde"]


def test_what_a_register_has_no_room_for() -> None:
    """Matches of two games and engines without a rating raise an error in a register."""
    with pytest.raises(InputRefused, match="matches have 2 games"):
        register(tournament(0, each=2)[0])
    one, field = tournament(0)
    with pytest.raises(InputRefused, match="A does not have a rating"):
        register(replace(one, field=replace(field, members=(replace(field.members[0], rating=None),))))


def test_export_of_a_tournament_played(tmp_path: Path) -> None:
    """`export` writes a report that can be paired, and several files only to a directory."""
    path = config(tmp_path, ("wren1", "wren2", "wren3"), "dutch", "rounds = 2")
    tour(tmp_path, "run", str(path))
    tour(tmp_path, "export", "trf", "-o", "out.trf")
    assert (tmp_path / "out.trf").read_bytes().count(b"\r\n") == 8
    assert "round 2 of 2" in tour(tmp_path, "pair", "out.trf", "--round", "2").stdout
    assert "needs an existing directory" in tour(tmp_path, "export", "tde", expect=2).stderr
    assert "does not have a rating" in tour(tmp_path, "export", "tde", "-o", ".", expect=3).stderr
    bubble = config(tmp_path, ("wren1", "wren2", "wren3"), name="other")
    tour(tmp_path, "run", str(bubble), "--max-games", "1", expect=8)
    assert "the format bubble is not paired in rounds" in tour(tmp_path, "export", "trf", expect=2).stderr


def test_names_that_nothing_is_left_of() -> None:
    """Names without valid characters become the entrant's id or number."""
    field = Field((Member("# Club=", 1500.0), Member("\u200b \x1b", 1400.0)), (), (0, 1))
    assert register(PlayedTournament("T", "dutch", field, {}))["register.tde"].split() == [
        "ET1",
        "ET1",
        "16.00",
        "ET2",
        "ET2",
        "15.00",
    ]
    assert [entry.name for entry in trf_report(PlayedTournament("T", "dutch", field, {})).entries] == [
        "# Club=",
        "entrant 2",
    ]


# Reasons for a pairing, compared with all possible rounds.


class Heaviest(PairingSystem):
    """A system with any weights; pairs that have met are barred."""

    def weighed(self, field: Field) -> WeightedRound:
        size = len(field.present)
        weights = np.array([[(7 * i * j + 3 * (i + j)) % 31 for j in range(size)] for i in range(size)])
        barred = np.array([[field.meetings[i].get(j, 0) for j in range(size)] for i in range(size)])
        return WeightedRound(field.present, weights, barred)

    def explain(self, field: Field, one: int, other: int) -> tuple[Reason, ...]:
        return (Reason("chance", int(self.weighed(field).weights[one, other]), 30, "here"),)

    def pair(self, field: Field) -> Paired:
        weighed = self.weighed(field)
        return Paired(tuple(Board(*pair) for pair in relaxed_matching(weighed.weights, weighed.barred).pairs))


def apart(field: Field) -> SeparatedField:
    return SeparatedField(field.members, field.history, field.present, field.rounds, field.win, field.seed)


def all_rounds(there: tuple[int, ...]) -> Any:
    if not there:
        yield ()
        return
    for other in there[1:]:
        for rest in all_rounds(tuple(place for place in there[1:] if place != other)):
            yield ((there[0], other), *rest)


def test_the_cost_of_the_other_decision_is_that_of_all_rounds() -> None:
    """The cost is exact for every pair of a field of eight, and the proof's bound is not above it."""
    field = apart(field_of(rated(*range(8)), "A1B C=D E1F G0H"))
    system = Heaviest(RoundsOptions())
    weighed, paired = system.weighed(field), next_round(system, field)
    legal = [pairs for pairs in all_rounds(field.present) if not any(field.met(*pair) for pair in pairs)]
    weight = {pairs: sum(int(weighed.weights[pair]) for pair in pairs) for pairs in legal}
    bounds = 0
    for pair in combinations(field.present, 2):
        found = explain_pair(system, field, paired, *pair[::-1])
        others = [weight[pairs] for pairs in legal if (pair in pairs) is not found.together]
        assert found.cost is not None and found.cost.total == max(weight.values())
        assert found.cost.exact == (max(weight.values()) - max(others) if others else None)
        assert (found.instead is None) is not bool(others)
        assert found.instead is None or weight[tuple(sorted(found.instead))] == max(others)
        assert sum(reason.worth for reason in found.reasons) == weighed.weights[pair]
        if found.cost.least is not None:
            assert found.cost.exact is not None and 0 <= found.cost.least <= found.cost.exact
            bounds += found.cost.least > 0
    assert bounds > 5


def test_a_rule_is_followed_again_with_the_other_decision() -> None:
    """A system by rules gives a round with any legal pair, and one without."""
    field = apart(field_of(rated(*range(2000, 1200, -100)), "A1E F0B C1G H0D", total=5))
    system = Dutch(DutchOptions(rounds=5, initial_color="white"))
    paired = next_round(system, field)
    for pair in combinations(field.present, 2):
        found = explain_pair(system, field, paired, *pair)
        assert found.cost is None and {reason.most for reason in found.reasons} == {1}
        if field.met(*pair):
            assert found.instead is None and "met in round 1" in found.facts
        else:
            assert found.instead is not None and (pair in found.instead) is not found.together


def test_the_facts_of_a_pair() -> None:
    """The facts of a pair are scores, colors, family and the bye."""
    field = apart(field_of(rated(5, 4, 3, families="xx"), "A1C B", "A0B C", total=3))
    scores = ("A has 1 point", "C has 1 point", "same score group")
    system = Dutch(DutchOptions(rounds=3))
    assert pair_facts(system, field, 0, 2) == (
        *scores,
        "A had White in 2 more games than Black",
        "C had Black in 1 more game than White",
        "met in round 1",
    )
    assert {"both belong to the family x", "difference: 1 point"} <= {*pair_facts(system, field, 1, 0)}
    found = explain_pair(system, field, Paired((Board(0, 1),), (2,)), 0, 2)
    assert found.facts[-1] == "C has the bye"


SYSTEMS_IN_ROUNDS = [name for name, system in SYSTEMS.items() if system.rounds]


@pytest.mark.parametrize("name", [*SYSTEMS_IN_ROUNDS, "gopair:round_robin"])
@pytest.mark.parametrize("count", [7, 8])
def test_every_system_answers_in_its_own_terms(name: str, count: int) -> None:
    """Every system gives criteria or a rule for every pair, also of absent entrants and byes."""
    system_name, _, method = name.partition(":")
    settings: dict[str, Any] = {"games_per_pairing": 1} | ({"method": method} if method else {})
    if "rounds" in options_model(system_name).model_fields:
        settings["rounds"] = 4
    made: Any = make_format(system_name, options_model(system_name)(**settings))
    system: PairingSystem = made.system
    members = rated(*range(2000, 2000 - 60 * count, -60), families="xxyy", origins="pqpqpqp")
    field = Field(members, (), tuple(range(count)), 4)
    for turn in range(3):
        paired = next_round(system, apart(field))
        if turn == 2:
            break
        field = after(field, paired, random.Random(turn), draws=0.0)
    for pair in combinations(field.present, 2):
        found = explain_pair(system, apart(field), paired, *pair)
        told = why_lines(found, field)
        assert found.rules or found.reasons
        assert all(line.strip() for line in told)
        for place in set(pair) & set(paired.byes):
            assert any(
                (field.members[place].name in rule and " has the bye" in rule) or " passes" in rule
                for rule in found.rules
            )


def test_the_words_of_the_rules() -> None:
    """Systems by rules name their rule."""
    field = Field(rated(2000, 1900, 1800, 1700), (), (0, 1, 2, 3), 3)

    def rules(name: str, one: int, other: int, **settings: Any) -> str:
        made: Any = make_format(name, options_model(name)(**settings))
        return " | ".join(made.system.rules(field, made.system.pair(field), one, other))

    assert (
        "A is seed 1 | D is seed 4 | places 1 and 2 of the bracket can meet in round 1 of the bracket, the semi-final"
        in (rules("knockout", 0, 3))
    )
    assert "round 2 of the bracket, the final" in rules("knockout", 0, 1)
    assert "A has lost 0 matches (an entrant with 2 losses is out)" in rules("double-elimination", 0, 3)
    assert rules("accelrat", 0, 2) == (
        "step 1 from the top: A meets B, undesirability 1.00 | step 2 from the top: C meets D, undesirability 1.00"
    )
    assert rules("accelrat", 0, 1) == "step 1 from the top: A meets B, undesirability 1.00"
    assert "in the list of A, B is " in rules("epm", 0, 1)
    assert rules("godraw", 0, 1).startswith("both are in the group of MMS 1")
    table = rules("gopair", 0, 3, method="round_robin", rounds=3)
    assert table == "Berger tables of 4: seats 1 and 4 meet in round 1"


@pytest.mark.parametrize("name", ["gopair", "accelrat"])
def test_what_counts_against_a_pair_is_told_as_a_number(name: str) -> None:
    """Criteria have numbers, not only yes or no, and gopair has a cost."""
    field = apart(Field(rated(2000, 1900, 1800, 1700), (), (0, 1, 2, 3), 2))
    made: Any = make_format(name, options_model(name)(rounds=2))
    found = explain_pair(made.system, field, next_round(made.system, field), 0, 3)
    row = next(line for line in why_lines(found, field) if "rating gap" in line)
    assert "  -" in row and "at most" not in row
    if name == "gopair":
        weighed = made.system.weighed(field)
        assert found.cost is not None and found.cost.exact is not None and found.cost.exact > 0
        assert (
            sum(reason.worth for reason in found.reasons)
            == weighed.weights[weighed.members.index(0), weighed.members.index(3)]
        )
        assert found.instead is not None and (0, 3) in found.instead


@pytest.mark.parametrize("name", ["swiss-gotha", "epm", "godraw", "dutch"])
def test_the_answer_fits_eighty_columns(name: str) -> None:
    """The answer fits 80 columns: a common source is above the criteria, other pairs are one per line."""
    members = tuple(Member(f"Engine of a rather long name {number}", 2000.0 - number) for number in range(8))
    field = apart(Field(members, (), tuple(range(8)), 3))
    made: Any = make_format(name, options_model(name)(rounds=3))
    found = explain_pair(made.system, field, next_round(made.system, field), 0, 7)
    told = why_lines(found, field)
    assert max(map(len, told)) < 80
    assert sum("OpenGotha" in line or "about 2005" in line for line in told) <= 1
    changed = set(found.instead or ()) - {board.pair for board in found.paired.boards}
    assert changed and changed == {
        (one, other)
        for one in range(8)
        for other in range(8)
        if f"  {members[one].name} - {members[other].name}" in told
    }


def test_nobody_can_be_explained_who_is_not_there() -> None:
    """An absent entrant raises an error that names it."""
    field = SeparatedField((Member("A"), Member("B"), Member("C")), (), (0, 1))
    with pytest.raises(ValueError, match="C is not present in round 1"):
        explain_pair(Heaviest(RoundsOptions()), field, Paired((Board(0, 1),)), 0, 2)
