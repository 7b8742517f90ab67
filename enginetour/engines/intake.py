"""Bytes as they come, whole lines as they are wanted: memory stays constant whatever an engine prints.

Lines end at LF; blanks around them and a CR mean nothing, empty lines are skipped (runner spec section 2).
"""

from __future__ import annotations

import re

# One of what nobody sees: colours, and what a buffer written whole or another encoding leaves.
UNSEEN = rb"(?:\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0e-\x1f\x7f]|\xef\xbb\xbf)"
_UNSEEN = re.compile(UNSEEN)
_SEEN = range(0x21, 0x7F)  # printable ASCII
LINE_CAP = 64 * 1024  # bytes of a line; the rest is thrown away as it streams in (runner spec 2)
WORTH = b" score "  # marks a line that adjudication may need
KEPT = 256 * 1024  # bytes of unread output; the oldest lines go first (runner spec 2)


class Intake:
    """The unread output of one engine. When old lines are dropped, the last that marks a score survives."""

    def __init__(self) -> None:
        self.text = bytearray()  # not yet read as lines
        self._looked = 0  # offset up to which no answer was found
        self._skipping = False  # inside the tail of an over-long line
        self.overlong = False  # a line was cut at LINE_CAP

    @property
    def is_empty(self) -> bool:
        """Nothing is unread, and what comes next begins a line."""
        return not (self.text or self._skipping)

    def feed(self, chunk: bytes) -> None:
        """Take what one read brought."""
        if self._skipping:
            end = chunk.find(b"\n")
            if end < 0:
                return
            chunk = chunk[end:]
            self._skipping = False
        self.text += chunk
        if len(self.text) > LINE_CAP:
            self._trim()

    def _trim(self) -> None:
        text = self.text
        tail = text.rfind(b"\n") + 1
        if len(text) - tail > LINE_CAP:
            del text[tail + LINE_CAP :]
            self._skipping = self.overlong = True
        if len(text) > KEPT:
            cut = text.find(b"\n", len(text) - KEPT) + 1
            worth = text.rfind(WORTH, 0, cut)
            kept = b"" if worth < 0 else text[text.rfind(b"\n", 0, worth) + 1 : text.find(b"\n", worth) + 1]
            text[:cut] = kept
            self._looked = max(0, self._looked - cut + len(kept))

    def line(self) -> bytes | None:
        """The next whole line without its end, or None; takes it off the intake."""
        end = self.text.find(b"\n")
        if end < 0:
            return None
        line = bytes(self.text[:end])
        del self.text[: end + 1]
        self._looked = 0
        return line

    def has(self, *words: bytes) -> bool:
        """Whether any of `words` occurs in what is unread: a cheap look before lines are cut."""
        for word in words:  # noqa: SIM110 - on the path of every ply, and a generator takes three times as long
            if word in self.text:
                return True
        return False

    def drop_lines(self) -> None:
        """Throw all whole lines away."""
        del self.text[: self.text.rfind(b"\n") + 1]
        self._looked = 0

    def match(self, pattern: re.Pattern[bytes]) -> tuple[bytes, bytes] | None:
        """The first whole line that `pattern` finds, and all that came before it; takes both off."""
        text = self.text
        whole = text.rfind(b"\n") + 1
        found = pattern.search(text, self._looked, whole)
        if found is None:
            self._looked = whole
            return None
        start, end = found.span()
        before, line = bytes(text[:start]), bytes(text[start:end])
        del text[: text.find(b"\n", end - 1 if end > start else end) + 1]
        self._looked = 0
        return before, line

    def answer(self, word: bytes) -> tuple[bytes, bytes] | None:
        """The first whole line whose first word is `word`, and all that came before it; takes both off."""
        text = self.text
        hit = text.find(word, self._looked)
        while hit >= 0:
            start = text.rfind(b"\n", 0, hit) + 1
            end = text.find(b"\n", hit)
            if end < 0:
                self._looked = start
                return None
            line = bytes(text[start:end])
            words = line.split(None, 1)
            if words and (words[0] == word or (words[0][0] not in _SEEN and _first(line) == word)):
                before = bytes(text[:start])
                del text[: end + 1]
                self._looked = 0
                return before, line
            hit = text.find(word, end)
        self._looked = text.rfind(b"\n") + 1
        return None

    def lacks(self, word: bytes) -> bool:
        """Whether `answer` need not look for it."""
        if self.text.find(word, self._looked) >= 0:
            return False
        self._looked = self.text.rfind(b"\n") + 1
        return True

    def lacks_line(self, pattern: re.Pattern[bytes]) -> bool:
        """Whether `match` would find none."""
        whole = self.text.rfind(b"\n") + 1
        if pattern.search(self.text, self._looked, whole) is not None:
            return False
        self._looked = whole
        return True

    def end(self) -> bool:
        """At end of file: close an unfinished line, true if there was one (it may hold a complete answer)."""
        if not self.text or self.text.endswith(b"\n"):
            return False
        self.text += b"\n"
        return True


def _first(line: bytes) -> bytes:
    """The first word of a line behind what nobody sees."""
    return b"".join(_UNSEEN.sub(b"", line).split(None, 1)[:1])
