"""Tests of the contents of a report."""

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
    """Standings, crosstable, pages of engines and rating list have the same points."""
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
    """An unfinished tournament has the number of remaining games and the command that resumes it."""
    store, log = reported_played(tmp_path / "db", FOUR, options={"cycles": 3}, most=5)
    with store:
        review = review_tournament(log, again="enginetour run autumn.toml")
    resume = next(one for one in review.advice if one.kind == "resume")
    assert resume.text.startswith("Not finished: 13 games remaining; next: Phalanx – Fruit, ")
    assert resume.command == "enginetour run autumn.toml"


def test_the_best_so_far_is_not_the_best(tmp_path: Path) -> None:
    """The note on the leader says how many engines have not played yet."""
    options = {"size": 4, "min_matches": 4, "unpark_threshold": 2}
    store, log = reported_played(
        tmp_path / "db", tuple(f"E{place}" for place in range(9)), "bubble", options=options, most=14
    )
    with store:
        text = next(one.text for one in review_tournament(log).advice if one.kind == "decide")
    assert text.startswith("3 engines have not played yet. It is not certain whether E5 is stronger than E6")


def test_unfinished_under_a_test_without_a_number(tmp_path: Path) -> None:
    """The internal game limit of a test is not shown."""
    options = {"games": OPEN_GAMES, "sprt": {"elo0": 0.0, "elo1": 5.0}}
    store, log = reported_played(tmp_path / "db", FOUR[:2], "match", options=options, most=4)
    with store:
        resume = next(one for one in review_tournament(log, again="").advice if one.kind == "resume")
    assert resume.text.startswith("Not finished: the test continues until its verdict; next: ")


def test_a_test_at_its_game_limit_is_not_just_finished(tmp_path: Path) -> None:
    """The state of a sequential test that reaches its game limit says that there is no verdict."""
    options = {"games": 4, "sprt": {"elo0": 0.0, "elo1": 5.0}}
    store, log = reported_played(tmp_path / "db", FOUR[:2], "match", options=options)
    with store:
        review = review_tournament(log)
        page = dict(report_pages(review, report_site(review)))["index.html"]()
    assert review.facts.state == "game limit reached without a verdict"
    assert review.facts.state in page and "none: the game limit was reached first" in page


def test_the_first_page_shows_the_result_first(tmp_path: Path) -> None:
    """A bubble has its final ranking and the order by rating before the rating list."""
    store, log = reported_played(tmp_path / "db", ("A", "B", "C", "D", "E", "F"), "bubble", BUBBLE)
    with store:
        review = review_tournament(log)
        page = dict(report_pages(review, report_site(review)))["index.html"]()
    places = [page.index(text) for text in ("final ranking</th>", "often the better ranking", "<h2>Rating list</h2>")]
    assert places == sorted(places)


def test_the_command_that_runs_is_for_the_newest_edition(tmp_path: Path) -> None:
    """Only the newest edition has commands to resume it or to start the next edition."""
    for most in (1000, 5):
        store, old = reported_played(tmp_path / "db", FOUR, name=f"most {most}", most=most)
        with store:
            before = {one.kind: one.command for one in review_tournament(old).advice}
            reported_played(tmp_path / "db", FOUR, name=f"most {most}", most=1)[0].close()
            after = {one.kind: one.command for one in review_tournament(old).advice}
        changed = {kind: after.get(kind) for kind, command in before.items() if after.get(kind) != command}
        assert changed == ({"next": None} if most > 5 else {"resume": ""})


def test_nothing_played_yet(tmp_path: Path) -> None:
    """A report before the first game does not contain invalid numbers."""
    store, log = reported_played(tmp_path / "db", FOUR, most=0)
    with store:
        review = review_tournament(log)
    assert (review.facts.games, review.facts.started, review.ratings.rows) == (0, None, ())
    assert review.fairness.white.share is None
    assert [one.text for one in review.summary] == ["No game has been finished yet."]


def test_voided_games_are_listed_and_not_counted(tmp_path: Path) -> None:
    """A void game is in the list of games, but does not count."""
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


def test_the_page_of_a_bubble_has_its_history(tmp_path: Path) -> None:
    """The bubble history has a table and a decision for each round robin."""
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
    """A round has its boards, their results and the points before it."""
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
    """An incident has its verdict and a command that reproduces it; a warning has no command."""
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
    """Fairness has time margins, latencies, load, and White's share with an error for enough games."""
    store, log = reported_played(tmp_path / "db", FOUR, options={"cycles": 4})
    with store:
        review, games = review_tournament(log), tuple(game_conditions(log))
    fairness = review.fairness
    assert sum(uses for _, uses, _ in fairness.margins) == len(games) // 5
    assert len(fairness.relay_us) == len(fairness.load) == len(games)
    assert (fairness.at_once, fairness.cores, fairness.busy, fairness.warnings) == (1, (2,), (), ())
    assert fairness.white.error is not None
    assert white_share([game.outcome for game in games[:5]]).error is None
    assert sum(line.white.games for line in fairness.openings) == len(games)


def test_crowd_is_warned_of(tmp_path: Path) -> None:
    """More threads than processors and a busy machine are warnings."""
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
    """Concurrent games are compared with the processors of their own machine."""
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
    """With different machines the load chart has no line for the processors."""
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
    """A time margin of 0 is shown in the settings."""
    store, log = reported_played(tmp_path / "db", FOUR, most=1)
    with store:
        log.config["play"] |= {"timemargin": 0, "ponder": False}
        settings = dict(review_tournament(log).facts.settings)
    assert settings["timemargin"] == "0"
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
    """The opening book of each variant is named correctly."""
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
    """The settings show the time controls of the entrants."""
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
    """The chart of a long list says how many engines are not drawn."""
    from enginetour.reports.charts.lists import MAX_ENGINES as MOST_RATED
    from enginetour.reports.review import charts as pictures

    counts = {(f"E{n}", f"E{n + 1}"): (1, 1, 1) for n in range(MOST_RATED + 2)}
    picture = pictures.rating_picture(rating_list(counts))
    assert picture is not None
    assert "and 3 more" in [mark.text for mark in picture.marks if isinstance(mark, Label)]


def test_games_that_end_as_others_begin_are_not_beside_them(tmp_path: Path) -> None:
    """Games that follow each other directly are not concurrent."""
    store, log = reported_played(tmp_path / "db", FOUR, most=4)
    with store:
        games = [
            with_values(game, started_unix=60.0 * n, ended_unix=60.0 * (n + 1))
            for n, game in enumerate(game_conditions(log))
        ]
    assert max_concurrent_games(games) == 1


def test_games_needed_shrink_with_the_difference() -> None:
    """A smaller difference needs more games, and equal engines have no estimate."""
    close = rating_list({("A", "B"): (53, 0, 47), ("B", "A"): (47, 0, 53)})
    wide = rating_list({("A", "B"): (56, 0, 44), ("B", "A"): (44, 0, 56)})
    level = rating_list({("A", "B"): (50, 0, 50), ("B", "A"): (50, 0, 50)})
    few, many = (games_needed(found, *found.rows[:2]) for found in (wide, close))
    assert few is not None and many is not None and 0 < few < many < MAX_GAMES_NEEDED
    assert games_needed(level, *level.rows[:2]) is None
    assert "too small to estimate" in leaders_note(level)


def test_games_needed_are_enough() -> None:
    """The estimated number of games is sufficient, and half of it is not."""
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
    """The number of games can be one."""
    found = rating_list({("A", "B"): (5, 1, 1)})
    assert games_needed(found, *found.rows[:2]) == 1
    assert "About 1 more game of each" in leaders_note(found)


def test_told_apart_says_so() -> None:
    """A significant leader is named with its likelihood."""
    found = rating_list({("A", "B"): (90, 5, 5), ("B", "A"): (5, 5, 90)})
    assert leaders_note(found) == "A is stronger than B with a likelihood of above 99.9\N{NO-BREAK SPACE}%."


@pytest.mark.parametrize(
    "names", [("Fruit 2.1", "fruit 2.1", "fruit-2.1", "FRUIT/2.1"), ("", ".", "..", "../x", "con")]
)
def test_slugs_never_collide(names: tuple[str, ...]) -> None:
    """Different names have different page addresses."""
    found = page_slugs(names)
    assert len({slug.lower() for slug in found.values()}) == len(names)
    assert all(slug.strip(".") and "/" not in slug for slug in found.values())


def test_slug_of_a_name_that_reads_like_anothers(tmp_path: Path) -> None:
    """A name equal to the slug of another one has its own address."""
    other = page_slugs(["Fruit 2.1"])["Fruit 2.1"]
    found = page_slugs(["Fruit 2.1", other])
    assert found["Fruit 2.1"] == other
    assert found[other] != other


def test_crosstable_keeps_the_order_of_games(tmp_path: Path) -> None:
    """A cell has its games in their order, from the row's view."""
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
    """A tournament with a single opening has a note about it."""
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
    """Notes of the crosstable explain the points of byes."""
    store, log = reported_played(tmp_path / "db", FOUR[:3], "swiss", options={"rounds": 3})
    with store:
        review = review_tournament(log)
        page = dict(report_pages(review, report_site(review)))["crosstable.html"]()
    first = review.standings[0]
    assert first.unplayed and all(line.unplayed == 2 for line in review.standings)
    assert f'{first.name}</bdi></a></th><td class="n">{format_points(first.half_points)}</td>' in page
    assert f"points without a game (byes): {first.name} 1, " in page
