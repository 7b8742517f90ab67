"""The reader ``sans``: opening books with one opening per line, as moves in SAN."""

from collections.abc import Iterator
from pathlib import Path

from enginetour.openings.choice import Reader
from enginetour.openings.positions import WrittenOpening


def read(path: Path) -> Iterator[WrittenOpening]:
    """Yield the opening of each line. enginetour checks the moves."""
    for line, text in enumerate(path.read_text("utf-8").splitlines(), 1):
        yield WrittenOpening(line, name=text, sans=tuple((line, san) for san in text.split()))


CONTRACT = 1
PLUGIN = Reader(read, example=b"e4 e5 Nf3\nd4 d5 c4\n")
