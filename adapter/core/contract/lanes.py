"""How many lanes a queue has: each is one partition of its topic.

The kind of a queue says it. A queue of IBM MQ has one lane for each priority; it is the only kind
yet. This module does not know what a lane holds.
"""

from __future__ import annotations

from typing import Final

from adapter.core.contract.message import PRIORITY_MAX

LANES: Final = PRIORITY_MAX + 1
