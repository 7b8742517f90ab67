"""How much more than its thought an engine is charged, through several runners, with one game and with several at once.

The engine thinks 10 to 11 ms, all fractions alike, says info lines meanwhile and stamps its own thought; what it was
charged is what its clock lost from one `go` to the next. Charges are cut to whole ms, so a runner that adds nothing
shows -0.5 ms.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from statistics import median, quantiles

from benches import free
from benches.measure import Settings, against
from benches.runners import Bout, present, silent

THINK_MS = 10
LINES = 10  # info lines a move
EACH = 2  # games a round at least
INCREMENT_MS = 1000
TC = "60+1"


def clocks(settings: Settings, program: tuple[str, ...]) -> Iterator[str]:
    """Median and 99th percentile of every round."""
    one, other = free.NAMES
    for slots in settings.at_once:
        middle: dict[str, list[float]] = defaultdict(list)
        worst: dict[str, list[float]] = defaultdict(list)
        for number in range(settings.rounds):
            for name, runner in present().items():
                folder = settings.folder / f"clock-{slots}-{number}-{name}"
                words = free.command(program, folder / "stamps", lines=LINES, think_ms=THINK_MS)
                runner(Bout(((one, words), (other, words)), TC, max(EACH, slots), slots), folder / "ran")
                errors = free.overcharges(folder / "stamps", INCREMENT_MS)
                middle[name].append(median(errors))
                worst[name].append(quantiles(errors, n=100)[-1])
        yield f"charge beyond a thought of {THINK_MS} ms with {LINES} info lines, games at once: {slots}"
        yield from against("  median", middle, ratio=False)
        yield from against("  99th percentile", worst, ratio=False)
    if told := silent():
        yield told
