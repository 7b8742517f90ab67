"""Large files of positions, which are read by byte offset and checked on request."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from enginetour.model.errors import InputRefused
from enginetour.model.game import Opening, Pairing
from enginetour.openings import books, choice
from enginetour.openings.choice import OpeningSettings, load_opening_book, permuted_place
from enginetour.openings.positions import IndexedPositions, parse_position

KINGS = "4k3/8/8/8/8/8/P7/4K3 w - -"


def _text(number: int) -> str:
    """Return a file of this many different positions with blank lines and comments."""
    lines = ["# a comment", "  # and one that is indented", "   "]
    for n in range(number):
        lines += [f'4k3/8/8/8/8/8/P7/4K3 w - - hmvc {n % 90}; fmvn {n + 50}; id "p{n}";', ""]
    return "\r\n".join(lines) + "\r\n\x1a"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat every file as a large one."""
    monkeypatch.setattr(books, "LARGE", 10)
    monkeypatch.setattr(books, "PACKED_LARGE", 10)


@pytest.mark.parametrize("name", ["s.epd", "s.epd.gz"])
def test_the_same_openings_as_from_a_small_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A large file gives the same openings as a small one, packed or not."""
    raw = _text(60).encode()
    (tmp_path / name).write_bytes(gzip.compress(raw) if name.endswith("gz") else raw)
    settings = OpeningSettings(file=name, per="encounter")
    held = load_opening_book(settings, seed=3, legs=1, folder=tmp_path)
    monkeypatch.setattr(books, "LARGE", 10)
    monkeypatch.setattr(books, "PACKED_LARGE", 10)
    large = load_opening_book(settings, seed=3, legs=1, folder=tmp_path)
    assert isinstance(large.openings, IndexedPositions)
    games = [Pairing("a", "b", encounter=number) for number in range(1, 130)]
    assert [large.pick(game) for game in games] == [held.pick(game) for game in games]
    assert large.digest == held.digest != ""


@pytest.mark.usefixtures("small")
def test_a_bad_line_of_a_large_file(tmp_path: Path) -> None:
    """An invalid line raises an error with its line number if a game may need it, or is skipped."""
    (tmp_path / "s.epd").write_text(f'{KINGS}\n\n{KINGS} id "x";\n8/8/8/8/8/8/8/8 w - -\n{KINGS} id "y";\n')
    book = load_opening_book(OpeningSettings(file="s.epd", order="sequential"), seed=1, legs=2, folder=tmp_path)
    book.check(2)
    with pytest.raises(InputRefused, match=r"s\.epd:4: invalid opening: impossible position .*skip_bad"):
        book.check(3)
    wished = OpeningSettings(file="s.epd", order="sequential", skip_bad=True)
    skipping = load_opening_book(wished, seed=1, legs=2, folder=tmp_path)
    assert not skipping.left_out.count
    skipping.check(4)
    first = f"{tmp_path / 's.epd'}:4: impossible position "
    words = f"openings: at least 1 of 4 skipped because they cannot be played; first: {first}"
    assert str(skipping.left_out).startswith(words)
    assert [opening.name for opening in skipping.openings] == ["", "x", "y", "y"]
    assert [opening.index for opening in skipping.openings] == [1, 2, 4, 4]


def test_an_endless_line_is_one_bad_opening(tmp_path: Path) -> None:
    """A very long line is one invalid opening, and the following lines are read."""
    path = tmp_path / "s.epd"
    path.write_text("x" * 300_000 + "\n" + KINGS + "\n")
    with path.open("rb") as stream:
        found = IndexedPositions(stream, path)
        assert len(found) == 2
        assert found[1].fen is not None
        with pytest.raises(InputRefused, match=r"s\.epd:1: .*longer than 65,536"):
            found[0]


def test_positions_of_variants() -> None:
    """Remaining checks and pockets are parts of a position; a position that is over is invalid."""
    three = parse_position(1, "4k3/8/8/8/8/8/P7/4K3 w - - 2+3 0 1", "3check")
    assert isinstance(three, Opening)
    assert three.fen == "4k3/8/8/8/8/8/P7/4K3 w - - 2+3 0 1"
    given = parse_position(1, "4k3/8/8/8/8/8/P7/4K3 w - - 0 1 +1+2;id lichess", "3check")
    assert (getattr(given, "fen", ""), getattr(given, "name", "")) == ("4k3/8/8/8/8/8/P7/4K3 w - - 2+1 0 1", "lichess")
    for text in ("+1+2 5 9", "+1+2 hmvc 5; fmvn 9;"):  # before the counters
        ahead = parse_position(1, f"4k3/8/8/8/8/8/P7/4K3 w - - {text}", "3check")
        assert getattr(ahead, "fen", "") == "4k3/8/8/8/8/8/P7/4K3 w - - 2+1 5 9"
    house = parse_position(1, "4k3/8/8/8/8/8/P7/4K3[Qn] w - - 0 1", "crazyhouse")
    assert isinstance(house, Opening)
    assert house.variant == "crazyhouse"
    hill = parse_position(1, "4k3/8/8/8/4K3/8/P7/8 b - - 0 1", "kingofthehill")
    assert "is over" in getattr(hill, "why", "")


def test_a_keyed_permutation_is_one() -> None:
    """The keyed permutation contains every place once and differs for each seed and pass."""
    for size in (1, 2, 3, 7, 100, 1000):
        assert sorted(permuted_place(5, 0, size, place) for place in range(size)) == list(range(size))
    orders = {tuple(permuted_place(seed, cycle, 50, n) for n in range(50)) for seed in range(4) for cycle in range(4)}
    assert len(orders) == 16
    assert [permuted_place(7, 0, 1000, place) for place in range(4)] == [666, 347, 614, 268]


def test_a_book_too_large_to_order_is_scattered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A very large book uses every opening once in each pass."""
    monkeypatch.setattr(choice, "HELD_ORDER", 10)
    book = load_opening_book(OpeningSettings(per="encounter"), seed=1, legs=1, folder=tmp_path)
    picks = [book.pick(Pairing("a", "b", encounter=number)).index for number in range(1, 121)]
    assert sorted(picks[:60]) == sorted(picks[60:]) == list(range(1, 61))
    assert picks[:60] != picks[60:]
