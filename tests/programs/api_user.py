"""A user's script, which is never run: `make check` finds that its types are right, and that the last lines are not."""

from collections import Counter
from threading import Timer

import enginetour as et


def plies(place: str) -> dict[str, float]:
    """Return the mean number of plies of the games of each engine with White."""
    with et.open(place) as db:
        games = db.games("night", incidents=True)
        total: Counter[str] = Counter()
        for game in games:
            total[game.white] += game.plies
        print(games[0].moves().end().board().fen())
        with db.session() as session:
            query = et.select(et.models.Game).where(et.models.Game.white == "Stockfish 17")
            print([row.plies for row in session.exec(query).all()])
    return {name: count / len(games) for name, count in total.items()}


def night() -> tuple[str, float]:
    """Play and rate a tournament."""
    run = et.Run(et.Tournament.from_toml("night.toml"), on_event=print)
    Timer(60, run.stop).start()
    state: str = run.play()
    ratings: et.RatingList = et.rate(run.pgn, anchor={"A": 3000.0})
    best: tuple[str, float] = (ratings.rows[0].name, ratings.los("A", "B"))
    game: et.Game = et.play("wren2", "wren4", tc="1+0.01")
    verdict: str = et.sprt([game], "wren2", elo0=0, elo1=5).walk.verdict
    print(state, verdict)
    return best


def wrong() -> None:
    """Errors that a type checker finds; mypy reports a comment without an error, too."""
    et.open(3)  # type: ignore[arg-type]
    et.nonsense  # type: ignore[attr-defined]  # noqa: B018
    et.play("a", "b").nonsense  # type: ignore[attr-defined]  # noqa: B018
