"""Write the man pages and the completion files of bash, zsh and fish to share/, from the commands themselves.

`make dist` runs this script before it builds the wheels, which install these files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from enginetour import __version__
from enginetour.cli.main import cli

SHARE = Path(__file__).resolve().parents[1] / "share"
COMPLETIONS = {
    "bash": "bash-completion/completions/enginetour",
    "zsh": "zsh/site-functions/_enginetour",
    "fish": "fish/vendor_completions.d/enginetour.fish",
}


def write_all(share: Path) -> None:
    """Write all files below a directory."""
    for shell, name in COMPLETIONS.items():
        kind = get_completion_class(shell)
        assert kind is not None, shell
        _write(share / name, kind(cli, {}, "enginetour", "_ENGINETOUR_COMPLETE").source())
    for context in _contexts(click.Context(cli, info_name="enginetour")):
        name = context.command_path.replace(" ", "-")
        _write(share / "man" / "man1" / f"{name}.1", man_page(context))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def _contexts(context: click.Context) -> Iterator[click.Context]:
    yield context
    command = context.command
    for name in command.list_commands(context) if isinstance(command, click.Group) else ():
        inner = command.get_command(context, name)
        assert inner is not None, name
        yield from _contexts(click.Context(inner, info_name=name, parent=context))


def man_page(context: click.Context) -> str:
    """Return the man page of a command in the language of man(7)."""
    command = context.command
    text = (command.help or "").replace("\b\n", "").strip()
    summary, *_ = re.split(r"\.\s", text, maxsplit=1)
    usage = " ".join(command.collect_usage_pieces(context))
    name = context.command_path.replace(" ", "-")
    lines = [f'.TH "{name.upper()}" "1" "" "enginetour {__version__}" "User Commands"', ".SH NAME"]
    lines += [
        f"{_roff(name)} \\- {_roff(' '.join(summary.split()))}",
        ".SH SYNOPSIS",
        f".B {_roff(context.command_path)}",
    ]
    lines += [_roff(usage), ".SH DESCRIPTION"]
    for paragraph in text.split("\n\n"):
        lines += [".PP", *map(_roff, paragraph.splitlines())]
    options = [param for param in command.get_params(context) if isinstance(param, click.Option)]
    records = [option.get_help_record(context) for option in options]
    if rows := [record for record in records if record is not None]:
        lines.append(".SH OPTIONS")
        for option, words in rows:
            lines += [
                ".TP",
                f"\\fB{_roff(option)}\\fR",
                _roff(re.sub(r"default: \((.+)\)(?=[];])", r"default: \1", words)),
            ]
    if isinstance(command, click.Group):
        lines.append(".SH COMMANDS")
        for inner in command.list_commands(context):
            lines += [".PP", f"\\fB{_roff(name)}\\-{_roff(inner)}\\fR(1)"]
    return "\n".join(lines) + "\n"


def _roff(text: str) -> str:
    escaped = text.strip().replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


if __name__ == "__main__":
    write_all(SHARE)
