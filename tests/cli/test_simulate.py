"""`enginetour simulate` and `plan`: bubble cases against golden traces, comparisons, and formats for a night."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

from enginetour.cli.main import cli
from enginetour.cli.simulate import decisions
from enginetour.interop.bubblecase import trace_bubble
from enginetour.model.errors import InputRefused, TourError, UsageRefused
from enginetour.tournament.config.load import load
from tests.laws.bubble_cases import check_invariants
from tests.laws.bubble_oracle import MISREADINGS, oracle_trace
from tests.support.tournaments import unwrapped

# Cases played without engines, against golden traces made by the naive second bubble.

CASES = sorted((Path(__file__).parents[1] / "golden" / "bubble").glob("*.json"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_golden_traces(path: Path) -> None:
    """Decisions, order of games and colors of each case equal the golden trace."""
    case = json.loads(path.read_text("utf-8"))
    found = json.loads(json.dumps(trace_bubble(decisions(path.read_text("utf-8"), path.name))))
    assert found == case["expected"]
    assert list(found) == ["format", "steps", "ranking", "withdrawn", "games_total"]
    check_invariants(case, found)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_the_oracle_still_says_what_is_written(path: Path) -> None:
    """The second implementation of the rules gives the golden traces."""
    case = json.loads(path.read_text("utf-8"))
    assert oracle_trace(case) == case["expected"]


@pytest.mark.parametrize("misread", MISREADINGS)
def test_every_misreading_changes_a_golden_trace(misread: str) -> None:
    """Each misreading of a rule changes a golden trace."""

    def caught(path: Path) -> bool:
        case = json.loads(path.read_text("utf-8"))
        try:
            return bool(oracle_trace(case, misread) != case["expected"])
        except (AssertionError, IndexError, ValueError):
            return True

    assert any(caught(path) for path in CASES)


def test_bad_cases_name_their_file() -> None:
    """The error of an invalid case names its place."""
    with pytest.raises(InputRefused) as refusal:
        decisions({}, "x.json")
    assert str(refusal.value).startswith("x.json: format")


# The command `simulate`.

CASE = min((Path(__file__).parents[1] / "golden" / "bubble").glob("*.json"))
QUICK = Path(__file__).parents[2] / "configs" / "quickstart.toml"


def simulate(*words: str) -> str:
    result = CliRunner().invoke(cli, ["simulate", *words], catch_exceptions=False, standalone_mode=False)
    assert not result.return_value
    return result.stdout


def refused(kind: type[TourError], *words: str) -> str:
    with pytest.raises(kind) as refusal:
        simulate(*words)
    return str(refusal.value)


def test_systems_side_by_side() -> None:
    """--compare prints a line per system with errors within 80 columns; JSON and CSV have all numbers."""
    words = (
        "--compare",
        "roundrobin, entropy:placement=['PTS','SOS']:model=gor",
        "--entrants",
        "6",
        "--rounds",
        "3",
        "--fields",
        "5",
    )
    text = simulate(*words)
    assert text.startswith("5 fields of 6 engines, 3 rounds, strengths ± 150, noise 150\n")
    assert "entropy:placement=['PTS','SOS']:model=gor over roundrobin: by table" in " ".join(text.split())
    rows = unwrapped(simulate(*words, "--json"))
    assert [row["system"] for row in rows] == ["roundrobin", "entropy:placement=['PTS','SOS']:model=gor"]
    assert [row["games"] for row in rows] == [15, 9]
    assert f"{rows[0]['tau_table']:.3f}±{rows[0]['tau_table_error']:.3f}" in text
    head, first, _ = simulate(*words, "--csv").splitlines()
    assert first.split(",")[head.split(",").index("tau_fit")] == str(rows[0]["tau_fit"])


def test_a_configuration_without_its_engines() -> None:
    """A configuration gives games, accuracy and time; the expected number of games is within its bounds."""
    text = simulate(str(QUICK), "--fields", "4")
    assert text.startswith("quickstart: 4 simulations, random strengths ± 150")
    for word in ("games, at least", "games, expected", "games, at most", "time, expected", "tau by table"):
        assert word in text
    found = unwrapped(simulate(str(QUICK), "--fields", "4", "--json"))
    assert found["fewest"] <= found["games"] <= found["most"]
    assert found["hours"] > 0


def test_a_rated_configuration(tmp_path: Path) -> None:
    """With ratings, strengths are the ratings, and --spread is an error."""
    entrants = "".join(f'[[entrants]]\nengine = "wren{n}"\nrating = {1000 * n}\n' for n in (4, 3, 2, 1))
    config = tmp_path / "rated.toml"
    config.write_text(
        f'[tournament]\nname = "rated"\n[format]\nsystem = "roundrobin"\n[play]\ntc = "depth=1"\n{entrants}', "utf-8"
    )
    text = simulate(str(config), "--fields", "10")
    assert "strengths as rated, noise 0" in text and "time, expected" not in text
    assert unwrapped(simulate(str(config), "--fields", "10", "--json"))["tau_fit"] == 1
    assert "--spread: has no effect" in refused(UsageRefused, str(config), "--spread", "100")


def test_a_case() -> None:
    """JSON of a case is its trace."""
    case = json.loads(CASE.read_text("utf-8"))
    assert unwrapped(simulate("--case", str(CASE), "--json")) == case["expected"]
    assert "ranking, best first: " in simulate("--case", str(CASE))


@pytest.mark.parametrize("case", ["mixed-1.json", "everybody-withdraws.json", "empty.json"])
def test_the_text_of_a_case_has_all_of_its_trace(case: str) -> None:
    """The text of a case has each decision with rule, reason and parked engines."""
    path = CASE.parent / case
    expected = json.loads(path.read_text("utf-8"))["expected"]
    blocks = re.split(r"^ *(?=[0-9]+  )", simulate("--case", str(path)), flags=re.MULTILINE)[1:]
    assert len(blocks) == len(expected["steps"])
    for block, step in zip(blocks, expected["steps"], strict=True):
        assert block.startswith(f"{step['step']}  ")
        replacements = [left["replacement"] for left in step["withdrawals"] if left["replacement"]]
        for entry in [*step["entered"], *replacements]:
            assert re.search(rf"\b{entry['engine']}\b.* \(rule {entry['rule']}\)", block)
        assert f"parked: {', '.join(step['parked']) or 'none'}" in block
        assert f"({step['decision']['reason']}), {step['games_total']} games" in block


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "found none"),
        (("--case", "x.json", "--compare", "dutch"), "found --case and --compare"),
        (("--case", str(CASE), "--fields", "3"), "--fields: has no effect with --case"),
        (("--case", str(CASE), "--csv"), "--csv: has no effect with --case"),
        ((str(QUICK), "--rounds", "3"), "--rounds: has no effect with CONFIG"),
        (("--compare", "dutc"), "did you mean 'dutch'?"),
    ],
)
def test_what_cannot_be_asked(words: tuple[str, ...], told: str) -> None:
    """Exactly one of CONFIG, --case and --compare is needed; options without effect are errors."""
    assert told in refused(UsageRefused, *words)


def test_a_case_that_is_not_there() -> None:
    """The error of a missing case names the file."""
    assert "nosuch.json: cannot be read" in refused(InputRefused, "--case", "nosuch.json")


# `enginetour plan`.

SHORT = "--hours 0.04 --tc 1+0.01 --processes 1 --fields 2"
THREE = "--engine wren1 --engine wren2 --engine wren3"


@pytest.fixture(autouse=True)
def _workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "results").mkdir()
    monkeypatch.chdir(tmp_path)


def plan(words: str) -> str:
    result = CliRunner().invoke(cli, ["plan", *shlex.split(words)], catch_exceptions=False, standalone_mode=False)
    assert not result.return_value
    return result.stdout


def refused_plan(words: str) -> str:
    with pytest.raises(TourError) as refusal:
        plan(words)
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


def test_a_night_of_unknown_engines() -> None:
    """The table has a row for each format within 80 columns; the best row becomes a valid configuration."""
    text = plan(f"--entrants 6 --goal top=2 {SHORT} -o night.toml")
    lines = text.splitlines()
    assert lines[0] == "6 engines, 2 min, 1 concurrent game, 1+0.01, unknown ratings, ± 150"
    head = next(number for number, line in enumerate(lines) if line.startswith("system"))
    assert max(map(len, lines[head : head + 5])) <= 80
    assert "night.toml written" in text and "--engine ID" in text
    best = lines[head + 1].split()[0]
    made = load(Path("night.toml"))
    assert (made.system, made.tournament.name, made.play.tc) == (best, "night", "1+0.01")
    assert len(made.entrants) == 6
    assert CliRunner().invoke(cli, ["simulate", "night.toml", "--fields", "2"]).exit_code == 0


def test_numbers_for_programs() -> None:
    """JSON has the night, each proposal with its figures, and the settings of its format."""
    found = unwrapped(plan(f"{THREE} --goal error=30 --concurrency 2 {SHORT} --json"))
    assert found["night"]["entrants"] == 3
    assert found["night"]["games"] == int(0.04 * 3600 * 2 / found["night"]["game_seconds"])
    best, *others = found["proposals"]
    assert best["simulations"] == 2
    assert best["games_low"] <= best["games"] <= best["games_high"]
    assert best["hours"] == pytest.approx(best["games"] * found["night"]["game_seconds"] / 7200)
    assert all(best["figure"] <= other["figure"] for other in others)


def test_an_existing_configuration() -> None:
    """Entrants, ratings and other settings of the configuration stay; the format is new."""
    Path("old.toml").write_text(
        '[tournament]\nname = "old"\nrating_scale = "elo"\n[format]\nsystem = "bubble"\n[play]\ntc = "2+0.02"\n'
        "resign = { movecount = 4, score = 600 }\n[report]\nwrite = false\n"
        + "".join(f'[[entrants]]\nengine = "wren{n}"\nrating = {1800 + 50 * n}\n' for n in (5, 4, 3, 2)),
        "utf-8",
    )
    text = plan("old.toml --hours 0.04 --processes 1 --fields 2 --goal los=0.9 -o new.toml")
    assert text.startswith("4 engines, 2 min, 1 concurrent game, 2+0.02, ratings ± 50\n")
    assert "mcmahon" in text
    old, new = load(Path("old.toml")), load(Path("new.toml"))
    assert (new.tournament.name, new.play, new.report) == ("new", old.play, old.report)
    assert [one.rating for one in new.entrants] == [one.rating for one in old.entrants]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--hours 1", "needs exactly one of --entrants, --engine and CONFIG (found none). Hint: "),
        ("--hours 1 --entrants 3 --engine wren1", "found --entrants and --engine"),
        ("--hours 1 --engine wren1", "at least two engines (found 1)"),
        ("--hours 0.001 --entrants 3", "--hours: the hours are too short for one game, which takes about "),
        ("--hours 0.01 --entrants 12", "--hours: the hours allow 1 game, too few for any format. Hint: use at least "),
        ("--hours 1 --entrants 3 --goal best", "--goal: unknown goal 'best'. Hint: use top=3, los=0.95"),
        ("--hours 1 --entrants 3 --tc depth=1", "--tc: the duration of a game with depth=1 is unknown"),
        ("--hours 1 --engine wren1 --engine wren2 --ratings known", "the rating of Wren 1 is not known"),
        ("--hours 1 --entrants 3 --list year", "--list: has no effect without the names of engines"),
        (f"--hours 1 {THREE} --list year", "results/enginetour.db: "),
        ("--hours 1 --entrants 3 -o results/old.toml", "results/old.toml: already exists"),
    ],
)
def test_what_cannot_be_planned(words: str, told: str) -> None:
    """Each error is one line with the next step, before any simulation."""
    Path("results/old.toml").write_text("", "utf-8")
    assert told in refused_plan(words)


def test_figures_do_not_depend_on_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes give the same figures as one."""
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))  # otherwise, the processes import pytest
    words = "--entrants 3 --hours 0.02 --tc 1+0.01 --fields 1 --json"
    assert plan(f"{words} --processes 2") == plan(f"{words} --processes 1")


def test_ratings_at_quantiles() -> None:
    """With known ratings, the entrants of the configuration have ratings around 2000, best first."""
    plan(f"--entrants 4 --ratings known --spread 100 {SHORT} -o night.toml")
    ratings = [entrant.rating or 0.0 for entrant in load(Path("night.toml")).entrants]
    assert ratings == sorted(ratings, reverse=True)
    assert sum(ratings) / 4 == pytest.approx(2000)
    assert re.search(r"^# Expected: \d+ games", Path("night.toml").read_text("utf-8"), re.MULTILINE)
