"""The live page in a browser: it follows games, does not grow, and reconnects."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.sync_api import expect

from enginetour.ratings.sequential import OPEN_GAMES
from enginetour.web.live import LiveGame
from tests.browser.accessible import is_wider_than_its_window
from tests.browser.conftest import PHONE, Opened, joined, shot, until
from tests.support.databases import draft, game, reported_played
from tests.support.network import Stage, move, served, serving, start


def test_an_open_page_does_not_grow(stage: Stage, opened: Opened) -> None:
    """Nodes and memory of a page are constant over 10,000 events."""
    with stage.running(), served(stage.database.parents[1]) as url:
        page = joined(opened(f"{url}/t/autumn/live.html"))
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")

        def weighed() -> tuple[float, float]:
            for _ in range(2):  # the second collection frees what the first one has released
                session.send("HeapProfiler.collectGarbage")
            found = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
            return found["Nodes"], found["JSHeapUsedSize"]

        def tell_a_thousand(first: int) -> None:
            for count in range(first, first + 1000, 4):
                slot, ply = count // 4 % 4, count // 16 % 60
                stage.tell("move" if ply else "start", **(move(ply, slot) if ply else start(slot, f"Fruit {count}")))
                for number in (count + 1, count + 2):
                    names = {"white": "Fruit", "black": "Toga", "result": "1-0", "cause": "White mates"}
                    stage.tell("game", number=number, **names, plies=60, seconds=1.0, decisions=[])
                stage.tell("incident", game=count + 1, engine="Toga", category="crash", cause=f"signal {count}")
            until(page, f"document.getElementById('incidents').textContent.includes('signal {first + 996}')")

        for first in range(0, 2000, 1000):
            tell_a_thousand(first)
        nodes, heap = weighed()
        for first in range(2000, 10_000, 1000):
            tell_a_thousand(first)
        later, more = weighed()
        assert page.locator("#games li").count() == 30
        assert page.locator("#incidents li").count() == 30
        assert later <= nodes + 100, (nodes, later)
        assert more <= heap + 1_000_000, (heap, more)


def test_names_of_engines_are_text(stage: Stage, opened: Opened) -> None:
    """Markup, right-to-left marks and long names are shown as text inside their elements."""
    name = "<img src=x onerror=alert(1)>‮evil" + "W" * 100
    with stage.running(), served(stage.database.parents[1]) as url:
        page = joined(opened(f"{url}/t/autumn/live.html", viewport=PHONE))
        stage.tell("start", **start(white=name, opening=f"{name}</script>"))
        stage.tell("move", **move(1, pv=f"g1f3 <b>{name}</b>", san=name))
        stage.tell(
            "game", number=1, white=name, black="Toga", result="1-0", cause=name, plies=1, seconds=1, decisions=[]
        )
        stage.tell("incident", game=1, engine=name, category="crash", cause=name)
        page.wait_for_selector("#incidents li")
        page.wait_for_selector(".game[data-ply='1']")
        assert "<img src=x onerror=alert(1)>evil" in page.locator(".game h3").inner_text()
        assert page.locator("main img, main b, main script").count() == 0
        assert not is_wider_than_its_window(page)
        shot(page, "live-hostile")


def test_a_tournament_that_begins_and_ends_is_noticed(stage: Stage, opened: Opened) -> None:
    """An open page shows the start of a tournament, results, changes of the table, and its end."""
    with served(stage.database.parents[1]) as url:
        index = opened(f"{url}/")
        assert "Not running" in index.locator("h2").all_inner_texts()
        page = opened(f"{url}/t/autumn/live.html")
        expect(page.locator("#silence")).to_be_visible()
        with stage.running():
            stage.playing = [start() | move(2, score=-20) | {"moves": ["g1f3", "g8f6"]}]
            expect(index.locator("h2").first).to_have_text("Running")
            page.wait_for_selector(".game[data-ply='2']")
            expect(page.locator("#silence")).to_be_hidden()
            expect(page.locator(".game .score")).to_have_text(["–", "+0.20"])
            number = stage.record(game())
            stage.tell("end", slot=0, outcome="1-0", cause="Black resigns")
            stage.tell("game", number=number, white="Fruit", black="Toga", result="1-0", cause="Black resigns", plies=2)
            until(page, "document.querySelector('#table td').nextElementSibling.nextElementSibling.textContent === '1'")
            expect(page.locator("#games li")).to_contain_text("Black resigns")
            expect(page.locator(".game")).to_contain_text("ended")
        page.wait_for_selector("#silence:not([hidden])")
        expect(index.locator("h2").first).to_have_text("Not running")
        for one in (index, page):
            one.close()  # before the server ends, because a rejected stream is an error in the console


def test_a_list_of_tournaments_is_never_behind(stage: Stage, opened: Opened) -> None:
    """The list shows changes during loading, during an absence of the server, and of short runs."""
    folder = stage.database.parents[1]
    with serving(folder) as (url, _):
        page = opened(f"{url}/", quiet=False)
        expect(page.locator("main")).not_to_contain_text("Running")
    with stage.running(), served(folder, "--port", url.rpartition(":")[2]):
        expect(page.locator("h2").first).to_have_text("Running")
        stage.store.create_tournament(draft("winter"))
        expect(page.locator("main")).to_contain_text("winter")


def test_a_page_comes_back_to_a_server_that_was_away(stage: Stage, opened: Opened) -> None:
    """A disconnected page says so, keeps its state, and is updated when the server is back."""
    folder = stage.database.parents[1]
    with stage.running():
        stage.playing = [start()]
        with serving(folder) as (url, _):
            page = joined(opened(f"{url}/t/autumn/live.html", quiet=False))
            page.wait_for_selector(".game[data-ply='0']")
        until(page, "document.getElementById('line').textContent.includes('lost')")
        stage.playing = [start() | move(2) | {"moves": ["g1f3", "g8f6"]}]
        with served(folder, "--port", url.rpartition(":")[2]):
            page.wait_for_selector(".game[data-ply='2']")
            expect(page.locator("#line")).to_have_text("")


def test_black_may_begin(stage: Stage, opened: Opened) -> None:
    """In a game that Black begins, each curve has the evaluations of its own side."""
    fen = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR b KQkq - 0 7"
    with stage.running(), served(stage.database.parents[1]) as url:
        page = joined(opened(f"{url}/t/autumn/live.html"))
        stage.tell("start", **start(fen=fen))
        for ply, uci in enumerate(("e7e5", "e2e4", "g8f6"), 1):
            stage.tell("move", **move(ply, uci=uci))
        page.wait_for_selector(".game[data-ply='3']")
        curves = {side: page.get_attribute(f".curve .{side}", "points") or "" for side in ("white", "black")}
        assert {side: len(points.split()) for side, points in curves.items()} == {"white": 1, "black": 2}
        assert curves["white"].split(",")[1].startswith("-")  # upwards: good for White


WATCHED = """
  window.streams = [];
  const Whole = EventSource;
  window.EventSource = class extends Whole { constructor(url) {
    super(url);
    window.streams.push(this);
    this.addEventListener("all", () => { window.told = true; });
  } };
  const wait = setTimeout;
  window.setTimeout = (act, ms) => wait(act, ms / 100);
  window.away = location.hash === "#away";
  Object.defineProperty(document, "hidden", { get: () => window.away, configurable: true });
  window.turn = (away) => { window.away = away; document.dispatchEvent(new Event("visibilitychange")); };
"""


def test_a_hidden_page_takes_no_connection(stage: Stage, opened: Opened) -> None:
    """A hidden page does not use one of the browser's six connections to a host."""
    with stage.running(), served(stage.database.parents[1]) as url:
        stage.playing = [start()]
        page = opened(f"{url}/")
        page.add_init_script(WATCHED)
        page.goto(f"{url}/t/autumn/live.html#away")
        assert page.evaluate("window.streams.length") == 0
        page.evaluate("window.turn(false)")
        page.wait_for_selector(".game")
        page.evaluate("window.turn(true)")
        until(page, "window.streams.every((one) => one.readyState === EventSource.CLOSED)")
        stage.playing = [start(white="Phalanx")]
        stage.tell("start", **start(white="Phalanx"))
        page.evaluate("window.turn(false)")
        expect(page.locator(".game h3")).to_contain_text("Phalanx")
        assert page.evaluate("window.streams.map((one) => one.readyState)") == [2, 1]


def test_a_curve_is_of_one_game(stage: Stage, opened: Opened) -> None:
    """A new game of the same engines starts a new curve, even if the page missed the end of the last one."""
    with served(stage.database.parents[1]) as url:
        page = opened(f"{url}/")
        page.add_init_script(WATCHED)
        page.goto(f"{url}/t/autumn/live.html")
        until(page, "window.told === true")
        for at, plies, score in ((1000.0, 40, 900), (2000.0, 60, 15)):
            live = LiveGame(start(at=at))
            for ply in range(1, plies + 1):
                live.move(move(ply, score=score))
            frame = json.dumps({"slot": 0, **live.to_json()})
            page.evaluate("(data) => window.streams[0].dispatchEvent(new MessageEvent('board', { data }))", frame)
        page.wait_for_selector(".game[data-ply='60']")
        points = (page.get_attribute(".curve .white", "points") or "").split()
        assert len({point.split(",")[1] for point in points}) == 1


def test_an_open_test_has_no_number_of_games(tmp_path: Path, opened: Opened) -> None:
    """Without a number of games, the page does not show one."""
    options = {"games": OPEN_GAMES, "sprt": {"elo0": 0.0, "elo1": 5.0}}
    store, _ = reported_played(
        tmp_path / "results" / "enginetour.db", ("Fruit", "Toga"), "match", options=options, most=4
    )
    store.close()
    with served(tmp_path) as url:
        page = opened(f"{url}/")
        page.add_init_script(WATCHED)
        page.goto(f"{url}/t/autumn/live.html")
        until(page, "window.told === true")
        expect(page.locator("#headline")).to_have_text("match · stopped · 4 games, no game limit")
        page.close()  # before the server ends
