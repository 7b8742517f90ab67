"""Cases played without engines, against golden traces made by the naive second bubble."""

import json
from pathlib import Path

import pytest

from enginetour.cli.simulate import decisions
from enginetour.interop.bubblecase import trace
from enginetour.model.errors import InputRefused
from tests.laws.bubble_cases import check_invariants
from tests.laws.bubble_oracle import MISREADINGS, oracle_trace

CASES = sorted((Path(__file__).parent / "golden" / "bubble").glob("*.json"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_golden_traces(path: Path) -> None:
    """Every decision, every game in order and every colour is as written."""
    case = json.loads(path.read_text("utf-8"))
    found = json.loads(json.dumps(trace(decisions(path.read_text("utf-8"), path.name))))
    assert found == case["expected"]
    assert list(found) == ["format", "steps", "ranking", "withdrawn", "games_total"]
    check_invariants(case, found)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_the_oracle_still_says_what_is_written(path: Path) -> None:
    """Golden texts and the naive reading of the rules belong together."""
    case = json.loads(path.read_text("utf-8"))
    assert oracle_trace(case) == case["expected"]


@pytest.mark.parametrize("misread", MISREADINGS)
def test_every_misreading_changes_a_golden_trace(misread: str) -> None:
    """A bubble that reads this rule wrongly would be caught by the golden cases."""

    def caught(path: Path) -> bool:
        case = json.loads(path.read_text("utf-8"))
        try:
            return bool(oracle_trace(case, misread) != case["expected"])
        except (AssertionError, IndexError, ValueError):
            return True

    assert any(caught(path) for path in CASES)


def test_bad_cases_name_their_file() -> None:
    """The place given is the place told."""
    with pytest.raises(InputRefused) as refusal:
        decisions({}, "x.json")
    assert str(refusal.value).startswith("x.json: format")
