from enginetour.ratings.incremental import Standing
from enginetour.ratings.lineage import Version, lineage

FAMILY = lineage(
    [Version("1", "Fruit", "F"), Version("2", "Fruit", "F"), Version("3", "Toga", "F"), Version("4", "Wren")]
)
RATED = Standing(1500.0, 1500.0, 1)
GIVEN = Standing(2800.0, 2800.0, 0)


def test_the_newest_of_the_name_comes_first() -> None:
    """A newer relative of the family does not count while there is one of the name."""
    family = lineage(
        [Version("1", "Fruit", "F"), Version("2", "Fruit", "F"), Version("3", "Toga", "F"), Version("4", "Fruit", "F")]
    )
    assert family.predecessor("4", {"1": RATED, "2": RATED, "3": RATED}) == "2"
    assert family.predecessor("4", {"1": RATED, "3": RATED}) == "1"
    assert family.predecessor("4", {"3": RATED}) == "3"


def test_only_rated_ones_count() -> None:
    """A relative without a rated game has nothing to leave, whatever rating it was given."""
    assert FAMILY.predecessor("3", {"1": RATED, "2": GIVEN}) == "1"
    assert FAMILY.predecessor("3", {"2": GIVEN}) is None


def test_nobody_inherits_from_strangers() -> None:
    """Engines without a family are not a family, and nobody comes after itself."""
    family = lineage([Version("1", "Fruit"), Version("2", "Toga")])
    assert family.predecessor("2", {"1": RATED, "2": RATED}) is None
    assert family.predecessor("9", {"1": RATED}) is None
