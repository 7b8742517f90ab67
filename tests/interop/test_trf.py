"""Tests of interop/trf."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from enginetour.formats.pairing.field import BLACK, WHITE
from enginetour.interop import trf
from enginetour.interop.pairers import read_tournament
from enginetour.interop.trf import TrfCell, TrfEntrant, TrfHeader, TrfLine, TrfReport, read, read_header, read_odds
from enginetour.model.errors import InputRefused
from tests.support.tournaments import read as read_json
from tests.support.tournaments import tour

# Tournament report files, line by line.

GOLDEN = sorted((Path(__file__).parents[1] / "golden" / "trf").glob("*.trf"))


def entry(number: int, *rounds: str, points: str = "0.0", name: str = "") -> str:
    """Return a line 001 with rounds of eight columns."""
    head = f"001 {number:4d} m    {name or f'E{number}':33} 2000 FIN {'':11} 1990/01/01 {points:>4}    1  "
    return head + "  ".join(rounds)


def header_of(*lines: str) -> TrfHeader:
    return read_header(read("\n".join([*lines, *(entry(number) for number in range(1, 5))]), "f.trf"))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_what_is_read_is_written_again(path: Path) -> None:
    """The columns of recorded tournaments are written again, with CRLF line ends."""
    text = path.read_text().rstrip("\n") + "\n"
    for end in ("\n", "\r\n", "\r"):
        assert read(text.replace("\n", end).encode()).text() == text.replace("\n", "\r\n")


def test_columns_without_a_field_of_ours_are_kept() -> None:
    """Sex, title, id and birth are kept."""
    line = (
        "001   12 wWGM Polgar,Sofia                      2410 HUN      700088 1974/11/02  3.5    2     1 w 1  0000 - H"
    )
    assert read(line).text() == f"{line}\r\n"
    found = read(line).entries[0]
    assert (found.number, found.name, found.rating, found.federation) == (12, "Polgar,Sofia", 2410, "HUN")
    assert (found.points, found.rank, found.cells) == (7, 2, (TrfCell(1, "w", "1"), TrfCell(result="H")))


def test_a_name_too_long_is_cut_and_stands_whole_in_a_comment() -> None:
    """A long name is cut and written in full in a comment; a name changed by hand is kept."""
    long = "An engine with a name of more than thirty-three letters 1.0"
    text = TrfReport((TrfEntrant(1, long), TrfEntrant(2, "Short"))).text()
    lines = text.split("\r\n")
    assert lines[0][14:47] == long[:33] and lines[0][47:49] == "  " and lines[2] == f"### 0001 {long}"
    assert [one.name for one in read(text).entries] == [long, "Short"]
    assert read(text.replace(long[:33], "Other".ljust(33), 1)).entries[0].name == "Other"


def test_other_lines_are_kept_in_their_places() -> None:
    """Unknown lines keep their place, also if an entrant is replaced."""
    report = read(f"012 Name\n{entry(2)}\nXYZ something\n{entry(1)}\n")
    fresh = report.with_entries([replace(one, rating=1000 + one.number) for one in report.entries])
    assert [line[:5] for line in fresh.text().split("\r\n")] == ["012 N", "001  ", "XYZ s", "001  ", ""]
    assert [one.rating for one in read(fresh.text()).entries] == [1001, 1002]
    assert report.lines == (TrfLine("012 Name", 1), TrfLine("XYZ something", 3), TrfLine("", 5))


def test_names_in_any_letters() -> None:
    """Names are read in UTF-8 with or without a mark, and in old code pages."""
    for content in ("\ufeff" + entry(1, name="Väinö"), entry(1, name="Väinö")):
        assert read(content.encode()).entries[0].name == "Väinö"
    assert read(entry(1, name="Väinö").encode("latin-1")).entries[0].name == "Väinö"
    assert read(entry(1, name="Šimon Žák").encode("cp1250")).entries[0].name == "Šimon Žák"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1250", "cp1252", "iso8859-2", "cp1251"])
def test_bytes_are_kept(encoding: str) -> None:
    """Lines are written in their original bytes, in any code page."""
    words = {"cp1251": "Иван…"}.get(encoding, "Müller…" if encoding == "cp1252" else "Šimůnek, Žák, Ťuk")
    content = f"012 {words}\r\n{entry(1, '   2 w 1', name=words)}\r\n".encode(encoding, "ignore")
    assert read(content).content() == content


def test_names_padded_by_bytes() -> None:
    """Columns shifted by names of several bytes are read and written by bytes."""
    names = ["Ж" * 40, "Łukasz", "plain"]
    lines = []
    for number, name in enumerate(names, 1):
        room = name.encode()[:33].decode(errors="ignore")
        lines.append(entry(number, "0000 - U").replace(f"E{number}".ljust(33), room + " " * (33 - len(room.encode()))))
    content = ("\r\n".join([*lines, f"### 0001 {names[0]}"]) + "\r\n").encode()
    found = read(content)
    assert [one.name for one in found.entries] == names
    assert [one.rating for one in found.entries] == [2000] * 3 and found.content() == content
    with pytest.raises(InputRefused, match=r"f\.trf:1: expected points such as"):
        read(content.replace(b" 0.0", b" x.0"), "f.trf")


@pytest.mark.parametrize("names", [["Müller", "Łukasz Żółć"], ["Ж" * 16], ["Jörg"]])
@pytest.mark.parametrize("by_bytes", [False, True])
def test_padding_before_the_first_round(names: list[str], by_bytes: bool) -> None:
    """Without rounds, the columns of the rating show whether names are padded by bytes."""
    lines = []
    for number, name in enumerate(names, 1):
        room = " " * (33 - len(name.encode() if by_bytes else name))
        lines.append(f"001 {number:4d}      {name}{room} 2277{'':28} 0.0 {number:4d}\r\n")
    found = read("".join(lines).encode())
    assert [(one.name, one.rating, one.points) for one in found.entries] == [(name, 2277, 0) for name in names]
    assert found.by_bytes is by_bytes and found.content().decode() == "".join(lines)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (entry(1).replace("001    1", "001    x"), r"f.trf:2: expected a starting number in columns 5-8 .found ' x'"),
        (entry(1).replace("001    1", "001    0"), "starting number"),
        (entry(9), "a different number for each entrant .found 9, which is also in line 1"),
        (entry(1).replace("E1", "  "), "a name in columns 15-47 .found none"),
        (entry(1).replace("2000", "20x0"), "a whole number in columns 49-52 .found '20x0'"),
        (entry(1, points="1.25"), "points such as 11.5 in columns 81-84 .found '1.25'"),
        (entry(1, "   9 w 1", "   9 w ?"), r"one of 1 0 = .* in column 109 .found '\?'"),
        (entry(1, "   9 g 1"), "opponent, color and result in columns 92-99"),
        (entry(1, "  9 w 1 "), "opponent, color and result in columns 92-99"),
        (entry(1, "   9 w 11"), "then two spaces .found ' 9 w 11'"),
        (entry(1, "   9w  1"), "opponent, color and result in columns 92-99"),
    ],
)
def test_a_broken_line_is_told_with_its_columns(line: str, words: str) -> None:
    """An invalid line raises an error with file, line, and expected value."""
    with pytest.raises(InputRefused, match=words):
        read(f"{entry(9)}\n{line}", "f.trf")


def test_a_file_without_entrants_is_refused() -> None:
    """A file without entrants raises an error."""
    with pytest.raises(InputRefused, match=r"expected lines 001 with entrants .found none"):
        read(b"\x89PNG\r\n", "f.trf")


def test_the_header_in_both_styles() -> None:
    """TRF26 and the older codes give the same header."""
    new = header_of(
        "012 Cup of engines", "142   9", "152 B", "162  W 3.0    D 1.0", "240 H 002    1    3",
        "250       1.0 001 002    1    2", "260 001 002    1    2    4", "192 FIDE_DUTCH_2025_BAKU",
    )  # fmt: skip
    old = header_of(
        "012 Cup of engines", "XXR 9", "XXC black1", "BBW  3.0", "BBD  1.0", "240 H   2 0001 0003",
        "XXA    1  1.0  1.0", "XXA    2  1.0  1.0", "XXP 1 2 4", "192 FIDE_DUTCH_2025_BAKU",
    )  # fmt: skip
    for found in (new, old):
        assert (found.name, found.rounds, found.color, found.baku) == ("Cup of engines", 9, BLACK, True)
        assert found.scores == {"W": 6, "D": 2, "L": 0, "A": 0} and found.worth("P") == 6
        assert found.byes == {(2, 1): "H", (2, 3): "H"}
        assert found.virtual == {(1, 1): 2, (2, 1): 2, (1, 2): 2, (2, 2): 2}
        assert [pair for _, pair in found.forbidden] == [(1, 2), (1, 4), (2, 4)]
    assert new.forbidden[0][0] == range(1, 3) and 99 in old.forbidden[0][0]


def test_what_is_not_said_is_usual() -> None:
    """Default points are 1, 1/2, 0 and a bye as a win; with rank numbers are by line."""
    found = header_of("XXC white1 rank", "162  P 0.5")
    assert (found.color, found.by_line, found.rounds, found.baku) == (WHITE, True, None, False)
    assert (found.scores["W"], found.scores["D"], found.worth("P")) == (2, 1, 1)


@pytest.mark.parametrize(
    ("lines", "scores"),
    [
        (("XXS PAB=3 D=1 W=3",), "W3 D1 L0 A0 P3 F3 H1 +3 Z0"),
        (("XXS W=3", "XXS D=1"), "W3 D1 L0 A0 P1 F3 H1 +3 Z0"),
        (("XXS PAB=.5",), "W1 D0.5 L0 A0 P0.5 F1 H0.5 +1 Z0"),
        (("XXS FL=0 W=3 D=2 PAB=2 WL=1 BL=1 ZPB=1",), "W3 D2 L1 A0 P2 F3 H2 +3 Z1"),
        (("XXS W=3 D=2 WL=1 BL=1", "XXS PAB=3", "XXS FPB=0 HPB=0 ZPB=0"), "W3 D2 L1 A0 P3 F0 H0 +3 Z0"),
        (("162  W 3.0    D 1.0", "162  Z 0.5    P 1.5"), "W3 D1 L0 A0.5 P1.5 F3 H1 +3 Z0.5"),
        (("BBW 3.0", "BBZ 0.5", "BBF 1"), "W3 D0.5 L0 A1 P3 F3 H0.5 +3 Z0.5"),
    ],
)
def test_points_in_all_styles(lines: tuple[str, ...], scores: str) -> None:
    """Points in all notations are read, as in JaVaFo's manual."""
    found = header_of(*lines)
    assert " ".join(f"{letter}{found.worth(letter) / 2:g}" for letter in "WDLAPFH+Z") == scores


def test_virtual_points_by_columns() -> None:
    """A blank round has no virtual points; lines with other columns are read word by word."""
    assert header_of("XXA    1  1.0       0.5").virtual == {(1, 1): 2, (2, 1): 0, (3, 1): 1}
    assert header_of("XXA    1 1.0 0.5 0.5").virtual == {(1, 1): 2, (2, 1): 1, (3, 1): 1}
    assert header_of("XXA    1    1  0.5").virtual == {(1, 1): 2, (2, 1): 1}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("142 many", r"f.trf:1: expected the number of rounds in a line 142 .found 'many'"),
        ("142", "found nothing"),
        ("152 x", r"W or B in a line 152 .found 'x'"),
        ("XXC green1", "white1, black1 or rank"),
        ("162  Q 3.0", "letters W D L A P X"),
        ("BBW 3,5", "points such as 1.5"),
        ("XXZ 2 7", r"the number of an entrant in this file in a line XXZ .found '7'"),
        ("240 Q 001    1", "a bye F, H or Z in column 5"),
        ("240 H 00x    1", "a round in columns 7-9"),
        ("240 H 001    7", r"the number of an entrant in this file in a line 240 .found '7'"),
        ("240 H 001", "numbers of entrants from column 11"),
        ("250       one 001 002    1    2", "points such as 1.5"),
        ("260 001 002    1    8", "the number of an entrant in this file"),
        ("XXP 1 x", "an entrant's number"),
        ("310   1 India", "a tournament of individuals .found 310, teams"),
        ("299 W", "points that follow from the results .found 299, points that an arbiter assigned"),
        ("XXS X=1", r"codes with points such as W=3 PAB=1.5 in a line XXS .found 'X=1'"),
        ("XXS W=1.3", "points such as 1.5"),
        ("XXS WW=3", "the same points with either color for BW in XXS .found 1"),
    ],
)
def test_a_broken_header_is_told(line: str, words: str) -> None:
    """An invalid header raises an error, also for unsupported lines that would change the pairing."""
    with pytest.raises(InputRefused, match=words):
        header_of(line)


# Time odds in reports, and in the display of a round.

GIVEN = ("--rounds", "3", "--set", "handicap={ per = 100, correction = 0 }")


def four(path: Path) -> Path:
    file = path / "four.trf"
    ratings = enumerate((2000, 1800, 1750, 1500), 1)
    lines = [trf.TrfEntrant(number, f"E{number}", rating).text() for number, rating in ratings]
    file.write_text("\n".join(["142 3", *lines]))
    return file


def test_odds_are_told_and_the_stronger_has_white(tmp_path: Path) -> None:
    """Odds are shown in JSON and tables and written as comments; one band per 100 points."""
    file, out = four(tmp_path), tmp_path / "out.trf"
    found = read_json(tmp_path, "pair", str(file), *GIVEN, "-o", str(out))
    pairs = {(one["white"], one["black"]): one.get("handicap") for one in found["pairs"]}
    assert pairs == {(1, 3): 2, (2, 4): 3}
    assert read_odds(trf.read(out.read_bytes())) == {(1, 1): (3, 2), (1, 2): (4, 3)}
    assert "handicap" in tour(tmp_path, "pair", str(file), *GIVEN).stdout
    assert "handicap" not in tour(tmp_path, "pair", str(file), "--rounds", "3").stdout


def test_odds_come_back_with_the_results(tmp_path: Path) -> None:
    """Games at odds have no color in the next round; pairing a round again removes its odds."""
    file, out = four(tmp_path), tmp_path / "out.trf"
    read_json(tmp_path, "pair", str(file), *GIVEN, "-o", str(out))
    lines = out.read_bytes().decode().split("\r\n")
    done = [line + "  1" if line.endswith("w") else line + "  0" if line.endswith("b") else line for line in lines]
    done = [line.replace("w  1", "w 1").replace("b  0", "b 0") for line in done]
    out.write_text("\n".join(done))
    field = read_tournament(trf.read(out.read_bytes())).field
    assert [turn.handicap for turn in field.history[0]] == [2, 3, -2, -3]
    assert [field.balance(place) for place in range(4)] == [0, 0, 0, 0]
    read_json(tmp_path, "pair", str(out), "--rounds", "3", "--round", "1", "-o", str(out), "--overwrite")
    assert read_odds(trf.read(out.read_bytes())) == {}


@pytest.mark.parametrize("system", ["dutch", "swiss-gotha"])
def test_odds_by_rating_need_ratings(system: str, tmp_path: Path) -> None:
    """The error names an entrant without a rating."""
    file = tmp_path / "two.trf"
    file.write_text("\n".join(["142 1", *(trf.TrfEntrant(number, f"E{number}").text() for number in (1, 2))]))
    refused = tour(tmp_path, "pair", str(file), "--system", system, "--set", "handicap={}", expect=3)
    assert "handicap needs a rating for every entrant (missing: E1, E2)" in refused.stderr
