"""How core asks whether bodies are XML: a port, because parsing is the business of a library.

The answers are decided once and recorded by what follows from them; replay never asks. This module
knows no XML.
"""

from __future__ import annotations

from typing import Protocol


class XmlRules(Protocol):
    """What the wiring of a queue manager gives it."""

    def why_no_schema(self, schema: str) -> str:
        """Say why a text is no XML schema; empty: it is one."""

    def why_invalid(self, validation: str, schema: str, body: bytes) -> str:
        """Say why a body is not valid; empty: it is. validation: as a message type has it."""


class NoXml:
    """Of a queue manager that was given none: it takes no message type that validates XML."""

    def why_no_schema(self, schema: str) -> str:
        """Say that schemas are not read."""
        del schema
        return "this queue manager cannot read XML schemas"

    def why_invalid(self, validation: str, schema: str, body: bytes) -> str:
        """Say whether a body is empty, where it must be."""
        del schema
        return "The body is not empty." if validation == "EMPTY" and body else ""
