"""The goal of an adaptive tournament in its report: its value, its cost, and the purpose of each encounter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from enginetour.formats.base import Format
from enginetour.formats.outlook import Outlook
from enginetour.model.game import Note
from enginetour.reports.charts import curves
from enginetour.reports.charts.canvas import Picture
from enginetour.reports.charts.curves import Curve, Point
from enginetour.reports.charts.output import CHART_WIDTH
from enginetour.reports.sheet import Column, Sheet, format_count
from enginetour.store.games import GameLine

_FEWEST_POINTS = 10  # choices; a chart of fewer choices is not useful


@dataclass(frozen=True, slots=True)
class ChosenEncounter:
    """One encounter: its number, the engine with White in game 1 and the other one, its purpose and its games."""

    number: int
    white: str
    black: str
    purpose: str
    games: tuple[tuple[int, str], ...]  # number and result of each game that counts


@dataclass(frozen=True, slots=True)
class GoalReview:
    """The goal of a tournament.

    `course` has the number of games and the value of the goal at each choice. The value is half the width of a 95 %
    interval in Elo if `by_error` is true; otherwise it is a likelihood.
    """

    outlook: Outlook
    reached: bool
    by_error: bool
    course: tuple[tuple[int, float], ...]
    encounters: tuple[ChosenEncounter, ...]

    @property
    def lead(self) -> str:
        """Return the goal and its state as a sentence."""
        outlook = self.outlook
        now = f"{outlook.shown} after {format_count(outlook.games, 'game')}"
        return f"Goal: {outlook.goal}. {'Reached' if self.reached else 'Not reached yet'}: {now}."

    @property
    def left(self) -> str:
        """Return how many games the goal is expected to need still; "" if it is reached."""
        games = 0 if self.reached else self.outlook.left
        return f"About {format_count(games, 'more game')} are expected until the goal is reached." if games else ""

    @property
    def cost(self) -> str:
        """Return the cost compared with a round robin as a sentence; "" before the first games."""
        outlook = self.outlook
        if not outlook.round_robin or not outlook.games:
            return ""
        share = outlook.games / outlook.round_robin
        pairs = "A round robin of the same engines"
        if outlook.divisions:
            pairs = "A tournament with equally many games of all pairs of different divisions"
        return (
            f"{pairs} would need about {outlook.round_robin:,} games for the same value, by "
            f"the ratings after these games: this tournament needed {share:.2f} times as many games."
        )


def purposes_of(notes: Sequence[Note]) -> Mapping[int, str]:
    """Return what each encounter of an adaptive tournament was for, by its number, which is the round of its games."""
    return {int(str(dict(note.fields)["choice"])): _purpose(note) for note in notes if note.kind == "chosen"}


def goal_of(format_: Format[Any], state: Any, games: Sequence[GameLine]) -> GoalReview | None:
    """Return the goal of a tournament, or None if its format is not adaptive."""
    from enginetour.formats.adaptive import Adaptive  # imported here, because other formats do not need it

    if not isinstance(format_, Adaptive) or (outlook := format_.outlook(state)) is None:
        return None
    played: dict[int, list[tuple[int, str]]] = {}
    for game in games:
        if game.counts:
            played.setdefault(game.round, []).append((game.number, str(game.outcome)))
    chosen = [(dict[str, Any](note.fields), note) for note in state.notes if note.kind == "chosen"]
    return GoalReview(
        outlook=outlook,
        reached=state.reached,
        by_error=format_.goal.error is not None,
        course=(*((one["games"], one["value"]) for one, _ in chosen), (outlook.games, outlook.value)),
        encounters=tuple(
            ChosenEncounter(
                one["choice"], one["white"], one["black"], _purpose(note), tuple(played.get(one["choice"], ()))
            )
            for one, note in chosen
        ),
    )


def _purpose(note: Note) -> str:
    return note.text.partition(": ")[2]


def purposes_sheet(review: GoalReview) -> Sheet:
    """Return a row for each purpose with the number of its encounters and games, the most frequent first."""
    encounters: Counter[str] = Counter(one.purpose for one in review.encounters)
    games: Counter[str] = Counter()
    for one in review.encounters:
        games[one.purpose] += len(one.games)
    columns = (Column("purpose", "purpose", left=True), Column("encounters", "encounters"), Column("games", "games"))
    rows = tuple(
        {"purpose": purpose, "encounters": count, "games": games[purpose]}
        for purpose, count in encounters.most_common()
    )
    return Sheet("purposes of the encounters", columns, rows)


def goal_picture(goal: GoalReview, width: float = CHART_WIDTH) -> Picture | None:
    """Return a chart of the value of an adaptive tournament's goal after each choice, and what is still expected."""
    if len(goal.course) < _FEWEST_POINTS:
        return None
    lines = [Curve("so far", tuple(Point(games, value) for games, value in goal.course))]
    if goal.outlook.expected:
        lines.append(Curve("expected", tuple(Point(games, value) for games, value in goal.outlook.expected)))
    what = "largest error (Elo)" if goal.by_error else "likelihood"
    level = goal.outlook.wanted
    return curves.curve_chart(lines, title=f"Progress: {what}", below="games", level=level, least=0.1, width=width)
