"""A persistent map for the states of formats: each change makes another map and leaves the earlier one as it is.

A change of a plain dictionary would copy all its items, and replaying a log would take quadratic time.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from itertools import chain
from typing import TypeVar, overload

_K = TypeVar("_K")
_V = TypeVar("_V")
_D = TypeVar("_D")

_new = object.__new__  # without the arguments of a generic class
_SMALL = 32  # number of keys up to which one bucket is faster than several (measured)


class Map(Mapping[_K, _V]):
    """A mapping that never changes; `set`, `delete` and `update` return another one.

    The keys are in buckets, chosen by their hash. A change copies one bucket and the list of buckets. The number of
    buckets grows with the square root of the number of keys, so that both stay short: 512 buckets for 100,000 keys.
    """

    __slots__ = ("_buckets", "_count", "_mask", "_most")

    _buckets: list[dict[_K, _V]]
    _count: int
    _mask: int
    _most: int

    def __init__(self, items: Mapping[_K, _V] | None = None) -> None:
        """Copy the items of another mapping."""
        items = items or {}
        self._count = count = len(items)
        if count <= _SMALL:
            self._mask, self._most, self._buckets = 0, _SMALL, [dict(items.items())]
            return
        number = 1 << (count.bit_length() + 2) // 2  # a power of two between the first and the second root of 8 * count
        self._mask = mask = number - 1
        self._most = number * number // 2
        buckets: list[dict[_K, _V]] = [{} for _ in range(number)]
        for key, value in items.items():
            buckets[hash(key) & mask][key] = value
        self._buckets = buckets

    def __reduce__(self) -> tuple[type[Map[_K, _V]], tuple[dict[_K, _V]]]:
        """Pickle the items only, because the hashes of texts differ between processes."""
        return Map, (dict(self.items()),)

    def __getitem__(self, key: _K) -> _V:
        return self._buckets[hash(key) & self._mask][key]

    def __contains__(self, key: object) -> bool:
        return key in self._buckets[hash(key) & self._mask]

    def __iter__(self) -> Iterator[_K]:
        return chain.from_iterable(self._buckets)

    def __len__(self) -> int:
        return self._count

    def __repr__(self) -> str:
        return f"Map({dict(self.items())!r})"

    @overload
    def get(self, key: _K, /) -> _V | None: ...
    @overload
    def get(self, key: _K, /, default: _V | _D) -> _V | _D: ...
    def get(self, key: _K, /, default: object = None) -> object:
        """Return the value of a key, or `default` if the key is not in the map."""
        return self._buckets[hash(key) & self._mask].get(key, default)

    def keys(self) -> KeysView[_K]:
        """Return a view of the keys."""
        return _Keys(self)

    def values(self) -> ValuesView[_V]:
        """Return a view of the values."""
        return _Values(self)

    def items(self) -> ItemsView[_K, _V]:
        """Return a view of the pairs of key and value."""
        return _Items(self)

    def set(self, key: _K, value: _V) -> Map[_K, _V]:
        """Return the map with another value of a key, which may be new."""
        other: Map[_K, _V] = _new(Map)
        other._mask = mask = self._mask
        other._most = most = self._most
        other._buckets = buckets = self._buckets.copy()
        at = hash(key) & mask
        buckets[at] = bucket = buckets[at].copy()
        before = len(bucket)
        bucket[key] = value
        other._count = count = self._count + len(bucket) - before
        return other if count <= most else Map(other)

    def delete(self, key: _K) -> Map[_K, _V]:
        """Return the map without a key; raise KeyError if the map does not contain it."""
        at = hash(key) & self._mask
        other: Map[_K, _V] = _new(Map)
        other._buckets = buckets = self._buckets.copy()
        buckets[at] = bucket = buckets[at].copy()
        del bucket[key]
        other._count, other._mask, other._most = self._count - 1, self._mask, self._most
        return other

    def update(self, items: Mapping[_K, _V]) -> Map[_K, _V]:
        """Return the map with the items of another mapping, whose values replace the present ones."""
        if self._count + len(items) > self._most:
            return Map({**dict(self.items()), **items})
        other: Map[_K, _V] = _new(Map)
        other._mask = mask = self._mask
        other._most = self._most
        other._buckets = buckets = self._buckets.copy()
        copied: set[int] = set()
        for key, value in items.items():
            at = hash(key) & mask
            if at not in copied:
                copied.add(at)
                buckets[at] = buckets[at].copy()
            buckets[at][key] = value
        other._count = sum(map(len, buckets))
        return other


# Views whose iteration does not look up each key.


class _Keys(KeysView[_K]):
    _mapping: Map[_K, object]

    def __iter__(self) -> Iterator[_K]:
        return iter(self._mapping)


class _Values(ValuesView[_V]):
    _mapping: Map[object, _V]

    def __iter__(self) -> Iterator[_V]:
        return chain.from_iterable(bucket.values() for bucket in self._mapping._buckets)


class _Items(ItemsView[_K, _V]):
    _mapping: Map[_K, _V]

    def __iter__(self) -> Iterator[tuple[_K, _V]]:
        return chain.from_iterable(bucket.items() for bucket in self._mapping._buckets)
