"""Everything that an object holds, as a flat table: two of them say what has changed in between.

It walks attributes, whatever classes there are, so that what is added to the queue manager later is
compared too. An object that is met again is named by where it was met first.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from adapter.core.model.places import Places
from adapter.core.model.ranges import Ranges

CACHES = frozenset({"indexes"})
"""Made on first use from what else there is, and nobody can tell whether they are there."""
DRAWN = frozenset({"_ids", "_order", "generated", "temporaries", "now_ms"})
"""How many numbers were drawn, one of which may have been in vain; and what time it is."""
ATOMS = (str, bytes, int, float, type(None), type)

Digest = dict[tuple[object, ...], object]


def digest(*roots: object, but: frozenset[str] = CACHES | DRAWN) -> Digest:
    """Return all values that can be reached, by their paths. but: attributes that are left out."""
    found: Digest = {}
    met: dict[int, tuple[object, ...]] = {}
    kept: list[object] = []  # so that no id comes again
    left: list[tuple[tuple[object, ...], Any]] = [((n,), root) for n, root in enumerate(roots)]
    while left:
        path, value = left.pop()
        if isinstance(value, ATOMS):
            found[path] = value
        elif id(value) in met:
            found[path] = met[id(value)]
        else:
            met[id(value)] = path
            kept.append(value)
            parts = list(_parts(value, but))
            found[path] = (type(value).__name__, len(parts))
            left += [((*path, name), part) for name, part in reversed(parts)]
    return found


def changed(before: Digest, after: Digest) -> list[str]:
    """Say what differs, path by path."""
    return [
        f"{'.'.join(map(str, path[1:]))}: {before.get(path)!r} -> {after.get(path)!r}"
        for path in sorted(before.keys() | after.keys(), key=str)
        if before.get(path) != after.get(path)
    ]


def _parts(value: Any, but: frozenset[str]) -> Iterator[tuple[object, object]]:
    """Iterate over what an object consists of; attributes of subclasses of containers too."""
    if isinstance(value, (Places, Ranges)):
        yield from enumerate(value if isinstance(value, Places) else value.spans())
        return
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, (set, frozenset)):
        yield from enumerate(sorted(value, key=_order))
    elif isinstance(value, Iterable) and hasattr(value, "__len__"):
        yield from enumerate(value)
    for name in _attributes(value):
        if name not in but and hasattr(value, name):
            yield name, getattr(value, name)


def _order(value: object) -> Any:
    return value if isinstance(value, (int, str, bytes, tuple)) else id(value)


def _attributes(value: object) -> list[str]:
    """Name what an instance holds; of a function what it is bound to."""
    if isinstance(value, msgspec.Struct):
        return list(value.__struct_fields__)
    if callable(value):
        return [
            name for name in ("func", "args", "__self__", "__qualname__") if hasattr(value, name)
        ]
    kinds = type(value).__mro__
    slots = [name for kind in kinds for name in getattr(kind, "__slots__", ())]
    # What a compiled class calls its attributes.
    slots += [name for kind in kinds for name in getattr(kind, "__mypyc_attrs__", ())]
    return list(dict.fromkeys([*slots, *getattr(value, "__dict__", ())]))
