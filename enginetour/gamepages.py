"""The pages of all games of a tournament, written into a folder by as many processes as there are processors.

Games are read and written some at a time, so memory does not grow with their number.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnContext, SpawnProcess
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path

from enginetour.errors import TourError
from enginetour.reports.html.gamepage import AT_ONCE, game_pages
from enginetour.reports.html.site import Site
from enginetour.review.games import game_rows
from enginetour.serveraddress import Address
from enginetour.store.reader import TournamentReader
from enginetour.store.tournaments import Store
from enginetour.supervise.strays import hear_parent_death

SHARE = AT_ONCE  # games that one process takes in turn
WORTH_ANOTHER = 300  # games; a second process takes 0.5 s to start, in which the first writes 150 (measured)
MOST = 8  # processes; beyond them the disk is what takes the time
_PATIENCE_S = 0.2


@dataclass(frozen=True, slots=True)
class _Shares:
    """Games up to the newest, dealt out some at a time to whichever process asks next."""

    newest: int
    size: int
    dealt: Synchronized[int]

    def __iter__(self) -> Iterator[tuple[int, int]]:
        while True:
            with self.dealt.get_lock():
                first = self.dealt.value + 1
                self.dealt.value += self.size
            if first > self.newest:
                return
            yield first, min(self.newest, first + self.size - 1)


@contextmanager
def game_writers(
    log: TournamentReader, folder: Path, site: Site, *, heed: Callable[[], None]
) -> Iterator[Callable[[], int]]:
    """``games/N.html`` in `folder` for every game up to the newest. OSError where the disk fails.

    Other processes begin at once, for there are other pages to make meanwhile. What is yielded writes beside them what
    is left then, and gives the number of all. `heed` is called every few games and while others still write; what it
    raises ends it.
    """
    (folder / "games").mkdir(exist_ok=True)
    newest = log.last_number
    number = max(1, min(MOST, len(os.sched_getaffinity(0)), newest // WORTH_ANOTHER))
    context = multiprocessing.get_context("spawn")
    shares = _Shares(newest, SHARE, context.Value("i", 0))
    with _others(log, folder, site, shares, context, number - 1) as others:

        def rest() -> int:
            count = _write(log, folder, site, shares, heed)
            for process, ours in others:
                while not ours.poll(_PATIENCE_S) and process.is_alive():
                    heed()
                count += _told(process, ours)
            return count

        yield rest


@contextmanager
def _others(
    log: TournamentReader, folder: Path, site: Site, shares: _Shares, context: SpawnContext, number: int
) -> Iterator[list[tuple[SpawnProcess, Connection]]]:
    """So many processes that write, too; they are gone when this ends, however it does.

    Started anew and not forked: whoever writes a report may have threads, and a database open.
    """
    running: list[tuple[SpawnProcess, Connection]] = []
    try:
        for _ in range(number):
            ours, theirs = context.Pipe(duplex=False)
            args = (log.database.path, log.name, log.edition, folder, site, shares, theirs)
            process = context.Process(target=_write_part, args=args, daemon=True)
            process.start()
            theirs.close()
            running.append((process, ours))
        yield running
    finally:
        for process, ours in running:
            process.kill()
            process.join()
            ours.close()


def _write_part(
    address: Address,
    name: str,
    edition: int,
    folder: Path,
    site: Site,
    shares: _Shares,
    told: Connection,
) -> None:
    """In a process of its own: what became of it is told, the number of pages or what went wrong."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is for who started us, with whom we end
    hear_parent_death(signal.SIGKILL)
    try:
        with Store.open(address, create=False, readonly=True) as store:
            told.send(_write(store.tournament(name, edition), folder, site, shares, lambda: None))
    except (OSError, TourError) as error:
        told.send(error)


def _told(process: SpawnProcess, ours: Connection) -> int:
    try:
        found: int | Exception = ours.recv()
    except EOFError as error:
        process.join()
        raise OSError(f"a process that wrote pages of games ended with {process.exitcode}") from error
    if isinstance(found, Exception):
        raise found
    return found


def _write(
    log: TournamentReader, folder: Path, site: Site, shares: Iterable[tuple[int, int]], heed: Callable[[], None]
) -> int:
    count = 0
    with _undisturbed():
        for first, last in shares:
            rows = game_rows(log, first, last)
            while some := list(islice(rows, AT_ONCE)):
                heed()
                for row, page in zip(some, game_pages(some, site), strict=True):
                    path = folder / "games" / f"{row.number}.html"
                    path.write_text(page, encoding="utf-8", newline="\n")
                count += len(some)
            gc.collect(0)
    return count


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Without the collector of cycles, which takes a quarter of the time (measured) and finds none but after shares."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()
