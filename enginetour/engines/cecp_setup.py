"""What a CECP engine is told before a game: memory, time controls, positions (protocol spec: "level", "st", "edit")."""

from __future__ import annotations

from dataclasses import replace

import chess

from enginetour.engines.features import Features
from enginetour.model.errors import Unsupported, Untellable
from enginetour.model.task import EngineSpec, Quirks
from enginetour.model.timecontrol import Stage, TimeControl, seconds_text
from enginetour.openings.positions import is_editable

UNLIMITED_MIN = 60  # minutes told when only a depth is asked: more than the hang limit, so the depth decides
UNLIMITED_MS = UNLIMITED_MIN * 60_000
# Wishes in an engine file that mean a feature where no option of that name is declared.
_WISHES = {"memory": "memory", "hash": "memory", "cores": "smp", "threads": "smp"}
_COMMANDS = {"memory": "memory", "smp": "cores"}


def feature_wishes(
    spec: EngineSpec, features: Features
) -> tuple[tuple[tuple[str, str], ...], list[bytes], tuple[str, ...]]:
    """The spec's options without those that `memory` and `cores` serve, these commands, and what is wrong.

    One core is what every engine has: it is told only to those that declare smp and survive hearing it.
    """
    wanted: list[tuple[str, str]] = []
    lines: list[bytes] = []
    problems: list[str] = []
    for name, value in spec.options:
        feature = _WISHES.get(name.casefold())
        if feature is None or name.casefold() in features.options:
            wanted.append((name, value))
        elif not (value.isascii() and value.isdigit() and int(value) > 0):
            problems.append(f"option {name!r} is a whole number above 0, found {value!r}")
        elif feature == "smp" and (spec.quirks.no_cores or (value == "1" and not features.on("smp"))):
            continue
        elif not features.on(feature):
            problems.append(f"unknown option {name!r}: it declares neither such an option nor {feature}=1")
        else:
            lines.append(f"{_COMMANDS[feature]} {int(value)}".encode("ascii"))
    return tuple(wanted), lines, tuple(problems)


def table_paths(spec: EngineSpec, features: Features) -> list[bytes]:
    """``egtpath syzygy PATH`` for an engine that declares tables of that kind (protocol spec: "egt", "egtpath")."""
    kinds = {kind.strip().casefold() for kind in features.values.get("egt", "").split(",")}
    if "syzygy" not in kinds:
        return []
    return [f"egtpath syzygy {path}".encode() for name, path in spec.offered if name == "SyzygyPath"]


def time_lines(tc: TimeControl, quirks: Quirks, *, nps: bool) -> list[bytes]:
    """`level` or `st`, with `sd` or `nps`; Unsupported when this engine cannot be told the control."""
    if tc.nodes is not None:
        if not nps or tc.stages or tc.movetime_ms is not None:
            raise Unsupported("cannot be limited by nodes: it does not declare nps, or a time stands beside them")
        lines = [f"nps {tc.nodes}".encode("ascii"), b"st 1"]
    elif tc.movetime_ms is not None:
        lines = [_movetime_line(tc.movetime_ms, quirks)]
    elif tc.stages:
        lines = [_level(tc.stage(0))]
    else:
        lines = [f"level 0 {UNLIMITED_MIN} 0".encode("ascii")]
    return lines + _depth(tc)


def _depth(tc: TimeControl) -> list[bytes]:
    return [] if tc.depth is None else [f"sd {tc.depth}".encode("ascii")]


def _movetime_line(ms: int, quirks: Quirks) -> bytes:
    if quirks.movetime == "level":
        # The increment is the time of a move; the base cannot say less than a second, `time` before each move can.
        return f"level 0 0:01 {seconds_text(ms)}".encode("ascii")
    if quirks.st_fraction:
        return f"st {seconds_text(ms)}".encode("ascii")
    if ms % 1000:
        raise Unsupported(f'cannot be told movetime={seconds_text(ms)}: whole seconds only; set movetime = "level"')
    return f"st {ms // 1000}".encode("ascii")


def _level(stage: Stage) -> bytes:
    """`moves` may be more than the stage has: those of the opening and of earlier stages count."""
    minutes, seconds = divmod(max(1, stage.base_ms // 1000), 60)
    base = f"{minutes}:{seconds:02d}" if seconds else f"{minutes}"
    return f"level {stage.moves} {base} {seconds_text(stage.increment_ms)}".encode("ascii")


def stage_lines(told: Stage, tc: TimeControl, stage: int, made: int, to_go: int) -> tuple[Stage, list[bytes]]:
    """The session an engine is to know, and what tells it that where it would reckon otherwise; [] where it would not.

    Engines count the moves of the game, those they were told in force mode too, and expect time anew after each
    multiple of `moves` (six of the seven surveyed). Their last time was spent on the last moves before that.
    """
    new = tc.stage(stage)
    end = made + to_go if to_go else 0
    if _end(told, made) == end and replace(told, moves=new.moves) == new:
        return told, []
    meant = new if _end(new, made) == end else replace(new, moves=end)
    return meant, [_level(meant), *_depth(tc)]


def _end(stage: Stage, made: int) -> int:
    """After which move of the game an engine that was told `stage` expects more time; 0: never."""
    return (made // stage.moves + 1) * stage.moves if stage.moves else 0


def edit_lines(board: chess.Board, white_move: bytes) -> list[bytes]:
    """A bare position for an engine without setboard, in force mode right after `new`.

    `edit` cannot express whose move it is, so with Black to move `white_move` goes first. It cannot express the
    fifty-move counter either: enginetour keeps that and ends the game. Untellable where castling rights or en passant
    are other than those that an engine takes from the squares.
    """
    if not is_editable(board):
        raise Untellable(f"edit cannot express castling rights or en passant of {board.fen()}, and it has no setboard")
    lines = [white_move] if board.turn == chess.BLACK else []
    lines += [b"edit", b"#"]
    for color in chess.COLORS:
        if color == chess.BLACK:
            lines.append(b"c")
        for square, piece in sorted(board.piece_map().items()):
            if piece.color == color:
                lines.append(f"{piece.symbol().upper()}{chess.square_name(square)}".encode("ascii"))
    lines.append(b".")
    return lines
