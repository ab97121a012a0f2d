"""What undoes a record that was applied, and then proved void: what it removed and no ledger has.

Persistent messages come back from the ledger. This module does not know which records are void.
"""

from __future__ import annotations

from adapter.core.contract.stored import Stored

Removed = list[tuple[str, Stored]]
"""Messages that are not persistent, each with the name of its queue."""
