"""Our tournaments in rounds as files of FIDE and of the AGA, and read back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from enginetour.formats.dutch import Dutch, DutchOptions
from enginetour.formats.pairing.field import Field, Kind, Member
from enginetour.formats.rounds import Rounds
from enginetour.interop import tde, trf
from enginetour.interop.pairers import foreign
from enginetour.interop.roundfiles import Played, Sat, played, register, report
from enginetour.interop.trf import header
from enginetour.model.errors import InputRefused
from enginetour.model.game import Entrant, GameFinished, Outcome, Withdrawn
from tests.touring import config, tour

CASES = Path(__file__).parent / "cases" / "pairing"
FIVE = tuple(
    Entrant(name, rating=2000.0 - 10 * place, family="f" * (place < 2), origin="fin")
    for place, name in enumerate("ABCDE")
)
RESULTS = (Outcome.WHITE, Outcome.DRAW, Outcome.BLACK)


def tournament(games: int, *, each: int = 1, gone: str = "", **settings: object) -> tuple[Played, Field]:
    """So many games of a Dutch tournament of five, results in turn; then somebody leaves."""
    options = DutchOptions.model_validate(
        {"rounds": 3, "games_per_pairing": each, "initial_colour": "white", **settings}
    )
    format_ = Rounds(Dutch(options))
    state = format_.start(FIVE)
    kept: dict[tuple[int, frozenset[str]], list[Sat]] = {}
    for count in range(games):
        game, outcome = format_.offers(state)[0], RESULTS[count % 3]
        kept.setdefault((game.round, frozenset(game.pair)), []).append(Sat(game.white, outcome))
        state = format_.step(state, GameFinished(game, outcome))
    if gone:
        state = format_.step(state, Withdrawn(gone))
    return played("T", "dutch", format_, state, kept), state.field


def test_a_report_reads_back_as_the_field() -> None:
    """Rounds, points, ratings and origin; the pairing the other reader makes of it is that of the format."""
    one, field = tournament(4)
    text = report(one).text()
    assert "142   3\r\n" in text and "192 FIDE_DUTCH_2025\r\n" in text and "260" not in text
    before = foreign(trf.read(text), number=3)
    assert before.field.history == field.history and before.warnings == ()
    assert [member.rating for member in before.field.members] == [2000, 1990, 1980, 1970, 1960]
    assert {member.origin for member in before.field.members} == {"FIN"}


def test_a_running_round_has_no_results_yet() -> None:
    """But opponents and colours."""
    one, _ = tournament(1)
    cells = [entry.cells[0] for entry in report(one).entries]
    assert sorted(cell.result for cell in cells) == [" ", " ", "0", "1", "U"]
    assert sorted(cell.colour for cell in cells) == ["-", "b", "b", "w", "w"]


def test_a_withdrawal_is_a_forfeit() -> None:
    """Of the game not played; afterwards it is absent."""
    one, field = tournament(1, gone="D")
    letters = [[cell.result for cell in entry.cells] for entry in report(one).entries]
    assert [row[0] for row in letters].count("+") == 1 and letters[3][0] == "-"
    assert letters[3][1] == "Z" and field.history[0][3].kind is Kind.FORFEIT


def test_a_match_of_two_games_is_two_rounds() -> None:
    """Each with its colours; a bye is two byes."""
    one, _ = tournament(4, each=2)
    found = report(one)
    assert "142   6" in found.text() and "192" not in found.text()
    for entry in found.entries:
        first, second = entry.cells[:2]
        assert first.opponent == second.opponent
        assert {first.colour, second.colour} == ({"w", "b"} if first.opponent else {"-"})
    assert sum(entry.points for entry in found.entries) == 2 * (4 + 2 + 2)  # games, and a bye of two in both rounds


def test_absences_of_rounds_to_come_are_exported() -> None:
    """In lines 240, so that no other program pairs who is on leave or has withdrawn."""
    one, _ = tournament(2, gone="D", absent={"A": [3]}, half_bye={"B": [1]})
    text = report(one).text()
    assert [line for line in text.split("\r\n") if line.startswith("240")] == ["240 Z 003    1    4"]
    following = header(trf.read(text))
    assert following.byes == {(3, 1): "Z", (3, 4): "Z"}
    matches, _ = tournament(0, each=2, half_bye={"B": [2]})
    assert "240 H 003    2\r\n240 H 004    2\r\n" in report(matches).text()


def test_forbidden_families_are_forbidden_pairs() -> None:
    """For all rounds; Baku is told with the system."""
    text = report(tournament(0, forbid_family=True, acceleration="baku")[0]).text()
    assert "260 001 003    1    2\r\n" in text and "192 FIDE_DUTCH_2025_BAKU" in text
    assert foreign(trf.read(text), number=1).field.apart == {(0, 1)}


def test_virtual_points_are_exported() -> None:
    """Lines 250 for all accelerated rounds, so that another program needs no scheme of its own to agree."""
    text = report(tournament(0, acceleration="baku")[0]).text()
    assert "250       1.0 001 001    1    4\r\n250       0.5 002 002    1    4\r\n" in text
    assert "250" not in report(tournament(0)[0]).text()
    case = foreign(trf.read((CASES / "own-export-baku.trf").read_bytes()), number=5).field
    written = report(Played("A case", "dutch", case, {}, accelerated=3))
    worth = {1: 2, 2: 2, 3: 1}  # eight were paired in round 1, so the upper half has four
    assert header(written).virtual == {(n, one): points for n, points in worth.items() for one in range(1, 5)}


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
    """In line 162 where it is no win; points and rounds of the report fit each other."""
    one, _ = tournament(0, each=each, scoring=scoring, bye_points=points)
    found = report(one)
    assert (said in found.text()) if said else ("162" not in found.text())
    resting = next(entry for entry in found.entries if entry.cells[0].result == "U")
    assert "".join(cell.result for cell in resting.cells) == letters
    assert resting.points == sum(header(found).worth("P") for letter in letters if letter == "U")


def test_too_many_entrants() -> None:
    """A number has four columns."""
    one, field = tournament(0)
    crowd = replace(field, members=field.members * 2000, history=())
    with pytest.raises(InputRefused, match="10000 entrants, a TRF has room for 9999"):
        report(replace(one, field=crowd))


def test_a_register_reads_back_as_the_field(tmp_path: Path) -> None:
    """Families are clubs, absences drops."""
    one, field = tournament(4)
    for name, text in register(one).items():
        (tmp_path / name).write_text(text)
    found = tde.foreign(tde.read(tmp_path / "register.tde"), number=3, rounds=3).field
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
    """Matches of two games, and engines without a rating."""
    with pytest.raises(InputRefused, match="matches of 2 games"):
        register(tournament(0, each=2)[0])
    one, field = tournament(0)
    with pytest.raises(InputRefused, match="A has no rating"):
        register(replace(one, field=replace(field, members=(replace(field.members[0], rating=None),))))


def test_export_of_a_tournament_played(tmp_path: Path) -> None:
    """By the command: a report that can be paired, several files only into a folder, nothing for a bubble."""
    path = config(tmp_path, ("wren1", "wren2", "wren3"), "dutch", "rounds = 2")
    tour(tmp_path, "run", str(path))
    tour(tmp_path, "export", "trf", "-o", "out.trf")
    assert (tmp_path / "out.trf").read_bytes().count(b"\r\n") == 8
    assert "round 2 of 2" in tour(tmp_path, "pair", "out.trf", "--round", "2").stdout
    assert "name a folder" in tour(tmp_path, "export", "tde", expect=2).stderr
    assert "has no rating" in tour(tmp_path, "export", "tde", "-o", ".", expect=3).stderr
    bubble = config(tmp_path, ("wren1", "wren2", "wren3"), name="other")
    tour(tmp_path, "run", str(bubble), "--max-games", "1", expect=8)
    assert "a bubble is not paired in rounds" in tour(tmp_path, "export", "trf", expect=2).stderr


def test_names_that_nothing_is_left_of() -> None:
    """They become the entrant's id or number: a line without a name is none."""
    field = Field((Member("# Club=", 1500.0), Member("\u200b \x1b", 1400.0)), (), (0, 1))
    assert register(Played("T", "dutch", field, {}))["register.tde"].split() == [
        "ET1",
        "ET1",
        "16.00",
        "ET2",
        "ET2",
        "15.00",
    ]
    assert [entry.name for entry in report(Played("T", "dutch", field, {})).entries] == ["# Club=", "entrant 2"]
