"""What the pages of a report show, gathered from a store."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from enginetour.model.game import GameVoided, Outcome
from enginetour.ratings.ratinglist import rating_list
from enginetour.ratings.sequential import OPEN_GAMES
from enginetour.reports.charts.canvas import Label
from enginetour.reports.review.engines import page_slugs
from enginetour.reports.review.fairness import max_concurrent_games, white_share
from enginetour.reports.review.pages import report_pages, report_site
from enginetour.reports.review.tournament import (
    MAX_GAMES_NEEDED,
    crosstable_rows,
    games_needed,
    leaders_note,
    review_tournament,
)
from enginetour.reports.sheet import format_points
from enginetour.store.games import game_conditions
from tests.support import databases
from tests.support.databases import BUBBLE, add_game, reported_played, with_values

FOUR = ("Fruit", "Toga", "Phalanx", "HoiChess")


def test_everything_is_counted_once(tmp_path: Path) -> None:
    """Standings, crosstable, engine pages and the list tell of the same points."""
    store, log = reported_played(tmp_path / "db", FOUR, options={"cycles": 3})
    with store:
        review = review_tournament(log)
    points = {line.name: line.half_points for line in review.standings}
    assert points == {row.name: row.half_points for row in review.crosstable}
    assert points == {one.name: sum(met.half_points for met in one.opponents) for one in review.engines}
    assert points == {row.name: 2 * row.wins + row.draws for row in review.ratings.rows}
    assert sum(points.values()) == 2 * review.facts.games == 2 * len(review.games)
    assert review.facts.finished
    assert [one.kind for one in review.advice if one.kind in ("resume", "next")] == ["next"]


def test_unfinished_says_how_to_go_on(tmp_path: Path) -> None:
    """Of a tournament under way the report tells how many games are left and the command that plays them."""
    store, log = reported_played(tmp_path / "db", FOUR, options={"cycles": 3}, most=5)
    with store:
        review = review_tournament(log, again="enginetour run autumn.toml")
    resume = next(one for one in review.advice if one.kind == "resume")
    assert resume.text.startswith("Not finished: 13 games remaining; next Phalanx – Fruit, ")
    assert resume.command == "enginetour run autumn.toml"


def test_the_best_so_far_is_not_the_best(tmp_path: Path) -> None:
    """While engines wait for their first game, as the strongest of a bubble do, who leads leads the others."""
    options = {"size": 4, "min_matches": 4, "unpark_threshold": 2}
    store, log = reported_played(
        tmp_path / "db", tuple(f"E{place}" for place in range(9)), "bubble", options=options, most=14
    )
    with store:
        text = next(one.text for one in review_tournament(log).advice if one.kind == "decide")
    assert text.startswith("3 engines have not played yet. It is not certain whether E5 is stronger than E6")


def test_unfinished_under_a_test_without_a_number(tmp_path: Path) -> None:
    """A million games is our own limit, and not what is left to play."""
    options = {"games": OPEN_GAMES, "sprt": {"elo0": 0.0, "elo1": 5.0}}
    store, log = reported_played(tmp_path / "db", FOUR[:2], "match", options=options, most=4)
    with store:
        resume = next(one for one in review_tournament(log, again="").advice if one.kind == "resume")
    assert resume.text.startswith("Not finished: the test continues until its verdict; next ")


def test_the_command_that_runs_is_for_the_newest_edition(tmp_path: Path) -> None:
    """An edition that has a later one is not gone on with, and no next one starts from it."""
    for most in (1000, 5):
        store, old = reported_played(tmp_path / "db", FOUR, name=f"most {most}", most=most)
        with store:
            before = {one.kind: one.command for one in review_tournament(old).advice}
            reported_played(tmp_path / "db", FOUR, name=f"most {most}", most=1)[0].close()
            after = {one.kind: one.command for one in review_tournament(old).advice}
        changed = {kind: after.get(kind) for kind, command in before.items() if after.get(kind) != command}
        assert changed == ({"next": None} if most > 5 else {"resume": ""})


def test_nothing_played_yet(tmp_path: Path) -> None:
    """A tournament before its first game has a review, without a number in it that nobody measured."""
    store, log = reported_played(tmp_path / "db", FOUR, most=0)
    with store:
        review = review_tournament(log)
    assert (review.facts.games, review.facts.started, review.ratings.rows) == (0, None, ())
    assert review.fairness.white.share is None
    assert [one.text for one in review.summary] == ["No game has been finished yet."]


def test_voided_games_are_listed_and_not_counted(tmp_path: Path) -> None:
    """A game struck out stands in the list of games, and nowhere among the points."""
    store, log = reported_played(tmp_path / "db", FOUR, options={"cycles": 2}, most=6)
    with store:
        line = log.games()[0]
        pairing = next(log.full_games()).game.pairing
        log.record_event(GameVoided(pairing, line.outcome, "a test"), why="a test")
        review = review_tournament(log)
    assert (len(review.games), review.facts.games, review.facts.void) == (6, 5, 1)
    assert line.number not in {
        number for row in review.crosstable for cell in row.cells if cell for number, _ in cell.games
    }
    assert "1 game was voided later." in [one.text for one in review.summary]


def test_bubble_tells_its_ladder(tmp_path: Path) -> None:
    """Each round robin of a bubble has its table and the decision it led to; the last one ends the edition."""
    store, log = reported_played(tmp_path / "db", ("A", "B", "C", "D", "E", "F"), "bubble", BUBBLE)
    with store:
        review = review_tournament(log)
    assert review.bubble is not None
    actions = [step["decision"]["action"] for step in review.bubble if step["decision"]]
    assert actions[-1] == "finish"
    assert actions.count("drop") == 3
    assert {entry["engine"] for note in review.notes for entry in dict(note.fields).get("entered", ())} == set("ABCDEF")  # type: ignore[attr-defined]
    assert all(step["table"] for step in review.bubble)
    assert review.bubble[-1]["games_total"] == review.facts.games


def test_rounds_tell_points_before(tmp_path: Path) -> None:
    """A round has its boards with their results, and the points by which it was paired."""
    store, log = reported_played(tmp_path / "db", ("A", "B", "C", "D", "E"), "swiss", {"rounds": 3})
    with store:
        review = review_tournament(log)
    assert [one.number for one in review.rounds] == [1, 2, 3]
    assert set(review.rounds[0].before.values()) == {0}
    scored = dict.fromkeys("ABCDE", 0)
    for board in review.rounds[0].boards:
        for name, half in zip((board.white, board.black), board.half_points, strict=True):
            scored[name] = half
    bye = review.rounds[0].byes[0]
    assert {n: p for n, p in review.rounds[1].before.items() if n != bye} == {
        n: p for n, p in scored.items() if n != bye
    }
    assert sum(len(board.games) for one in review.rounds for board in one.boards) == review.facts.games
    assert [line.number for line in review.figures] == [1, 2, 3, 0]


def test_incidents_say_how_to_try_again(tmp_path: Path) -> None:
    """An incident comes with its verdict and a command that plays it again, of this edition; a warning without one."""
    store, log = databases.open_log(tmp_path / "db")
    with store:
        add_game(log, replace(databases.full_game(), pairing=databases.game().pairing, replay=0))
        review = review_tournament(log)
    crash, warning = review.incidents
    assert crash.replay == "enginetour games 1 --replay -t autumn --edition 1"
    (look,) = (one.command for one in review.advice if one.kind == "incidents")
    assert look == "enginetour games --incidents -t autumn --edition 1"
    assert crash.verdict.startswith("0-1 by crash: White crashes")
    assert warning.replay == ""


def test_fairness_measures(tmp_path: Path) -> None:
    """Margins, gaps and load come from the games; White's share has an error, and of a few games it has none."""
    store, log = reported_played(tmp_path / "db", FOUR, options={"cycles": 4})
    with store:
        review, games = review_tournament(log), tuple(game_conditions(log))
    fairness = review.fairness
    assert sum(uses for _, uses, _ in fairness.margins) == len(games) // 5
    assert len(fairness.relay_us) == len(fairness.load) == len(games)
    assert (fairness.at_once, fairness.cores, fairness.busy, fairness.warnings) == (1, (2,), (), ())
    assert fairness.white.error is not None
    assert white_share(games[:5]).error is None
    assert sum(line.white.games for line in fairness.openings) == len(games)


def test_crowd_is_warned_of(tmp_path: Path) -> None:
    """Games at once times threads beyond the processors are told, and so is a busy machine."""
    from enginetour.reports.review.fairness import fairness_of

    store, log = reported_played(tmp_path / "db", FOUR, options={"cycles": 2})
    with store:
        games = [with_values(game, ended_unix=game.ended_unix + 200, load_average=5.0) for game in game_conditions(log)]
        found = fairness_of(
            games, {name: replace(spec, options=(("Threads", "4"),)) for name, spec in log.specs.items()}
        )
    assert max_concurrent_games(games) == found.at_once == 5
    assert found.threads == 4
    assert [words.split(":")[0] for words in found.warnings] == [
        "up to 5 concurrent games of 4 threads on 2 processors",
        f"the machine was busy in {len(games)} of {len(games)} games",
    ]


def test_machines_are_crowded_by_their_own_games(tmp_path: Path) -> None:
    """A large machine of a cluster may play more at once than a small one beside it has processors for."""
    from enginetour.reports.review.fairness import fairness_of

    store, log = reported_played(tmp_path / "db", FOUR, options={"cycles": 2})
    with store:
        games, specs = tuple(game_conditions(log)), log.specs
    large = [
        with_values(game, started_unix=0.0, ended_unix=9.0, cores=64, hardware="Ryzen (attic)") for game in games[:8]
    ]
    small = [with_values(game, started_unix=60.0 * n, ended_unix=60.0 * (n + 1)) for n, game in enumerate(games[8:])]
    assert fairness_of([*large, *small], specs).warnings == ()
    crowd = [with_values(game, started_unix=0.0, ended_unix=9.0) for game in small]
    (warning,) = fairness_of([*large, *crowd], specs).warnings
    assert warning.startswith(f"up to {len(crowd)} concurrent games on 2 processors:")


def test_processors_of_several_machines_are_told_apart(tmp_path: Path) -> None:
    """Loads of a large machine are not above the processors of a small one: no line is drawn that holds for one."""
    from enginetour.reports.review import charts as pictures
    from enginetour.reports.review.fairness import fairness_of

    store, log = reported_played(tmp_path / "db", FOUR, options={"cycles": 2})
    with store:
        games = [
            with_values(game, load_average=5.0, cores=8 if game.number % 2 else 2) for game in game_conditions(log)
        ]
        found = fairness_of(games, log.specs)
    assert (found.cores, found.shared_cores) == ((2, 8), None)
    assert found.busy == tuple(range(2, len(games) + 1, 2))
    *_, load = pictures.fairness_pictures(found)
    assert load.summary == f"Load of the machine after {len(games)} games."


def test_no_margin_is_a_setting(tmp_path: Path) -> None:
    """Zero is a number: clocks without mercy are told; what is off is not."""
    store, log = reported_played(tmp_path / "db", FOUR, most=1)
    with store:
        log.config["play"] |= {"margin_ms": 0, "ponder": False}
        settings = dict(review_tournament(log).facts.settings)
    assert settings["margin_ms"] == "0"
    assert "ponder" not in settings


@pytest.mark.parametrize(
    ("variant", "opened", "told"),
    [
        ("standard", {"file": None, "order": "random"}, "bundled opening book, random"),
        ("horde", {"file": None, "order": "random"}, "the initial position of horde"),
        ("chess960", {"file": None, "order": "random"}, "back ranks by number, random"),
        ("chess960", {"file": "frc.epd", "order": "sequential"}, "frc.epd, sequential"),
    ],
)
def test_where_games_begin_is_told(tmp_path: Path, variant: str, opened: dict[str, str | None], told: str) -> None:
    """Our suite is one of standard chess: reports of horde and Chess960 said that theirs came from it."""
    store, log = reported_played(tmp_path / "db", FOUR, most=3)
    with store:
        log.config["play"] |= {"variant": variant, "openings": opened}
        review = review_tournament(log)
        assert dict(review.facts.settings)["openings"] == told
        whole = replace(review.fairness.openings[0], white=review.fairness.white)
        alone = replace(review, fairness=replace(review.fairness, openings=(whole,)))
        page = dict(report_pages(alone, report_site(alone)))["fairness.html"]()
    assert ("All games used one opening" in page, "To use a new opening" in page) == (True, variant != "horde")


def test_the_control_told_is_that_of_somebody(tmp_path: Path) -> None:
    """Where entrants have controls of their own, [play] said 10+0.1, by which nobody played."""
    store, log = reported_played(tmp_path / "db", FOUR, most=1)
    with store:
        names = list(log.specs)
        sides = log.config["sides"] = {name: {"tc": "nodes=300", "margin_ms": 50} for name in names}
        assert dict(review_tournament(log).facts.settings)["tc"] == "nodes=300"
        sides[names[1]] = {"tc": "1+0.1", "margin_ms": 50, "black": {"tc": "2+0.1", "margin_ms": 50}}
        told = dict(review_tournament(log).facts.settings)["tc"]
    others = ", ".join(name for name in names if name != names[1])
    assert told == f"nodes=300: {others}; 1+0.1 with White, 2+0.1 with Black: {names[1]}"


def test_a_picture_says_whom_it_leaves_out(tmp_path: Path) -> None:
    """Of a long list the first are drawn, and how many there are besides is told."""
    from enginetour.reports.charts.lists import MAX_ENGINES as MOST_RATED
    from enginetour.reports.review import charts as pictures

    counts = {(f"E{n}", f"E{n + 1}"): (1, 1, 1) for n in range(MOST_RATED + 2)}
    picture = pictures.rating_picture(rating_list(counts))
    assert picture is not None
    assert "and 3 more" in [mark.text for mark in picture.marks if isinstance(mark, Label)]


def test_games_that_end_as_others_begin_are_not_beside_them(tmp_path: Path) -> None:
    """One slot is one game at once, however close its games follow."""
    store, log = reported_played(tmp_path / "db", FOUR, most=4)
    with store:
        games = [
            with_values(game, started_unix=60.0 * n, ended_unix=60.0 * (n + 1))
            for n, game in enumerate(game_conditions(log))
        ]
    assert max_concurrent_games(games) == 1


def test_games_needed_shrink_with_the_difference() -> None:
    """The nearer two engines are, the more games it takes; none can be named for equals."""
    close = rating_list({("A", "B"): (53, 0, 47), ("B", "A"): (47, 0, 53)})
    wide = rating_list({("A", "B"): (56, 0, 44), ("B", "A"): (44, 0, 56)})
    level = rating_list({("A", "B"): (50, 0, 50), ("B", "A"): (50, 0, 50)})
    few, many = (games_needed(found, *found.rows[:2]) for found in (wide, close))
    assert few is not None and many is not None and 0 < few < many < MAX_GAMES_NEEDED
    assert games_needed(level, *level.rows[:2]) is None
    assert "too small for an estimate" in leaders_note(level)


def test_games_needed_are_enough() -> None:
    """As many more games at the same share do tell them apart, and half as many do not."""
    counts = {("A", "B"): (5030, 0, 4970), ("B", "A"): (4970, 0, 5030)}
    found = rating_list(counts)
    needed = games_needed(found, *found.rows[:2])
    assert needed is not None
    for share, apart in ((1.02, True), (0.5, False)):
        factor = 1 + share * needed / 20_000
        more = {pair: tuple(round(count * factor) for count in three) for pair, three in counts.items()}
        los = rating_list({pair: (w, d, b) for pair, (w, d, b) in more.items()}).rows[0].los
        assert los is not None and (los >= 0.95) is apart


def test_one_more_game_is_one() -> None:
    """Where a single one would do, it is told so."""
    found = rating_list({("A", "B"): (5, 1, 1)})
    assert games_needed(found, *found.rows[:2]) == 1
    assert "About 1 more game of each" in leaders_note(found)


def test_told_apart_says_so() -> None:
    """A clear winner is called one, with its likelihood."""
    found = rating_list({("A", "B"): (90, 5, 5), ("B", "A"): (5, 5, 90)})
    assert leaders_note(found).startswith("A is stronger than B with a likelihood of ")


@pytest.mark.parametrize(
    "names", [("Fruit 2.1", "fruit 2.1", "fruit-2.1", "FRUIT/2.1"), ("", ".", "..", "../x", "con")]
)
def test_slugs_never_collide(names: tuple[str, ...]) -> None:
    """Names that differ have pages of their own, whatever case and signs they are written in."""
    found = page_slugs(names)
    assert len({slug.lower() for slug in found.values()}) == len(names)
    assert all(slug.strip(".") and "/" not in slug for slug in found.values())


def test_slug_of_a_name_that_reads_like_anothers(tmp_path: Path) -> None:
    """A name that is written as another's slug gets a page of its own, too."""
    other = page_slugs(["Fruit 2.1"])["Fruit 2.1"]
    found = page_slugs(["Fruit 2.1", other])
    assert found["Fruit 2.1"] == other
    assert found[other] != other


def test_crosstable_keeps_the_order_of_games(tmp_path: Path) -> None:
    """A cell has the numbers of its games as they were played, from the row's view."""
    store, log = reported_played(tmp_path / "db", FOUR, options={"cycles": 2})
    with store:
        games = log.games()
    rows = {row.name: row for row in crosstable_rows(FOUR, games)}
    cell = rows["Fruit"].cells[1]
    assert cell is not None
    met = [game for game in games if {game.white, game.black} == {"Fruit", "Toga"}]
    assert cell.games == tuple((g.number, g.outcome.half_points(white=g.white == "Fruit")) for g in met)
    assert rows["Fruit"].cells[0] is None
    assert all(game.outcome is not Outcome.VOID for game in met)


def test_a_tournament_on_one_opening_says_so(tmp_path: Path) -> None:
    """Of sixty in the suite one is played where pairs meet once: whose result that is must be known."""
    store, log = reported_played(tmp_path / "db", FOUR, options={"cycles": 3})
    with store:
        review = review_tournament(log)
        assert len(review.fairness.openings) > 1 and not review.fairness.one_opening
        whole = replace(review.fairness.openings[0], white=review.fairness.white)
        alone = replace(review, fairness=replace(review.fairness, openings=(whole,)))
        assert "All games used one opening" in dict(report_pages(alone, report_site(alone)))["fairness.html"]()
    pair = replace(whole, white=replace(whole.white, games=2))
    assert not replace(review.fairness, openings=(pair,)).one_opening


def test_the_points_of_a_crosstable_are_those_of_the_standings(tmp_path: Path) -> None:
    """With an odd field byes are among them, and the page says whose."""
    store, log = reported_played(tmp_path / "db", FOUR[:3], "swiss", options={"rounds": 3})
    with store:
        review = review_tournament(log)
        page = dict(report_pages(review, report_site(review)))["crosstable.html"]()
    first = review.standings[0]
    assert first.unplayed and all(line.unplayed == 2 for line in review.standings)
    assert f'{first.name}</bdi></a></th><td class="n">{format_points(first.half_points)}</td>' in page
    assert f"points without a game (byes): {first.name} 1, " in page
