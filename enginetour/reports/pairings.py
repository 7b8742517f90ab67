"""Every two engines that met: their games one by one, and in pairs on one opening."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from enginetour.reports.sheet import Column, Sheet

Couple = tuple[str, str]

_COLUMNS = (
    Column("engine", "engine", left=True, flexible=True),
    Column("opponent", "opponent", left=True, flexible=True),
    Column("games", "games"),
    Column("wins", "W"),
    Column("draws", "D"),
    Column("losses", "L"),
    Column("score", "score"),
    Column("pentanomial", "Ptnml(0-2)", left=True),
)
NOTES = ("Ptnml(0-2): pairs of games on one opening that brought the first engine 0, 1/2, 1, 3/2, 2 points",)


def pairings(
    title: str,
    names: Sequence[str],
    counts: Mapping[Couple, tuple[int, int, int]],
    pairs: Mapping[Couple, Sequence[int]],
) -> Sheet:
    """From the view of the one that stands first in `names`; `counts` are White's wins, draws, losses.

    `pairs` are by the points of the first of their key, in whichever order it names the two.
    """
    place = {name: number for number, name in enumerate(names)}
    met = {_ordered(couple, place) for couple in counts}
    rows = []
    for one, other in sorted(met, key=lambda couple: [place.get(name, len(place)) for name in couple]):
        with_white, with_black = counts.get((one, other), (0, 0, 0)), counts.get((other, one), (0, 0, 0))
        wins, losses = with_white[0] + with_black[2], with_white[2] + with_black[0]
        draws = with_white[1] + with_black[1]
        games = wins + draws + losses
        if not games:
            continue
        found = pairs.get((one, other)) or tuple(reversed(pairs.get((other, one), ()))) or None
        rows.append({
            "engine": one, "opponent": other, "games": games, "wins": wins, "draws": draws, "losses": losses,
            "score": (wins + draws / 2) / games,
            "pentanomial": None if found is None else list(found),
        })  # fmt: skip
    shown = tuple(
        {
            "score": f"{100 * row['score']:.1f}%",  # type: ignore[operator]
            "pentanomial": "" if row["pentanomial"] is None else str(row["pentanomial"]),
        }
        for row in rows
    )
    return Sheet(title, _COLUMNS, tuple(rows), shown, NOTES)


def _ordered(couple: Couple, place: Mapping[str, int]) -> Couple:
    one, other = sorted(couple, key=lambda name: (place.get(name, len(place)), name))
    return one, other
