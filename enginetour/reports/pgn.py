"""Games as PGN and EPD, and the PGN file to which a run appends its games."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, count
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from enginetour.interop.files import is_special, one_line, replace_bytes, replace_file
from enginetour.model.game import Game, MoveMade, Outcome, Termination
from enginetour.model.timecontrol import pgn_control
from enginetour.model.variants import STANDARD, VARIANTS
from enginetour.reports.sheet import Texts, iso_timestamp

if TYPE_CHECKING:
    from enginetour.openings.eco import OpeningNames
    from enginetour.store.games import StoredGame, TournamentReader
    from enginetour.store.log import TournamentLog

# Games as PGN, according to the PGN standard of 1994. Move comments and extra tags have the form of cutechess and CCRL.

_MATE_SCORE = 32000  # a mate in n moves has the score +-(32000 - n)
_MATE_RANGE = 1000
_LARGEST_SCORE = 100_000  # centipawns; larger scores are shown as this value
_MAX_DEPTH = 999  # plies; larger depths are shown as this value
_ROSTER = {"Event", "Site", "Date", "Round", "White", "Black", "Result"}  # required tags (PGN standard 8.1.1)
# Tags that `game_pgn` writes itself, except Site, which the user may set.
OWN_TAGS = (_ROSTER - {"Site"}) | set(
    "Variant SetUp FEN WhiteElo BlackElo ECO Opening TimeControl WhiteTimeControl BlackTimeControl Handicap PlyCount "  # noqa: SIM905
    "Termination GameStartTime GameEndTime GameDuration WhiteEngine BlackEngine Encounter Leg OpeningName "
    "OpeningNumber OpeningPlies Hardware".split()
)
_LINE = re.compile(r"(.{1,80}|[^ ]{81,})(?: |\Z)", re.DOTALL)  # takes a twentieth of the time of textwrap
_NUMBER = re.compile("[0-9]{1,5}")  # a move number; numbers with more digits are not move numbers
_MAX_TAG_LENGTH = 255  # characters; the limit of lines and tokens (PGN standard 4)
# Values of the Termination tag in PGN standard 9.8.1, and other values in common use.
_TERMINATIONS = {
    Termination.TIME: "time forfeit",
    Termination.ILLEGAL_MOVE: "rules infraction",
    Termination.FALSE_CLAIM: "rules infraction",
    Termination.CRASH: "abandoned",
    Termination.STALL: "abandoned",
    Termination.ABORTED: "abandoned",
}


_MAX_PV_LENGTH = 2048  # bytes; longer PVs are cut (runner spec 6)
_NO_RATINGS: Mapping[str, float] = MappingProxyType({})
_NO_TAGS: Mapping[str, str] = MappingProxyType({})

# Optional fields of a move comment. Their names are those of fastchess, their order is that of runner spec 12.
_FIELD_WRITERS: Mapping[str, Callable[[MoveMade], str | None]] = MappingProxyType({
    "timeleft": lambda move: None if move.clock_ms is None else f"tl={move.clock_ms / 1000:.3f}s",
    "latency": lambda move: None if move.gap_us is None else f"lat={move.gap_us / 1_000_000:.6f}s",
    "nodes": lambda move: _named("n", move.nodes),
    "seldepth": lambda move: _named("sd", move.seldepth),
    "nps": lambda move: _named("nps", move.nps),
    "hashfull": lambda move: _named("hf", move.hashfull),
    "tbhits": lambda move: _named("tb", move.tbhits),
    "pv": lambda move: f'pv="{_inside(move.pv, _MAX_PV_LENGTH)}"' if move.pv else None,
    "lines": lambda move: ", ".join(f'line="{_inside(line, _MAX_LINE_LENGTH)}"' for line in move.lines) or None,
})  # fmt: skip
_MAX_LINE_LENGTH = 300  # characters; the database has the same limit
COMMENT_FIELDS = tuple(_FIELD_WRITERS)


def game_pgn(
    game: Game,
    number: int,
    event: str,
    *,
    comments: tuple[str, ...] = (),
    ratings: Mapping[str, float] = _NO_RATINGS,
    more: Mapping[str, str] = _NO_TAGS,
    names: OpeningNames | None = None,
    bare: int = 0,
) -> str:
    """Return one game as PGN with tags and comments, and an empty line after it.

    `comments` selects the fields of `COMMENT_FIELDS` to write. `ratings` maps entrants to their ratings. `more` has
    Site and other tags of the user. `names` finds the ECO code and the name of the opening. If it does not find them,
    those of the opening book are used. The first `bare` plies have no comment.
    """
    eco = (names.of(game) if names is not None else None) or (game.opening.eco, game.opening.name)
    return "\n".join((*_tags(game, number, event, more, ratings, eco), "", *_movetext(game, comments, bare), "", ""))


def common_tags(log: TournamentReader) -> dict[str, Any]:
    """Return the arguments of `game_pgn` that all games of a tournament share: ratings and tags of the user."""
    return {"ratings": log.known_ratings, "more": log.pgn_tags}


def move_comments(moves: Sequence[MoveMade], extras: tuple[str, ...] = ()) -> list[str]:
    """Return the comment of each move, such as ``+0.31/18 0.104s``: score in pawns, depth and time.

    The score is from the mover's point of view. The comment of a move from the opening book is ``book``. The known
    values of the fields in `extras` are added: ``+0.31/18 0.104s, n=7279, sd=20``.
    """
    found = [
        "book"
        if move.book
        else _SECONDS[move.elapsed_ms]
        if move.score is None
        else f"{SCORES[move.score]}/{_DEPTHS[move.depth]} {_SECONDS[move.elapsed_ms]}"
        for move in moves
    ]
    if extras:
        writers = [write for name, write in _FIELD_WRITERS.items() if name in extras]
        for place, move in enumerate(moves):
            if not move.book:
                found[place] = ", ".join(filter(None, (found[place], *(write(move) for write in writers))))
    return found


def _inside(text: str, longest: int) -> str:
    return _comment_text(text, longest).replace('"', "'")


def _named(name: str, figure: int | None) -> str | None:
    return None if figure is None else f"{name}={figure}"


def format_score(score: int) -> str:
    """Format centipawns as pawns, and a mate in 5 moves as ``+M5``. Scores above 1,000 pawns are shown as 1,000."""
    if is_mate_score(score):
        return f"{'+' if score > 0 else '-'}M{_MATE_SCORE - abs(score)}"
    return f"{clamp_score(score) / 100:+.2f}"


SCORES = Texts(format_score)
_DEPTHS = Texts[int | None](lambda depth: str(min(depth or 0, _MAX_DEPTH)))
_SECONDS = Texts[int](lambda elapsed_ms: f"{elapsed_ms / 1000:.3f}s")


def clamp_score(score: int) -> int:
    """Limit a score to 1,000 pawns. Some engines send larger scores; HoiChess sends 99994 for a win."""
    return max(-_LARGEST_SCORE, min(_LARGEST_SCORE, score))


def is_mate_score(score: int) -> bool:
    """Return whether a score means a mate in a number of moves.

    Some engines send larger scores on another scale, such as 99994 for a mate in 3. These are not mate scores.
    """
    return _MATE_SCORE - _MATE_RANGE <= abs(score) <= _MATE_SCORE


def _comment_text(text: str, longest: int = _MAX_TAG_LENGTH) -> str:
    """Return text that is safe inside a comment: printable, on one line, without braces."""
    return one_line(text.replace("{", "(").replace("}", ")"), longest)


def _quoted(text: str) -> str:
    """Return text that is safe inside a tag, where braces are allowed."""
    return one_line(text, _MAX_TAG_LENGTH).replace("\\", "\\\\").replace('"', '\\"')


_VALUES = Texts(_quoted)


def _tags(
    game: Game, number: int, event: str, more: Mapping[str, str], ratings: Mapping[str, float], eco: tuple[str, str]
) -> Iterator[str]:
    began, pairing = iso_timestamp(game.started_unix), game.pairing
    tags = {
        "Event": event,
        "Site": more.get("Site", "?"),
        "Date": began[:10].replace("-", "."),
        "Round": f"{pairing.round}.{number}",
        "White": pairing.white,
        "Black": pairing.black,
        "Result": str(game.outcome),
    }
    opening = game.opening
    if opening.variant != STANDARD:
        tags["Variant"] = VARIANTS[opening.variant].tag
    if opening.fen:
        tags |= {"SetUp": "1", "FEN": opening.fen}
    for color, name in (("White", pairing.white), ("Black", pairing.black)):
        if name in ratings:
            tags[f"{color}Elo"] = str(round(ratings[name]))
    code, name = eco
    if code:
        tags |= {"ECO": code, "Opening": name if name != code else ""}
    white_tc, black_tc = pgn_control(game.white_tc), pgn_control(game.black_tc)
    if white_tc == black_tc:
        tags["TimeControl"] = white_tc or "?"
    else:
        tags |= {"WhiteTimeControl": white_tc, "BlackTimeControl": black_tc}
    if pairing.handicap:
        tags["Handicap"] = f"{'White' if pairing.handicap > 0 else 'Black'} gives {abs(pairing.handicap)}"
    tags |= {
        "PlyCount": str(game.plies),
        "Termination": "unterminated" if game.outcome is Outcome.VOID else termination_tag(game.termination),
        "GameStartTime": began,
        "GameEndTime": iso_timestamp(game.ended_unix),
        "GameDuration": _duration(game),
        "WhiteEngine": game.white.own_name,
        "BlackEngine": game.black.own_name,
        "Encounter": str(pairing.encounter),
        "Leg": str(pairing.leg),
        "OpeningName": opening.name,
        "OpeningNumber": str(opening.index or ""),
        "OpeningPlies": str(len(opening.moves) or ""),
        "Hardware": game.hardware,
    }
    tags |= {name: value for name, value in more.items() if name not in OWN_TAGS}
    for name, value in tags.items():
        if value or name in _ROSTER:
            yield f'[{name} "{_VALUES[value] or "?"}"]'


def termination_tag(termination: Termination) -> str:
    """Return the value of the Termination tag."""
    if termination.value.startswith("adjudication"):
        return "adjudication"
    return _TERMINATIONS.get(termination, "normal")


def _duration(game: Game) -> str:
    seconds = max(0, round(game.ended_unix - game.started_unix))
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def _movetext(game: Game, extras: tuple[str, ...], bare: int) -> list[str]:
    number, white = first_move(game.opening.fen)
    plies = [
        f"{f'P{move.san}' if move.san[:1] == '@' else move.san} {{{comment}}}"  # a drop as in cutechess and xboard
        for move, comment in zip(game.moves, move_comments(game.moves, extras), strict=True)
    ]
    plies[:bare] = [ply.partition(" {")[0] for ply in plies[:bare]]
    plies[not white :: 2] = [f"{n}. {ply}" for n, ply in enumerate(plies[not white :: 2], number + (not white))]
    if plies and not white:
        plies[0] = f"{number}... {plies[0]}"
    if game.cause:
        cause = _comment_text(game.cause)
        plies[-1:] = [f"{plies[-1][:-1]}, {cause}}}"] if game.moves else [f"{{{cause}}}"]
    plies.append(str(game.outcome) if game.outcome is not Outcome.VOID else "*")
    lines = wrap_movetext(" ".join(plies))
    # A percent sign in column 1 hides its line from readers (PGN standard 6), and a bracket can start a tag.
    return [f"'{line}" if line.startswith(("%", "[")) else line for line in lines]


def wrap_movetext(text: str) -> list[str]:
    """Wrap movetext into lines of up to 80 characters (PGN standard 4.3). Longer words get their own line."""
    return _LINE.findall(text)


def move_number(fen: str | None, ply: int) -> tuple[int, bool]:
    """Return the move number of the `ply`-th half-move of a game, counted from 1, and whether White makes it."""
    number, white = first_move(fen)
    before = ply - 1 + (not white)
    return number + before // 2, before % 2 == 0


def first_move(fen: str | None) -> tuple[int, bool]:
    """Return the move number of the first half-move of a game, and whether White makes it."""
    if fen is None:
        return 1, True
    fields = fen.split()
    number = int(fields[-1]) if len(fields) > 5 and _NUMBER.fullmatch(fields[-1]) else 1
    return max(1, number), fields[1:2] != ["b"]


# EPD (PGN standard 16.2).


def final_epd(game: Game, number: int, event: str) -> str:
    """Return the final position of a game as a line of EPD, with the move counters, the engines and the result.

    Format: ``8/8/... w - - hmvc 3; fmvn 71; id "event, game 5"; c0 "A - B 1-0, White mates";``.
    """
    *fields, halfmoves, move = game.final_fen.split()
    names = f"{game.pairing.white} - {game.pairing.black} {game.outcome}"
    operations = (("id", f"{event}, game {number}"), ("c0", f"{names}, {game.cause}" if game.cause else names))
    texts = (f'{name} "{_operand(text)}";' for name, text in operations)
    return " ".join((*fields, f"hmvc {halfmoves};", f"fmvn {move};", *texts))


def _operand(text: str) -> str:
    """Replace quotes, backslashes and semicolons. EPD strings have no escapes, and some readers split at semicolons."""
    return _comment_text(text).replace('"', "'").replace("\\", "/").replace(";", ",")


# Exports, and the PGN file of a run.

# Matches a complete game: its tags, and movetext with any content (PGN standard 8.1).
_VALUE = rb'"(?:[^"\\\n]|\\.)*"\]\n'
_WHOLE = re.compile(rb"\[Event " + _VALUE + rb"((?:\[(?!Event )\w+ " + _VALUE + rb")*)\n+[^\[\n].*\n(?:.+\n)*\n")
_ROUND = re.compile(rb'^\[Round "\d+\.(\d+)"\]$', re.MULTILINE)
_BEGUN = re.compile(rb'^\[GameStartTime "([^"\n]*)"\]$', re.MULTILINE)
_OF_ANOTHER = "a run with another database also writes this file"
# The last line of the file while a run writes it. This line remains after a crash. Readers skip it (PGN standard 6).
UNFINISHED_LINE = (
    b"% enginetour: games may be missing. A run is writing this file or crashed; the next run completes the file.\n"
)
_BLOCK_BYTES = 1 << 20  # bytes to read at a time
_MAX_GAME_BYTES = 16 << 20  # bytes; a longer game is damaged, since 600 moves with full PVs take 200 KiB


def export_pgn(
    log: TournamentLog, first: int = 1, comments: tuple[str, ...] = (), names: OpeningNames | None = None
) -> Iterable[str]:
    """Yield the PGN of every game that counts, in the order of the event log, from number `first`.

    `comments` and `names` are passed to `game_pgn`.
    """
    same = common_tags(log) | {"comments": comments, "names": names}
    for stored in _counting(log, first):
        yield game_pgn(stored.game, stored.number, log.title, **same)


def export_epd(log: TournamentLog) -> Iterable[str]:
    """Yield the final position of every game that counts as a line of EPD."""
    for stored in _counting(log, 1):
        if stored.game.final_fen:
            yield final_epd(stored.game, stored.number, log.title) + "\n"


def _counting(log: TournamentLog, first: int) -> Iterator[StoredGame]:
    return (one for one in log.full_games(first) if not one.voided and one.game.outcome is not Outcome.VOID)


def write_engine_log(pgn: Path, number: int, game: Game) -> None:
    """Write the engine log of one game into its own file, in a directory next to the PGN file."""
    folder = pgn.with_suffix(".traffic")
    folder.mkdir(exist_ok=True)
    names = f"{game.pairing.white} - {game.pairing.black}"
    title = f"# game {number}: {names}, {game.outcome} ({game.cause})"
    replace_file(folder / f"{number:06}.log", [f"{line}\n" for line in (title, *game.traffic)])


class PgnFile:
    """The PGN file of a running tournament. It is an export, so a failure to write it does not stop the run.

    Games that could not be written are written together with a later game. If the file was changed by another program,
    it is written again from the database, from its first missing or damaged game. If `hurry` returns true, the repair
    is left to the next run, because it takes 1 ms of processor time for each game. A game that becomes void is removed
    from the file. If the file is `growing`, its last line warns that games may be missing. `finish` removes this line.
    """

    def __init__(
        self,
        path: Path,
        log: TournamentLog,
        hurry: Callable[[], bool] = lambda: False,
        comments: tuple[str, ...] = (),
        tell: Callable[[str], None] = lambda _: None,
        names: OpeningNames | None = None,
        *,
        growing: bool = False,
    ) -> None:
        self.path = path
        self._tail = UNFINISHED_LINE if growing else b""
        self.log = log
        self._comments = comments
        self._names = names
        self._tell = tell
        self._hurry = hurry
        self._size: int | None = None  # bytes after the last write, or None if the file must be checked
        self._inode = -1  # inode after the last write, because another file can have the same size
        self._missing: int | None = None  # number of the first missing game
        self._newest = 0  # number of the last game in the event log at the last repair
        self._aside = False  # whether a file of another database was renamed
        self._left = False  # whether another run writes the file

    def mend(self) -> None:
        """Repair the file so that it contains every game that counts. Raise OSError if this fails.

        A file with a game that is not in the event log is renamed, because it may be the last copy of a lost database.
        Only one file is renamed: if such a file appears again, another run is writing it at the same time.
        """
        if self._missing is not None:
            self._size = self._missing = None
        if is_special(self.path):  # opening a named pipe would block until it has a reader
            raise OSError(errno.EINVAL, "not a regular file")
        if self._is_as_left():
            return
        self._size, self._newest = None, self.log.last_number
        lines = self.log.games()
        wanted = [line.number for line in lines if line.outcome is not Outcome.VOID and not line.voided]
        begun = {line.number: iso_timestamp(line.started_unix).encode("ascii") for line in lines}
        counting, there, whole, matches = set(wanted), list[int](), 0, True
        for number, text in self._whole_games():
            there.append(number)
            whole += len(text)
            start = _BEGUN.search(text)
            matches = matches and (start is None or begun.get(number) == start[1])
        if not matches:
            self._put_aside()
            there = []
        kept = [number for number in there if number in counting]
        if not kept or kept != wanted[: len(kept)]:
            replace_bytes(self.path, chain(self._bytes(1), [self._tail]))
        elif len(kept) < len(there):
            standing = (text for number, text in self._whole_games() if number in counting)
            replace_bytes(self.path, chain(standing, self._bytes(kept[-1] + 1), [self._tail]))
        elif whole + len(self._tail) != self._there()[0] or len(there) < len(wanted):
            os.truncate(self.path, whole)
            with self.path.open("ab") as sink:
                sink.writelines(self._bytes(kept[-1] + 1))
                sink.write(self._tail)
        self._size, self._inode = self._there()

    def _put_aside(self) -> None:
        if self._aside:
            self._left = True
            raise OSError(errno.EBUSY, _OF_ANOTHER)
        self._aside = True
        names = (self.path.with_name(f"{self.path.stem}.old-{number}{self.path.suffix}") for number in count(1))
        free = next(name for name in names if not name.exists())
        self.path.rename(free)
        self._tell(f"{self.path.name} contained games of another database and was renamed to {free.name}")

    def finish(self) -> None:
        """Remove the last line, which warns that games may be missing, and repair the file."""
        tail, self._tail = self._tail, b""
        if tail and self._size is not None and self._is_as_left():
            self._size -= len(tail)
            os.truncate(self.path, self._size)
        self.mend()

    def outdated(self) -> None:
        """Mark the file for a check, since a game in it may have become void."""
        self._size = None

    def extend(self, games: Sequence[tuple[int, Game]]) -> None:
        """Append games that are already in the database, in its order. Raise OSError if they cannot be written."""
        as_left = self._is_as_left()
        if as_left:  # leave out games that the last repair has already written
            games = [one for one in games if one[0] > self._newest]
        if not games:
            return
        first = games[0][0]
        missing = first if self._missing is None else self._missing
        self._missing = missing
        if self._left:  # a repair would read the whole file for each game
            raise OSError(errno.EBUSY, _OF_ANOTHER)
        size = self._size
        if size is None or not as_left:
            self.mend()
            return
        same = common_tags(self.log) | {"comments": self._comments, "names": self._names}
        made = [game_pgn(one, number, self.log.title, **same) for number, one in games]
        whole = size - len(self._tail)
        try:
            with self.path.open("r+b") as sink:
                sink.seek(whole)
                sink.writelines(text.encode("utf-8") for text in (made if missing == first else self._games(missing)))
                sink.write(self._tail)
                sink.flush()
                left = os.fstat(sink.fileno())
        except OSError:
            with suppress(OSError):
                os.truncate(self.path, whole)
                if self._tail:
                    with self.path.open("ab") as sink:
                        sink.write(self._tail)
            raise
        self._missing = None
        self._size, self._inode = left.st_size, left.st_ino

    @property
    def is_whole(self) -> bool:
        """Return whether the file contained every game that counts when it was last written or checked."""
        return self._size is not None and self._missing is None

    def _there(self) -> tuple[int, int]:
        """Return the size and the inode of the file, or -1 for both if it does not exist."""
        try:
            found = os.stat(self.path)  # noqa: PTH116 - called after each game, takes half the time
        except FileNotFoundError:
            return -1, -1
        return found.st_size, found.st_ino

    def _is_as_left(self) -> bool:
        return self._size is not None and (self._size, self._inode) == self._there()

    def _games(self, first: int) -> Iterable[str]:
        return export_pgn(self.log, first, self._comments, self._names)

    def _bytes(self, first: int) -> Iterator[bytes]:
        for text in self._games(first):
            if self._hurry():
                raise InterruptedError(errno.EINTR, "the run is stopping")
            yield text.encode("utf-8")

    def _whole_games(self) -> Iterator[tuple[int, bytes]]:
        """Yield the number and the bytes of each complete game at the start of the file.

        The last game before other content is left out, since its movetext may be mixed with that content.
        """
        rest, last = b"", list[tuple[int, bytes]]()
        try:
            with self.path.open("rb") as source:
                while len(rest) < _MAX_GAME_BYTES and (block := source.read(_BLOCK_BYTES)):
                    rest += block
                    at = 0
                    while (one := _WHOLE.match(rest, at)) and (number := _ROUND.search(one[1])):
                        yield from last
                        at, last = one.end(), [(int(number[1]), one[0])]
                    rest = rest[at:]
        except FileNotFoundError:
            return
        if rest in (b"", UNFINISHED_LINE):
            yield from last
