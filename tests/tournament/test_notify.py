"""Tests of notifications, and that they cannot harm a run."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from enginetour.tournament import notify
from enginetour.tournament.config.sections import NotifySection
from enginetour.tournament.notify import Notifier, NotifyFailed, send_to_apprise, send_to_command, send_to_webhook
from tests.support.tournaments import config, tour

EVENT = {"event": "incident", "tournament": "autumn", "engine": "X", "game": 7, "remaining": [1, 2], "text": "words"}
KEEP = "import os, sys; open(sys.argv[1], 'a').write(sys.stdin.read() + repr(dict(os.environ)) + repr(sys.argv))"


class Hook(HTTPServer):
    """A webhook that stores requests and sends a given answer."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.found: list[tuple[str, str | None, Any]] = []
        self.status = 204

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook"


class _Answer(BaseHTTPRequestHandler):
    server: Hook

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.found.append((self.path, self.headers["Content-Type"], json.loads(body)))
        self.send_response(self.server.status)
        self.send_header("Location", "/elsewhere")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing on stderr."""


@pytest.fixture
def hook() -> Iterator[Hook]:
    with Hook() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_command_hears_by_stdin_and_environment(tmp_path: Path) -> None:
    """A command gets the event by stdin and environment, never by its command line or a shell."""
    evil = '$(touch pwned); `id` "\n\x00\x1b[2J\ud800'
    send_to_command((sys.executable, "-c", KEEP, str(tmp_path / "out")), {**EVENT, "text": evil}, tmp_path)
    text = (tmp_path / "out").read_text()
    assert json.loads(text.splitlines()[0])["text"] == evil
    environment, argv = text.splitlines()[1].split("}[", 1)
    assert "'ENGINETOUR_EVENT': 'incident'" in environment
    assert "'ENGINETOUR_GAME': '7'" in environment
    assert "ENGINETOUR_TEXT': '$(touch pwned); `id` \"   [2J '" in environment.replace('\\"', '"')
    assert "touch" not in argv
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_command_beside_its_configuration(tmp_path: Path) -> None:
    """A relative command is found in the directory of the configuration."""
    (tmp_path / "tell").write_text('#!/bin/sh\necho "$ENGINETOUR_TEXT" > "$(dirname "$0")/told"\n')
    (tmp_path / "tell").chmod(0o755)
    send_to_command(("./tell",), EVENT, tmp_path)
    assert (tmp_path / "told").read_text() == "words\n"


@pytest.mark.parametrize(
    "command, words",
    [
        (("./none",), "No such file"),
        ((sys.executable, "-c", "raise SystemExit(3)"), "exit 3"),
        ((sys.executable, "-c", "import time; time.sleep(60)"), "did not end within"),
    ],
)
def test_command_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], words: str
) -> None:
    """A command that is missing, fails, or does not end raises NotifyFailed; the last is killed with its children."""
    monkeypatch.setattr(notify, "COMMAND_S", 0.5 if "sleep" in command[-1] else 30.0)
    with pytest.raises(NotifyFailed, match=words):
        send_to_command(command, EVENT, tmp_path)


def test_webhook(hook: Hook) -> None:
    """A webhook gets the event as JSON by POST."""
    send_to_webhook(hook.url, EVENT)
    assert hook.found == [("/hook", "application/json", EVENT)]


@pytest.mark.parametrize("status", [302, 307, 404, 500])
def test_webhook_that_refuses(hook: Hook, status: int) -> None:
    """Any response other than 2xx is a failure; a redirect is not followed."""
    hook.status = status
    with pytest.raises(NotifyFailed, match=str(status)):
        send_to_webhook(hook.url, EVENT)
    assert [path for path, _, _ in hook.found] == ["/hook"]


def test_webhook_that_is_not_there(hook: Hook) -> None:
    """A missing server, or one that is not HTTP, is one line."""
    with pytest.raises(NotifyFailed, match="refused"):
        send_to_webhook("http://127.0.0.1:1/", EVENT)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of modules that apprise imports
def test_apprise_takes_the_sentence(hook: Hook) -> None:
    """A service gets title and text; the error for an invalid address does not contain its secrets."""
    pytest.importorskip("apprise")
    send_to_apprise((hook.url.replace("http", "json", 1),), EVENT)
    assert hook.found[0][2]["title"] == "enginetour: autumn"
    assert hook.found[0][2]["message"] == "words"
    with pytest.raises(NotifyFailed, match="nonsense: not a valid apprise URL") as refused:
        send_to_apprise(("nonsense://token",), EVENT)
    assert "token" not in str(refused.value)


def test_apprise_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error without the package says how to install it."""
    monkeypatch.setitem(sys.modules, "apprise", None)
    with pytest.raises(NotifyFailed, match=r"enginetour\[apprise\]"):
        send_to_apprise(("ntfy://x",), EVENT)


def test_events_that_are_asked_for(hook: Hook, tmp_path: Path) -> None:
    """Only wanted events are sent; those of one kind about one engine are limited, but an end is always sent."""
    notifier = Notifier(NotifySection(webhook=hook.url, on=("incident", "finished")), tmp_path, pytest.fail)
    for kind, engine in (("game", "X"), ("incident", "X"), ("incident", "X"), ("incident", "Y"), ("suspended", "X")):
        notifier({**EVENT, "event": kind, "engine": engine})
    for _ in range(2):
        notifier({"event": "finished", "tournament": "autumn", "text": "words"})
    notifier.close()
    told = [(event["event"], event.get("engine")) for _, _, event in hook.found]
    assert told == [("incident", "X"), ("incident", "Y"), ("finished", None), ("finished", None)]


def test_a_failure_is_one_warning(hook: Hook, tmp_path: Path) -> None:
    """A failing channel is reported once until it works again; other channels still get the events."""
    said: list[str] = []
    notifier = Notifier(NotifySection(command=("./none",), webhook=hook.url), tmp_path, said.append)
    for engine in "XYZ":
        notifier({**EVENT, "engine": engine})
    notifier.close()
    assert len(said) == 1
    assert "--notify" in said[0]
    assert len(hook.found) == 3


def test_a_channel_that_hangs_holds_nobody_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Events beyond the queue are dropped, and a run that must stop quickly does not wait."""
    hanging = threading.Event()
    monkeypatch.setattr(notify, "channels", lambda *_: {"command": lambda _: hanging.wait(60)})
    notifier = Notifier(NotifySection(command=("x",)), tmp_path, pytest.fail)
    for _ in range(notify.MOST_WAITING + 50):
        notifier({"event": "finished", "tournament": "autumn", "text": ""})
    notifier.close(lambda: True)
    assert not hanging.is_set()
    hanging.set()


def test_real_play(hook: Hook, tmp_path: Path) -> None:
    """`check --notify` tests each channel; a run sends its end; a failing webhook does not harm it."""
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "", f'\n[notify]\nwebhook = "{hook.url}"\n')
    (tmp_path / "results").mkdir()
    assert "notify webhook: delivered" in tour(tmp_path, "check", str(path), "--notify").stderr
    tour(tmp_path, "run", str(path), "--max-games", "1")
    hook.status = 500
    assert "HTTP status 500" in tour(tmp_path, "run", str(path), "--new").stderr
    assert f"{path}:" in tour(tmp_path, "check", str(path), "--notify", expect=3).stderr
    assert [event["event"] for _, _, event in hook.found] == ["test", "finished", "finished", "test"]
    assert hook.found[1][2]["text"] == "trial: finished after 1 game"


def test_check_warns_of_a_command_that_is_not_there(tmp_path: Path) -> None:
    """`check` warns if the command of a notification does not exist."""
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "")
    text = path.read_text()
    (tmp_path / "there.sh").write_text("#!/bin/sh\n")
    (tmp_path / "there.sh").chmod(0o755)
    for command, missing in (("./there.sh", False), ("sh", False), ("./gone.sh", True), ("no-such-mailer", True)):
        path.write_text(text.replace("[[entrants]]", f'[notify]\ncommand = ["{command}"]\n[[entrants]]', 1))
        assert ("warning: notify command: program " in tour(tmp_path, "check", str(path)).stdout) is missing
