"""What the ledger reports of the newest take-over, and of the term that begins with it.

The ledger reports from threads of its own, and some of it comes late: what an earlier take-over
caused is of no concern any more. A doubt may also come early, while the end of the take-over is
read and the term has not begun: the ledger reports it once, so it is kept until the term begins.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from adapter.runtime.owner.calls import OwnerCalls
from adapter.storage.ledger.port import Ledger


class LedgerReports:
    """Brings the reports of one owner's ledger to its thread. All methods are called there."""

    def __init__(
        self, calls: OwnerCalls, durable: Callable[[int], None], doubt: Callable[[object], None]
    ) -> None:
        self._calls = calls
        self._to_durable = durable
        self._to_doubt = doubt
        self._number = 0
        """Of the newest take-over."""
        self._has_begun = False
        self._early: object = None
        """The doubt that was reported before the term began."""

    def begin_take_over(self, ledger: Ledger) -> None:
        """Hear of the take-over that comes, and of no other one."""
        self.end()
        ledger.on_durable = partial(self._from_ledger, self._durable, self._number)
        ledger.on_doubt = partial(self._from_ledger, self._doubt, self._number)

    def begin_term(self) -> None:
        """Pass on what is reported from now on, and a doubt that was reported before."""
        self._has_begun = True
        early, self._early = self._early, None
        if early is not None:
            self._to_doubt(early)

    def end(self) -> None:
        """Pass nothing on of what was taken over."""
        self._number += 1
        self._has_begun, self._early = False, None

    def _from_ledger(self, call: Callable[[int, object], None], number: int, what: object) -> None:
        self._calls.from_thread("what the ledger reports", partial(call, number), what)

    def _durable(self, number: int, n: object) -> None:
        if number == self._number and self._has_begun and isinstance(n, int):
            self._to_durable(n)

    def _doubt(self, number: int, doubt: object) -> None:
        if number != self._number:
            return
        if self._has_begun:
            self._to_doubt(doubt)
        elif self._early is None:  # the first one is the cause of others
            self._early = doubt
