"""What the server asks of tokens: a port, so that a queue manager without tokens loads no more.

This module does not know how a token is checked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from adapter.core.contract.parties import Principal


class TokenCheck(Protocol):
    """Checks tokens, on the event loop's thread."""

    def ask(self, token: str, checked: Callable[[Principal | str], None]) -> None:
        """Have checked called with whom a token names, or with why it is refused; later."""

    def close(self) -> None:
        """Check nothing more."""
