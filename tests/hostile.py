"""A store as a stranger may hand it over: every name and word in it tries something."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

from enginetour.formats.base import make_format, options_model
from enginetour.model.game import (
    Entrant,
    Game,
    GameFinished,
    Incident,
    MoveMade,
    Opening,
    Outcome,
    SideRecord,
    Termination,
)
from enginetour.store.tournaments import Draft, Store
from tests.storing import add_game, spec

ESCAPES = "\x1b[2J\x1b]0;title\x07A"
FORMULA = "=cmd|'/c calc'!A1"
BIDI = "\u202eevil\u2066\u200b\u061cB"
MARKUP = "[red]markup[/red]\x9b31mC"
LINES = '+D\r\nnext\u2028[Event "no"]'
COMMENT = '{x} } [Event "no"] %s %n {0} 1-0'
SQL = "'; DROP TABLE games; --"
NAMES = (ESCAPES, FORMULA, BIDI, MARKUP, LINES, COMMENT, SQL)
TITLES = {"bubble": "bub\x1b[1m\u202e", "dutch": "swi\x1b]0;x\x07\r\n001", "roundrobin": "'; DROP TABLE games; --\x9b"}
SETTINGS: dict[str, dict[str, Any]] = {
    "bubble": {"size": 3, "min_matches": 2, "unpark_threshold": 2}, "dutch": {"rounds": 2}, "roundrobin": {},
}  # fmt: skip


def store(path: Path) -> None:
    """One tournament of each kind of report, played to its end."""
    with Store.open(path) as made:
        for system, title in TITLES.items():
            _play(made, title, system, SETTINGS[system])


def _play(made: Store, title: str, system: str, settings: dict[str, Any]) -> None:
    format_ = make_format(system, options_model(system)(**settings), 7)
    entrants = tuple(
        Entrant(name, family="fam\x1b\r\n", origin="CZE", rating=2700.0 - 50 * n) for n, name in enumerate(NAMES)
    )
    specs = {name: replace(spec("x"), name=name) for name in NAMES}
    state = format_.start(entrants)
    config = {"format": {"system": system, **settings}, "ratings": {"anchor": {}}}
    draft = Draft(title, system, format_.version, config, 7, entrants, specs)
    log = made.create_tournament(draft, format_.notes(state))
    dice = random.Random(1)
    while offers := format_.offers(state):
        outcome = dice.choice([Outcome.WHITE, Outcome.DRAW, Outcome.BLACK])
        white = offers[0].white
        game = Game(
            offers[0], outcome, Termination.RESIGN, f"{white} \x1b[31mcause\u202e }} {{", white, "crash\x1b",
            Opening('op\x1b "\\', 1), (MoveMade("e2e4", "e4", 120, 59_980, -(2**63), 14, 10**25, "g1f3 \x1b"),),
            SideRecord('own\x1b\u202e"\\', warnings=("w\x1b",)), white_tc="60\x1b", black_tc="60+1\u202e",
            final_fen="x\x1b", started=1.7e9, ended=1.7e9 + 60, hardware="cpu\x1b", load=9.0, cores=2,
            incidents=(Incident(white, "crash\x1b", "cause\x1b\u202e", 1, ("t\x1b",), ("s\x1b",)),),
        )  # fmt: skip
        told = len(format_.notes(state))
        state = format_.step(state, GameFinished(offers[0], outcome))
        add_game(log, game, format_.notes(state)[told:])


def games(path: Path) -> None:
    """A game file of the same kind."""
    met = [(ESCAPES, FORMULA, "1-0"), (FORMULA, BIDI, "0-1"), (BIDI, MARKUP, "1/2-1/2"), (MARKUP, ESCAPES, "x\x1b")]
    written = "".join(
        f'[Event "e\x1b"]\n[White "{white}"]\n[Black "{black}"]\n[Result "{result}"]\n\n1. e4 {result}\n\n'
        for white, black, result in met * 3
    )
    path.write_bytes((written + '[White "?"]\n[Black "b\x1b"]\n[Result "1-0"]\n\n*\n').encode())
