"""The owner's pages: reads what core asks for, off the owner's thread, one page at a time.

What Kafka does not answer is asked again, for as long as it takes. Where it answers that a message
is not there, core is told after a while; by then whatever was to come has come. So it is with a
message that cannot be read, whatever the reason: what needs it is refused, and others get on.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import structlog
from msgspec import Struct

from adapter.core.contract.pages import PageNeeded
from adapter.host import watched
from adapter.runtime.owner.failed_steps import TRACEBACK_MAX
from adapter.storage.topics.port import MessageMissingError, Page, PageReader, PagesUnavailableError

Deliver = Callable[[PageNeeded, int, Page], None]
Miss = Callable[[PageNeeded, int], None]
PageKey = tuple[str, int, int, str]

log = structlog.get_logger("mqk.owner")


class PageTimings(Struct, frozen=True, kw_only=True):
    """How long reading waits for what.

    retry_s, retry_s_max: before a page is asked for again; each pause is twice the one before.
    missing_s: after this a message that is not there is missing: new leaders are known to all much
    sooner.
    """

    retry_s: float = 0.2
    retry_s_max: float = 5.0
    missing_s: float = 10.0


PAGE_TIMINGS = PageTimings()


class Paging:
    """Reads pages of one term. All methods are called on the event loop's thread."""

    def __init__(
        self,
        reader: PageReader,
        deliver: Deliver,
        miss: Miss,
        broke: watched.Ended,
        timings: PageTimings = PAGE_TIMINGS,
    ) -> None:
        """broke: hears of what must not fail and did."""
        self._broke = broke
        self._timings = timings
        self._reader = reader
        self._deliver = deliver
        self._miss = miss
        self._asyncio = asyncio.get_running_loop()
        self._executor = ThreadPoolExecutor(1, "pages")
        self._reading: set[PageKey] = set()
        self._lacking: dict[PageKey, tuple[int, float, float]] = {}
        """Which message was not there, since when, and when it was looked for last."""
        self._ended = False
        self._rested_at = 0
        """How many pages had been read when the reader was told to rest."""
        self._looked_at = 0
        """The same when it was looked whether it may."""
        self.read = 0
        self.failures = 0

    def want(self, needed: PageNeeded, incarnation: int, count: int) -> None:
        """Read a page, and deliver it; one of the same lane is not read twice at a time."""
        key = _key(needed, incarnation)
        if key in self._reading or self._ended:
            return
        self._reading.add(key)
        self._submit(needed, incarnation, count, self._timings.retry_s)

    def look(self) -> None:
        """Let the reader rest, if it has read nothing since the last look, and something before."""
        is_calm = self.read == self._looked_at > self._rested_at
        if is_calm and not self._reading and not self._ended:
            self._rested_at = self.read
            resting = self._asyncio.run_in_executor(self._executor, self._reader.rest)
            watched.when_done("letting the reader of pages rest", resting, _raise, self._broke)
        self._looked_at = self.read

    def end(self) -> None:
        """Deliver nothing more."""
        self._ended = True
        self._executor.shutdown(wait=False, cancel_futures=True)

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
            elif _is_final(failure) and self._is_lost(needed, incarnation):
                self._give_up(needed, incarnation, _why(failure))
            else:
                if not _is_final(failure):  # Kafka does not say whether it is there
                    self._lacking.pop(_key(needed, incarnation), None)
                self.failures += 1
                log.warning("a page is not there yet; trying again", reason=_why(failure))
                later_s = min(2 * pause_s, self._timings.retry_s_max)
                self._later(pause_s, partial(self._submit, needed, incarnation, count, later_s))

        reading = self._asyncio.run_in_executor(self._executor, read)
        watched.when_done("reading a page", reading, done, self._broke)

    def _later(self, delay_s: float, call: Callable[[], None]) -> None:
        again = watched.callback("reading a page again", call, self._broke)
        self._asyncio.call_later(delay_s, again)

    def _take(self, needed: PageNeeded, incarnation: int, page: Page) -> None:
        """Deliver a page; if it lacks what it was read for, after a while.

        Either that is needed no more, or it is not on its topic any more, and asked for again.
        """
        self.read += 1
        if page.messages and page.messages[0].seq <= needed.seq:
            self._lacking.pop(_key(needed, incarnation), None)
            self._hand_over(needed, incarnation, page)
            return
        place = f"message {needed.seq} of lane {needed.lane} of {needed.queue}"
        if self._is_lost(needed, incarnation):
            self._give_up(needed, incarnation, place)
            return
        log.warning("a page lacks the message that it was read for", reason=place)
        self._later(self._timings.retry_s_max, partial(self._hand_over, needed, incarnation, page))

    def _hand_over(self, needed: PageNeeded, incarnation: int, page: Page) -> None:
        if not self._ended:
            self._reading.discard(_key(needed, incarnation))
            self._deliver(needed, incarnation, page)

    def _is_lost(self, needed: PageNeeded, incarnation: int) -> bool:
        """Note that a message is not there; whether it has not been there for so long now, each
        time that it was looked for.
        """
        key, now_s = _key(needed, incarnation), self._asyncio.time()
        most_s = self._timings.missing_s
        seq, since_s, last_s = self._lacking.get(key, (needed.seq, now_s, now_s))
        if seq != needed.seq or now_s - last_s > most_s:
            since_s = now_s
        self._lacking[key] = needed.seq, since_s, now_s
        return now_s - since_s >= most_s

    def _give_up(self, needed: PageNeeded, incarnation: int, why: str) -> None:
        """Tell core; it may ask again."""
        self.failures += 1
        log.error("a message is missing on its topic", reason=why)
        self._reading.discard(_key(needed, incarnation))
        self._lacking.pop(_key(needed, incarnation), None)
        self._miss(needed, incarnation)


def _is_final(failure: BaseException) -> bool:
    """Whether trying again is of no use in the end: Kafka answers, and it is not the message.

    What reading raises besides is a fault in what is there, or of this code: the same comes again.
    """
    return isinstance(failure, MessageMissingError) or not isinstance(
        failure, PagesUnavailableError
    )


def _why(failure: BaseException) -> str:
    if isinstance(failure, PagesUnavailableError):
        return str(failure)
    return "".join(traceback.format_exception(failure))[-TRACEBACK_MAX:]


def _key(needed: PageNeeded, incarnation: int) -> PageKey:
    return needed.queue, incarnation, needed.lane, needed.field


def _raise(done: asyncio.Future[None]) -> None:
    """Raise what it ended by."""
    if not done.cancelled():
        done.result()
