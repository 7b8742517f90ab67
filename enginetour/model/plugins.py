"""Plug-ins: formats, rating systems, notifiers and readers of openings that other distributions add by entry points.

A plug-in is a module with two constants: `CONTRACT`, the version of the contract that it was written for, and `PLUGIN`,
an entry as in the registry of the built-in ones. Entry points are read only for a name that is not built in, or when
all names are listed. A faulty plug-in is rejected only where it is used.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from enginetour.model.errors import InputRefused
from enginetour.model.validation import plain_error

if TYPE_CHECKING:
    from importlib import metadata

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)
KINDS = {
    "enginetour.formats": "format",
    "enginetour.ratings": "rating system",
    "enginetour.notifiers": "notifier",
    "enginetour.openings": "reader of openings",
}


class PluginRefused(InputRefused):
    """An installed plug-in is faulty, or a stored tournament needs one that is not installed."""


class UnknownName(InputRefused):
    """Neither enginetour nor an installed plug-in has this name.

    The database may know the package that is missing, by the name of the `tournament`.
    """

    tournament = ""


@lru_cache(maxsize=8)
def _found(group: str, _path: tuple[str, ...]) -> Mapping[str, tuple[metadata.EntryPoint, ...]]:
    """Return the entry points of a group by name; `_path` is sys.path, so that a change of it is noticed."""
    from importlib import metadata  # imported here, because most runs do not need it

    found: dict[str, tuple[metadata.EntryPoint, ...]] = {}
    for point in metadata.entry_points(group=group):
        found[point.name] = (*found.get(point.name, ()), point)
    return found


def _entry_points(group: str) -> Mapping[str, tuple[metadata.EntryPoint, ...]]:
    return _found(group, tuple(sys.path))


def _package(point: metadata.EntryPoint) -> str:
    """Return the name and version of the distribution that contains an entry point."""
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value


class Registry(Mapping[str, T], Generic[T]):
    """Entries by name: the built-in ones, then those of plug-ins.

    A look-up raises KeyError for an unknown name, and PluginRefused for a faulty plug-in. Iteration and the length
    include only plug-ins that can be used; `faults` describes the others.

    Args:
        group: The group of entry points, one of `KINDS`.
        kind: The class of an entry.
        contract: The version of the contract, which a plug-in must have too.
        own: The built-in entries.
        reserved: Further names that a plug-in cannot have.
        fault_of: Returns what is wrong with the entry of a plug-in, or "" if it is valid.
    """

    def __init__(
        self,
        group: str,
        kind: type[T],
        contract: int,
        own: Mapping[str, T],
        *,
        reserved: tuple[str, ...] = (),
        fault_of: Callable[[T], str] = lambda _: "",
    ) -> None:
        self.group = group
        self._kind = kind
        self._contract = contract
        self._own = own
        self._reserved = {*own, *reserved}
        self._fault_of = fault_of
        self._loaded: dict[str, tuple[metadata.EntryPoint, T]] = {}

    def __getitem__(self, name: str) -> T:
        return self._own[name] if name in self._own else self._plugin(name)

    def __contains__(self, name: object) -> bool:
        return name in self._own or (name not in self._reserved and name in _entry_points(self.group))

    def __iter__(self) -> Iterator[str]:
        yield from self._own
        for name in sorted(_entry_points(self.group)):
            if not self._fault(name):
                yield name

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def place(self, name: str) -> int:
        """Return the place of a built-in entry, from 0; plug-ins have the place after all of them."""
        return [*self._own].index(name) if name in self._own else len(self._own)

    def package_of(self, name: str) -> str:
        """Return the name and version of the package that contains a plug-in, or "" for a built-in name."""
        return "" if name in self._own else _package(_entry_points(self.group)[name][0])

    def faults(self) -> list[str]:
        """Return one line for each faulty plug-in."""
        return [fault for name in sorted(_entry_points(self.group)) if (fault := self._fault(name))]

    def _fault(self, name: str) -> str:
        try:
            self._plugin(name)
        except PluginRefused as error:
            return str(error)
        return ""

    def _plugin(self, name: str) -> T:
        """Return the entry of a plug-in. Raise PluginRefused with its package if it is faulty."""
        points = _entry_points(self.group).get(name, ())
        if not points:
            raise KeyError(name)
        point, kind = points[0], KINDS[self.group]
        if name in self._loaded and self._loaded[name][0] == point:
            return self._loaded[name][1]
        place, plain = _package(point), point.dist.name if point.dist else point.value
        if name in self._reserved:
            what, step = f"the name of the {kind} {name!r} already exists in enginetour", "use another name for it"
            raise PluginRefused(what, place=place, step=step)
        if len(points) > 1:
            what = f"the {kind} {name!r} is also in the package {_package(points[1])}"
            raise PluginRefused(what, place=place, step=f"uninstall one of them: pip uninstall {plain}")
        try:
            module = point.load()
        except (Exception, SystemExit) as error:  # the module of a plug-in may raise anything
            what = f"the {kind} {name!r} cannot be imported ({type(error).__name__}: {error})"
            raise PluginRefused(what, place=place, step=f"install it again: pip install -U {plain}") from None
        if fault := self._fault_of_module(module):
            raise PluginRefused(f"the {kind} {name!r} cannot be used: {fault[0]}", place=place, step=fault[1])
        entry: T = module.PLUGIN
        self._loaded[name] = point, entry
        return entry

    def _fault_of_module(self, module: Any) -> tuple[str, str] | None:
        contract = getattr(module, "CONTRACT", None)
        if contract != self._contract:
            what = f"CONTRACT must be {self._contract} (found {contract!r})"
            return what, "install a version of the package for this version of enginetour"
        entry = getattr(module, "PLUGIN", None)
        if not isinstance(entry, self._kind):
            return f"PLUGIN must be a {self._kind.__name__} (found {type(entry).__name__})", "report it to its author"
        try:
            fault = self._fault_of(entry)
        except Exception as error:  # as above, when its other modules are imported
            fault = f"{type(error).__name__}: {error}"
        return (fault, "report it to its author") if fault else None


def validated(model: type[M], given: Mapping[str, Any], *under: str) -> M:
    """Return the settings of a plug-in or of a rating system, which are in the tables `under`.

    Raise ValueError for the first invalid setting.
    """
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise ValueError(plain_error(error, model, given, under=under, noun="setting")) from None


Used = dict[str, dict[str, str]]  # group of entry points -> name -> package with version


def plugins_used(*names: tuple[Registry[Any], str]) -> Used:
    """Return the packages of the plug-ins among these names, for the stored configuration of a tournament."""
    used: Used = {}
    for registry, name in names:
        if package := registry.package_of(name):
            used.setdefault(registry.group, {})[name] = package
    return used


class _Stored(BaseModel):
    plugins: Used = {}


def stored_plugins(stored: object) -> Used:
    """Return the packages of the plug-ins in a stored configuration or definition; none if it is damaged."""
    try:
        parsed = _Stored.model_validate_json(stored) if isinstance(stored, str) else _Stored.model_validate(stored)
        return parsed.plugins
    except ValidationError:
        return {}


def refuse_missing(used: Mapping[str, Mapping[str, str]], place: str, *groups: str) -> None:
    """Raise PluginRefused for the first plug-in of these groups that is not installed, by default of all groups.

    `used` is the result of `plugins_used`, as it was stored.
    """
    for group in groups or KINDS:
        packages = used.get(group, {})
        for name, package in packages.items():
            if name not in _entry_points(group):
                what = f"the {KINDS[group]} {name!r} is not installed; it is part of the package {package}"
                raise PluginRefused(what, place=place, step=f"pip install {package.replace(' ', '==')}")
