"""What the ledger reports reaches its own term: late reports are dropped, early doubts are kept."""

import asyncio
from collections.abc import Callable

from adapter.runtime.owner.calls import OwnerCalls
from adapter.runtime.owner.ledger_reports import LedgerReports
from adapter.storage.ledger.memory import MemoryLedger, MemoryLog


class Heard:
    """Reports on an event loop, and what was passed on of them."""

    def __init__(self) -> None:
        self.ledger = MemoryLedger(MemoryLog())
        self.broke: list[str] = []
        self.durable: list[int] = []
        self.doubts: list[object] = []
        calls = OwnerCalls(self.broke.append)
        self.reports = LedgerReports(calls, self.durable.append, self.doubts.append)

    async def settle(self) -> None:
        """Let what was reported be passed on."""
        await asyncio.sleep(0)
        assert self.broke == []


def run(test: Callable[[Heard], object]) -> None:
    async def main() -> None:
        heard = Heard()
        await test(heard)  # type: ignore[misc]

    asyncio.run(main())


def test_what_a_term_reports_is_passed_on() -> None:
    async def test(heard: Heard) -> None:
        heard.reports.begin_take_over(heard.ledger)
        heard.reports.begin_term()
        heard.ledger.on_durable(1)
        heard.ledger.on_doubt("why")
        await heard.settle()
        assert (heard.durable, heard.doubts) == ([1], ["why"])

    run(test)


def test_a_doubt_before_the_term_waits_for_it_once() -> None:
    async def test(heard: Heard) -> None:
        heard.reports.begin_take_over(heard.ledger)
        heard.ledger.on_doubt("first")
        heard.ledger.on_doubt("second")
        await heard.settle()
        assert heard.doubts == []
        heard.reports.begin_term()
        heard.reports.begin_term()
        assert heard.doubts == ["first"]

    run(test)


def test_what_an_earlier_take_over_caused_is_dropped() -> None:
    async def test(heard: Heard) -> None:
        heard.reports.begin_take_over(heard.ledger)
        durable, doubt = heard.ledger.on_durable, heard.ledger.on_doubt
        doubt("of a take-over that failed")
        await heard.settle()
        heard.reports.begin_take_over(heard.ledger)
        doubt("late")
        heard.reports.begin_term()
        durable(1)
        doubt("later")
        await heard.settle()
        heard.ledger.on_doubt("its own")
        heard.reports.end()
        await heard.settle()
        assert (heard.durable, heard.doubts) == ([], [])

    run(test)
