"""`enginetour chart`, and lists written as pictures."""

from __future__ import annotations

import io
import json
import os
import shlex
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner
from PIL import Image

from enginetour.cli.main import cli
from enginetour.formats.base import make_format, options_model
from enginetour.model.errors import TourError, UsageRefused
from enginetour.model.game import Entrant, GameFinished, Outcome
from enginetour.store.tournaments import Draft, Store
from tests.storing import NAMES, add_game, draft, game, open_log, spec
from tests.touring import ask

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """Two games of a round robin, and a list with two editions."""
    path = tmp_path / "a.db"
    store, log = open_log(path)
    with store:
        add_game(log, game())
        add_game(log, game("Phalanx", "Fruit", Outcome.DRAW))
    for words in (("lists", "define", "all"), ("publish", "all"), ("publish", "all", "--again")):
        assert ask(path, *words).exit_code == 0
    return path


def chart(db: Path, *words: str, to: str = "out.svg") -> str:
    """The words of the picture that a chart command writes."""
    file = db.parent / to
    done = ask(db, "chart", *words, "-o", str(file))
    assert done.exit_code == 0, done.output
    assert done.stderr.endswith(f"{file} written: {ET.fromstring(file.read_text('utf-8')).findtext(f'{SVG}title')}\n")
    return "\n".join(ET.fromstring(file.read_text("utf-8")).itertext())


def test_the_next_step_can_be_taken(db: Path) -> None:
    """Where ratings by a system are not kept yet, the command told keeps them; a name of two words is one."""
    with Store.open(db) as store:
        add_game(store.create_tournament(draft("two words")), game())
        store.create_tournament(draft("two words"))
    wanted = *shlex.split("chart history -t 'two words' --edition 1 --system elo -o"), str(db.parent / "x.svg")
    refused = ask(db, *wanted)
    assert isinstance(refused.exception, UsageRefused)
    assert ask(db, *shlex.split(refused.exception.step)[1:]).exit_code == 0
    assert ask(db, *wanted).exit_code == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("list",), "1. Fruit: "),
        (("list", "all"), "1. Fruit: "),
        (("list", "--all", "--engine", "[FP]*"), "1. Fruit: "),
        (("crosstable",), "Fruit 1 of 1 against Toga"),
        (("score",), "Fruit: after game 2: +½"),
        (("score", "Toga"), "Toga: after game 1: -½"),
        (("opponents", "Fruit"), "Toga ("),
        (("fairness",), "all games: 75.0 %, 2"),
        (("fairness", "--of", "relay"), "nothing was measured"),
        (("fairness", "--of", "load"), "nothing was measured"),
        (("history", "all"), "Phalanx: edition 2: "),
        (("history", "all", "--engine", "Toga"), "Toga in all, edition by edition"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_every_chart_is_written(db: Path, words: tuple[str, ...], told: str) -> None:
    """As the file's name ends, with the words that it is looked at for."""
    assert told in chart(db, *words)


def test_a_picture_may_have_a_title_of_its_own(db: Path) -> None:
    """Above it, and as the name of the file's document."""
    assert chart(db, "crosstable", "--title", "Autumn <1>").count("Autumn <1>") == 2


def test_a_png_is_one(db: Path) -> None:
    """The ending counts whatever its case."""
    file = db.parent / "out.PNG"
    assert ask(db, "chart", "list", "-o", str(file)).exit_code == 0
    with Image.open(io.BytesIO(file.read_bytes())) as image:
        assert image.format == "PNG" and image.width > 700


def test_ratings_by_games_of_an_incremental_system(db: Path) -> None:
    """From what the store keeps; where it keeps nothing yet, the command that makes it."""
    refused = ask(db, "chart", "history", "--system", "elo", "-o", str(db.parent / "e.svg"))
    assert isinstance(refused.exception, TourError)
    assert "ratings -t autumn --edition 1 --system elo" in str(refused.exception)
    assert ask(db, "ratings", "--system", "elo").exit_code == 0
    assert "Fruit: game 1: " in chart(db, "history", "--system", "elo")


@pytest.fixture
def bubble(tmp_path: Path) -> Path:
    """A finished bubble of four in a section of two, all games drawn, and a round robin without games."""
    options = {"size": 2, "min_matches": 0, "unpark_threshold": 1}
    plan = Draft("b", "bubble", 1, {"format": options}, 7, tuple(map(Entrant, NAMES)), {n: spec(n) for n in NAMES})
    format_ = make_format("bubble", options_model("bubble")(**options), 7)
    state = format_.start(plan.entrants)
    path = tmp_path / "b.db"
    with Store.open(path) as store:
        log = store.create_tournament(plan, format_.notes(state))
        while offers := format_.offers(state):
            pairing = offers[0]
            add_game(log, game(pairing.white, pairing.black, Outcome.DRAW, meeting=pairing.meeting, leg=pairing.leg))
            state = format_.step(state, GameFinished(pairing, Outcome.DRAW))
        store.create_tournament(draft())
    return path


def test_a_ladder_of_a_bubble(bubble: Path, tmp_path: Path) -> None:
    """By games or by round robins; another format has none."""
    path = bubble
    for by in ("games", "rounds"):
        told = chart(path, "ladder", "-t", "b", "--by", by)
        assert "round robin 1 (in from the list): 2 of 2, decided after 1 games, then out" in told
    refused = ask(path, "chart", "ladder", "-t", "autumn", "-o", str(tmp_path / "x.svg"))
    assert isinstance(refused.exception, TourError) and "only a bubble has a ladder" in str(refused.exception)
    assert not (tmp_path / "x.svg").exists()


def test_a_ladder_is_a_table_too(bubble: Path) -> None:
    """Each decision with the games by then, and one round robin with its crosstable, in every format."""
    rows = ask(bubble, "ladder", "-t", "b", "--csv").stdout.splitlines()
    assert rows[:3] == [
        "step,games,told",
        '1,,"start: HoiChess, Phalanx"',
        '1,1,"out: HoiChess, number 4; last: 1 match, enough"',
    ]
    assert len(rows) == 1 + 6
    for words in (("ladder", "-t", "b"), ("ladder", "-t", "b", "--step", "1")):
        told = {form: ask(bubble, *words, "--format", form).stdout for form in ("markdown", "bbcode", "html")}
        assert "| " in told["markdown"] and told["bbcode"].startswith("[code]") and told["html"].startswith("<table>")


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("chart", "list", "-o", "a.jpg"), "a.jpg is no picture's name; end it in .png or .svg"),
        (("chart", "list", "-o", "a"), "end it in .png or .svg"),
        (("chart", "list", "-o", "nosuch/a.png"), "there is no folder nosuch; make it first"),
        (("chart", "list", "--system", "elo", "-o", "a.svg"), "incremental ratings have no errors to draw"),
        (("chart", "list", "all", "-t", "autumn", "-o", "a.svg"), "a list names its tournaments itself"),
        (("chart", "history", "-o", "a.svg"), "give LIST for its editions, or --system"),
        (("chart", "history", "all", "--engine", "Frut", "-o", "a.svg"), "did you mean 'Fruit'"),
        (("chart", "score", "Frut", "-o", "a.svg"), "did you mean 'Fruit'"),
        (("chart", "opponents", "Frut", "-o", "a.svg"), "did you mean 'Fruit'"),
        (("ratings", "--json", "-o", "a.svg"), "a picture of a list has looks of its own"),
        (("ratings", "--system", "elo", "-o", "a.png"), "no picture is made of this table"),
    ],
)
def test_what_is_no_picture_is_refused(db: Path, words: tuple[str, ...], what: str) -> None:
    """In one line, as wrong usage, and nothing is written."""
    before = {*os.listdir()}
    done = ask(db, *words)
    told = done.output if done.exit_code == 2 else str(done.exception)
    assert what in told
    assert done.exit_code == 2 or (isinstance(done.exception, TourError) and done.exception.exit_code == 2)
    assert {*os.listdir()} == before


@pytest.mark.parametrize("command", ["list", "crosstable", "ladder", "history", "score", "opponents", "fairness"])
def test_every_chart_has_help_with_an_example(command: str) -> None:
    """Within 80 columns; and the drawer tells whole sentences."""
    told = CliRunner().invoke(cli, ["chart", command, "--help"]).output
    assert f"Example: enginetour chart {command} " in told and " -o " in told
    assert max(map(len, told.splitlines())) <= 80
    drawer = CliRunner().invoke(cli, ["chart", "--help"]).output
    assert f"\n  {command} " in drawer and "..." not in drawer.replace("COMMAND [ARGS]...", "")


def test_lists_are_written_as_pictures(db: Path, tmp_path: Path) -> None:
    """`-o FILE.svg` of ratings, and of rate straight from PGN."""
    assert ask(db, "ratings", "-o", str(tmp_path / "r.svg")).exit_code == 0
    assert "1. Fruit: " in "\n".join(ET.fromstring((tmp_path / "r.svg").read_text("utf-8")).itertext())
    pgn = tmp_path / "g.pgn"
    pgn.write_text('[White "A"]\n[Black "B"]\n[Result "1/2-1/2"]\n\n1/2-1/2\n', "utf-8")
    done = CliRunner().invoke(cli, ["rate", str(pgn), "-o", str(tmp_path / "g.png")])
    assert done.exit_code == 0, done.output
    assert "ratings · g.pgn" in done.stderr
    assert (tmp_path / "g.png").read_bytes().startswith(b"\x89PNG")


def test_a_crosstable_has_the_points_of_the_table(db: Path) -> None:
    """Games against one that has withdrawn stand in their cells; the points are those that rank the rows."""
    assert ask(db, "withdraw", "Phalanx").exit_code == 0
    table = {row["name"]: row["points"] for row in json.loads(ask(db, "standings", "--json").stdout)["table"]}
    assert table["Fruit"] == 1
    lines = [line for line in chart(db, "crosstable").splitlines() if line]
    assert lines[lines.index("Fruit") + 1] == "1", "it was 1½"
