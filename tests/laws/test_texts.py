"""Texts that users read: every option has help, every command has an example, and no text has an idiom."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from enginetour.cli.main import cli

ROOT = Path(__file__).parents[2]
PLAIN = ("anew", "of then", "in the air", "goes on", "stands", "beside", "has none", "in words", "passed over",
         "so many", "so often", "what it needs", "comes along", "of yours", "look at", "be had", "befall",
         "befalls", "be rid of", "for nothing")  # fmt: skip
IDIOMS = re.compile(
    rf"\b({'|'.join(PLAIN)}"
    r"|(?<!there )(?<!There )(?:is|are|was|were) no (?!longer\b|more\b|less\b|later\b)\w+)\b"
)
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("e*/**/*.md"), *ROOT.glob("enginetour/**/*.html")]
PAGES += [*ROOT.glob("enginetour/**/*.js"), *ROOT.glob("configs/*.toml")]
MODULES = sorted(ROOT.glob("enginetour/**/*.py"))


def commands(group: click.Group, before: str = "enginetour") -> Iterator[tuple[str, click.Command]]:
    """Every command of a group with its words, the groups below it included."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, f"{before} {name}")
        else:
            yield f"{before} {name}", command


COMMANDS = dict(commands(cli))


@pytest.mark.parametrize("words", COMMANDS)
def test_every_option_has_help_and_every_command_an_example(words: str) -> None:
    """The reference of commands is made from these texts."""
    command = COMMANDS[words]
    options = [param for param in command.params if isinstance(param, click.Option) and not param.hidden]
    assert [option.name for option in options if not option.help] == []
    assert "Example" in (command.help or "")
    assert f"{words}" in (command.help or "")


def test_no_text_of_the_program_has_an_idiom() -> None:
    """Strings and docstrings of all modules; messages are made from them."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {idiom[0]}"
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for text in [" ".join(node.value.split())]
        if " no " in text or any(idiom in text for idiom in PLAIN)  # the expression alone takes ten times as long
        for idiom in IDIOMS.finditer(text)
    ]
    assert found == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_page_has_an_idiom(path: Path) -> None:
    """Pages of the documentation, templates, scripts and example configurations."""
    assert IDIOMS.findall(" ".join(path.read_text("utf-8").split())) == []
