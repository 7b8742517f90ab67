from __future__ import annotations

from pathlib import Path

from tests.touring import config, tour


def test_games_that_came_again_are_told(tmp_path: Path) -> None:
    """Of two engines without a clock 512 of 632 games were 120 again and again; the test's verdict counted each."""
    path = config(tmp_path, ("wren1", "wren2"), "match", "games = 6\ngames_per_pairing = 2")
    text = path.read_text("utf-8").replace("[play]", f'[play]\nopenings = {{ file = "{tmp_path}/one.epd" }}')
    path.write_text(text, "utf-8")
    (tmp_path / "one.epd").write_text("4k3/8/8/8/8/8/4P3/4K3 w - -\n", "utf-8")
    told = " ".join(tour(tmp_path, "check", str(path)).stdout.split())
    assert "warning: without a clock 4 of 6 games of two are an earlier one over again, with 1 opening" in told
    first = tour(tmp_path, "run", str(path), "--max-games", "2", expect=8)
    assert "over again" not in first.stdout
    done = tour(tmp_path, "run", str(path))
    assert "warning: 4 of 6 games are an earlier one over again" in " ".join(done.stdout.split())
    assert tour(tmp_path, "report").stdout.startswith("report: ")
    report = tmp_path / "results" / "trial-report"
    assert "4 of 6 games are an earlier one over again" in (report / "fairness.html").read_text("utf-8")
    overview = (report / "index.html").read_text("utf-8")
    assert "about its fairness" in overview
    assert "4 of 6 games are an earlier one over again" in overview, "what next"
