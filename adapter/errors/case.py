"""What a refusal becomes. This module knows no reason."""

from __future__ import annotations

from msgspec import Struct

from adapter.errors.root import Error


class Case(Struct, frozen=True):
    """What a refusal becomes: the error, what happened ({name} is the object), what to do."""

    error: type[Error]
    happened: str
    remedy: str
