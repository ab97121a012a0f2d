"""Arguments that programs take to pass them on: they are checked where they are given, not at
their use, where no program may be there to hear of a mistake.

This module does not know who takes them.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, cast

from adapter.client.connection import connect
from adapter.client.conversion import outgoing
from adapter.connection.channel.connecting import ConnectOptions, timeouts_by
from adapter.errors import InvalidOption


def check_connecting(options: Mapping[str, Any]) -> None:
    """Refuse arguments that connect() does not take, and times that no connection may have.

    Raises InvalidOption for a name, InvalidType and InvalidTimeout for a time.
    """
    taken = inspect.signature(connect).parameters
    for name in options:
        if name not in taken:
            raise InvalidOption(
                f"there is no option {name!r}: those of a connection are {', '.join(taken)}", name
            )
    timeouts_by(cast(ConnectOptions, options))


def check_put(fields: Mapping[str, Any]) -> None:
    """Refuse fields of a put that no message may have. Raises InvalidValue, InvalidType."""
    outgoing(b"", fields)
