"""Check module lengths: a module of more than 1,000 lines fails, one of more than 600 is listed."""

import sys
from pathlib import Path

LIMIT = 1000
LONG = 600

lengths = {
    path: len(path.read_text("utf-8").splitlines())
    for folder in ("enginetour", "engines")
    for path in sorted((*Path(folder).rglob("*.py"), *Path(folder).rglob("*.c")))
}
for path, lines in lengths.items():
    if lines > LONG:
        print(f"{path}: {lines} lines: does it cover two subjects?" + (" (over the limit)" if lines > LIMIT else ""))
too_long = sum(lines > LIMIT for lines in lengths.values())
print(f"length: {len(lengths)} modules, longest {max(lengths.values())} lines, {too_long} over {LIMIT}")
sys.exit(too_long > 0)
