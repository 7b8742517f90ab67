"""Charts as SVG and PNG, and the commands that write them."""

from __future__ import annotations

import importlib.util
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner
from PIL import Image, ImageFont

from enginetour.cli.main import cli
from enginetour.formats.base import make_format, options_model
from enginetour.formats.pairing.standings import CrossRow
from enginetour.model.errors import TourError, UsageRefused
from enginetour.model.game import Entrant, GameFinished, Outcome, StandingsRow
from enginetour.ratings.ratinglist import Row, rating_list
from enginetour.reports.charts import canvas, curves, lists, output
from enginetour.reports.charts.bubble import SectionRound, bubble_chart
from enginetour.reports.charts.canvas import Area, Label, Picture
from enginetour.reports.charts.lists import crosstable_chart, rating_chart
from enginetour.reports.charts.output import MARGIN, PHONE_WIDTH, PNG_SCALE, fit_text, png, svg, svg_file, text_width
from enginetour.reports.html.tables import CrossGames
from enginetour.reports.review.fairness import WhiteShare
from enginetour.store.tournaments import Draft, Store
from tests.support.databases import STORING_NAMES, add_game, draft, game, open_log, spec
from tests.support.tournaments import ask, unwrapped

# Charts: what every picture keeps to, whichever it is.

ODD = "$x_1$ & <b>שלום</b> 引擎 ½"
NAMES = ("Fruit 2.1", ODD, "x" * 100)


def rated(
    name: str, rating: float, plus: float | None = None, minus: float | None = None, *, games: int = 1, rank: int = 1
) -> Row:
    """Return a row of a rating list."""
    sums = {"score": 0.5, "wins": 0, "draws": games, "losses": 0, "opponents": 0.0, "performance": None}
    return Row(rank=rank, name=name, rating=rating, plus=plus, minus=minus, games=games, **sums)  # type: ignore[arg-type]


def pictures() -> dict[str, Picture]:
    """Return one chart of each kind, with unusual names and values that are not numbers."""
    nan, inf = float("nan"), float("inf")
    won, lost, even = (CrossGames(((1, first), (2, 1))) for first in (2, 0, 1))
    cells = (None, won, None), (lost, None, even), (None, even, None)
    rounds = (
        SectionRound(1, 6, [*NAMES], order=NAMES, entered=[*NAMES], parked=NAMES[0]),
        SectionRound(2, 7, [*NAMES[1:]], order=NAMES[:0:-1], parking=[NAMES[0]], dropped=ODD),
        SectionRound(3, 8, [NAMES[2], NAMES[0]], returned=[NAMES[0]], withdrawn=["gone"], left=["gone"]),
    )
    points = tuple(curves.edition_point(n, 2600.0 + n, nan if n == 2 else 9.0, inf, 10 * n) for n in (1, 2, 3))
    return {
        "list": rating_chart([rated(NAMES[0], 2600.0, 20.0, games=9), rated(ODD, nan, inf, 1.0, rank=2)], title=ODD),
        "crosstable": crosstable_chart([CrossRow(n, 3, 2, c) for n, c in zip(NAMES, cells, strict=True)], title="c"),
        "bubble": bubble_chart(
            rounds, [StandingsRow(i, n, 0, 0, "active") for i, n in enumerate(NAMES)], title="bubble"
        ),
        "history": curves.curve_chart([curves.Curve(ODD, points), curves.Curve("B", points[:1])], title="h"),
        "score": curves.score_chart(dict.fromkeys(NAMES, (2, 1, 0, 2)), title="s"),
        "white": curves.white_share_chart([("all", WhiteShare(4, 4, nan)), (ODD, WhiteShare(0, 0, None))], title="w"),
        "relay": curves.histogram([0.2, 3.0, nan, 0.0, -1.0, inf], title="r", unit="ms"),
        "load": curves.load_chart([(1.0, 0.5), (2.0, nan), (3.0, 9.0)], title="l", cores=2),
        "opponents": lists.score_by_rating_chart(2600.0, [lists.OpponentScore(ODD, 2500.0, 3, 2)], title="o"),
        "nothing": rating_chart([], title="n"),
        "nobody": crosstable_chart([], title="n"),
        "no round": bubble_chart([], [], title="n"),
        "no line": curves.curve_chart([], title="n"),
        "no gap": curves.histogram([], title="n", unit="ms"),
        "no opponent": lists.score_by_rating_chart(None, [], title="n"),
    }


@pytest.fixture(scope="module", params=list(pictures()))
def picture(request: pytest.FixtureRequest) -> Picture:
    return pictures()[request.param]


def _words(element: ET.Element) -> str:
    return "\n".join(element.itertext())


def test_a_picture_for_a_page_brings_nothing_that_a_page_forbids(picture: Picture) -> None:
    """A chart for a page is one element with a label and without ids, styles, scripts, addresses or fixed colors."""
    told = svg(picture)
    root = ET.fromstring(told)
    assert root.tag == "svg" and root.get("role") == "img" and root.get("aria-label") == picture.title
    assert root.get("viewBox", "").endswith(f" {picture.height - canvas.TITLE_HEIGHT:g}")
    assert root.find("desc") is not None and "width" not in root.attrib
    for element in root.iter():
        assert element.tag in {"svg", "desc", "path", "text", "rect", "title"}
        assert not {"id", "style", "href", "class"} & set(element.attrib) or element is root
        for name in ("fill", "stroke"):
            assert re.fullmatch(r"none|var\(--[a-z0-9-]+\)", element.get(name, "none"))
    assert "http" not in told and "#" not in re.sub(r"<desc>.*</desc>|>[^<]*</text>", "", told)


def test_no_picture_has_what_is_no_number(picture: Picture) -> None:
    """No chart contains nan or inf."""
    assert not re.search(r"\b(nan|inf|none)\b", _words(ET.fromstring(svg(picture))), re.IGNORECASE)
    places = [value for element in ET.fromstring(svg(picture)).iter() for value in (element.get("d") or "").split()]
    assert all(re.fullmatch(r"[MLHVz]|[-\d.HVMz]+", value) for value in places)


def test_the_same_rows_are_the_same_text(picture: Picture) -> None:
    """Equal rows give equal SVG text, for a page and as a complete file."""
    assert svg(picture) == svg(picture)
    whole = svg_file(picture)
    assert whole.startswith('<?xml version="1.0" encoding="UTF-8"?>\n<svg xmlns="http://www.w3.org/2000/svg"')
    assert "var(" not in whole and canvas.LIGHT_COLORS["paper"] in whole


@pytest.mark.parametrize("name", ["list", "bubble", "no line"])
def test_the_same_rows_are_the_same_png(name: str) -> None:
    """Equal rows give equal PNG bytes, of twice the width of the chart, with a margin and without metadata."""
    picture = pictures()[name]
    drawn = png(picture)
    assert drawn == png(picture)
    with Image.open(io.BytesIO(drawn)) as image:
        wide, high = (round(PNG_SCALE * (side + 2 * MARGIN)) for side in (picture.width, picture.height))
        assert abs(image.width - wide) <= 1 and abs(image.height - high) <= 1
        assert "Software" not in image.info


@pytest.mark.parametrize("name", ["list", "crosstable", "bubble", "history", "score", "white", "opponents"])
def test_names_are_text_as_they_are(name: str) -> None:
    """Names are plain text, never formulas or tags; the tooltip has a long name in full."""
    told = _words(ET.fromstring(svg(pictures()[name])))
    assert ODD in told
    if name in ("crosstable", "bubble", "score"):
        assert "x" * 100 in told or name == "score"


def _contrast(one: str, other: str) -> float:
    """Return the contrast of two colors ``#rrggbb``, from 1 to 21. Source: WCAG 2.2, relative luminance."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(color: str) -> float:
    parts = (int(color[place : place + 2], 16) / 255 for place in (1, 3, 5))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


STYLE = (Path(canvas.__file__).parents[1] / "html" / "assets" / "report.css").read_text("utf-8")


def dark_palette() -> dict[str, str]:
    """Return the colors by role of pages in a dark color scheme."""
    text = STYLE.partition("prefers-color-scheme: dark")[2].partition("}")[0]
    found = dict(re.findall(r"--([\w-]+):\s*(#[0-9a-f]{6});", text))
    return {role: found[role] for role in canvas.LIGHT_COLORS}


def test_colors_are_told_apart_and_read() -> None:
    """Text has a contrast of 4.5:1 with the background and lines have 3:1, in both color schemes."""
    dark = dark_palette()
    assert set(canvas.LIGHT_COLORS) == set(dark)
    for colors in (canvas.LIGHT_COLORS, dark):
        for role, color in colors.items():
            least = {"paper": 1.0, "grid": 1.3, **dict.fromkeys(canvas.SERIES_ROLES, 3.0)}.get(role, 4.5)
            assert _contrast(color, colors["paper"]) >= least, role
        assert len({*colors.values()} - {colors["muted"]}) >= len(colors) - 2
        for role in ("accent", "accent-2", "muted"):
            shade = _blended(colors[role], colors["paper"], canvas.MAX_SHADE)
            assert _contrast(colors["ink"], shade) >= 4.5, role
    assert _contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert canvas.series_role(8) == canvas.series_role(0)


def _blended(color: str, paper: str, alpha: float) -> str:
    pairs = ((int(color[at : at + 2], 16), int(paper[at : at + 2], 16)) for at in (1, 3, 5))
    return "#" + "".join(f"{round(alpha * one + (1 - alpha) * other):02x}" for one, other in pairs)


def test_pages_have_the_same_colors() -> None:
    """The style sheet of the report has the colors of the charts, in both color schemes."""
    for role, color in canvas.LIGHT_COLORS.items():
        assert re.search(rf"--{role}:\s*{color}\b", STYLE), (role, color)
        assert role in dark_palette()


def test_a_mark_is_somewhere() -> None:
    """A mark without a finite position is an error."""
    for wrong in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="finite"):
            canvas.Line(((0.0, wrong), (1.0, 1.0)))
        with pytest.raises(ValueError, match="finite"):
            canvas.Label(wrong, 0.0, "x")


def test_ticks_are_round() -> None:
    """Ticks are steps of 1, 2 and 5; a logarithmic scale has powers of ten, and values between them if it is short."""
    assert canvas.Scale(2412, 2688, 0, 1).ticks(6) == [2450.0, 2500.0, 2550.0, 2600.0, 2650.0]
    assert canvas.Scale(-0.04, 1.04, 0, 1).ticks(5) == pytest.approx([0, 0.5, 1.0])
    assert canvas.Scale(0.15, 1.5, 0, 1, log=True).ticks() == [0.2, 0.5, 1.0]
    assert canvas.Scale(1, 1e5, 0, 1, log=True).ticks() == [1, 10, 100, 1000, 10000, 100000]
    assert [canvas.format_tick(value) for value in (0.1 + 0.2, -0.0, 2600.0, 1e-12)] == ["0.3", "0", "2600", "0"]


def test_a_load_of_many_games_is_counted_whole() -> None:
    """A chart of many games keeps every game with more load than processors."""
    loads = [(float(number), 9.0 if number in (7, 2999) else 0.5) for number in range(1, 3001)]
    made = curves.load_chart(loads, title="l", cores=2)
    assert (
        made.summary
        == "Load of the machine after 3000 games; after 2 of them it was higher than the number of processors."
    )
    quiet, busy = (mark for mark in made.marks if isinstance(mark, Area))
    assert (len(quiet.outlines), len(busy.outlines)) == (1000, 2)


def test_half_is_half() -> None:
    """A chart rounds a half and 99 % as the table does."""
    assert "median 2, 99 % up to 4, maximum 4" in curves.histogram([4, 3, 2, 1], title="r", unit="ms").summary


def test_matplotlib_is_loaded_by_the_first_picture_only_and_heeds_no_settings_of_a_user(tmp_path: Path) -> None:
    """Matplotlib is loaded by the first chart only, and the user's settings of it have no effect."""
    (tmp_path / "matplotlibrc").write_text("font.size: soon\nsvg.fonttype: path\n")
    code = (
        "import sys\n"
        "import enginetour.cli.charts, enginetour.cli.lists, enginetour.cli.rate\n"
        "from enginetour.reports.charts import bubble, curves, output, lists as ratinglist\n"
        "assert 'matplotlib' not in sys.modules\n"
        "from enginetour.ratings.ratinglist import Row\n"
        "sums = dict(score=0.5, wins=0, draws=3, losses=0, opponents=0.0, performance=None)\n"
        "rows = [Row(rank=1, name='Toga', rating=1.0, games=3, **sums)]\n"
        "print(output.svg(ratinglist.rating_chart(rows, title='t')), end='')\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    env = {**os.environ, "MPLBACKEND": "nosuch", "MATPLOTLIBRC": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env, cwd=tmp_path
    )
    assert done.stderr == ""
    assert done.stdout == svg(rating_chart([rated("Toga", 1.0, games=3)], title="t"))


def test_ranks_of_a_chart_are_those_of_its_list() -> None:
    """Engines with the same rating share a rank, as in the list next to the chart."""
    found = rating_list({("A", "B"): (9, 1, 0), ("A", "C"): (9, 1, 0)})
    labels = [mark for mark in lists.list_chart(found, "t").marks if isinstance(mark, Label)]
    ranks = [label.text for label in labels if (label.anchor, label.role) == ("end", "muted")]
    assert ranks == [str(row.rank) for row in found.rows] == ["1", "2", "2"]


def test_long_names_are_whole_on_a_phone() -> None:
    """Names that are too long for a column have lines of their own on a phone."""
    names = ["Quadratic Nightingale 3.0 beta 7 (64 bit)", "Short 1.0"]
    rows = [StandingsRow(place, name, 0, 0, "active") for place, name in enumerate(names)]
    for made in (
        rating_chart([rated(name, 2600.0, 20.0, 20.0, games=9) for name in names], title="t", width=PHONE_WIDTH),
        bubble_chart([SectionRound(1, 2, [*names], order=tuple(names))], rows, title="t", width=PHONE_WIDTH),
        curves.score_chart(dict.fromkeys(names, (2, 1)), title="t", width=PHONE_WIDTH),
    ):
        labels = [mark for mark in made.marks if isinstance(mark, Label)]
        assert set(names) <= {mark.text for mark in labels}
        for mark in labels:
            wide = text_width(mark.text, mark.size, bold=mark.bold)
            left = mark.x - {"start": 0, "middle": wide / 2, "end": wide}[mark.anchor]
            assert -1 <= left <= left + wide <= made.width + 1, mark
            assert mark.y <= made.height


def test_a_name_in_wide_signs_is_whole_where_there_is_room() -> None:
    """A Chinese or Japanese character counts as two columns, so such names are not cut."""
    assert fit_text("妖精最大 5.0b 開発版", 400) == "妖精最大 5.0b 開発版"
    assert "…" in fit_text("妖精最大 5.0b 開発版", 60)


# `enginetour chart`, and lists written as pictures.

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """Return a database with two games of a round robin and a list with two editions."""
    path = tmp_path / "a.db"
    store, log = open_log(path)
    with store:
        add_game(log, game())
        add_game(log, game("Phalanx", "Fruit", Outcome.DRAW))
    for words in (("lists", "define", "all"), ("publish", "all"), ("publish", "all", "--again")):
        assert ask(path, *words).exit_code == 0
    return path


def chart(db: Path, *words: str, to: str = "out.svg") -> str:
    """Return the text of the chart that a command writes."""
    file = db.parent / to
    done = ask(db, "chart", *words, "-o", str(file))
    assert done.exit_code == 0, done.output
    assert done.stderr.endswith(f"{file} written: {ET.fromstring(file.read_text('utf-8')).findtext(f'{SVG}title')}\n")
    return "\n".join(ET.fromstring(file.read_text("utf-8")).itertext())


def test_the_next_step_can_be_taken(db: Path) -> None:
    """If ratings of a system are not stored yet, the suggested command stores them; names with spaces are quoted."""
    with Store.open(db) as store:
        add_game(store.create_tournament(draft("two words")), game())
        store.create_tournament(draft("two words"))
    wanted = *shlex.split("chart history -t 'two words' --edition 1 --system elo -o"), str(db.parent / "x.svg")
    refused = ask(db, *wanted)
    assert isinstance(refused.exception, UsageRefused)
    assert ask(db, *shlex.split(refused.exception.step)[2:]).exit_code == 0
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
        (("fairness",), "all games: 75.0 %, n = 2"),
        (("fairness", "--of", "relay"), "no measurements"),
        (("fairness", "--of", "load"), "no measurements"),
        (("history", "all"), "Phalanx: edition 2: "),
        (("history", "all", "--engine", "Toga"), "Toga in all, all editions"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_every_chart_is_written(db: Path, words: tuple[str, ...], told: str) -> None:
    """Every chart is written in the format of the file's ending, with its text."""
    assert told in chart(db, *words)


def test_a_picture_may_have_a_title_of_its_own(db: Path) -> None:
    """--title is the heading of the chart and the title of the file."""
    assert chart(db, "crosstable", "--title", "Autumn <1>").count("Autumn <1>") == 2


def test_a_png_is_one(db: Path) -> None:
    """The ending .PNG selects PNG, too."""
    file = db.parent / "out.PNG"
    assert ask(db, "chart", "list", "-o", str(file)).exit_code == 0
    with Image.open(io.BytesIO(file.read_bytes())) as image:
        assert image.format == "PNG" and image.width > 700


def test_ratings_by_games_of_an_incremental_system(db: Path) -> None:
    """Ratings game by game come from the database; if they are not stored yet, the error names the command."""
    refused = ask(db, "chart", "history", "--system", "elo", "-o", str(db.parent / "e.svg"))
    assert isinstance(refused.exception, TourError)
    assert "ratings -t autumn --edition 1 --system elo" in str(refused.exception)
    assert ask(db, "ratings", "--system", "elo").exit_code == 0
    assert "Fruit: game 1: " in chart(db, "history", "--system", "elo")


@pytest.fixture
def bubble(tmp_path: Path) -> Path:
    """Return a database with a finished bubble of four engines, all games drawn, and an empty round robin."""
    options = {"size": 2, "min_matches": 0, "unpark_threshold": 1}
    plan = Draft(
        "b",
        "bubble",
        1,
        {"format": options},
        7,
        tuple(map(Entrant, STORING_NAMES)),
        {n: spec(n) for n in STORING_NAMES},
    )
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


def test_a_chart_of_a_bubble(bubble: Path, tmp_path: Path) -> None:
    """The bubble chart is drawn by games or by round robins; another format is an error."""
    path = bubble
    for by in ("games", "rounds"):
        told = chart(path, "bubble", "-t", "b", "--by", by)
        assert "round robin 1 (from the starting list): place 2 of 2, decided after 1 games, then dropped out" in told
    refused = ask(path, "chart", "bubble", "-t", "autumn", "-o", str(tmp_path / "x.svg"))
    assert isinstance(refused.exception, TourError) and "only a bubble tournament has" in str(refused.exception)
    assert not (tmp_path / "x.svg").exists()


def test_a_bubble_chart_is_a_table_too(bubble: Path) -> None:
    """The bubble history and one round robin are available in every table format."""
    rows = ask(bubble, "bubble", "-t", "b", "--csv").stdout.splitlines()
    assert rows[:3] == [
        "step,games,told",
        '1,,"the section starts with HoiChess, Phalanx"',
        '1,1,"HoiChess (last) drops out in place 4, because it has played 1 match"',
    ]
    assert len(rows) == 1 + 6
    for words in (("bubble", "-t", "b"), ("bubble", "-t", "b", "--step", "1")):
        told = {form: ask(bubble, *words, "--format", form).stdout for form in ("markdown", "bbcode", "html")}
        assert "| " in told["markdown"] and told["bbcode"].startswith("[code]") and told["html"].startswith("<table>")


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("chart", "list", "-o", "a.jpg"), "unsupported image format '.jpg' (found a.jpg). Hint: use .png or .svg."),
        (("chart", "list", "-o", "a"), "use .png or .svg"),
        (("chart", "list", "-o", "nosuch/a.png"), "directory nosuch does not exist. Hint: create it first."),
        (("chart", "list", "--system", "elo", "-o", "a.svg"), "incremental ratings have no error bars"),
        (
            ("chart", "list", "all", "-t", "autumn", "-o", "a.svg"),
            "-t and --all cannot be combined with LIST, because a list defines its tournaments",
        ),
        (("chart", "history", "-o", "a.svg"), "name a LIST to draw its editions, or use --system"),
        (("chart", "history", "all", "--engine", "Frut", "-o", "a.svg"), "did you mean 'Fruit'"),
        (("chart", "score", "Frut", "-o", "a.svg"), "did you mean 'Fruit'"),
        (("chart", "opponents", "Frut", "-o", "a.svg"), "did you mean 'Fruit'"),
        (("ratings", "--json", "-o", "a.svg"), "an image ignores --columns"),
        (("ratings", "--system", "elo", "-o", "a.png"), "this table cannot be written as an image"),
    ],
)
def test_what_is_no_picture_is_refused(db: Path, words: tuple[str, ...], what: str) -> None:
    """Invalid chart commands are usage errors, and write nothing."""
    before = {*os.listdir()}
    done = ask(db, *words)
    told = done.output if done.exit_code == 2 else str(done.exception)
    assert what in told
    assert done.exit_code == 2 or (isinstance(done.exception, TourError) and done.exception.exit_code == 2)
    assert {*os.listdir()} == before


@pytest.mark.parametrize("command", ["list", "crosstable", "bubble", "history", "score", "opponents", "fairness"])
def test_every_chart_has_help_with_an_example(command: str) -> None:
    """Every chart has help of at most 80 columns with an example, and a complete summary."""
    told = CliRunner().invoke(cli, ["chart", command, "--help"]).output
    assert f"Example: enginetour chart {command} " in told and " -o " in told
    assert max(map(len, told.splitlines())) <= 80
    drawer = CliRunner().invoke(cli, ["chart", "--help"]).output
    assert f"\n  {command} " in drawer and "..." not in drawer.replace("COMMAND [ARGS]...", "")


def test_lists_are_written_as_pictures(db: Path, tmp_path: Path) -> None:
    """`ratings` and `rate` write a chart with -o FILE.svg."""
    assert ask(db, "ratings", "-o", str(tmp_path / "r.svg")).exit_code == 0
    assert "1. Fruit: " in "\n".join(ET.fromstring((tmp_path / "r.svg").read_text("utf-8")).itertext())
    pgn = tmp_path / "g.pgn"
    pgn.write_text('[White "A"]\n[Black "B"]\n[Result "1/2-1/2"]\n\n1/2-1/2\n', "utf-8")
    done = CliRunner().invoke(cli, ["rate", str(pgn), "-o", str(tmp_path / "g.png")])
    assert done.exit_code == 0, done.output
    assert "ratings · g.pgn" in done.stderr
    assert (tmp_path / "g.png").read_bytes().startswith(b"\x89PNG")


def test_a_crosstable_has_the_points_of_the_table(db: Path) -> None:
    """A crosstable shows games against a withdrawn entrant, but the points are those of the table."""
    assert ask(db, "withdraw", "Phalanx").exit_code == 0
    table = {row["name"]: row["points"] for row in unwrapped(ask(db, "standings", "--json").stdout)["table"]}
    assert table["Fruit"] == 1
    lines = [line for line in chart(db, "crosstable").splitlines() if line]
    assert lines[lines.index("Fruit") + 1] == "1", "it was 1½"


def test_an_svg_needs_no_matplotlib_and_a_png_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without matplotlib, an SVG is the same as before, and a PNG is one error with the command that installs it."""
    picture = rating_chart([rated("Toga", 1.0, games=3)], title="t")
    before = svg(picture)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    output._prepare.cache_clear()
    assert svg(picture) == before
    with pytest.raises(UsageRefused, match=r"PNG need the package matplotlib.*") as error:
        output.png(picture)
    assert "pip install 'enginetour[charts]'" in str(error.value)


def test_the_bundled_widths_are_those_of_the_font() -> None:
    """The widths of characters in widths.zlib are those of DejaVu Sans, which matplotlib contains."""
    for bold in (False, True):
        path = output._data_dir() / "fonts" / "ttf" / f"DejaVuSans{'-Bold' if bold else ''}.ttf"
        font = ImageFont.truetype(str(path), 100, layout_engine=ImageFont.Layout.BASIC)
        widths = output._widths(bold=bold)
        assert all(font.getlength(chr(code)) == widths[code] for code in (*range(0x2C00), 0x1D400, 0x1FFFF))
