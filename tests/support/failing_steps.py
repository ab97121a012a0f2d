"""A server's program whose core fails at certain messages, half changed, and that trims soon.

It knows nothing else of the server that it runs.
"""

from typing import Final

from adapter.core import dispatch
from adapter.core.contract import records as r
from adapter.core.contract.unit_records import UnitCommitted
from adapter.core.effects import Effects
from adapter.core.model.manager import QueueManager
from tests.support import often_written

FAILS: Final = b"this step fails"
"""The body of a message whose put fails, behind what it changes."""


def main() -> int:
    """See adapter.server.main."""
    apply_each = dispatch._apply_each

    def apply_and_fail(qm: QueueManager, effects: Effects, records: list[r.Record]) -> None:
        apply_each(qm, effects, records)
        for record in records:
            if isinstance(record, UnitCommitted) and any(
                put.message.body == FAILS for put in record.puts
            ):
                raise ZeroDivisionError("planted")

    dispatch._apply_each = apply_and_fail
    return often_written.main()
