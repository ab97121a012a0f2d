"""The owner's pages: reads what core asks for, off the owner's thread, one page at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import structlog

from adapter.core.model.lane import PageNeeded
from adapter.owner.storage import Page, PageReader, PagesUnavailableError

RETRY_S = 0.2
RETRY_S_MAX = 5.0

Deliver = Callable[[PageNeeded, int, Page], None]

log = structlog.get_logger("mqk.owner")


class Paging:
    """Reads pages of one term. All methods are called on the event loop's thread."""

    def __init__(self, reader: PageReader, deliver: Deliver) -> None:
        self._reader = reader
        self._deliver = deliver
        self._asyncio = asyncio.get_running_loop()
        self._executor = ThreadPoolExecutor(1, "pages")
        self._reading: set[tuple[str, int, str]] = set()
        self._ended = False
        self.read = 0
        self.failures = 0

    def want(self, needed: PageNeeded, incarnation: int, count: int) -> None:
        """Read a page, and deliver it; one of the same lane is not read twice at a time."""
        key = (needed.queue, needed.lane, needed.field)
        if key in self._reading or self._ended:
            return
        self._reading.add(key)
        self._submit(needed, incarnation, count, RETRY_S)

    def end(self) -> None:
        """Deliver nothing more."""
        self._ended = True
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _take(self, needed: PageNeeded, incarnation: int, page: Page) -> None:
        """Deliver a page; if it lacks what it was read for, after a while.

        Either that is needed no more, or it is not on its topic any more, and asked for again.
        """
        self.read += 1
        if page.messages and page.messages[0].seq <= needed.seq:
            self._hand_over(needed, incarnation, page)
            return
        place = f"message {needed.seq} of lane {needed.lane} of {needed.queue}"
        log.warning("a page lacks the message that it was read for", reason=place)
        self._asyncio.call_later(RETRY_S_MAX, self._hand_over, needed, incarnation, page)

    def _hand_over(self, needed: PageNeeded, incarnation: int, page: Page) -> None:
        if not self._ended:
            self._reading.discard((needed.queue, needed.lane, needed.field))
            self._deliver(needed, incarnation, page)

    def _submit(self, needed: PageNeeded, incarnation: int, count: int, pause_s: float) -> None:
        if self._ended:
            return

        def read() -> Page:
            return self._reader.read(needed.queue, incarnation, needed.lane, needed.seq, count)

        def done(task: asyncio.Future[Page]) -> None:
            if self._ended or task.cancelled():
                return
            failure = task.exception()
            if failure is None:
                self._take(needed, incarnation, task.result())
            elif isinstance(failure, PagesUnavailableError):
                self.failures += 1
                log.warning("a page is not there yet; trying again", reason=str(failure))
                later_s = min(2 * pause_s, RETRY_S_MAX)
                self._asyncio.call_later(pause_s, self._submit, needed, incarnation, count, later_s)
            else:
                raise failure

        self._asyncio.run_in_executor(self._executor, read).add_done_callback(done)
