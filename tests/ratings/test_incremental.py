import pytest

from enginetour.ratings.incremental import Standing, Version, lineage, stem

FAMILY = lineage(
    [Version("1", "Fruit", "F"), Version("2", "Fruit", "F"), Version("3", "Toga", "F"), Version("4", "Wren")]
)
RATED = Standing(1500.0, 1500.0, 1)
GIVEN = Standing(2800.0, 2800.0, 0)


def test_the_newest_of_the_name_comes_first() -> None:
    """A version of the same name comes before a newer engine of the same family."""
    family = lineage(
        [Version("1", "Fruit", "F"), Version("2", "Fruit", "F"), Version("3", "Toga", "F"), Version("4", "Fruit", "F")]
    )
    assert family.predecessor("4", {"1": RATED, "2": RATED, "3": RATED}) == "2"
    assert family.predecessor("4", {"1": RATED, "3": RATED}) == "1"
    assert family.predecessor("4", {"3": RATED}) == "3"


def test_only_rated_ones_count() -> None:
    """Relatives without a rated game are ignored, even if they have a start rating."""
    assert FAMILY.predecessor("3", {"1": RATED, "2": GIVEN}) == "1"
    assert FAMILY.predecessor("3", {"2": GIVEN}) is None


def test_nobody_inherits_from_strangers() -> None:
    """Engines without a family are not related, and no engine is its own predecessor."""
    family = lineage([Version("1", "Fruit"), Version("2", "Toga")])
    assert family.predecessor("2", {"1": RATED, "2": RATED}) is None
    assert family.predecessor("9", {"1": RATED}) is None


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("Toga II 1.4.1SE", "Toga II"),
        ("Stockfish 16.1 64-bit 4CPU", "Stockfish"),
        ("Houdini v6.03", "Houdini"),
        ("Crafty-23.4", "Crafty"),
        ("K2 0.99", "K2"),
        ("4ku 5.0", "4ku"),
        ("象棋引擎 1.0", "象棋引擎"),
        ("My engine dev", "My engine dev"),
        ("64", "64"),
    ],
)
def test_a_name_without_its_version(name: str, found: str) -> None:
    """The version starts at the first word that begins like a number; a name cannot be empty."""
    assert stem(name) == found
