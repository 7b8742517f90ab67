"""A question leads to the right module by the words in its package name, module name and first docstring line.

The first twenty questions are those of a new developer, the others those of engine testers. If a question fails,
improve the name or the first line of the module, not the question.
"""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

import enginetour

PACKAGE = Path(enginetour.__file__).parent
TIES = 2  # other modules with the same score, because a reader opens at most three files

QUESTIONS = (
    # Questions of a new developer.
    ("Where is a resignation adjudicated?", "referee/adjudication.py"),
    ("Where is the row of a game written?", "store/log.py"),
    ("Where is the opening of game 7 chosen?", "openings/choice.py"),
    ("Where is the estimate of the remaining time computed?", "tournament/scheduler.py"),
    ("What parses `40/60+0.6`?", "model/timecontrol.py"),
    ("What recognizes threefold repetition?", "referee/ends.py"),
    ("What kills a hung engine?", "engines/process.py"),
    ('What prints "did you mean" for a configuration key?', "tournament/config/load.py"),
    ("Where is the LOS of a list computed?", "ratings/uncertainty.py"),
    ("Where is the K factor?", "ratings/elo.py"),
    ("Where does a run append to its PGN file?", "reports/pgn.py"),
    ("Where is a failing engine set aside?", "tournament/setbacks.py"),
    ("Where are server-sent events framed?", "web/app.py"),
    ("Where is the games table defined?", "store/tables.py"),
    ("Where is an older database upgraded?", "store/migrations.py"),
    ("What handles Ctrl-C?", "cli/output.py"),
    ("What decides which entrant is parked?", "formats/bubble_state.py"),
    ("Where are Dutch colors?", "formats/pairing/dutch_criteria.py"),
    ("Where is the LLR?", "ratings/sequential.py"),
    ("What reads a UCI info line?", "engines/uci_lines.py"),
    # Questions of testers.
    ("What reads a cutechess-cli or fastchess command line?", "tournament/config/peers.py"),
    ("Where do Syzygy tablebases end a game?", "referee/tablebases.py"),
    ("What prints the crosstable?", "reports/standings.py"),
    ("Where does pondering start and what sends ponderhit?", "engines/uci.py"),
    ("Where is nElo computed from the pentanomial counts?", "ratings/pentanomial.py"),
    ("Where are the 960 start positions of Chess960?", "model/variants.py"),
    ("What posts to my webhook when a run ends?", "tournament/notify.py"),
    ("What reads a Polyglot opening book?", "openings/polyglot.py"),
    ("How does bubblewrap put an engine into a sandbox?", "engines/sandbox.py"),
    ("What writes a TRF report for FIDE?", "interop/trf.py"),
    ("Where does a game get its ECO code?", "openings/eco.py"),
    ("Where is the GoR rating of the EGF computed?", "ratings/gor.py"),
    ("Where is the Buchholz tie-break?", "formats/pairing/tiebreaks.py"),
    ("Which CPU cores and how much memory can engines use on this machine?", "engines/machine.py"),
    ("What holds the PostgreSQL lock so that two runs cannot play one tournament?", "store/postgres.py"),
    ("Where does the live page show the board of the running game?", "web/live.py"),
    ("What notices that an engine binary has changed during the run?", "engines/identity.py"),
    ("Is it the engine's fault when it loses on time, or lag of the machine?", "referee/verdict.py"),
    ("How do I replay a game in which my engine crashed?", "referee/reenactment.py"),
    ("Where are the McMahon bar and the starting scores?", "formats/pairing/mcmahon.py"),
)

_EVERYWHERE = (
    "a an the of to in on at by for from with into and or is are was be it its this that which what where who how do "
    "does did i my me so can cannot may not no as when if there has have get put"
)
STOP = frozenset(_EVERYWHERE.split())
_TOKEN = re.compile(r"\d[\d/+.]*\d|[a-z]+\d+|\d+|[a-z]+")
_ENDINGS = (("ation", 4), ("ating", 4), ("ated", 4), ("ate", 4), ("ing", 3), ("ed", 3), ("e", 3))


def stem(word: str) -> str:
    """Return a word without plural, -ing, -ed or -ation: `adjudicated`, `adjudication` and `adjudicates` are equal."""
    if word.endswith("ies") and len(word) > 4:
        word = f"{word[:-3]}y"
    elif word.endswith("s") and not word.endswith("ss") and len(word) > 3:
        word = word[:-1]
    for ending, least in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= least:
            word = word.removesuffix(ending)
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiousl" else word  # stopped: stop


def tokens(text: str) -> list[str]:
    """Return the significant words in lower case."""
    return [word for word in _TOKEN.findall(text.lower()) if word not in STOP]


def asked(question: str) -> set[str]:
    """Return the stems of a question, and of neighboring words as one word, for names such as `timecontrol`."""
    found = tokens(question)
    return {stem(word) for word in (*found, *map("".join, pairwise(found)))}


@cache
def modules() -> dict[str, frozenset[str]]:
    """Return the words of every module of the package by its path."""
    return {
        path.relative_to(PACKAGE).as_posix(): frozenset(map(stem, tokens(" ".join(_lines(path)))))
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.name != "__init__.py"
    }


def _lines(path: Path) -> Iterator[str]:
    yield from path.relative_to(PACKAGE).with_suffix("").parts
    docstring = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    yield docstring.split("\n", 1)[0]


@cache
def spread() -> Counter[str]:
    """Return the number of modules with each word, because rare words are more significant."""
    return Counter(word for found in modules().values() for word in found)


def guesses(question: str) -> list[tuple[float, str]]:
    """Return modules that share words with a question, by the sum of ln(modules / modules with the word)."""
    stems, count = asked(question), len(modules())
    rated = [
        (sum(math.log(count / spread()[word]) for word in sorted(stems & found)), path)
        for path, found in modules().items()
    ]
    return sorted(((round(score, 9), path) for score, path in rated if score > 0), key=lambda one: (-one[0], one[1]))


@pytest.mark.parametrize(("question", "path"), QUESTIONS, ids=[question for question, _ in QUESTIONS])
def test_words_lead_to_the_module(question: str, path: str) -> None:
    """The right module has the highest score, with at most two others."""
    assert path in modules(), f"no module {path}"
    found = guesses(question)
    scores = {module: score for score, module in found}
    at_most = [module for module, score in scores.items() if score >= scores.get(path, 0.0)]
    best = "\n".join(
        f"  {score:5.2f} {module}  {sorted(asked(question) & modules()[module])}" for score, module in found[:6]
    )
    told = f"{question}\n  right: {path}, {scores.get(path, 0.0):.2f}; best guesses:\n{best}"
    assert path in scores, told
    assert scores[path] == found[0][0], told
    assert len(at_most) <= 1 + TIES, told


def test_forty_questions_with_twenty_of_testers() -> None:
    """There are forty different questions, and each file is the answer once."""
    assert len({question for question, _ in QUESTIONS}) == 40
    assert len({path for _, path in QUESTIONS}) == 40
