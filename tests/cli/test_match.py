"""`enginetour match`, and the options --sprt of rating lists."""

from __future__ import annotations

import csv
import io
import json
import math
import operator
import shlex
import sys
from pathlib import Path

import pytest

from enginetour.cli.lists import ratings
from enginetour.cli.session import Run
from enginetour.model.game import Outcome
from enginetour.ratings.sequential import MODELS, Sprt, match_test
from enginetour.store.tournaments import Store
from enginetour.testing import PLAYING
from tests.support.databases import add_game, draft, game
from tests.support.tournaments import tour, unwrapped

# `enginetour ratings --sprt`: figures, refusals, the three ways to print.

RESULTS = {0: (Outcome.BLACK, Outcome.WHITE), 1: (Outcome.BLACK, Outcome.DRAW), 2: (Outcome.DRAW, Outcome.DRAW),
           3: (Outcome.WHITE, Outcome.DRAW), 4: (Outcome.WHITE, Outcome.BLACK)}  # fmt: skip
COUNTS = (1, 4, 11, 7, 2)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Return a workspace with 25 game pairs of Fruit and Toga, and a later tournament with one game of them."""
    path = tmp_path / "results" / "enginetour.db"
    path.parent.mkdir()
    with Store.open(path) as opened:
        log = opened.create_tournament(draft())
        meeting = 0
        for half_points, count in enumerate(COUNTS):
            for _ in range(count):
                meeting += 1
                first, second = RESULTS[half_points]
                add_game(log, game("Fruit", "Toga", first, meeting=meeting, leg=1))
                add_game(log, game("Toga", "Fruit", second, meeting=meeting, leg=2))
        add_game(opened.create_tournament(draft("winter")), game("Toga", "Fruit", Outcome.DRAW))
    return tmp_path


def test_json_tells_all(store: Path) -> None:
    """JSON has counts of games and pairs, the ratio of the pairs, the bounds, and no verdict yet."""
    words = ("ratings", "-t", "autumn", "--sprt", "Fruit", "Toga", "0", "5", "--json")
    value = unwrapped(tour(store, *words).stdout)
    assert value["engines"] == ["Fruit", "Toga"]
    assert value["pentanomial"] == list(COUNTS)
    assert (value["wins"], value["draws"], value["losses"], value["games"]) == (11, 33, 6, 50)
    assert value["score"] == 0.55
    assert value["sprt"]["by"] == "pairs"
    assert value["sprt"]["bounds"] == pytest.approx([-2.944439, 2.944439], abs=1e-6)
    assert value["sprt"]["verdict"] is None


def test_text_fits_a_terminal(store: Path) -> None:
    """Text shows one figure per line, with errors, within the width of a terminal."""
    told = tour(store, "ratings", "-t", "autumn", "--sprt", "Fruit", "Toga", "0", "5").stdout
    lines = {line[:10].strip(): line for line in told.splitlines()}
    assert max(map(len, told.splitlines())) <= 80
    assert "11 / 33 / 6" in lines["W / D / L"]
    assert "0: 1 · ½: 4 · 1: 11 · 1½: 7 · 2: 2" in lines["game pairs"]
    for figure in ("Elo", "nElo"):
        assert "±" in lines[figure]
    assert lines["verdict"].endswith("none: the LLR is between the two bounds")


def test_a_verdict_is_told_with_its_risk(store: Path) -> None:
    """A test far below its bounds accepts H0, and shows the number of pairs and the estimate at that time."""
    told = tour(store, "ratings", "-t", "autumn", "--sprt", "Fruit", "Toga", "300", "400").stdout
    assert "H0 after " in told
    assert "Fruit is less than 400 Elo stronger (error rate 5 %)" in told
    assert "Elo is the plain estimate at the moment of the verdict" in told
    assert "19 game pairs, not part of the test" in told


def test_the_whole_store(store: Path) -> None:
    """--all adds the game of the other tournament, and reports that it is not part of a pair."""
    done = tour(store, "ratings", "--all", "--sprt", "Fruit", "Toga", "0", "5")
    assert "11 / 34 / 6" in done.stdout
    assert "1 game is not part of a complete game pair" in done.stdout


def test_csv_is_one_line(store: Path) -> None:
    """CSV has one line with the same figures as JSON."""
    words = ("ratings", "--all", "--sprt", "Toga", "Fruit", "-5", "0", "--sprt-model", "normalized")
    rows = list(csv.DictReader(io.StringIO(tour(store, *words, "--csv").stdout)))
    value = unwrapped(tour(store, *words, "--json").stdout)
    assert len(rows) == 1
    assert float(rows[0]["llr"]) == value["sprt"]["llr"]
    assert [int(rows[0][f"pairs_{points}"]) for points in range(5)] == list(reversed(COUNTS))
    assert float(rows[0]["nelo"]) == value["nelo"]


def test_one_game_is_told_without_certainty(store: Path) -> None:
    """A single draw gives Elo 0 and shows that the error is large."""
    told = tour(
        store, "ratings", "-t", "winter", "--sprt", "Fruit", "Toga", "0", "5", "--sprt-model", "bayesian"
    ).stdout
    assert "computed from the profile likelihood" in " ".join(told.split())
    assert "-0.0" not in told


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--sprt", "Fruit", "Toga", "5", "0"), "elo0 must be below elo1"),
        (("--sprt", "Fruit", "Toga", "0"), "4 arguments"),
        (("--sprt", "Fruit", "Togo", "0", "5"), "did you mean 'Toga'"),
        (("--sprt", "Fruit", "HoiChess", "0", "5"), "have no games"),
        (("--sprt", "Fruit", "Toga", "0", "300", "--sprt-model", "normalized"), "between -200 and 200"),
        (("--sprt", "Fruit", "Toga", "0", "5", "--anchor", "Fruit=1"), "--anchor"),
        (("--sprt", "Fruit", "Toga", "0", "5", "--system", "elo"), "--system"),
        (("--sprt-model", "logistic"), "--sprt-model: needs --sprt"),
        (("--alpha", "0.1"), "--alpha: needs --sprt"),
        (("--beta", "0.1"), "--beta: needs --sprt"),
        (("--sprt", "Fruit", "Toga", "0", "5", "--alpha", "1"), "--alpha: alpha, beta and their sum must be between"),
    ],
)
def test_a_test_that_cannot_be_made_is_refused(store: Path, words: tuple[str, ...], told: str) -> None:
    """Invalid options of a test are usage errors."""
    assert told in tour(store, "ratings", *words, expect=2).stderr


def test_every_model_is_on_offer() -> None:
    """The option offers every model of the test."""
    option = next(parameter for parameter in ratings.params if parameter.name == "model")
    assert tuple(getattr(option.type, "choices", ())) == MODELS


def test_the_errors_of_the_test_may_be_told(store: Path) -> None:
    """--alpha and --beta change Wald's bounds, and are shown with the verdict."""
    words = ("ratings", "-t", "autumn", "--sprt", "Fruit", "Toga", "300", "400", "--alpha", "0.02", "--beta", "0.1")
    value = unwrapped(tour(store, *words, "--json").stdout)
    assert value["sprt"]["bounds"] == pytest.approx([-2.282382, 3.806662], abs=1e-6)
    assert "error rate 10 %" in tour(store, *words).stdout


def test_pairs_are_looked_at_in_the_order_of_the_schedule(tmp_path: Path) -> None:
    """Pairs count in the order of the schedule, whatever the order in which games ended."""
    told = []
    for name, order in (("forth", range(1, 41)), ("back", range(40, 0, -1))):
        folder = tmp_path / name
        path = folder / "results" / "enginetour.db"
        path.parent.mkdir(parents=True)
        with Store.open(path) as opened:
            log = opened.create_tournament(draft())
            for meeting in order:
                first, second = RESULTS[meeting % 5 if meeting <= 30 else 4]
                add_game(log, game("Fruit", "Toga", first, meeting=meeting, leg=1))
                add_game(log, game("Toga", "Fruit", second, meeting=meeting, leg=2))
        told.append(unwrapped(tour(folder, "ratings", "--sprt", "Fruit", "Toga", "0", "150", "--json").stdout)["sprt"])
    assert told[0]["verdict"] is not None
    assert told[0] == told[1]


# A match that was refused named a line of a file that was gone by then, and left a lock for a match that never was.

PAIR = ("match", "wren1", "wren2", "--games", "2", "--max-moves", "20")
ONLY_CLOCK = ("--entrant", "wren2.limits=clock,depth")


def here(folder: Path) -> list[Path]:
    """Return all files of the workspace except the two that SQLite keeps next to an open database."""
    return sorted(path for path in folder.rglob("*") if path.suffix not in (".db-shm", ".db-wal"))


def refused(folder: Path, *words: str, code: int = 3) -> str:
    """Return stderr of a failed command; stdout is empty and the directory is unchanged."""
    before = here(folder)
    done = tour(folder, *PAIR, *words, expect=code)
    assert done.stdout == ""
    assert here(folder) == before
    assert ".toml" not in done.stderr
    return done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--tc", "nodes=1000", *ONLY_CLOCK), "enginetour: --tc: Wren 2 does not support nodes (found nodes=1000)"),
        (("--entrant", "2.tc=nodes=1000", *ONLY_CLOCK), "enginetour: --entrant: Wren 2 does not support nodes"),
        (("--white-tc", "nodes=9", *ONLY_CLOCK), "enginetour: --white-tc: Wren 2 does not support nodes"),
        (("--tc", "depth=1", "--openings", "no.epd"), "the file is set in --openings"),
        (("--tc", "depth=1", "--entrant", "wren1.timemargin=-1"), "enginetour: --entrant: "),
        (("--tc", "depth=1", "--entrant", "2.family= x"), "enginetour: --entrant: "),
        (("--entrant", "wren2.limits=clock"), ""),
        (("--draw", "40"), "--draw: play.draw: must be a table of movenumber, movecount, score (found 40)"),
        (("--tablebases", "/syzygy"), "--tablebases: play.tablebases: must be a table of path, pieces"),
        (("--draw", "movenumber=40 movcount=8 score=10"), "'play.draw.movcount', did you mean 'movecount'?"),
        (("--sprt", "elo0=0 elo_1=5"), "'format.sprt.elo_1', did you mean 'elo1'?"),
        (("--sprt", "elo0=-.5 elo1=5. alpha=.05"), "elo1: must be a number (found '5.')"),
        (("--sprt", "elo0=-.5 elo1=.5 alpha=.05"), ""),
    ],
)
def test_a_refusal_names_what_was_typed(tmp_path: Path, words: tuple[str, ...], told: str) -> None:
    """An error names the option on the command line instead of a line of the configuration."""
    if told:
        assert told in refused(tmp_path, *words)
    else:
        tour(tmp_path, *PAIR, *words, "--write-only")


def test_no_lock_of_a_match_that_never_was(tmp_path: Path) -> None:
    """A match that cannot start leaves no lock file."""
    tour(tmp_path, *PAIR, "--tc", "depth=1")
    assert not list(tmp_path.rglob("*.lock"))
    said = refused(tmp_path, "--tc", "depth=1", "--name", "bad", "--option", "wren1.Hsh=3")
    assert "engine Wren 1: unknown option 'Hsh'" in said


def test_a_match_that_was_stopped_before_it_began_has_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while engines are probed ends a match with the code of the signal, and prints no result."""
    for name in ("one", "two"):
        with monkeypatch.context() as patch:
            patch.setattr(Run, "go", lambda *_, **__: 130)
            done = tour(tmp_path, *PAIR, "--tc", "depth=1", "--name", name, expect=130)
            assert done.stderr == ""
        if name == "one":
            tour(tmp_path, *PAIR, "--tc", "depth=1")


@pytest.mark.parametrize(("words", "starts"), [((), 2), (("--option", "a.Hash=2"), 3)])
def test_a_command_is_started_once_before_the_game(tmp_path: Path, words: tuple[str, ...], starts: int) -> None:
    """The detection of the protocol is the probe of the engine, unless it plays with other settings."""
    run = f"exec {shlex.join((sys.executable, '-I', '-S', PLAYING, '--protocol', 'uci'))}"
    for name in ("a", "b"):
        (tmp_path / name).write_text(f"#!/bin/sh\necho >>{shlex.quote(str(tmp_path / name))}.starts\n{run}\n")
        (tmp_path / name).chmod(0o755)
    tour(tmp_path, "match", "./a", "./b", "--tc", "60", "--games", "2", "--openings", "plies=0", *words)
    assert (tmp_path / "a.starts").read_text() == starts * "\n"
    assert (tmp_path / "b.starts").read_text() == 2 * "\n"


def test_settings_of_play_are_options_where_one_is_typed(tmp_path: Path) -> None:
    """Every setting of [play] is an option, with or without a value, and is in the help."""
    tour(tmp_path, *PAIR, "--tc", "depth=1", "--fifty", "60", "--draw-offers", "--write-only")
    (written,) = (tmp_path / "results").glob("*.toml")
    assert {"fifty = 60", "draw_offers = true"} <= set(written.read_text().splitlines())
    said = refused(tmp_path, "--fiftyfive", "60", code=2)
    assert "unknown option --fiftyfive. Hint: did you mean '--fifty'" in said
    assert "--fifty VALUE" in tour(tmp_path, "match", "--help").stdout


# `enginetour sprt`: the same figures from counts.

PENTA, WDL = (30, 440, 1100, 500, 30), (1000, 2100, 900)


def _fastchess(counts: tuple[int, ...], elo0: float, elo1: float) -> dict[str, float]:
    """Return the figures of fastchess (elo_pentanomial.cpp, elo_wdl.cpp, sprt.cpp), with bisection for its roots."""
    number, top = sum(counts), len(counts) - 1
    scores, shares = [i / top for i in range(top + 1)], [count / number for count in counts]
    score = sum(map(operator.mul, scores, shares))
    variance = sum(share * (a - score) ** 2 for a, share in zip(scores, shares, strict=True))
    low, high = (score + sign * 1.959963984540054 * math.sqrt(variance / number) for sign in (-1, 1))

    def elo(share: float) -> float:
        return -400 * math.log10(1 / share - 1)

    def nelo(share: float) -> float:
        return (share - 0.5) / math.sqrt(top / 2 * variance) * 800 / math.log(10)

    def likeliest(mean: float) -> list[float]:
        least, most = -1 / (1 - mean), 1 / mean
        for _ in range(200):
            theta = (least + most) / 2
            slope = sum(s * (a - mean) / (1 + theta * (a - mean)) for a, s in zip(scores, shares, strict=True))
            least, most = (theta, most) if slope > 0 else (least, theta)
        return [s / (1 + theta * (a - mean)) for a, s in zip(scores, shares, strict=True)]

    zero, one = (likeliest(1 / (1 + 10 ** (-bound / 400))) for bound in (elo0, elo1))
    return {
        "score": score,
        "elo": elo(score),
        "error": (elo(high) - elo(low)) / 2,
        "nelo": nelo(score),
        "nelo_error": (nelo(high) - nelo(low)) / 2,
        "los": (1 + math.erf((score - 0.5) / math.sqrt(2 * variance / number))) / 2,
        "llr": number * sum(s * math.log(q / p) for s, p, q in zip(shares, zero, one, strict=True)),
    }


@pytest.mark.parametrize("option", ["--penta", "--wdl"])
def test_counts_give_the_figures_of_fastchess(tmp_path: Path, option: str) -> None:
    """Elo, nElo, LOS and LLR are those of fastchess; its error of nElo leaves out the estimated variance."""
    given, counts = (PENTA, PENTA) if option == "--penta" else (WDL, WDL[::-1])
    words = ("sprt", option, ",".join(map(str, given)), "--elo0", "-1", "--elo1", "4", "--json")
    value = unwrapped(tour(tmp_path, *words).stdout)
    expected = _fastchess(counts, -1, 4)
    assert value["nelo_error"] == pytest.approx(expected.pop("nelo_error"), rel=0.01)
    assert {**value, **value["sprt"]} == {
        **value,
        **value["sprt"],
        **{k: pytest.approx(v) for k, v in expected.items()},
    }
    assert value["sprt"]["bounds"] == value["sprt"]["decides_at"] == pytest.approx([-2.944439, 2.944439], abs=1e-6)
    assert (value["games"], value["wins"]) == ((4200, None) if option == "--penta" else (4000, 1000))


def test_counts_and_games_give_the_same_ratio(tmp_path: Path) -> None:
    """The counts of a list of games give its statistics and its ratio, in JSON, in CSV and in the table."""
    games = [(n, 1 + (n % 3 > 0)) for n in range(60) for _ in range(2)]
    found = match_test(Sprt(0, 5, "normalized"), games)
    wins, draws = 2 * 40, 2 * 20
    counts = ("--penta", "0,0,20,0,40", "--wdl", f"{wins},{draws},0")
    words = ("sprt", *counts, "--model", "normalized", "--alpha", "0.05")
    value = unwrapped(tour(tmp_path, *words, "--json").stdout)
    theirs = json.loads(json.dumps(found.to_json()))
    assert {key: value[key] for key in ("wins", "pentanomial", "elo", "nelo", "los")} == {
        key: theirs[key] for key in ("wins", "pentanomial", "elo", "nelo", "los")
    }
    assert value["sprt"]["llr"] == pytest.approx(theirs["sprt"]["llr"])
    row = next(csv.DictReader(io.StringIO(tour(tmp_path, *words, "--csv").stdout)))
    assert (row["pairs_4"], row["model"], float(row["llr"])) == ("40", "normalized", value["sprt"]["llr"])
    table = tour(tmp_path, *words).stdout
    assert "80 / 40 / 0" in table and "120" not in table and "Wald's" in table


def test_counts_beyond_a_bound_give_a_verdict(tmp_path: Path) -> None:
    """A ratio beyond one of Wald's bounds is a verdict; one below it is not."""
    told = tour(tmp_path, "sprt", "--penta", "[60, 880, 2200, 1100, 80]").stdout
    assert "H1 after 4320 game pairs: first engine is more than 0 Elo stronger" in told
    assert "H0 after" in tour(tmp_path, "sprt", "--wdl", "1000,2100,1300", "--model", "bayesian").stdout
    assert "none: the LLR" in tour(tmp_path, "sprt", "--wdl", "100,210,110").stdout


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ((), "no counts are given"),
        (("--wdl", "1,2"), "--wdl: must be 3 counts separated by commas: W,D,L (found '1,2')"),
        (("--penta", "1,2,-3,4,5"), "--penta: must be 5 counts"),
        (("--wdl", "0,0,0"), "the sum of the counts must be between 1 and"),
        (("--penta", "1,2,3,4,5", "--model", "bayesian"), "--penta: the bayesian model needs counts of wins"),
        (("--penta", "1,1,1,1,1", "--wdl", "10,0,0"), "contradict each other"),
        (("--penta", "1,1,1,1,1", "--wdl", "3,3,3"), "contradict each other"),
        (("--wdl", "1,2,3", "--elo0", "9"), "--elo0, --elo1: elo0 must be below elo1"),
        (
            ("--wdl", "1,2,3", "--alpha", "0"),
            "--alpha: alpha, beta and their sum must be between 0 and 1 (found alpha 0",
        ),
        (("--wdl", "1,2,3", "--beta", "1", "--elo0", "9"), ": --beta: alpha, beta and their sum"),
        (("--wdl", "1,2,3", "--beta", "nan"), ": --beta: alpha, beta and their sum"),
        (("--wdl", "1,2,3", "--alpha", "0.5", "--beta", "0.6"), ": --alpha, --beta: alpha, beta and their sum"),
    ],
)
def test_counts_that_are_not_valid(tmp_path: Path, words: tuple[str, ...], what: str) -> None:
    """Invalid counts and bounds are usage errors of one line."""
    done = tour(tmp_path, "sprt", *words, expect=2)
    assert what in done.stderr and done.stderr.count("\n") == 1
