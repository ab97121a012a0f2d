"""How often a record has gone through exports and feeds: its hops, so that a loop ends.

An export marks its records with a header; each further one that a message goes through counts on in
another. A feed reads both. This module does not know how many hops are too many.
"""

from __future__ import annotations

import re

from adapter.core.contract.exports import RecordHeaders
from adapter.core.contract.message import Property

ORIGIN = "mqk-export"
"""The header by which an export knows its own records: queue manager, export, and the number of the
transaction, with spaces between them."""
HEADER = "mqk-hops"
"""The header with the number of exports that a record has gone through, if there were several."""
PROPERTY = "KafkaHops"
"""The property of a message that was read from a topic: how many exports it had gone through."""
HOPS_MAX = 999_999_999
_DIGITS = re.compile(rb"0*([1-9][0-9]{0,8})")


def hops_of(headers: RecordHeaders) -> int:
    """Return how many exports a record has gone through; 0 if none has marked it."""
    hops = 0
    for name, value in headers:
        if name == ORIGIN:
            hops = max(hops, 1)
        elif name == HEADER:
            match = _DIGITS.fullmatch(value or b"")
            hops = max(hops, int(match[1]) if match is not None else 1)
    return hops


def header_of(hops: Property) -> RecordHeaders:
    """Return the header of a record that has gone through one export more than its message."""
    if type(hops) is not int or not 0 < hops < HOPS_MAX:
        return []
    return [(HEADER, b"%d" % (hops + 1))]
