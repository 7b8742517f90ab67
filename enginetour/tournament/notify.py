"""Notifications of a run: a command, a webhook or apprise services, sent by a thread of their own.

What engines say reaches a command by its stdin and environment only, never its command line, and no shell. Nothing
here can hold up or harm a tournament: a queue that is full drops, and each channel's failure is told once.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from queue import Full, Queue
from typing import Any

from enginetour import __version__
from enginetour.engines.process import unblock_signals
from enginetour.tournament.config.sections import NotifySection

COMMAND_S = 30.0  # then it is killed with all it started: long enough for a mail program that asks a slow server
WEBHOOK_S = 10.0  # for each step of the talk
MOST_WAITING = 100  # events not yet delivered: more than a night should bring
QUIET_S = 600.0  # between two notices of one kind about one engine: six an hour of one that loses every game
ENDS = ("finished", "stopped")
FAREWELL_S = 15.0  # for the last event of a run: one slow webhook, or two that answer
_HURRIED_S = 0.5  # of the 3 s in which a run that is told twice to stop is gone (reliability spec 3)
_LONGEST_VARIABLE = 1000  # characters; the kernel takes 128 KB (execve(2)), the whole event is on stdin

Event = Mapping[str, object]
Send = Callable[[Event], None]


class NotifyFailed(Exception):
    """A channel did not take an event; the words say why."""


def channels(section: NotifySection, folder: Path) -> dict[str, Send]:
    """How each channel of a section is told; a relative command is looked for in `folder`."""
    ways: dict[str, Send] = {
        "command": lambda event: send_to_command(section.command, event, folder),
        "webhook": lambda event: send_to_webhook(section.webhook or "", event),
        "apprise": lambda event: send_to_apprise(section.apprise, event),
    }
    return {name: ways[name] for name in section.channels()}


def send_to_command(command: tuple[str, ...], event: Event, folder: Path) -> None:
    """Run it with the event as JSON on stdin and as ENGINETOUR_* variables; NotifyFailed unless it exits with 0."""
    program = _program(command, folder)
    try:
        process = subprocess.Popen(
            [program, *command[1:]],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **_variables(event)},
            start_new_session=True,  # Ctrl-C is for the tournament; and so it can be killed with its children
        )
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise NotifyFailed(f"{program}: {why}") from None
    try:
        process.communicate(json.dumps(event).encode() + b"\n", timeout=COMMAND_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # not waited for yet, so the number is still its own
        process.wait()
        raise NotifyFailed(f"{program}: no end within {COMMAND_S:g} s") from None
    if process.returncode:
        raise NotifyFailed(f"{program}: exit {process.returncode}")


def command_fault(section: NotifySection, folder: Path) -> str:
    """A sentence where the command of the section cannot be started, as the end of a night would find out."""
    if not section.command or shutil.which(program := _program(section.command, folder)):
        return ""
    return f"notify command: no program {program}, nobody will be told"


def _program(command: tuple[str, ...], folder: Path) -> str:
    return str(folder / command[0]) if "/" in command[0] else command[0]


def send_to_webhook(url: str, event: Event) -> None:
    """POST the event as JSON; NotifyFailed unless the answer is a 2xx. A redirection is not followed."""
    headers = {"Content-Type": "application/json", "User-Agent": f"enginetour/{__version__}"}
    request = urllib.request.Request(url, json.dumps(event).encode(), headers, method="POST")  # noqa: S310  http only
    try:
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=WEBHOOK_S):
            pass
    except urllib.error.HTTPError as error:
        error.close()
        raise NotifyFailed(f"answered {error.code}") from None
    except (OSError, ValueError) as error:  # no such host, refused, silent, no HTTP
        raise NotifyFailed(str(getattr(error, "reason", error))) from None


def send_to_apprise(urls: tuple[str, ...], event: Event) -> None:
    """Hand the sentence to the services; NotifyFailed if one did not take it, or the extra is not installed."""
    try:
        import apprise
    except ImportError:
        raise NotifyFailed("the package is not here; pip install 'enginetour[apprise]'") from None
    services = apprise.Apprise()
    for url in urls:
        if not services.add(url):
            raise NotifyFailed(f"{url.partition(':')[0]}: no address that apprise knows")  # the rest may be a secret
    title = f"enginetour: {event['tournament']}"
    if not services.notify(body=str(event["text"]), title=title, body_format=apprise.NotifyFormat.TEXT):
        raise NotifyFailed("a service did not take it")


class Notifier:
    """Delivers the events of a section from its making to `close`; `complain` hears of each channel's trouble once."""

    def __init__(self, section: NotifySection, folder: Path, complain: Callable[[str], None]) -> None:
        self._wanted = section.on
        self._channels = channels(section, folder)
        self._complain = complain
        self._failing: set[str] = set()
        self._closing = False
        self._told: dict[tuple[object, object], float] = {}
        self._queue: Queue[Event | None] = Queue(MOST_WAITING)
        self._thread = threading.Thread(target=self._deliver, name="notify", daemon=True)
        self._thread.start()

    def __call__(self, event: Event) -> None:
        """Take an event if it is asked for; never waits."""
        kind = event["event"]
        if kind not in self._wanted:
            return
        about, now = (kind, event.get("engine")), time.monotonic()
        if kind not in ENDS and now - self._told.get(about, -QUIET_S) < QUIET_S:
            return
        self._told[about] = now
        with suppress(Full):
            self._queue.put_nowait(event)

    def close(self, hurry: Callable[[], bool] = lambda: False) -> None:
        """Deliver what is left for a while, a short one once in a `hurry`; a command that still runs ends by itself."""
        begun = time.monotonic()
        self._closing = True
        with suppress(Full):
            self._queue.put_nowait(None)
        while self._thread.is_alive() and time.monotonic() - begun < (_HURRIED_S if hurry() else FAREWELL_S):
            self._thread.join(0.1)

    def _deliver(self) -> None:
        unblock_signals()  # else the commands that it starts would hear no SIGTERM
        while not (self._closing and self._queue.empty()) and (event := self._queue.get()) is not None:
            for name, send in self._channels.items():
                try:
                    send(event)
                    self._failing.discard(name)
                except Exception as error:  # of ours, or of a service's package: a notice is lost, and nothing else
                    if name not in self._failing:
                        self._failing.add(name)
                        self._complain(f"notify {name} failed: {error}; enginetour check CONFIG --notify tries it")


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        """None: the redirection itself is the answer."""
        return


def _variables(event: Event) -> dict[str, str]:
    """ENGINETOUR_EVENT, ENGINETOUR_TEXT, ...: plain values as printable text."""
    plain = {key: value for key, value in event.items() if isinstance(value, str | int | float)}
    texts = {key: "".join(sign if sign.isprintable() else " " for sign in str(value)) for key, value in plain.items()}
    return {f"ENGINETOUR_{key.upper()}": text[:_LONGEST_VARIABLE] for key, text in texts.items()}
