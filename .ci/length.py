"""Each file in one glance: a module of more than 400 lines fails, one of more than 300 is named."""

import sys
from pathlib import Path

WALL = 400
GLANCE = 300

lengths = {
    path: len(path.read_text("utf-8").splitlines())
    for folder in ("enginetour", "engines")
    for path in sorted((*Path(folder).rglob("*.py"), *Path(folder).rglob("*.c")))
}
for path, lines in lengths.items():
    if lines > GLANCE:
        print(f"{path}: {lines} lines, look for the second noun" + (" (over the wall)" if lines > WALL else ""))
too_long = sum(lines > WALL for lines in lengths.values())
print(f"length: {len(lengths)} modules, longest {max(lengths.values())} lines, {too_long} over {WALL}")
sys.exit(too_long > 0)
