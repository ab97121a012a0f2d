"""Names of queues of frameworks as names of queues of a queue manager.

Frameworks accept names with `-`, `@` or `:`, and of any length.
"""

from __future__ import annotations

import hashlib
import string

from adapter.errors import InvalidOption

QUEUE_NAME_MAX = 48
_PLAIN = frozenset(string.ascii_letters + string.digits + "._/")
_DIGEST = 10
"""Hexadecimal digits of a long name's hash: 40 bits for the names of one queue manager."""


def queue_name(name: str) -> str:
    """Return the name of the queue that stands for a queue of a framework.

    Letters, digits, `.`, `_` and `/` are kept; any other byte becomes `%` and two hexadecimal
    digits. A longer name than 48 characters keeps its beginning, and ends with `%_` and a hash.

    Raises InvalidOption for a name with half of a surrogate pair, which UTF-8 does not have.
    """
    try:
        encoded = name.encode()
    except UnicodeEncodeError:
        raise InvalidOption(
            f"the queue name {name!r} has half of a surrogate pair: name it in whole characters"
        ) from None
    escaped = "".join(chr(byte) if chr(byte) in _PLAIN else f"%{byte:02X}" for byte in encoded)
    if len(escaped) <= QUEUE_NAME_MAX:
        return escaped
    digest = hashlib.sha256(encoded).hexdigest()[:_DIGEST]
    return f"{escaped[: QUEUE_NAME_MAX - _DIGEST - 2]}%_{digest}"
