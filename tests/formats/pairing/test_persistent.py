from __future__ import annotations

import pickle
import random
import subprocess
import sys

import pytest

from enginetour.formats.pairing.persistent import Map


@pytest.mark.parametrize("keys", [3, 40, 600])
def test_a_map_answers_as_a_dictionary_and_earlier_maps_stay_as_they_were(keys: int) -> None:
    dice, plain, present = random.Random(keys), dict[str, int](), Map[str, int]()
    earlier: list[tuple[Map[str, int], dict[str, int]]] = []
    for number in range(3 * keys):
        earlier = [*earlier[-3:], (present, dict(plain))]
        key = f"key {dice.randrange(keys)}"
        if key in plain and dice.random() < 0.3:
            del plain[key]
            present = present.delete(key)
        else:
            plain[key] = number
            present = present.set(key, number)
        for before, content in earlier:
            assert len(before) == len(content)
    for before, content in [*earlier, (present, plain)]:
        assert before == content == dict(before.items())
        assert set(before) == set(before.keys()) == set(content)
        assert sorted(before.values()) == sorted(content.values())
        assert all(before[key] == before.get(key) == value and key in before for key, value in content.items())
    assert present.get("other") is None and present.get("other", 7) == 7 and "other" not in present
    for more in (
        {"other": 1},
        dict.fromkeys(list(plain)[::2], -1),
        {f"new {number}": number for number in range(2 * keys)},
    ):
        changed = present.update(more)
        assert changed == {**plain, **more} and len(changed) == len({**plain, **more}) and present == plain
    assert Map(present) == present


def test_a_missing_key_is_an_error() -> None:
    with pytest.raises(KeyError):
        Map({"a": 1}).delete("b")
    with pytest.raises(KeyError):
        Map[str, int]()["a"]


def test_a_map_can_be_read_in_a_process_with_other_hashes() -> None:
    code = "import pickle, sys; m = pickle.load(sys.stdin.buffer); print(sum(m[k] for k in list(m)), 'key 7' in m)"
    packed = pickle.dumps(Map({f"key {number}": number for number in range(100)}))
    done = subprocess.run([sys.executable, "-c", code], input=packed, capture_output=True, check=True)
    assert done.stdout == b"4950 True\n"
