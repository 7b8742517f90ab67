"""Check the shape of the code: long modules, long functions, wide modules, and modules that only one other imports.

A module is one deep noun. 600 lines raise a question (listed), 1,000 lines fail. Exceptions have a reason below; one
that is not needed any more fails too.
"""

import ast
import sys
from collections import defaultdict
from pathlib import Path

MOST_LINES, MANY_LINES = 1000, 600
MOST_FUNCTION_LINES = 60
MOST_NAMES = 15
UPGRADES = Path("enginetour/store/schema")  # a script for each version of the schema, which does not change any more

# More than 15 public names, and why.
WIDE = {
    "enginetour.cli.options": "options that many commands take, and the files that -o writes",
    "enginetour.cli.printing": "the formats of output, and what is printed in them",
    "enginetour.engines.enginefile": "one file format: read, written, stored",
    "enginetour.engines.machine": "figures of one machine, each asked for by its name",
    "enginetour.engines.process": "a process: pipes, waits, signals, its end, and what protects from it",
    "enginetour.engines.protocol": "the protocol of an engine, and its options",
    "enginetour.engines.sandbox": "what a sandbox hides, and why a program cannot run in it",
    "enginetour.engines.strays": "reading /proc and ending what an engine left behind",
    "enginetour.formats.base": "the contract of a format, its registry, settings that formats share",
    "enginetour.formats.pairing.criteria": "each criterion of the Gotha weights is a name",
    "enginetour.formats.pairing.draw": "the steps from weights to a round",
    "enginetour.formats.pairing.gorounds": "what the older Go systems share",
    "enginetour.formats.pairing.standings": "tables, crosstables and the sums of results in them",
    "enginetour.formats.simulation": "simulated engines, one simulated tournament, and the comparison of many",
    "enginetour.interop.files": "a family of small functions that read and replace files",
    "enginetour.model.errors": "the tree of errors",
    "enginetour.model.game": "the nouns and the events of the log",
    "enginetour.model.task": "everything that a slot is sent or returns",
    "enginetour.model.timecontrol": "one grammar of time controls, their durations, classes and odds",
    "enginetour.ratings.pentanomial": "formulas on counts of game pairs",
    "enginetour.referee.compliance.exam": "limits and results of one course",
    "enginetour.reports.charts.canvas": "the vocabulary of a chart: marks, shapes, scales, colors",
    "enginetour.reports.charts.output": "SVG, PNG and the frame that all charts share",
    "enginetour.reports.html.game": "every part of the page of a game",
    "enginetour.reports.html.tables": "every kind of markup of one site",
    "enginetour.reports.pgn": "PGN text and the file of a run",
    "enginetour.reports.progress": "one running tournament on one screen and in lines",
    "enginetour.reports.ratinglist": "one list in the layouts of four programs",
    "enginetour.reports.sheet": "a table, the forms of its values, and its output formats",
    "enginetour.reports.standings": "the tables of a tournament",
    "enginetour.store.codecs": "a column type and its two conversions for each noun",
    "enginetour.store.counts": "pair counts at a moment, without imports that were removed",
    "enginetour.store.games": "all reads of one tournament",
    "enginetour.store.ratings": "rating events of the incremental systems, and every question about them",
    "enginetour.store.tables": "a class and a constant for each table",
    "enginetour.tournament.config.sections": "one class for each section of a configuration",
    "enginetour.tournament.notify": "every channel with its limits, and the contract of a notifier",
    "enginetour.tournament.plan": "what can be played, and the limits that are checked before game 1",
    "enginetour.tournament.rating": "every list that users ask for, and the names of engines in them",
    "enginetour.web.schemas": "a type for each document of the HTTP interface",
}
# One importer, and the separate subject that keeps them apart.
SINGLE = {
    "enginetour.cli.changing": "a command group, loaded by its name",
    "enginetour.cli.lists": "a command group, loaded by its name",
    "enginetour.cli.pairing": "a command group, loaded by its name",
    "enginetour.cli.rate": "a command group, loaded by its name",
    "enginetour.cli.schemas.beforehand": "types of documents, by subject",
    "enginetour.cli.schemas.lists": "types of documents, by subject",
    "enginetour.cli.season": "a command group, loaded by its name",
    "enginetour.engines.launch": "a program of its own, which imports nothing of the package",
    "enginetour.engines.uci": "one of two protocols",
    "enginetour.formats.bubble": "a format, loaded by its name",
    "enginetour.formats.dutch": "a format, loaded by its name",
    "enginetour.formats.information": "a format, loaded by its name",
    "enginetour.formats.match": "a format, loaded by its name",
    "enginetour.interop.bubblecase": "a file format",
    "enginetour.interop.h9": "a file format",
    "enginetour.interop.pairers": "what pairing another program's event means, without options and output",
    "enginetour.ratings.encounters": "the choice of encounters, without rows and texts",
    "enginetour.referee.compliance.common": "the steps of every protocol, without those of one",
    "enginetour.referee.game": "one game, loaded when a slot has one",
    "enginetour.referee.reenactment": "replaying a recorded game, loaded when a slot has one",
    "enginetour.referee.relay": "the Python twin of the compiled plies",
    "enginetour.reports.site.pages": "the pages of a league's site, without reading and writing",
    "enginetour.reports.site.write": "files of a site; the command line only prints where they are",
    "enginetour.store.models": "names for users of the Python API, and sessions",
    "enginetour.store.postgres": "one of two databases, loaded for its addresses",
    "enginetour.testing.formats": "random tournaments, for the tests of other packages too",
    "enginetour.tournament.cluster.worker": "runs in Dask's workers on other machines",
    "enginetour.tournament.config.peers": "translates the commands of other programs",
    "enginetour.tournament.config.reference": "the schema of a configuration, for the documentation too",
    "enginetour.tournament.leagueplan": "simulations of a league in processes",
    "enginetour.web.api": "the HTTP interface, loaded at its first request",
    "enginetour.web.app": "the routes",
}


def public_names(tree: ast.Module) -> list[str]:
    """Names of functions, classes and constants that a module defines for others."""
    found: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.append(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found += [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
    return [name for name in found if not name.startswith("_")]


def imported(tree: ast.Module, modules: set[str]) -> set[str]:
    """Modules of the package that this one imports, at its top or in a function."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for name in node.names:
                whole = f"{node.module}.{name.name}"
                found.add(whole if whole in modules else node.module)
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
    return found & modules


def long_functions(path: Path, tree: ast.Module) -> list[str]:
    """Functions whose statements, without the docstring, take more lines than allowed."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[1] if ast.get_docstring(node) and len(node.body) > 1 else node.body[0]
            lines = (node.end_lineno or node.lineno) - first.lineno + 1
            if lines > MOST_FUNCTION_LINES:
                found.append(f"{path}:{node.lineno}: {node.name} has {lines} lines, at most {MOST_FUNCTION_LINES}")
    return found


def main() -> int:
    """Print what breaks a rule; 1 if anything does."""
    faults: list[str] = []
    paths = {
        ".".join(path.with_suffix("").parts).removesuffix(".__init__"): path
        for path in sorted(Path("enginetour").rglob("*.py"))
        if not path.is_relative_to(UPGRADES)
    }
    trees = {module: ast.parse(path.read_text("utf-8")) for module, path in paths.items()}
    importers: dict[str, set[str]] = defaultdict(set)
    lengths = []
    for module, tree in trees.items():
        path = paths[module]
        lines = len(path.read_text("utf-8").splitlines())
        lengths.append(lines)
        if lines > MANY_LINES:
            print(f"{path}: {lines} lines: does it cover two subjects?")
        if lines > MOST_LINES:
            faults.append(f"{path}: {lines} lines, at most {MOST_LINES}")
        faults += long_functions(path, tree)
        names = public_names(tree)
        if (len(names) > MOST_NAMES) != (module in WIDE):
            faults.append(
                f"{path}: {len(names)} public names, at most {MOST_NAMES}"
                if module not in WIDE
                else f".ci/structure.py: {module} needs no exception, it has {len(names)} public names"
            )
        for target in imported(tree, set(trees)) - {module}:
            importers[target].add(module)
    for module, path in paths.items():
        if path.name in ("__init__.py", "__main__.py"):
            continue
        alone = len(importers[module]) == 1
        if alone != (module in SINGLE):
            (one,) = importers[module] if alone else ("",)
            faults.append(
                f"{path}: only {one} imports it: merge them, or give the reason in .ci/structure.py"
                if alone
                else f".ci/structure.py: {module} needs no exception, {len(importers[module])} modules import it"
            )
    for line in faults:
        print(line)
    lengths.sort()
    print(f"structure: {len(lengths)} modules, median {lengths[len(lengths) // 2]} lines, longest {lengths[-1]}")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
