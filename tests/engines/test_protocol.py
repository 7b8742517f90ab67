"""Tests of engines/protocol: the settings of a user against the options that an engine declares."""

from __future__ import annotations

import pytest

from enginetour.engines.protocol import check_settings, standard_settings
from enginetour.model.task import DeclaredOption

DECLARED = (
    DeclaredOption("Hash", "spin", "16", 1, 1024),
    DeclaredOption("Ponder", "check", "true"),
    DeclaredOption("Style", "combo", "Solid", None, None, ("Solid", "Very Risky")),
    DeclaredOption("Clear Hash", "button"),
    DeclaredOption("Log", "string", "<empty>"),
    DeclaredOption("OwnBook", "spin", "1", 1, 2),
    DeclaredOption("Odd", "wheel"),
    DeclaredOption("Big", "spin", "0", 0, 2**64 - 1),
    DeclaredOption("Case", "combo", "a", None, None, ("a", "A", "default")),
)


@pytest.mark.parametrize(
    ("name", "value", "sent"),
    [
        ("hash", "64", ("Hash", "64")),
        ("HASH", "+1", ("Hash", "1")),
        ("ponder", "True", ("Ponder", "true")),
        ("Ponder", "off", ("Ponder", "false")),
        ("style", "very risky", ("Style", "Very Risky")),
        ("Clear Hash", "", ("Clear Hash", "")),
        ("Clear Hash", "true", ("Clear Hash", "")),
        ("Log", "/tmp/a b", ("Log", "/tmp/a b")),
        ("Log", "", ("Log", "")),
        ("Big", "12345678901234567890", ("Big", "12345678901234567890")),
        ("Case", "a", ("Case", "a")),
        ("Case", "A", ("Case", "A")),
        ("Case", "Default", ("Case", "default")),
    ],
)
def test_what_fits_is_sent_in_the_declared_spelling(name: str, value: str, sent: tuple[str, str]) -> None:
    """Names and values are found in any case, and sent as declared."""
    settings, problems = check_settings(DECLARED, ((name, value),))
    assert [(option.name, text) for option, text in settings] == [sent]
    assert not problems


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("Hash", "abc", "a whole number between 1 and 1024 (found 'abc')"),
        ("Hash", "0", "between 1 and 1024"),
        ("Hash", "1025", "between 1 and 1024"),
        ("Hash", "1e3", "between 1 and 1024"),
        ("Hash", "9" * 40, "between 1 and 1024"),
        ("Big", str(2**64), "between 0 and 18446744073709551615 (found '18446744073709551616')"),
        ("Ponder", "maybe", "true or false (found 'maybe')"),
        ("Style", "Wild", "one of Solid, Very Risky (found 'Wild')"),
        ("Clear Hash", "7", "a button and takes no value"),
        ("Log", "a\nb", "one line of printable ASCII"),
        ("Log", "caf\u00e9", "one line of printable ASCII"),
        ("Hush", "1", "unknown option 'Hush', did you mean 'Hash'?"),
        ("Contempt", "1", "the engine has Hash, Ponder"),
        ("Odd", "1", "unknown type 'wheel'"),
    ],
)
def test_what_does_not_fit_is_named(name: str, value: str, words: str) -> None:
    """A wrong value is never sent; the message gives the allowed values."""
    settings, problems = check_settings(DECLARED, ((name, value),))
    assert not settings
    assert len(problems) == 1
    assert words in problems[0]


def test_an_engine_without_options() -> None:
    """The message for an engine without options has no list."""
    assert "declares no options" in check_settings((), (("Hash", "1"),))[1][0]


def test_a_button_set_to_false_is_not_pressed() -> None:
    """A button set to false is not pressed, without a message."""
    assert check_settings(DECLARED, (("Clear Hash", "false"),)) == ((), ())


def test_the_last_wish_for_an_option_counts() -> None:
    """If an option is set twice, the last value is sent once."""
    settings, _ = check_settings(DECLARED, (("Hash", "1"), ("hash", "2")))
    assert [text for _, text in settings] == ["2"]


def test_the_standard_settings() -> None:
    """Ponder is switched off if it is declared and accepts false; a value of the user stays."""
    assert standard_settings(DECLARED, ()) == (("Ponder", "false"),)
    assert standard_settings(DECLARED, (("ponder", "true"),)) == ()


def test_no_default_is_relied_on() -> None:
    """Own books, pondering, analysis and other variants are switched off wherever they are declared."""
    checks = ("OwnBook", "ponder", "UCI_AnalyseMode", "UCI_Chess960")
    variant = DeclaredOption("UCI_Variant", "combo", "crazyhouse", choices=("crazyhouse", "chess"))
    declared = (*(DeclaredOption(name, "check", "true") for name in checks), variant)
    settings, problems = check_settings(declared, standard_settings(declared, ()))
    assert not problems
    assert {option.name: text for option, text in settings} == {
        **dict.fromkeys(checks, "false"), "UCI_Variant": "chess"
    }  # fmt: skip


def test_what_is_offered_goes_to_those_that_declare_it() -> None:
    """An offered option is set only if it is declared; a value of the user stays."""
    offered = (("SyzygyPath", "/tables"), ("hash", "2"))
    assert standard_settings(DECLARED, (("ponder", "true"),), offered)[0][1] == "2"
    assert standard_settings(DECLARED, (("ponder", "true"), ("Hash", "1")), offered) == ()
