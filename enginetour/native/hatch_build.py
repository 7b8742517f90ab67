"""Build enginetour._native from enginetour/native/*.c if there is a C compiler; otherwise Python code is used."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FLAGS = ("-O2", "-std=c11", "-Wall", "-Wextra", "-fPIC", "-fvisibility=hidden", "-shared")


class NativeHook(BuildHookInterface):
    """The build hook of wheels and editable installations; a source archive contains only the sources."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the module into the package; the wheel is then only for this platform and interpreter."""
        if self.target_name != "wheel":
            return
        share = Path(self.root) / "share"  # man pages and completion files, which `make dist` writes before
        if version != "editable":
            files = (path for path in share.rglob("*") if path.is_file())  # single files, because Git ignores share/
            build_data["shared_data"] |= {str(path): f"share/{path.relative_to(share).as_posix()}" for path in files}
        built = compiled(Path(self.root))
        if built is not None:
            build_data["pure_python"] = False
            build_data["infer_tag"] = True
            build_data["artifacts"].append(built.relative_to(self.root).as_posix())


def compiled(root: Path) -> Path | None:
    """Compile the module and rename it into place, because it may be in use; return None if this fails.

    A message on stderr shows why it cannot be built.
    """
    suffix = sysconfig.get_config_var("EXT_SUFFIX") or ".so"
    target, fresh = root / "enginetour" / f"_native{suffix}", root / "enginetour" / f"_native.{os.getpid()}.tmp"
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    if shutil.which(compiler[0]) is None:
        compiler = ["cc"]
    if os.environ.get("ENGINETOUR_NO_NATIVE", "") not in ("", "0"):
        return None
    sources = sorted((root / "enginetour" / "native").glob("*.c"))
    words = [*compiler, *FLAGS, f"-I{sysconfig.get_path('include')}", *map(str, sources), "-o", str(fresh)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        why = (done.stderr or f"{compiler[0]}: exit {done.returncode}") if done.returncode else ""
    except OSError as error:
        why = f"{compiler[0]}: {error.strerror}"
    if why:
        fresh.unlink(missing_ok=True)
        print(f"enginetour: built without the compiled module, so it is slower:\n{why}", file=sys.stderr)  # noqa: T201
        return None
    fresh.replace(target)
    return target
