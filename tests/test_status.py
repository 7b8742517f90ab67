"""``status --watch``: how far a tournament is, again and again, as long as it runs."""

from __future__ import annotations

import signal
import time
from contextlib import ExitStack

import pytest

from tests.serving import Stage, move, start
from tests.storing import draft
from tests.touring import started, tour


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_it_looks_every_two_seconds_until_the_run_is_over(
    options: tuple[str, ...], stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is in the air is told of each look, and the last look is the end."""
    pauses: list[float] = []
    stage.playing = [start() | move(2, score=-20)]
    with ExitStack() as run:
        run.enter_context(stage.running())

        def sleep(seconds: float) -> None:
            pauses.append(seconds)
            if len(pauses) == 2:
                run.close()
                stage.store.create_tournament(draft("winter"))  # the newest from now on

        monkeypatch.setattr(time, "sleep", sleep)
        done = tour(stage.database.parents[1], "status", "--watch", *options)
    assert pauses == [2.0, 2.0]
    assert done.stderr == "tournament autumn, edition 1\n"  # once
    told = done.stdout
    assert (told.count("running"), told.count("stopped"), told.count("Fruit"), told.count("autumn")) == (2, 1, 2, 3)


def test_a_stopped_tournament_is_looked_at_once(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing would change."""
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("it waits"))
    assert "stopped" in tour(stage.database.parents[1], "status", "--watch").stdout


def test_ctrl_c_ends_it_without_a_word(stage: Stage) -> None:
    """The signal ends it, which a shell shows as 130."""
    folder = stage.database.parents[1]
    with (
        stage.running(),
        (folder / "err").open("w+") as err,
        started(folder, "status", "--watch", stderr=err) as looking,
    ):
        assert looking.stdout is not None
        assert "running" in looking.stdout.readline()
        looking.send_signal(signal.SIGINT)
        assert looking.wait(20) == -signal.SIGINT
        err.seek(0)
        assert err.read().strip() == "tournament autumn, edition 1"
