"""A server's program whose snapshots are due after a few entries, so that ledgers are trimmed soon.

It knows nothing else of the server that it runs.
"""

from functools import partialmethod

from adapter.server import main as program
from adapter.server.services.kafka_wiring import Wired

ENTRIES = 20


def main() -> int:
    """See adapter.server.main."""
    Wired.storage = partialmethod(  # type: ignore[method-assign, assignment]
        Wired.storage, snapshot_entries=ENTRIES
    )
    return program.main()
