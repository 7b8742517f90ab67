"""Notifications of a run: a command, a webhook, apprise services or plug-ins, sent by their own thread.

Output of engines reaches a command only by its stdin and environment, never by its command line or a shell. Nothing
here can delay or harm a tournament: a full queue drops events, and the failure of a channel is reported once.
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
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import Full, Queue
from typing import Any

from pydantic import BaseModel

from enginetour import __version__
from enginetour.engines.process import unblock_signals
from enginetour.model.errors import TourError
from enginetour.model.plugins import Registry
from enginetour.tournament.config.sections import NotifySection

COMMAND_S = 30.0  # seconds until a command and its children are killed; a slow mail server may need long
WEBHOOK_S = 10.0  # seconds for each step of the connection
MOST_WAITING = 100  # undelivered events; a usual run does not produce more
QUIET_S = 600.0  # seconds between two notices of the same kind about the same engine: at most six per hour
ENDS = ("finished", "stopped")
FAREWELL_S = 15.0  # seconds for the last event of a run: one slow webhook, or two fast ones
_HURRIED_S = 0.5  # seconds for it after a second stop, when a run must end within 3 s (reliability spec 3)
_LONGEST_VARIABLE = 1000  # characters; the kernel limits a variable to 128 KB (execve(2)); stdin has the whole event

Event = Mapping[str, object]
Send = Callable[[Event], None]


class NotifyFailed(Exception):
    """A channel did not accept an event. The text contains the reason."""


@dataclass(frozen=True, slots=True)
class Channel:
    """A way to send events.

    `send` gets the settings of the channel, the event, and the directory of the configuration. It raises NotifyFailed
    if the event was not accepted. `settings` is the pydantic model of the settings of a plug-in. `example` has settings
    for the laws of `enginetour.testing`, which send random events with a temporary directory.
    """

    send: Callable[[Any, Event, Path], None]
    settings: type[BaseModel] = BaseModel
    example: Any = None


def channels(section: NotifySection, folder: Path) -> dict[str, Send]:
    """Return the send function of each channel. The path of a relative command starts at the directory `folder`."""
    return {name: partial(_send, name, settings, folder) for name, settings in section.channels().items()}


def _send(name: str, settings: Any, folder: Path, event: Event) -> None:
    try:
        NOTIFIERS[name].send(settings, event, folder)
    except (NotifyFailed, TourError):
        raise
    except Exception as error:  # a plug-in may raise anything: only the notification is lost
        raise NotifyFailed(f"{type(error).__name__}: {error}") from error


def send_to_command(command: tuple[str, ...], event: Event, folder: Path) -> None:
    """Run a command with the event as JSON on stdin and in ENGINETOUR_* variables. Raise NotifyFailed if it fails."""
    program = _program(command, folder)
    try:
        process = subprocess.Popen(
            [program, *command[1:]],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **_variables(event)},
            start_new_session=True,  # Ctrl-C then does not reach it, and it can be killed with its children
        )
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise NotifyFailed(f"{program}: {why}") from None
    try:
        process.communicate(json.dumps(event).encode() + b"\n", timeout=COMMAND_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # it has not been waited for, so its number is not reused
        process.wait()
        raise NotifyFailed(f"{program}: did not end within {COMMAND_S:g} s") from None
    if process.returncode:
        raise NotifyFailed(f"{program}: exit {process.returncode}")


def command_fault(section: NotifySection, folder: Path) -> str:
    """Return a warning if the command of the section cannot be started, or "" if it can be started."""
    if not section.command or shutil.which(program := _program(section.command, folder)):
        return ""
    return f"notify command: program {program} not found; notifications will fail"


def _program(command: tuple[str, ...], folder: Path) -> str:
    return str(folder / command[0]) if "/" in command[0] else command[0]


def send_to_webhook(url: str, event: Event) -> None:
    """POST the event as JSON. Raise NotifyFailed if the response is not a 2xx. Redirects are not followed."""
    headers = {"Content-Type": "application/json", "User-Agent": f"enginetour/{__version__}"}
    request = urllib.request.Request(url, json.dumps(event).encode(), headers, method="POST")  # noqa: S310  http only
    try:
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=WEBHOOK_S):
            pass
    except urllib.error.HTTPError as error:
        error.close()
        raise NotifyFailed(f"HTTP status {error.code}") from None
    except (OSError, ValueError) as error:  # unknown host, connection refused, timeout, or not HTTP
        raise NotifyFailed(str(getattr(error, "reason", error))) from None


def send_to_apprise(urls: tuple[str, ...], event: Event) -> None:
    """Send the text of an event to apprise services.

    Raise NotifyFailed if a service does not accept it, or if the package apprise is not installed.
    """
    try:
        import apprise
    except ImportError:
        raise NotifyFailed("the package apprise is not installed: pip install 'enginetour[apprise]'") from None
    services = apprise.Apprise()
    for url in urls:
        if not services.add(url):
            raise NotifyFailed(f"{url.partition(':')[0]}: not a valid apprise URL")  # the rest may be a secret
    title = f"enginetour: {event['tournament']}"
    if not services.notify(body=str(event["text"]), title=title, body_format=apprise.NotifyFormat.TEXT):
        raise NotifyFailed("a service did not accept the event")


CONTRACT = 1  # version of the contract of a notifier, for plug-ins
_UNUSED = "http://127.0.0.1:9"  # usually nothing answers there: the port of the protocol discard (RFC 863)
_OWN = {
    "command": Channel(send_to_command, example=("cat",)),
    "webhook": Channel(lambda url, event, _: send_to_webhook(url, event), example=_UNUSED),
    "apprise": Channel(lambda urls, event, _: send_to_apprise(urls, event)),
}
NOTIFIERS = Registry("enginetour.notifiers", Channel, CONTRACT, _OWN)


class Notifier:
    """Delivers events to the channels of a section until `close`. `complain` reports a failing channel once."""

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
        """Queue an event if the section selects its kind. This does not wait."""
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
        """Deliver queued events for a limited time, which is shorter if `hurry` returns true. Do not end a command."""
        begun = time.monotonic()
        self._closing = True
        with suppress(Full):
            self._queue.put_nowait(None)
        while self._thread.is_alive() and time.monotonic() - begun < (_HURRIED_S if hurry() else FAREWELL_S):
            self._thread.join(0.1)

    def _deliver(self) -> None:
        unblock_signals()  # otherwise the started commands would not receive SIGTERM
        while not (self._closing and self._queue.empty()) and (event := self._queue.get()) is not None:
            for name, send in self._channels.items():
                try:
                    send(event)
                    self._failing.discard(name)
                except (NotifyFailed, TourError) as error:
                    if name not in self._failing:
                        self._failing.add(name)
                        self._complain(f"notify {name} failed: {error}; test it with enginetour check CONFIG --notify")


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Return None, so that the redirect itself is the response."""
        return


def _variables(event: Event) -> dict[str, str]:
    """Return ENGINETOUR_EVENT, ENGINETOUR_TEXT, ...: simple values as printable text."""
    plain = {key: value for key, value in event.items() if isinstance(value, str | int | float)}
    texts = {key: "".join(sign if sign.isprintable() else " " for sign in str(value)) for key, value in plain.items()}
    return {f"ENGINETOUR_{key.upper()}": text[:_LONGEST_VARIABLE] for key, text in texts.items()}
