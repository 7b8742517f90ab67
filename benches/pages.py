"""Effect of open live pages on games: overhead per move and latency, without pages and with many.

The server is `enginetour serve`. The pages are connections of one other process, which reads everything. The cost of
browsers is not measured, because they rarely run on the machine that plays.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from urllib.request import urlopen

from benches import free
from benches.measure import Settings, against
from benches.runners import CONFIG
from tests.support.tournaments import entrant

THINK_MS = 10
LINES = 10  # info lines per move
INCREMENT_MS = 1000
TC = "60+1"
GAMES = 4  # per round, with 118 plies each
PAGES = (0, 1, 20)
READERS = """\
import asyncio, sys
async def read(host, port):
    while True:
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(b"GET /t/bout/events HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n")
        if b" 200 " in await reader.readline():
            while await reader.read(65536):
                pass
        writer.close()
        await asyncio.sleep(0.2)
async def main():
    await asyncio.gather(*(read("127.0.0.1", int(sys.argv[1])) for _ in range(int(sys.argv[2]))))
asyncio.run(main())
"""


def pages(settings: Settings, program: tuple[str, ...]) -> Iterator[str]:
    """Measure in turn with no page (and no server), with one page and with twenty."""
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for number in range(settings.rounds):
        for count in PAGES:
            folder = settings.folder / f"pages-{number}-{count}"
            name = f"{count} open pages"
            stamps = folder / "stamps"
            with _open_pages(folder, program, count):
                _run(folder, "bout", free.command(program, stamps, lines=LINES, think_ms=THINK_MS), GAMES)
            errors = free.overcharges(stamps, INCREMENT_MS)
            found["overhead, median"][name].append(median(errors))
            found["overhead, 99th percentile"][name].append(quantiles(errors, n=100)[-1])
            found["latency"][name].append(median(free.relay_gaps(stamps)))
    yield f"games with open pages, {THINK_MS} ms per move, {LINES} info lines"
    for measure, values in found.items():
        yield from against(f"  {measure}", values, ratio=False)


def _run(folder: Path, name: str, words: list[str], games: int) -> None:
    one, other = free.NAMES
    config = CONFIG.replace('"bout"', json.dumps(name)).format(games=games, limit=TC, slots=1)
    config += "".join(entrant(each, words) for each in (one, other))
    (folder / f"{name}.toml").write_text(config, "utf-8")
    command = [sys.executable, "-m", "enginetour", "run", f"{name}.toml", "--force"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


@contextmanager
def _open_pages(folder: Path, program: tuple[str, ...], count: int) -> Iterator[None]:
    """Serve a database with a finished match to this number of readers."""
    (folder / "results").mkdir(parents=True)
    _run(folder, "before", free.command(program, folder / "before"), 2)
    if not count:
        yield
        return
    serve = [sys.executable, "-u", "-m", "enginetour", "serve", "--port", "0"]
    with subprocess.Popen(serve, cwd=folder, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = next(line for line in server.stdout if line.startswith("http")).split()[0]
        urlopen(f"{url}t/before/live.html").read()  # loads all modules for a page
        port = url.rpartition(":")[2].strip("/")
        with subprocess.Popen([sys.executable, "-c", READERS, port, str(count)]) as readers:
            time.sleep(1.0)
            yield
            readers.kill()
        server.terminate()
