"""A message to the control socket is a valid request or gives a one-line error."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enginetour.model.errors import UsageRefused
from enginetour.tournament.requests import KINDS, parsed
from tests.support.tournaments import FOREIGN, ODD, SEEDS

LONGEST_LINE = 1000  # characters of an error
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
KEYS = st.sampled_from(sorted({key for seed in SEEDS for key in seed} | set(FOREIGN))) | st.text(max_size=3000)


@given(st.sampled_from(SEEDS), st.dictionaries(KEYS, JSON | st.sampled_from(ODD), max_size=3), st.sets(KEYS))
def test_a_message_is_a_request_or_is_refused(seed: dict[str, Any], more: dict[str, Any], less: set[str]) -> None:
    """Only UsageRefused is raised; an accepted request is what was sent, and can be written as UTF-8."""
    message = {key: value for key, value in (seed | more).items() if key not in less}
    try:
        request = parsed(message)
    except UsageRefused as refused:
        line = str(refused)
        assert "\n" not in line and len(line) <= LONGEST_LINE
        return
    sent = request.model_dump(mode="json")
    assert {key: sent[key] for key in message} == message
    assert parsed(sent) == request
    json.dumps(sent, ensure_ascii=False).encode()


@pytest.mark.parametrize("kind", KINDS)
def test_no_request_carries_a_command(kind: str) -> None:
    """No request can set the command of an engine."""
    seed = next((dict(seed) for seed in SEEDS if seed["do"] == kind), {"do": kind})
    for key in ("command", "spec", "entrant", "env", "options"):
        with pytest.raises(UsageRefused, match=f"unknown key '{key}'"):
            parsed(seed | {key: ["/bin/sh"]})


def test_a_specification_that_cannot_be_read_back_is_never_written() -> None:
    """An entrant is only written if it can be read again."""
    from enginetour.model.game import Entrant
    from enginetour.model.task import EngineSpec
    from enginetour.store.engines import add_entrant

    spec = EngineSpec("A", cast("Any", (5,)), "uci")
    with pytest.raises(ValueError, match=r"command\.1: must be text"):
        add_entrant(cast("Any", None), 1, Entrant("A"), spec, since=1, place=1)
