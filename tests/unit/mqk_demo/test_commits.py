"""The watch over commits: what is asked, answered, and answered without being delivered."""

import threading

import pytest

from adapter.connection.wire import codec, frames
from adapter.core.contract.commands import AskStatus, Commit, Put
from adapter.core.contract.message import MessageData
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done, Refused, Statuses
from mqk_demo.commits import CommitWatch

UNIT = bytes(range(24))
OTHER = bytes(range(1, 25))


def hello() -> bytes:
    return codec.encode(frames.Hello(version=1))


def requests(**operations: object) -> bytes:
    """One frame of requests, r<number>=command."""
    return codec.encode(
        frames.Requests(
            [
                frames.Operation(int(name[1:]), 1, codec.raw(command))  # type: ignore[arg-type]
                for name, command in operations.items()
            ]
        )
    )


def replies(**answers: object) -> bytes:
    """One frame of replies, r<request>=result."""
    return codec.encode(
        frames.AnyReplies(
            [
                frames.AnyAnswer(int(name[1:]), result)  # type: ignore[arg-type]
                for name, result in answers.items()
            ]
        )
    )


@pytest.fixture
def watch() -> CommitWatch:
    return CommitWatch()


def test_counts_commits_that_are_asked_for_and_answered(watch: CommitWatch) -> None:
    watch(1, True, hello() + requests(r1=AskStatus("*"), r2=Commit(UNIT)))
    assert watch.statistics() == {"answered": 0, "held": 0, "unanswered": 1}
    watch(1, False, replies(r1=Statuses([])))
    assert watch.statistics()["unanswered"] == 1
    watch(1, False, replies(r2=Done(3)))
    assert watch.statistics() == {"answered": 1, "held": 0, "unanswered": 0}


def test_reads_frames_that_come_in_pieces(watch: CommitWatch) -> None:
    for byte in hello() + requests(r1=Commit(UNIT)):
        watch(1, True, bytes([byte]))
    for byte in replies(r1=Done()):
        watch(1, False, bytes([byte]))
    assert watch.statistics()["answered"] == 1


def test_takes_no_message_for_a_commit(watch: CommitWatch) -> None:
    put = Put(1, [MessageData(body=b"x" * 500)], UNIT)
    watch(1, True, hello() + requests(r1=put))
    assert watch.statistics()["unanswered"] == 0


def test_does_not_count_a_commit_that_was_refused(watch: CommitWatch) -> None:
    watch(1, True, requests(r1=Commit(UNIT)))
    watch(1, False, replies(r1=Refused(Reason.BACKED_OUT)))
    assert watch.statistics() == {"answered": 0, "held": 0, "unanswered": 0}


def test_holds_a_connection_before_its_commit_goes_on(watch: CommitWatch) -> None:
    held: list[int] = []
    watch.hold_commits(held.append)
    watch(7, True, requests(r1=AskStatus("*")))
    assert held == []
    watch(7, True, requests(r2=Commit(UNIT)))
    assert held == [7]
    watch(7, False, replies(r1=Statuses([])))
    assert watch.await_held(1, 0.0) == 0
    watch(7, False, replies(r2=Done()))
    assert watch.await_held(1, 0.0) == 1
    assert watch.statistics() == {"answered": 0, "held": 1, "unanswered": 0}


def test_holds_once_so_many_commits_are_answered(watch: CommitWatch) -> None:
    held: list[int] = []
    watch.hold_commits(held.append, after=2)
    for connection in (1, 2):
        watch(connection, True, requests(r1=Commit(UNIT)))
        watch(connection, False, replies(r1=Done()))
        assert held == []
    watch(2, True, requests(r2=AskStatus("*")))
    assert held == []
    watch(2, True, requests(r3=Commit(UNIT)))
    watch(2, False, replies(r3=Done()))
    assert held == [2]
    watch(1, True, requests(r2=Commit(OTHER)))
    assert held == [2, 1]
    assert watch.statistics() == {"answered": 2, "held": 1, "unanswered": 1}


def test_waits_for_the_commits_of_several_connections(watch: CommitWatch) -> None:
    watch.hold_commits(lambda _connection: None)
    watch(1, True, requests(r1=Commit(UNIT)))
    watch(2, True, requests(r1=Commit(OTHER)))
    watch(1, False, replies(r1=Done()))
    assert watch.await_held(2, 0.05) == 1
    later = threading.Timer(0.1, watch, (2, False, replies(r1=Done())))
    later.start()
    assert watch.await_held(2, 10.0) == 2
    later.join()


def test_counts_what_is_delivered_again_and_keeps_what_was_held(watch: CommitWatch) -> None:
    watch.hold_commits(lambda _connection: None)
    watch(1, True, requests(r1=Commit(UNIT)))
    watch(1, False, replies(r1=Done()))
    watch.deliver()
    watch(1, True, b"")
    watch(2, True, requests(r1=Commit(UNIT)))
    watch(2, False, replies(r1=Done()))
    assert watch.statistics() == {"answered": 1, "held": 1, "unanswered": 0}


def test_forgets_a_connection_that_has_ended(watch: CommitWatch) -> None:
    watch(1, True, requests(r1=Commit(UNIT)))
    watch(1, True, b"")
    assert watch.statistics()["unanswered"] == 0
