"""Workers that are not as they should be, each a real process of Dask: one clear line for each, and no games."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path

from enginetour.referee.talk import VERSION
from tests.nearcluster import near_cluster, place_of, started_worker
from tests.touring import config, tour

OLD = """\
import enginetour
enginetour.__version__ = "0.0.9"
"""
NONE = """\
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "enginetour":
            raise ModuleNotFoundError("No module named 'enginetour'", name=name)
sys.meta_path.insert(0, Missing())
"""


def test_each_is_told_in_a_line(tmp_path: Path) -> None:
    """An older enginetour, none at all, no slots; and no database was made."""
    (tmp_path / "results").mkdir()
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "")
    with near_cluster("idle", slots=0) as cluster, ExitStack() as stack:
        for name, text in (("old", OLD), ("none", NONE)):
            (tmp_path / f"{name}.py").write_text(text)
            stack.enter_context(started_worker(cluster, tmp_path, name, "--preload", f"{tmp_path}/{name}.py"))
        refused = tour(tmp_path, "run", str(path), "--place", place_of(cluster), expect=3)
    lacks = re.findall(r"^  (\w+) lacks (.+)$", refused.stdout, re.MULTILINE)
    other = next(words for name, words in lacks if name == "old").removeprefix(f"enginetour {VERSION}: ")
    assert re.fullmatch(r"it has 0\.0\.9 \([0-9a-f]{8}\); install the same there", other)
    assert dict(lacks) == {
        "idle": "no slots: start its worker with --resources slot=N --nthreads N",
        "none": f"enginetour {VERSION}: No module named 'enginetour'",
        "old": f"enginetour {VERSION}: {other}",
    }
    assert refused.stderr.count("\n") == 1
    assert "no machine of the cluster can play" in refused.stderr
    assert list((tmp_path / "results").iterdir()) == []
