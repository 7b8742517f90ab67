"""``[play]``: what holds when nothing is said."""

from __future__ import annotations

import pytest

from enginetour.model.task import Quirks, Rules
from enginetour.openings.choice import OpeningSettings
from enginetour.reports.pgn import EXTRAS
from enginetour.tournament.config.sections import EntrantSection, PlaySection, ResignSettings, TableSettings


def test_defaults() -> None:
    """As runner spec 17 promises them beside the peers' own; a config of theirs comes with other ones, named in it."""
    play = PlaySection()
    assert (play.slots, play.affinity, play.start_parallel, play.restart) == (1, "quick", 4, "auto")
    assert (play.hang_limit, play.doubtful_flag, play.margin_ms) == (60.0, "void", None)
    assert (play.max_moves, play.repetition, play.fifty) == (600, 3, 50)
    assert (play.draw, play.resign, play.tablebases, play.draw_offers) == (None, None, None, False)
    assert (play.ponder, play.speed, play.variant, play.log_traffic, play.sandbox) == (
        False, None, "standard", False, "none"
    )  # fmt: skip
    assert ResignSettings(moves=4, score=600).two_sided
    tables = TableSettings(path=("/tables",))
    assert (tables.fifty, tables.only, tables.adjudicate, tables.engines) == (True, "both", True, False)
    openings = OpeningSettings()
    assert (openings.order, openings.start, openings.per, openings.repeat) == ("random", 1, None, None)
    own = EntrantSection(engine="x")
    assert (own.ponder, own.restart, own.margin_ms, own.tc_factor, own.own_book) == (None, None, None, None, None)


@pytest.mark.parametrize("names", ["all", ["all"], list(EXTRAS)])
def test_all_comments_have_a_name(names: object) -> None:
    """As `export --comments all` has them, in a configuration and in `match --pgn all`."""
    assert PlaySection.model_validate({"pgn": names}).pgn == EXTRAS


def test_defaults_of_an_engine() -> None:
    """Limits of a handshake and of a fence, and no quirk at all."""
    quirks = Quirks()
    assert (quirks.handshake_timeout, quirks.ready_timeout, quirks.fence) == (60.0, 60.0, "off")
    assert (quirks.line_delay_ms, quirks.movetime, quirks.max_plies, quirks.restart) == (0, "st", 0, False)
    assert not (quirks.whitepov or quirks.lenient_promotion or quirks.st_fraction or quirks.no_cores)


def test_rules_have_the_same_defaults() -> None:
    """Of a game that no configuration made, as a replay of an incident."""
    play, rules = PlaySection(), Rules()
    for name in ("repetition", "fifty", "max_moves", "hang_limit", "doubtful_flag", "draw", "resign", "draw_offers"):
        assert getattr(rules, name) == getattr(play, name)
