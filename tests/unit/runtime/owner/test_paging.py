"""Pages are delivered as they come; one without the message that it was read for takes its time."""

import asyncio
import threading
from typing import Any

import pytest

from adapter.core.contract.message import MessageData
from adapter.core.contract.pages import Paged, PageNeeded
from adapter.runtime.owner.paging import PAGE_TIMINGS, PageTimings, Paging
from adapter.storage.topics.port import MessageMissingError, Page, PagesUnavailableError

WAIT_S = 10.0
NEEDED = PageNeeded("Q", 4, 7, 0)


class Reader:
    """Reads what a test has laid ready, one answer after the other."""

    def __init__(self, *answers: Page | Exception) -> None:
        self.answers = list(answers)
        self.rests = 0
        self.rested = threading.Event()

    def read(self, queue: str, incarnation: int, lane: int, seq: int, count: int) -> Page:
        assert (queue, lane, seq, count) == ("Q", 4, 7, 50)
        assert incarnation in (2, 3)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def rest(self) -> None:
        self.rests += 1
        self.rested.set()

    def close(self) -> None:
        """See PageReader."""


def page(*seqs: int) -> Page:
    """A page of these messages."""
    place: dict[str, Any] = {"unit": b"u" * 24, "unit_index": 0, "unit_size": 1}
    place |= {"queue_unit_index": 0, "queue_unit_size": 1}
    return Page(seqs[-1], [Paged(seq=seq, message=MessageData(), **place) for seq in seqs])


def delivered(reader: Reader, timings: PageTimings = PAGE_TIMINGS) -> tuple[list[int], float]:
    """Read until a page is delivered; which messages it has, and after how many seconds."""

    async def main() -> tuple[list[int], float]:
        loop = asyncio.get_running_loop()
        came: asyncio.Future[Page] = loop.create_future()
        one = Paging(
            reader,
            lambda _needed, _incarnation, found: came.set_result(found),
            never_missing,
            pytest.fail,
            timings,
        )
        began_s = loop.time()
        one.want(NEEDED, 2, 50)
        one.want(NEEDED, 2, 50)  # not read twice
        found = await asyncio.wait_for(came, WAIT_S)
        one.end()
        return [paged.seq for paged in found.messages], loop.time() - began_s

    return asyncio.run(main())


def never_missing(needed: PageNeeded, incarnation: int) -> None:
    pytest.fail(f"{needed} of {incarnation} is there")


def missed(reader: Reader, timings: PageTimings) -> float:
    """Read until a message is said to be missing; after how many seconds."""

    async def main() -> float:
        loop = asyncio.get_running_loop()
        came: asyncio.Future[None] = loop.create_future()
        one = Paging(
            reader,
            lambda *_page: None,
            lambda *_place: came.set_result(None),
            pytest.fail,
            timings,
        )
        began_s = loop.time()
        while not came.done():
            one.want(NEEDED, 2, 50)
            await asyncio.wait([came], timeout=0.02)
        assert loop.time() - began_s < WAIT_S
        one.end()
        return loop.time() - began_s

    return asyncio.run(main())


@pytest.mark.parametrize("answer", [MessageMissingError("no such topic"), page(9)])
def test_what_is_not_there_for_a_while_is_missing(answer: Page | PagesUnavailableError) -> None:
    timings = PageTimings(retry_s=0.01, retry_s_max=0.05, missing_s=0.3)
    assert missed(Reader(*[answer] * 100), timings) >= 0.3


def test_what_kafka_does_not_answer_is_never_missing() -> None:
    timings = PageTimings(retry_s=0.01, retry_s_max=0.05, missing_s=0.1)
    silent = [PagesUnavailableError("no answer")] * 10
    assert delivered(Reader(*silent, page(7)), timings)[0] == [7]


def test_a_page_is_delivered_at_once() -> None:
    seqs, after_s = delivered(Reader(page(7, 8)))
    assert seqs == [7, 8]
    assert after_s < PAGE_TIMINGS.retry_s_max


def test_what_is_not_there_yet_is_read_again() -> None:
    timings = PageTimings(retry_s=0.01)
    reader = Reader(PagesUnavailableError("not yet"), PagesUnavailableError("nor now"), page(7))
    assert delivered(reader, timings)[0] == [7]


def test_a_page_without_the_message_that_is_needed_is_not_asked_for_hotly() -> None:
    timings = PageTimings(retry_s_max=0.2)
    seqs, after_s = delivered(Reader(page(9)), timings)
    assert seqs == [9]
    assert after_s >= 0.2


def test_the_reader_rests_once_when_nothing_is_read_any_more() -> None:
    reader = Reader(page(7), page(7))
    came: asyncio.Queue[Page] = asyncio.Queue()

    async def rests_after_a_page(one: Paging) -> int:
        """Read a page, and look until the reader rests."""
        before = reader.rests
        one.look()
        one.want(NEEDED, 2, 50)
        one.look()  # it is being read
        await asyncio.wait_for(came.get(), WAIT_S)
        one.look()  # it was read just now
        assert reader.rests == before
        one.look()
        assert await asyncio.to_thread(reader.rested.wait, WAIT_S)
        reader.rested.clear()
        for _ in range(3):
            one.look()
        return reader.rests

    async def main() -> list[int]:
        one = Paging(
            reader,
            lambda _needed, _incarnation, found: came.put_nowait(found),
            never_missing,
            pytest.fail,
        )
        rests = [await rests_after_a_page(one) for _ in range(2)]
        one.end()
        return rests

    assert asyncio.run(main()) == [1, 2]


async def missing_after(one: Paging, missed: asyncio.Queue[int], incarnation: int) -> float:
    """Ask for a page until its message is said to be missing; after how many seconds."""
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    one.want(NEEDED, incarnation, 50)
    assert await asyncio.wait_for(missed.get(), WAIT_S) == incarnation
    return loop.time() - began_s


def test_each_time_a_message_is_looked_for_for_a_while_and_of_each_incarnation() -> None:
    async def main() -> None:
        reader = Reader(*[MessageMissingError("no such topic")] * 200)
        timings = PageTimings(retry_s=0.01, retry_s_max=0.02, missing_s=0.1)
        missed: asyncio.Queue[int] = asyncio.Queue()
        one = Paging(
            reader,
            lambda *_page: pytest.fail("it is not there"),
            lambda _needed, incarnation: missed.put_nowait(incarnation),
            pytest.fail,
            timings,
        )
        for incarnation in (2, 2, 3):
            assert await missing_after(one, missed, incarnation) >= 0.1
        one.end()

    asyncio.run(main())


def test_what_kafka_does_not_answer_is_no_time_in_which_a_message_is_missing() -> None:
    timings = PageTimings(retry_s=0.05, retry_s_max=0.05, missing_s=0.15)
    missing = MessageMissingError("no such topic")
    silent = [PagesUnavailableError("no answer")] * 5
    assert delivered(Reader(missing, *silent, missing, page(7)), timings)[0] == [7]


def test_a_message_that_was_not_looked_for_meanwhile_was_not_missing_meanwhile() -> None:
    async def main() -> None:
        timings = PageTimings(retry_s=0.01, retry_s_max=0.01, missing_s=0.1)
        came: asyncio.Queue[Page] = asyncio.Queue()
        one = Paging(
            Reader(page(9), page(9), page(7)),
            lambda _needed, _incarnation, found: came.put_nowait(found),
            never_missing,
            pytest.fail,
            timings,
        )
        one.want(NEEDED, 2, 50)
        await asyncio.wait_for(came.get(), WAIT_S)
        await asyncio.sleep(2 * timings.missing_s)  # nothing asks for it
        one.want(NEEDED, 2, 50)
        await asyncio.wait_for(came.get(), WAIT_S)
        one.end()

    asyncio.run(main())
