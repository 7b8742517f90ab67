"""Names can never change the structure of a report."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from enginetour.reports.review.pages import report_pages, report_site
from enginetour.reports.review.tournament import review_tournament
from enginetour.reports.sheet import safe_text
from tests.support.databases import BUBBLE, Page, leads_away, reported_played, runs_strange

MARKUP = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</title>",
    "{{ 7 * 7 }}",
    "&lt;b&gt;",
    "$x_1$",
)
MARKS = ("\u202egnp.exe", "\u200f", "\u2066", "\x1b[31m", "\x01", "\n", "\ud800", "الفيل", "👩‍🚀", "]]>", "-->")
ANY = st.characters(exclude_characters="\0", codec="utf-8")  # the database rejects NUL
NAMES = st.lists(
    st.lists(st.one_of(st.sampled_from(MARKUP + MARKS), st.text(ANY, max_size=8)), min_size=1, max_size=5).map(
        lambda parts: "".join(parts)[:100]
    ),
    min_size=4,
    max_size=4,
    unique=True,
)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(NAMES, st.sampled_from(["bubble", "swiss"]))
@example([*MARKUP[:3], "x" * 100], "bubble")
@example([*MARKUP[3:], "\u202e" + "y" * 99], "swiss")
def test_names_stay_names(names: list[str], system: str) -> None:
    """Every page is well-formed, runs only its own scripts, has no foreign links, and shows every name."""
    names = list(dict.fromkeys(name.encode("utf-8", "replace").decode() or "?" for name in names))
    names += [f"engine {n}" for n in range(4 - len(names))]
    options = BUBBLE if system == "bubble" else {"rounds": 2}
    with tempfile.TemporaryDirectory() as folder:
        store, log = reported_played(
            Path(folder) / "db", tuple(names), system, options, most=8, name="<i>\u202eautumn</i>"
        )
        with store:
            review = review_tournament(log)
        for here, make in report_pages(review, report_site(review)):
            page = Page(make())
            assert runs_strange(page) == [], here
            assert leads_away(page) == [], here
            assert not any(sign in page.text for sign in "\u202e\u200f\u2066\x1b\x01"), here
            if here in ("index.html", "crosstable.html"):
                for name in names:
                    assert safe_text(name) in page.said, here
