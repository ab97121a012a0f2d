"""Everything that an object holds, as a tree: two of them say what has changed in between.

It walks attributes, whatever classes there are, so that what is added to the queue manager later is
compared too. An object that is met again is a reference to where it was met first. Trees are made
before and after thousands of decisions, and differ only if a test fails: so they are of tuples,
which are compared quickly, and paths are made of two trees that differ.
"""

import functools
import operator
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator
from types import ModuleType
from typing import Any

import msgspec

from adapter.core.contract.ranges import Ranges
from adapter.core.model.places import Places

CACHES = frozenset({"indexes"})
"""Made on first use from what else there is, and nobody can tell whether they are there."""
DRAWN = frozenset({"_ids", "_order", "generated", "temporaries", "now_ms"})
"""How many numbers were drawn, one of which may have been in vain; and what time it is."""
PLAIN = frozenset({str, bytes, int, float, bool, type(None)})
ATOMS = (str, bytes, int, float, type, ModuleType)
"""A compiled function is bound to its module."""

Tree = Any
"""An atom; or the name of a type, the names of the parts, and their trees; or a number alone: of an
object that is met again, in the order of the walk."""
Digest = tuple[Tree, ...]
"""The tree of each root."""
Path = tuple[object, ...]


def digest(*roots: object) -> Digest:
    """Return all values that can be reached from each of the roots."""
    walk = _Walk()
    return tuple(walk.tree(root) for root in roots)


def changed(before: Digest, after: Digest) -> list[str]:
    """Say what differs, path by path."""
    old, new = _by_path(before), _by_path(after)
    return [
        f"{'.'.join(map(str, path[1:]))}: {old.get(path)!r} -> {new.get(path)!r}"
        for path in sorted(old.keys() | new.keys(), key=str)
        if old.get(path) != new.get(path)
    ]


class _Walk:
    """Makes trees, and knows which objects it has met; it keeps them, so that no id comes again."""

    def __init__(self) -> None:
        self._met: dict[int, tuple[int]] = {}
        self._kept: list[object] = []

    def tree(self, value: Any) -> Tree:
        kind: Any = type(value)
        if kind in PLAIN or isinstance(value, ATOMS):
            return value
        met, kept = self._met, self._kept
        number = (len(kept),)
        first = met.setdefault(id(value), number)
        if first is not number:
            return first
        kept.append(value)
        names, parts = _plan(kind)(value)
        if not parts:
            return kind.__name__, names, ()
        tree = self.tree
        return kind.__name__, names, [p if type(p) in PLAIN else tree(p) for p in parts]


Parts = tuple[Collection[object], Collection[Any]]
"""The names of what an object consists of, none if those are numbers from 0, and the values."""


@functools.cache
def _plan(kind: Any) -> Callable[[Any], Parts]:
    """Choose how the parts of a type's instances are found: the same way for all of them."""
    if issubclass(kind, Places) or kind in (tuple, list, deque):
        return _items
    if issubclass(kind, Ranges):
        return lambda value: _items(value.spans())
    if issubclass(kind, msgspec.Struct):
        return functools.partial(_fields, *_getter(kind.__struct_fields__))
    if kind in (dict, Counter):
        return lambda value: (tuple(value), value.values())
    names = {name for each in kind.__mro__ for name in vars(each)}
    contains = {"__iter__", "__len__"} <= names
    if not (kind.__dictoffset__ or contains or "__call__" in names):
        return functools.partial(_fields, *_getter(_slots(kind)))
    return _anything


def _getter(names: Iterable[str]) -> tuple[tuple[str, ...], Callable[[Any], Any]]:
    """Return the names of attributes that count, and what reads all of them at once."""
    counted = tuple(dict.fromkeys(name for name in names if name not in CACHES | DRAWN))
    if len(counted) > 1:
        return counted, operator.attrgetter(*counted)
    return counted, lambda value: [getattr(value, name) for name in counted]


def _fields(names: tuple[str, ...], read: Callable[[Any], Any], value: Any) -> Parts:
    try:
        return names, read(value)
    except AttributeError:  # not every one is set
        return _anything(value)


def _items(value: Iterable[Any]) -> Parts:
    return (), tuple(value)


def _anything(value: Any) -> Parts:
    """Iterate over what an object contains, and its attributes: subclasses of containers too."""
    parts: list[tuple[object, Any]] = []
    if isinstance(value, dict):
        parts += value.items()
    elif isinstance(value, (set, frozenset)):
        parts += enumerate(sorted(value, key=_order))
    elif isinstance(value, Iterable) and hasattr(value, "__len__"):
        parts += enumerate(value)
    parts += (
        (name, getattr(value, name))
        for name in _attributes(value)
        if name not in CACHES and name not in DRAWN and hasattr(value, name)
    )
    return [name for name, _ in parts], [part for _, part in parts]


def _order(value: object) -> Any:
    return value if isinstance(value, (int, str, bytes, tuple)) else id(value)


def _attributes(value: object) -> Iterable[str]:
    """Name what an instance holds; of a function what it is bound to."""
    if callable(value):
        return ("func", "args", "__self__", "__qualname__")
    kind: Any = type(value)
    return dict.fromkeys([*_slots(kind), *getattr(value, "__dict__", ())])


@functools.cache
def _slots(kind: Any) -> list[str]:
    kinds = kind.__mro__
    slots = [name for kind in kinds for name in getattr(kind, "__slots__", ())]
    # What a compiled class calls its attributes.
    return slots + [name for kind in kinds for name in getattr(kind, "__mypyc_attrs__", ())]


def _by_path(whole: Digest) -> dict[Path, object]:
    """Return every value of some trees by its path, and of an object that is met again where."""
    met: list[Path] = []
    return {
        path: met[value[0]] if isinstance(value, tuple) and len(value) == 1 else value
        for root, tree in enumerate(whole)
        for path, value in _flat((root,), tree, met)
    }


def _flat(path: Path, tree: Tree, met: list[Path]) -> Iterator[tuple[Path, object]]:
    if not isinstance(tree, tuple) or len(tree) == 1:
        yield path, tree
        return
    kind, names, parts = tree
    met.append(path)
    yield path, (kind, len(parts))
    for name, part in zip(names or range(len(parts)), parts, strict=True):
        yield from _flat((*path, name), part, met)
