"""Time that runners charge an engine in addition to its thinking time, with one and with several concurrent games.

The engine thinks for 10 to 11 ms (uniformly distributed), sends info lines meanwhile and records its thinking time. The
charged time is the difference of its clock between two `go` commands. It is truncated to whole milliseconds, so a
runner without overhead shows -0.5 ms.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from statistics import median, quantiles

from benches import free
from benches.measure import Settings, against
from benches.runners import Bout, missing_peers, present

THINK_MS = 10
LINES = 10  # info lines per move
EACH = 2  # games per round, at least
INCREMENT_MS = 1000
TC = "60+1"


def clocks(settings: Settings, program: tuple[str, ...]) -> Iterator[str]:
    """Measure the median and the 99th percentile of each round."""
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
        yield f"overhead per move of {THINK_MS} ms with {LINES} info lines, concurrent games: {slots}"
        yield from against("  median", middle, ratio=False)
        yield from against("  99th percentile", worst, ratio=False)
    if note := missing_peers():
        yield note
