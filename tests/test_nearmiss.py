"""Near misses: which known word is offered to whoever wrote another."""

from enginetour.nearmiss import did_you_mean, near, nearest


def test_the_nearest_is_offered_as_it_is_written() -> None:
    """Upper and lower case are one: neither hides what was meant."""
    assert nearest("FRIUT 2.1", ("Toga II", "Fruit 2.1")) == "Fruit 2.1"
    assert did_you_mean("hush", ("Hash", "Ponder")) == ", did you mean 'Hash'?"


def test_of_two_that_differ_by_case_the_first_in_order_is_offered() -> None:
    """Whatever order they come in."""
    assert nearest("frut", ("fruit", "Fruit")) == nearest("frut", ("Fruit", "fruit")) == "Fruit"


def test_what_is_like_nothing_is_told_what_there_is() -> None:
    """A guess that is none would mislead."""
    assert nearest("crazy", ("hash", "ponder")) is None
    assert did_you_mean("crazy", ("hash", "ponder")) == ""
    assert near("crazy", ("ponder", "hash", "hash")) == "; known: hash, ponder"
    assert near("crazy", ()) == ""


def test_the_nearest_is_told_alone() -> None:
    """A long list beside it would hide it."""
    assert near("pondr", ("ponder", "hash")) == ", did you mean 'ponder'?"


def test_the_beginning_of_one_name_is_that_name() -> None:
    """Versions are long: "Toga" was told all names there are."""
    engines = ("Toga II 3.0", "Glaurung 2.2", "GNU Chess 6.2.7", "GNU Chess 6.2.7 (CECP)")
    assert near("toga", engines) == ", did you mean 'Toga II 3.0'?"
    assert near("GNU", engines).startswith("; known: ")  # two begin so
    assert near("Gl", engines).startswith("; known: ")
