"""enginetour: leave a field of chess engines alone overnight and find a rating list you can trust.

Everything in `__all__` is the Python API and stays stable. It is loaded on its first use.
"""

__version__ = "1.0.0"
__all__ = [
    "Database",
    "Game",
    "MatchTest",
    "RatingList",
    "Run",
    "Session",
    "TourError",
    "Tournament",
    "TournamentEntry",
    "chart",
    "models",
    "open",
    "plan",
    "play",
    "rate",
    "run",
    "select",
    "sprt",
]

TYPE_CHECKING = False  # true for type checkers; the import of `typing` would double the start of each engine's launcher
if TYPE_CHECKING:
    from enginetour.tournament.api import (
        Database,
        Game,
        MatchTest,
        RatingList,
        Run,
        Session,
        TourError,
        Tournament,
        TournamentEntry,
        chart,
        models,
        open,  # noqa: A004 - opens a database
        plan,
        play,
        rate,
        run,
        select,
        sprt,
    )
else:

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module 'enginetour' has no attribute {name!r}")
        from importlib import import_module  # a command that does not use the API starts faster

        found = globals()[name] = getattr(import_module("enginetour.tournament.api"), name)
        return found

    def __dir__() -> list[str]:
        return sorted([*__all__, "__version__"])
