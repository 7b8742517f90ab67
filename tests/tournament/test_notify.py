"""Notifications: what arrives, and that nothing of it can harm a run."""

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
    """A webhook that keeps what it is sent and answers as told."""

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
        """Nothing on stderr."""


@pytest.fixture
def hook() -> Iterator[Hook]:
    with Hook() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_command_hears_by_stdin_and_environment(tmp_path: Path) -> None:
    """Never by its command line, whatever the text, and no shell reads it."""
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
    """A relative one lies in the folder of the configuration, wherever the run was started."""
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
    """Not there, unhappy, or without end: it is killed then with what it started."""
    monkeypatch.setattr(notify, "COMMAND_S", 0.5 if "sleep" in command[-1] else 30.0)
    with pytest.raises(NotifyFailed, match=words):
        send_to_command(command, EVENT, tmp_path)


def test_webhook(hook: Hook) -> None:
    """The event as JSON by POST."""
    send_to_webhook(hook.url, EVENT)
    assert hook.found == [("/hook", "application/json", EVENT)]


@pytest.mark.parametrize("status", [302, 307, 404, 500])
def test_webhook_that_refuses(hook: Hook, status: int) -> None:
    """Any answer but a 2xx is a failure; a redirection is not followed."""
    hook.status = status
    with pytest.raises(NotifyFailed, match=str(status)):
        send_to_webhook(hook.url, EVENT)
    assert [path for path, _, _ in hook.found] == ["/hook"]


def test_webhook_that_is_not_there(hook: Hook) -> None:
    """Nobody listens, or somebody who speaks no HTTP: one line."""
    with pytest.raises(NotifyFailed, match="refused"):
        send_to_webhook("http://127.0.0.1:1/", EVENT)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of modules apprise imports
def test_apprise_takes_the_sentence(hook: Hook) -> None:
    """A service is told title and text; an address it does not know is named without its secrets."""
    pytest.importorskip("apprise")
    send_to_apprise((hook.url.replace("http", "json", 1),), EVENT)
    assert hook.found[0][2]["title"] == "enginetour: autumn"
    assert hook.found[0][2]["message"] == "words"
    with pytest.raises(NotifyFailed, match="nonsense: not a valid apprise URL") as refused:
        send_to_apprise(("nonsense://token",), EVENT)
    assert "token" not in str(refused.value)


def test_apprise_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next step is told."""
    monkeypatch.setitem(sys.modules, "apprise", None)
    with pytest.raises(NotifyFailed, match=r"enginetour\[apprise\]"):
        send_to_apprise(("ntfy://x",), EVENT)


def test_events_that_are_asked_for(hook: Hook, tmp_path: Path) -> None:
    """Only those; the same of one engine not again for a while, of another at once, and an end always."""
    notifier = Notifier(NotifySection(webhook=hook.url, on=("incident", "finished")), tmp_path, pytest.fail)
    for kind, engine in (("game", "X"), ("incident", "X"), ("incident", "X"), ("incident", "Y"), ("suspended", "X")):
        notifier({**EVENT, "event": kind, "engine": engine})
    for _ in range(2):
        notifier({"event": "finished", "tournament": "autumn", "text": "words"})
    notifier.close()
    told = [(event["event"], event.get("engine")) for _, _, event in hook.found]
    assert told == [("incident", "X"), ("incident", "Y"), ("finished", None), ("finished", None)]


def test_a_failure_is_one_warning(hook: Hook, tmp_path: Path) -> None:
    """Until it works again; the other channels are told all the same."""
    said: list[str] = []
    notifier = Notifier(NotifySection(command=("./none",), webhook=hook.url), tmp_path, said.append)
    for engine in "XYZ":
        notifier({**EVENT, "engine": engine})
    notifier.close()
    assert len(said) == 1
    assert "--notify" in said[0]
    assert len(hook.found) == 3


def test_a_channel_that_hangs_holds_nobody_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Events beyond the queue are dropped, and a run in a hurry goes."""
    hanging = threading.Event()
    monkeypatch.setattr(notify, "channels", lambda *_: {"command": lambda _: hanging.wait(60)})
    notifier = Notifier(NotifySection(command=("x",)), tmp_path, pytest.fail)
    for _ in range(notify.MOST_WAITING + 50):
        notifier({"event": "finished", "tournament": "autumn", "text": ""})
    notifier.close(lambda: True)
    assert not hanging.is_set()
    hanging.set()


def test_real_play(hook: Hook, tmp_path: Path) -> None:
    """`check --notify` tries each way; a run tells how it ended; a failing hook harms nothing."""
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
    """Only the end of the night said so."""
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "")
    text = path.read_text()
    (tmp_path / "there.sh").write_text("#!/bin/sh\n")
    (tmp_path / "there.sh").chmod(0o755)
    for command, missing in (("./there.sh", False), ("sh", False), ("./gone.sh", True), ("no-such-mailer", True)):
        path.write_text(text.replace("[[entrants]]", f'[notify]\ncommand = ["{command}"]\n[[entrants]]', 1))
        assert ("warning: notify command: program " in tour(tmp_path, "check", str(path)).stdout) is missing
