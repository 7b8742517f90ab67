"""Engines whose files were replaced since their fingerprint was taken: between two runs, or while one goes on.

A tester who compiles at midnight has another engine under the same name; what it plays must not count for the old one.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from enginetour.engines.identity import State, state, taken
from enginetour.model.errors import EngineRefused, InputRefused
from enginetour.model.task import EngineSpec


def refusal(names: Iterable[str], place: str) -> InputRefused:
    """What to do about engines that are not what they were; the same words at a resume and in a run."""
    what = f"changed since the last game: {', '.join(names)} (binary, net or options)"
    step = "put it back, go on with run --accept-change, or enginetour replace OLD NEW"
    return InputRefused(what, place=place, step=step)


def new_fingerprint(spec: EngineSpec) -> str | None:
    """That of its files now, where it is another; None too where they cannot be read: its next start tells that."""
    try:
        now = taken(spec)[0]
    except EngineRefused:
        return None
    return now if spec.fingerprint and now != spec.fingerprint else None


class Files:
    """The files of the engines of one run, looked at before each game: a `stat` for each, microseconds in all.

    A game that began before a change counts: its engines had been started, or were about to be.
    """

    def __init__(self, place: str) -> None:
        self._place = place
        self._seen: dict[str, tuple[str, dict[str, State]]] = {}  # name -> fingerprint, files it was found in

    def refuse_changed(self, *specs: EngineSpec) -> None:
        """InputRefused when one is not the engine its fingerprint tells of; touched files are read again, no more."""
        changed = [self._described(spec) for spec in specs if not self._is_known(spec) and not self._is_same(spec)]
        if changed:
            raise refusal(changed, self._place)

    def _is_known(self, spec: EngineSpec) -> bool:
        """Nothing has been written since it was last found to be the same."""
        fingerprint, files = self._seen.get(spec.name, ("", {}))
        try:
            return fingerprint == spec.fingerprint and all(state(path) == then for path, then in files.items())
        except OSError:
            return False

    def _described(self, spec: EngineSpec) -> str:
        """Its name, with what is no longer there: without its net or script an engine would start as another one."""
        gone = [path for path in self._seen.get(spec.name, ("", {}))[1] if not Path(path).exists()]
        return f"{spec.name} ({' and '.join(gone)} {'is' if len(gone) == 1 else 'are'} gone)" if gone else spec.name

    def _is_same(self, spec: EngineSpec) -> bool:
        try:
            fingerprint, files = taken(spec)
        except EngineRefused:  # it vanished, or is being written: the start fails, and the game is played again
            self._seen.pop(spec.name, None)
            return True
        if spec.fingerprint and fingerprint != spec.fingerprint:
            return False
        self._seen[spec.name] = spec.fingerprint, files
        return True
