"""The schemas that mqk writes with, registered so that others can read what is on its topics.

Each is a subject named after its record (mqk.Descriptor, ...), whose versions are those that were
ever written. They must be readable by the latest for ever: what is on a queue stays there.
"""

from __future__ import annotations

import json

from msgspec import Struct

from adapter.registry.port import Level, SchemaRegistry
from adapter.storage.format import schemas

LEVEL: Level = "BACKWARD_TRANSITIVE"


class Own(Struct, frozen=True):
    """One subject of ours: its versions from old to new."""

    subject: str
    texts: tuple[str, ...]


def own() -> list[Own]:
    """All subjects of ours."""
    return [
        Own(subject_of(texts[-1]), tuple(texts)) for texts in map(schemas.history, schemas.NAMES)
    ]


def subject_of(text: str) -> str:
    """The name of the record that a schema is of."""
    found = json.loads(text)
    return f"{found['namespace']}.{found['name']}"


def register_own(registry: SchemaRegistry) -> int:
    """Register missing versions; return how many were added.

    Raises what a registry raises: SchemaIncompatible if it holds later ones, as of a newer mqk.
    """
    there = set(registry.subjects())
    return sum(_register(registry, one, there) for one in own())


def _register(registry: SchemaRegistry, one: Own, there: set[str]) -> int:
    known = len(registry.versions(one.subject)) if one.subject in there else 0
    if not known:
        registry.set_level(LEVEL, one.subject)
    ids = [registry.register(one.subject, text) for text in one.texts]
    return max(0, len(set(ids)) - known)
