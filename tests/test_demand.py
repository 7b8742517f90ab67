"""Processors that games want, and engines that do not ponder although they were to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from enginetour.demand import shortage, silent_ponderers, threads, wanted
from enginetour.task import Declared, EngineSpec, Quirks, Side
from enginetour.timecontrol import TimeControl
from tests.touring import config, tour


def side(count: str = "", *, ponder: bool = False, protocol: str = "uci", delay: int = 0) -> Side:
    options = (("threads", count),) if count else ()
    quirks = Quirks(line_delay_ms=delay)
    spec = EngineSpec("E", ("/e",), protocol, options=options, quirks=quirks, ponder=ponder)  # type: ignore[arg-type]
    return Side(spec, TimeControl.parse("1"))


@pytest.mark.parametrize(
    ("sides", "slots", "expected"),
    [
        ([side(), side()], 1, 1),
        ([side("4"), side("2"), side()], 2, 8),
        ([side("4", ponder=True), side("2", ponder=True), side("1", ponder=True)], 1, 6),
        ([side("4"), side("2", ponder=True)], 3, 18),
        ([side("2", ponder=True), side("1")], 1, 3),
        ([side("2")], 1, 2),
    ],
)
def test_the_hungriest_pair_counts(sides: list[Side], slots: int, expected: int) -> None:
    """One thinks; the other takes its threads only if it ponders."""
    assert wanted(sides, slots) == expected
    assert not list(shortage(sides, slots, expected))
    assert f"games want {expected} processors" in next(shortage(sides, slots, expected - 1))


def test_threads_are_read_from_options() -> None:
    """A word that is no number is for others to refuse."""
    assert [threads(side(text)) for text in ("", "8", "x", "0")] == [1, 8, 1, 1]


def test_who_will_not_ponder_is_told() -> None:
    """UCI engines without the option, and readers of single lines; CECP engines hear `hard`."""
    option = [Declared("Ponder", "check", "false")]
    assert next(silent_ponderers(side(ponder=True), [])) == "E does not ponder: it declares no option Ponder"
    assert "line_delay_ms" in next(silent_ponderers(side(ponder=True, delay=5), option))
    unwilling = side(ponder=True)
    unwilling = replace(unwilling, spec=replace(unwilling.spec, options=(("PONDER", "False"),)))
    assert next(silent_ponderers(unwilling, option)) == "E does not ponder: its options say Ponder = false"
    assert not list(silent_ponderers(side(ponder=True), option))
    assert not list(silent_ponderers(side(), []))
    assert not list(silent_ponderers(side(ponder=True, protocol="cecp"), []))


def test_check_tells_both(tmp_path: Path) -> None:
    """Wren 3 speaks UCI and declares no Ponder; a thousand slots want two thousand processors then."""
    more = '\n[[entrants]]\nengine = "wren3"\nponder = true\n'
    path = config(tmp_path, ("wren1",), "roundrobin", "", more, tc='1"\nslots = 1000\n#')
    told = tour(tmp_path, "check", str(path)).stdout
    assert "warning: Wren 3 does not ponder: it declares no option Ponder" in told
    assert "games want 2000 processors at once by slots, threads and pondering" in told
