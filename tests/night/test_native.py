"""Test other builds of the compiled module: with unsigned char, as on aarch64, and with sanitizers.

The tests run in a copy of the program that only has this build. `pytest -s` shows how many passed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.engines import ROOT, built

pytestmark = [pytest.mark.night, pytest.mark.timeout(0)]

# Rules, searches, clocks, whole games, lines of engines, games in slots, and the ends of compiled runs.
LAWS = ("native", "native_clocks", "clocks", "babbling", "real_places")
TESTS = (*(f"tests/laws/test_{name}.py" for name in LAWS), "tests/referee/test_relay.py")
COPIED = ("enginetour", "engines", "configs", "tests", "pyproject.toml", "README.md")
# Writes the command of each process that loads this build.
WITNESS = """\
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

__attribute__((constructor)) static void loaded(void) {
    char command[4096];
    int file = open("/proc/self/cmdline", O_RDONLY), witness = open("@", O_WRONLY | O_APPEND | O_CREAT, 0600);
    ssize_t length = file < 0 ? 0 : read(file, command, sizeof command - 1);
    for (ssize_t at = 0; at < length; at++)
        if (!command[at] || command[at] == '\\n')
            command[at] = ' ';
    dprintf(witness, "%.*s\\n", (int)length, command);
    close(file);
    close(witness);
}
"""
# Flags of gcc. UBSan is linked statically, because the copy in the library of ASan ignores log_path (gcc 12).
SANITIZERS = "-fsanitize=address,undefined -g -fno-sanitize-recover=all -static-libubsan -Wl,--exclude-libs,ALL"


def copied(folder: Path) -> Path:
    """Copy the program and its tests without the compiled module."""
    copy = folder / "copy"
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("_native*.so", "__pycache__"))
        else:
            shutil.copy(ROOT / name, copy / name)
    (copy / "enginetour/native/witness.c").write_text(WITNESS.replace("@", str(folder / "loaded")))
    return copy


def outcome(copy: Path, flags: str, tests: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    """Run the tests of the copy with a build with these flags; reports of sanitizers are files next to it."""
    built(copy, flags)
    surroundings = {name: text for name, text in os.environ.items() if not name.startswith("PYTEST_")}
    surroundings |= {"PYTHONPATH": str(copy), "ENGINETOUR_NO_SKIPS": "1"}
    if flags == SANITIZERS:
        surroundings |= _for_sanitizers(copy.parent)
    words = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "--timeout", "900", *tests]
    return subprocess.run(words, cwd=copy, env=surroundings, capture_output=True, text=True, check=False)


def _for_sanitizers(folder: Path) -> dict[str, str]:
    """Return environment variables with which Python can load a module with sanitizers."""
    words = ["cc", "-print-file-name=libasan.so"]
    library = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    settings = f"log_path={folder}/sanitizer"  # keeps the report of a slot that ends
    return {
        "LD_PRELOAD": library,
        # Python does not free all memory at its end, which would be reported as leaks. The quarantine of freed memory
        # is small, because tests limit the memory that a game may add.
        "ASAN_OPTIONS": f"{settings}:detect_leaks=0:quarantine_size_mb=1",
        "UBSAN_OPTIONS": f"{settings}:print_stacktrace=1",
        "PYTHONMALLOC": "malloc",  # separate memory for each object, so that reads beyond its end are found
    }


def reports(folder: Path) -> list[str]:
    """Return the reports of sanitizers from all processes."""
    return [path.read_text("utf-8", "replace") for path in sorted(folder.glob("sanitizer.*"))]


@pytest.mark.parametrize("flags", ["-funsigned-char", SANITIZERS], ids=["unsigned char", "sanitizers"])
def test_laws_hold_on_other_builds(flags: str, tmp_path: Path) -> None:
    """The tests and their slots load this build, and all pass."""
    copy = copied(tmp_path)
    done = outcome(copy, flags, TESTS)
    assert (done.returncode, reports(tmp_path)) == (0, []), done.stdout + done.stderr
    print(f"{flags.split()[0]}: {done.stdout.splitlines()[-1]}")
    loaders = (tmp_path / "loaded").read_text("utf-8").splitlines()
    assert all(any(program in line for line in loaders) for program in ("-m pytest", "-m enginetour.referee.slot")), (
        loaders
    )


@pytest.mark.parametrize(
    ("text", "planted", "found"),
    [
        ("LONGEST_SAN = 7", "LONGEST_SAN = 2", "AddressSanitizer: stack-buffer-overflow"),
        ("(Squares)1 << (square)", "(Squares)1 << ((square) + 64)", "runtime error: shift exponent"),
    ],
)
def test_sanitizers_find_planted_errors(text: str, planted: str, found: str, tmp_path: Path) -> None:
    """The build finds errors that were inserted, which shows that it can find errors."""
    copy = copied(tmp_path)
    header = copy / "enginetour/native/rules.h"
    right = header.read_text("utf-8")
    assert text in right
    header.write_text(right.replace(text, planted), "utf-8")
    done = outcome(copy, SANITIZERS, ("tests/laws/test_native.py",))
    assert done.returncode
    assert [found in report for report in reports(tmp_path)] == [True], done.stdout + done.stderr
