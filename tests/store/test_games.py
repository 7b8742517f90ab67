"""Tests of reading games."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import func, inspect, select
from sqlalchemy.dialects.sqlite import dialect

from enginetour.model.errors import UsageRefused
from enginetour.model.game import GameFinished, GameVoided, Outcome
from enginetour.ratings.gor import con, czech_expected
from enginetour.ratings.pentanomial import pair_half_points
from enginetour.store.address import Address
from enginetour.store.database import lock_of
from enginetour.store.definition import ListDefinition
from enginetour.store.games import describe_scores, head_to_head
from enginetour.store.lists import rate_selection
from enginetour.store.log import TournamentLog
from enginetour.store.ratings import ratings_of, update_ratings
from enginetour.store.selection import pentanomials_of_tournament, select_games
from enginetour.store.tables import GAMES, ODDS, STANDING
from enginetour.store.tournaments import Store
from tests.support.databases import add_game, counts_are_kept, draft, game, open_log
from tests.support.tournaments import config, tour

# Head-to-head results.


def test_half_points_are_the_first_engines(tmp_path: Path) -> None:
    """Half points are those of the first engine, with any color."""
    store, log = open_log(tmp_path / "x.db")
    with store:
        add_game(log, game("Fruit", "Toga", Outcome.WHITE, leg=1))
        add_game(log, game("Toga", "Fruit", Outcome.WHITE, leg=2))
        add_game(log, game("Fruit", "Phalanx", Outcome.WHITE))
        add_game(log, game("Toga", "Fruit", Outcome.DRAW, meeting=2))
        own, foe = head_to_head(store.database, "Fruit", "Toga"), head_to_head(store.database, "Toga", "Fruit")
    assert [points for _, points in own.games] == [2, 0, 1]
    assert [points for _, points in foe.games] == [0, 2, 1]
    assert pair_half_points(own.games) == [2]
    assert own.versions == (("Fruit",), ("Toga",))


def test_a_void_leg_counts_when_it_is_replayed(tmp_path: Path) -> None:
    """A replayed game completes its pair, and an annulled game removes it."""
    store, log = open_log(tmp_path / "x.db")
    with store:
        add_game(log, game("Fruit", "Toga", Outcome.WHITE, leg=1))
        add_game(log, game("Toga", "Fruit", Outcome.VOID, leg=2))
        add_game(log, game("Fruit", "Toga", Outcome.DRAW, meeting=2, leg=1))
        add_game(log, game("Toga", "Fruit", Outcome.DRAW, meeting=2, leg=2))
        assert pair_half_points(head_to_head(store.database, "Fruit", "Toga").games) == [2]
        add_game(log, game("Toga", "Fruit", Outcome.BLACK, leg=2, replay=1))
        assert pair_half_points(head_to_head(store.database, "Fruit", "Toga").games) == [2, 4]
        struck = game("Fruit", "Toga", Outcome.DRAW, meeting=2, leg=1)
        log.record_event(GameVoided(struck.pairing, struck.outcome, "power cut"))
        assert pair_half_points(head_to_head(store.database, "Fruit", "Toga").games) == [4]


def test_four_legs_are_two_pairs(tmp_path: Path) -> None:
    """Legs 1 and 2, and legs 3 and 4, are pairs, in whatever order they ended."""
    store, log = open_log(tmp_path / "x.db")
    with store:
        for leg, outcome in ((1, Outcome.WHITE), (3, Outcome.BLACK), (4, Outcome.WHITE), (2, Outcome.BLACK)):
            white, black = ("Fruit", "Toga") if leg % 2 else ("Toga", "Fruit")
            add_game(log, game(white, black, outcome, leg=leg))
        assert pair_half_points(head_to_head(store.database, "Fruit", "Toga").games) == [0, 4]


def test_tournaments_apart_and_together(tmp_path: Path) -> None:
    """Games of different tournaments are different pairs; versions can be selected together or alone."""
    store, log = open_log(tmp_path / "x.db")
    with store:
        add_game(log, game("Fruit", "Toga", Outcome.WHITE, leg=1))
        later = store.create_tournament(draft("winter", fingerprint="f2"))
        add_game(later, game("Toga", "Fruit", Outcome.DRAW, leg=2))
        both = head_to_head(store.database, "Fruit", "Toga")
        assert [points for _, points in both.games] == [2, 1]
        assert pair_half_points(both.games) == []
        assert both.versions == (("Fruit [f1]", "Fruit [f2]"), ("Toga [f1]", "Toga [f2]"))
        assert [points for _, points in head_to_head(store.database, "Fruit", "Toga", tournament=later.id).games] == [1]
        alone = head_to_head(store.database, "Fruit [f1]", "Toga")
        assert [points for _, points in alone.games] == [2]
        assert alone.versions == (("Fruit [f1]",), ("Toga [f1]",))


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        ("Fruit", "Togo", "did you mean 'Toga'?"),
        ("Fruit", "Fruit", "are the same engine"),
        ("Fruit", "HoiChess", "have no games"),
    ],
)
def test_a_refusal_names_what_is_there(tmp_path: Path, one: str, other: str, told: str) -> None:
    """Unknown or equal names, and engines without common games, are errors."""
    store, log = open_log(tmp_path / "x.db")
    with store:
        add_game(log, game("Fruit", "Toga"))
        with pytest.raises(UsageRefused) as refusal:
            head_to_head(store.database, one, other)
    assert told in str(refusal.value)


# Games at time odds.


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "t.db") as opened:
        yield opened


def played(log: TournamentLog, handicap: int, outcome: Outcome, meeting: int, leg: int = 1) -> None:
    """Fruit and Toga, Fruit with White on leg 1."""
    names = ("Fruit", "Toga") if leg == 1 else ("Toga", "Fruit")
    made = game(*names, outcome, meeting=meeting, leg=leg)
    add_game(log, replace(made, pairing=replace(made.pairing, handicap=handicap)))


@pytest.fixture
def log(store: Store) -> TournamentLog:
    """One even game, a pair at 3 bands given by Fruit, a game at 1 band, and a void game."""
    made = store.create_tournament(draft())
    played(made, 0, Outcome.WHITE, 1)
    played(made, 3, Outcome.DRAW, 2)
    played(made, -3, Outcome.WHITE, 2, leg=2)
    played(made, 1, Outcome.WHITE, 3)
    played(made, 1, Outcome.VOID, 4)
    return made


def test_stones_count_where_games_at_odds_are_rated(store: Store, log: TournamentLog) -> None:
    """Go ratings of a list with odds count 100 points per band."""
    entry = {one.name: one.rating or 0.0 for one in log.entrants}
    ahead = entry["Fruit"] - entry["Toga"]

    def rated(**more: object) -> float:
        made = rate_selection(store, select_games(store, ListDefinition.model_validate({"system": "gor", **more})))
        return next(row.rating for row in made.rows if row.name == "Fruit")

    hoped = [czech_expected(ahead - 100 * stones) for stones in (0, 3, 3, 1)]
    change = con(entry["Fruit"]) * (2.5 - sum(hoped))
    assert rated(odds=True) == pytest.approx(entry["Fruit"] + change, abs=1e-9)
    assert rated() == pytest.approx(entry["Fruit"] + con(entry["Fruit"]) * (1 - hoped[0]), abs=1e-9)


def test_events_and_games_keep_it(log: TournamentLog) -> None:
    """The handicap of a game is read from the log with its sign."""
    found = [event.pairing.handicap for event in log.events() if isinstance(event, GameFinished)]
    assert found == [stored.game.pairing.handicap for stored in log.full_games()] == [0, 3, -3, 1, 1]
    assert [line.handicap for line in log.games()] == found


def test_even_counts(log: TournamentLog) -> None:
    """Pair counts only have even games, even after a game at odds was annulled."""
    assert log.pair_counts() == {("Fruit", "Toga"): (1, 0, 0)}
    log.record_event(GameVoided(replace(game(meeting=2).pairing, handicap=3), Outcome.DRAW))
    assert log.pair_counts() == {("Fruit", "Toga"): (1, 0, 0)}
    assert counts_are_kept(log)


def test_a_run_remembers_even_counts(tmp_path: Path, log: TournamentLog) -> None:
    """The cached counts of a run do not include games at odds."""
    with lock_of(str(tmp_path / "t.db"), log.slug) as lock:
        log.require_lock(lock)
        played(log, 0, Outcome.WHITE, 5)
        assert log.pair_counts() == {("Fruit", "Toga"): (2, 0, 0)}
        played(log, 2, Outcome.WHITE, 6)
        assert log.pair_counts() == {("Fruit", "Toga"): (2, 0, 0)}
        played(log, 0, Outcome.DRAW, 7)
        assert log.pair_counts() == {("Fruit", "Toga"): (2, 1, 0)}


def test_ratings_are_of_even_games(store: Store, log: TournamentLog) -> None:
    """Incremental systems, match tests and game pairs ignore games at odds."""
    update_ratings(store, "elo")
    assert {games for _, games in ratings_of(store, "elo").values()} == {1}
    assert len(head_to_head(store.database, "Fruit", "Toga").games) == 1
    assert pentanomials_of_tournament(log) == {}


@pytest.mark.parametrize("as_of", [None, "game 5"])
def test_lists(store: Store, log: TournamentLog, as_of: str | None) -> None:
    """A list leaves games at odds out and reports them, unless its definition includes them."""
    even, whole = (select_games(store, ListDefinition(odds=odds), as_of) for odds in (False, True))
    assert (even.games, dict(even.left_out)) == (1, {"odds": 3})
    assert (whole.games, dict(whole.left_out)) == (4, {})
    apart = "games at time odds, not rated: 3; the engine giving odds scored 1 of 1 at 1 band, 0.5 of 2 at 3 bands"
    assert apart in rate_selection(store, select_games(store, ListDefinition(), as_of)).caption
    assert apart not in rate_selection(store, select_games(store, ListDefinition(odds=True), as_of)).caption


def test_other_tournaments(store: Store, log: TournamentLog) -> None:
    """Games at odds of an excluded tournament are counted for the filter part "tournament"."""
    log.record_event(GameVoided(replace(game(meeting=3).pairing, handicap=1), Outcome.WHITE))
    for as_of in (None, "game 5"):
        found = select_games(store, ListDefinition(not_tournaments=("autumn",)), as_of)
        assert dict(found.left_out) == {"tournament": 3 if as_of is None else 4}


def test_entrants_and_givers(log: TournamentLog) -> None:
    """Games at odds are counted by entrant; points of the engines giving odds by bands."""
    assert log.odds_by_entrant() == {"Fruit": 3, "Toga": 3}
    assert log.scores_at_odds() == {1: (1, 2), 3: (2, 1)}
    assert describe_scores({2: (1500, 1001)}).endswith("1,500; the engine giving odds scored 500.5 of 1,500 at 2 bands")


def test_the_index_is_used(store: Store, log: TournamentLog) -> None:
    """Games at odds are counted with the index."""
    asked = select(GAMES.c.tournament, func.count()).where(ODDS, STANDING).group_by(GAMES.c.tournament)
    words = str(asked.compile(dialect=dialect(), compile_kwargs={"literal_binds": True}))
    with store.database.reading() as connection:
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {words}").fetchall()
    assert "games_odds" in str(plan[0])


def test_withdrawals_are_found_without_the_whole_log(store: Store, log: TournamentLog) -> None:
    """Events without a game are read with the index of games and kinds, which has few of them."""
    words = str(log._changes("withdrawn").compile(dialect=dialect(), compile_kwargs={"literal_binds": True}))
    with store.database.reading() as connection:
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {words}").fetchall()
    assert "events_game (game=? AND kind=?)" in str(plan[0])


def test_the_index_holds_games_at_odds_alone(place: Address) -> None:
    """In both backends, the index only has the games at odds."""
    with Store.open(place) as store, store.database.reading() as connection:
        (index,) = [found for found in inspect(connection).get_indexes("games") if found["name"] == "games_odds"]
        assert "handicap" in str(index["dialect_options"][f"{connection.dialect.name}_where"])


def test_a_file_does_without_the_server_s_dialect() -> None:
    """Opening a file does not import the PostgreSQL dialect, which would take a tenth of the start (measured)."""
    code = "import sys, enginetour.store.tournaments; print([n for n in sys.modules if 'dialects.postgresql' in n])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_games_that_came_again_are_told(tmp_path: Path) -> None:
    """Games that repeat an earlier game are counted."""
    path = config(tmp_path, ("wren1", "wren2"), "match", "games = 6\ngames_per_pairing = 2")
    text = path.read_text("utf-8").replace("[play]", f'[play]\nopenings = {{ file = "{tmp_path}/one.epd" }}')
    path.write_text(text, "utf-8")
    (tmp_path / "one.epd").write_text("4k3/8/8/8/8/8/4P3/4K3 w - -\n", "utf-8")
    told = " ".join(tour(tmp_path, "check", str(path)).stdout.split())
    assert (
        "warning: without a clock and with 1 opening, 4 of 6 games of a pair are expected to repeat earlier games"
        in told
    )
    first = tour(tmp_path, "run", str(path), "--max-games", "2", expect=8)
    assert "identical to an earlier" not in first.stdout
    done = tour(tmp_path, "run", str(path))
    assert "warning: 4 of 6 games are identical to an earlier game" in " ".join(done.stdout.split())
    assert tour(tmp_path, "report").stdout.startswith("report: ")
    report = tmp_path / "results" / "trial-report"
    assert "4 of 6 games are identical to an earlier game" in (report / "fairness.html").read_text("utf-8")
    overview = (report / "index.html").read_text("utf-8")
    assert "fairness warning" in overview
    assert "4 of 6 games are identical to an earlier game" in overview, "what next"
