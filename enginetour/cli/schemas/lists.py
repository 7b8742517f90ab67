"""The types of the JSON documents about rating lists, sequential tests, imports and the database."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime

from pydantic import BaseModel

from enginetour.interop.gamefilter import UnratedGames
from enginetour.ratings.incremental import RatingEvent
from enginetour.ratings.matrices import MatrixName
from enginetour.ratings.opponents import OpponentRecord
from enginetour.ratings.pentanomial import MatchStatistics
from enginetour.reports.documenttypes import about, columns, document, if_any, list_of, make_type, parts, two
from enginetour.store.backup import Backup, Copy
from enginetour.store.careers import Opponent, PublishedRating
from enginetour.store.check import Finding, Inspection
from enginetour.store.editions import RatingChange, StruckGame
from enginetour.store.imports import Imported
from enginetour.web import schemas as shared

_FILES = about(list[str], "paths of the files as they were given")
_DATABASE = about(str, "path or address of the database")
_DRY_RUN = about(bool, "true if nothing was written")
_PERFORMANCE = "performance rating; null: all games were won or lost, or the opponent is not rated"

# Rating lists.

_ASKED = "missing: not asked for"
_Matrix = make_type(
    "Matrix",
    "A matrix of all pairs of engines.",
    kind=about(MatrixName, "what a value is: likelihood of superiority, difference, error or score"),
    names=about(list[str], "names of rows and columns, in the order of the list"),
    pools=about(list[int], "number of the rating pool of each engine"),
    values=about(list[list[float | None]], "rows of values; null: not known"),
    errors=if_any(list[list[float | None]], "half-widths of the intervals of differences; missing: another kind"),
    games=if_any(list[list[int]], "numbers of games of scores; missing: another kind"),
    confidence=if_any(float, "confidence of errors in percent; missing: another kind"),
)
_RECORD = parts(
    OpponentRecord,
    opponent="name of the opponent",
    gap="rating of the engine minus that of the opponent; null: not known",
    sd="standard deviation of `gap`; null: not known",
    expected="score that the list expects, from 0 to 1; null: not known",
    los="likelihood that the engine is stronger, from 0 to 1; null: not known",
    performance=_PERFORMANCE,
)
_Against = make_type(
    "HeadToHeadRow",
    "The results against one opponent.",
    **_RECORD,
    score=columns(shared.Rated)["score"],
    gap_error=about(float | None, "half the width of the interval of `gap`; null: not known"),
)
_Versus = make_type(
    "HeadToHead",
    "The results of engines against their opponents.",
    confidence=about(float, "confidence of the errors in percent"),
    engines=about(dict[str, list[_Against]], "opponents by engine, strongest first"),  # type: ignore[valid-type]
)
_DISPLAYED = {
    "matrix": if_any(_Matrix, f"the matrix of --matrix; {_ASKED}"),
    "head_to_head": if_any(_Versus, f"the results of --head-to-head; {_ASKED}"),
}
_StoredRating = make_type(
    "StoredRating",
    "The rating of an engine in an incremental system.",
    **columns(shared.Rated, "rank name rating games"),
)
_LEFT_OUT = {
    **parts(
        UnratedGames,
        others="number of games by a result that does not count",
        places="file and line of the first game with each of these results",
        broken="number of games that cannot be read",
        alone="number of games of an engine against itself",
        unwanted="number of games of excluded engines",
        few="number of games of engines with too few games",
        engines="engines with too few games",
        apart="number of games that a filter excludes, by filter",
        variants="number of games by other variant",
    ),
    "games": about(int, "number of all games that were left out"),
}
_LeftOut = make_type("GamesLeftOut", "The games of files that do not count.", **_LEFT_OUT)
_Broken = make_type(
    "BrokenGame", "A game that cannot be read.", place=about(str, "file and line"), why=about(str, "what is wrong")
)
_READ = {
    "files": _FILES,
    "left_out": about(_LeftOut, "games that do not count"),
    "broken": list_of(_Broken, "the first games that cannot be read"),
    "respelled": about(dict[str, str], "spellings of names that were changed, by the spelling in the files"),
    "contradicted": about(int, "number of games whose tag Result contradicts the end of their moves"),
}
_Verdict = make_type(
    "SprtVerdict",
    "The hypotheses and the verdict of a sequential test.",
    **columns(
        shared.SequentialTest, "elo0 elo1 model alpha beta by llr bounds decides_at verdict stopped_after estimate"
    ),
)
_COUNTED = "games wins draws losses pentanomial lone_games"
_TEST = {
    **columns(shared.SequentialTest, " ".join((_COUNTED, *MatchStatistics.__dataclass_fields__))),
    "engines": two(str, "engines of the test; results are those of the first one"),
    "sprt": about(_Verdict, "hypotheses and verdict of the test"),
}
_Move = make_type(
    "RatingChange",
    "An engine that is in both states of a list.",
    **parts(
        RatingChange,
        name="name of the engine in the list",
        rank_before="rank before",
        rank="rank after",
        before="rating before",
        rating="rating after",
        change="change of the rating, in Elo; null: another zero point",
        new="number of new games",
        struck="number of games that were annulled",
        note="why the ratings cannot be compared; empty: they can",
        own="part of the change by its own new games, in Elo; null: not computed",
        others="part of the change by other games, in Elo; null: not computed",
        terms="part of the change by the definition of the list, in Elo; null: not computed",
    ),
)
_Struck = make_type(
    "StruckGame",
    "A game that was annulled between two states of a list.",
    **parts(
        StruckGame,
        tournament="title of the tournament",
        number="number of the game in the tournament",
        outcome="result that counted",
        why="reason; empty: none was given",
    ),
)
_Published = make_type(
    "PublishedRating",
    "The rating of an engine in an edition.",
    **columns(PublishedRating, "rank name rating plus minus games"),
    **columns(shared.EditionItem, "list edition made"),
)
_Event = make_type(
    "RatingEvent",
    "A change of a rating in an incremental system.",
    **parts(
        RatingEvent,
        system="rating system",
        engine="name of the engine",
        event="title of the tournament",
        game="number of the game; null: the whole tournament is rated at once",
        before="rating before",
        change="change of the rating",
        after="rating after",
        weight="factor K (Elo) or con (EGF)",
        games="number of rated games after it",
    ),
)
_Opponent = make_type(
    "Opponent",
    "The results against one opponent.",
    **parts(
        Opponent,
        name="name of the opponent",
        score="score of the engine, from 0 to 1",
        rating="rating of the opponent; null: not rated",
        gap="rating of the engine minus that of the opponent; null: one of them is not rated",
        performance=_PERFORMANCE,
    ),
)

# Imports.

_ImportItem = make_type(
    "ImportItem",
    "An import.",
    name=about(str, "name of the import"),
    edition=about(int, "number among imports with this name, from 1"),
    made=about(datetime, "time of the import, UTC"),
    files=_FILES,
    games=about(int, "number of games"),
    duplicates=about(int, "number of games that were already in the database"),
    odds=about(int, "number of games at time odds"),
    engines=about(int, "number of engines"),
    removed=about(datetime | None, "time of its removal, UTC; null: not removed"),
    why=about(str, "reason for the removal; empty: none was given"),
)
_Imports = document("Imports", "All imports, oldest first.", rows=list_of(_ImportItem, "the imports"))
_IMPORTED = parts(
    Imported,
    name="name of the import",
    edition="number among imports with this name; 0: nothing was written",
    games="number of new games",
    duplicates="number of games that were already in the database",
    engines="number of engines",
    new_engines="number of engines that were not in the database",
    odds="number of new games at time odds",
    namesakes="new engines that have the name of a known engine",
    matched="names whose games count for the known engine",
)
_Anchor = make_type(
    "AmbiguousAnchor",
    "An anchor that means several engines now.",
    name=about(str, "name of the anchor"),
    list=about(str, "name of the list"),
)
_IMPORT = {
    **_READ,
    "anchors": list_of(_Anchor, "anchors of lists that became ambiguous"),
    "dry_run": _DRY_RUN,
}
_RemovedImport = make_type(
    "RemovedImport",
    "An import that was removed.",
    name=about(str, "name of the import"),
    edition=about(int, "number among imports with this name, from 1"),
    games=about(int, "number of games"),
    at=about(datetime, "time of the removal, UTC"),
)

_ImportedEvent = make_type("ImportedEvent", "The result of an import of one event.", **_IMPORTED)
_NewEngine = make_type("NewEngine", "An engine that is new in a list.", **columns(shared.Rated, "name games"))
_RemovedFromList = make_type(
    "RemovedFromList",
    "An import that was removed between two states of a list.",
    **{"import": about(str, "title of the import")},
    **columns(_RemovedImport, "games"),
    why=columns(_ImportItem)["why"],
)

# The database.

_Finding = make_type(
    "Finding", "A fault of the database.", **parts(Finding, place="where it was found", what="what is wrong")
)
_Repair = make_type(
    "Repair",
    "A repair.",
    tournament=about(str, "title of the tournament"),
    damage=about(str, "what was wrong"),
    repair=about(str, "what was done"),
)


DOCUMENTS: Mapping[str, type[BaseModel]] = {
    "ratings": make_type("RatingList", "A rating list of the database.", shared.Ratings, **_DISPLAYED),
    "ratings --system elo": document(
        "StoredRatings",
        "The ratings of an incremental system, which are stored with the games.",
        list=list_of(_StoredRating, "rated engines, strongest first"),
        model=about(str, "name of the rating system"),
    ),
    "ratings --sprt A B ELO0 ELO1": document(
        "SprtOfDatabase",
        "A sequential test of games in the database.",
        **_TEST,
        versions=about(list[list[str]], "names in the list of the versions of both engines"),
        openings_not_kept=about(dict[str, int], "number of games without an opening, by import"),
    ),
    "rate FILE": make_type(
        "FileRatings",
        "A rating list of files.",
        shared.Ratings,
        **_DISPLAYED,
        **_READ,
        same_content=about(list[list[str]], "groups of files with the same content"),
        start=if_any(dict[str, float], "starting ratings by engine; missing: maximum likelihood"),
    ),
    "rate FILE --sprt A B ELO0 ELO1": document(
        "SprtOfFiles", "A sequential test of games in files.", **_TEST, files=_FILES
    ),
    "sprt": document("SprtOfCounts", "A sequential test of counts.", **_TEST),
    "next": shared.Next,
    "lists": shared.Lists,
    "lists show NAME": shared.ListRevisions,
    "publish NAME": shared.Edition,
    "editions": shared.Editions,
    "editions NAME NUMBER": shared.Edition,
    "diff NAME": document(
        "ListDifference",
        "The difference between two states of a list.",
        list=columns(shared.EditionItem)["list"],
        before=about(int, "number of the earlier edition"),
        after=about(int, "number of the later edition; 0: the present state"),
        pools=two(int, "number of rating pools before and after"),
        new_games=about(int, "number of new games"),
        changes=about(list[str], "changes of the definition"),
        moves=list_of(_Move, "engines in both states, largest change first"),
        entered=list_of(_NewEngine, "new engines"),
        left=list_of(shared.Unrated, "engines that are no longer in the list"),
        struck=list_of(_Struck, "games that were annulled between the two states"),
        removed=list_of(_RemovedFromList, "imports that were removed"),
    ),
    "history ENGINE": document(
        "History",
        "The ratings, opponents and games of an engine.",
        name=about(str, "name of the engine in the list"),
        rating=about(float | None, "rating in the list; null: not rated"),
        games=about(int, "number of games"),
        first=about(date | None, "day of the first game, UTC; null: not known"),
        last=about(date | None, "day of the last game, UTC; null: not known"),
        published=list_of(_Published, "ratings in published editions, oldest first"),
        events=list_of(_Event, "rating changes in incremental systems, oldest first"),
        opponents=list_of(_Opponent, "opponents, most games first"),
    ),
    "imports": _Imports,
    "import --list": _Imports,
    "import FILE": document("ImportResult", "The result of an import.", **_IMPORTED, **_IMPORT),
    "import FILE --by-event": document(
        "EventImports",
        "The result of an import of each event.",
        events=list_of(_ImportedEvent, "the imports, one for each event"),
        **_IMPORT,
    ),
    "import --remove NAME": document(
        "RemovedImports",
        "Imports that were removed.",
        removed=list_of(_RemovedImport, "imports that were removed"),
        why=columns(_ImportItem)["why"],
        dry_run=_DRY_RUN,
    ),
    "db check": document(
        "DatabaseCheck",
        "The result of a check of the database.",
        database=_DATABASE,
        database_schema=about(int, "schema of the tables"),
        sound=about(bool, "true if nothing was found"),
        **parts(
            Inspection,
            "findings unreplayed",
            tournaments="number of tournaments",
            games="number of games",
            imports="number of imports",
            editions="number of published editions",
            repairable="number of findings that `db repair` can repair",
        ),
        findings=list_of(_Finding, "what is wrong"),
        unreplayed=list_of(_Finding, "what this version cannot compute again"),
    ),
    "db repair": document(
        "DatabaseRepair",
        "The repairs of a database.",
        database=_DATABASE,
        repairs=list_of(_Repair, "the repairs"),
        backup=about(str | None, "copy of the database before the repair; null: none"),
    ),
    "db backup FILE": document(
        "DatabaseBackup",
        "A backup of a database.",
        **parts(
            Backup,
            "path",
            bytes="size of the file in bytes",
            rows="number of rows",
            database_schema="schema of the tables",
        ),
        path=about(str, "path of the backup"),
    ),
    "db upgrade": document(
        "DatabaseUpgrade",
        "An upgrade of a database.",
        database=_DATABASE,
        **{"from": about(int, "schema before")},
        to=about(int, "schema after"),
        backup=about(str | None, "file or schema of the server with the backup; null: none"),
    ),
    "db copy SOURCE TARGET": document(
        "DatabaseCopy",
        "A copy of a database.",
        source=about(str, "path or address of the database that was copied"),
        target=about(str, "path or address of the copy"),
        **parts(
            Copy,
            tournaments="number of tournaments and imports",
            tables="number of tables with rows",
            rows="number of rows",
            digest="SHA-256 of all rows",
        ),
    ),
}
