"""Enumerators and cursors."""

import pytest

from adapter.msmq import (
    InvalidOperationError,
    MessageQueueErrorCode,
    MessageQueueException,
    PeekAction,
)
from tests.support.msmq_site import MsmqSite, labels, send


def test_an_enumerator_walks_and_removes(at: MsmqSite) -> None:
    queue = at.create()
    send(queue, "1", "2", "3", "4")
    walk = queue.enumerate()
    with pytest.raises(InvalidOperationError):
        _ = walk.current
    assert walk.remove_current() is None
    seen = []
    while walk.move_next():
        seen.append(walk.current.label)
        if walk.current.label in ("2", "3"):
            removed = walk.remove_current()
            assert removed is not None
            assert removed.label == seen[-1]
    assert seen == ["1", "2", "3", "4"]
    assert labels(queue) == ["1", "4"]
    assert walk.move_next()  # it begins again
    assert walk.current.label == "1"
    walk.reset()


def test_an_enumerator_passes_over_what_others_have_received(at: MsmqSite) -> None:
    queue = at.create()
    send(queue, "1", "2", "3")
    walk = queue.enumerate()
    assert walk.move_next()
    for _ in range(2):
        queue.receive(0)
    assert walk.move_next()
    assert walk.current.label == "3"


def test_a_cursor_that_has_not_begun(at: MsmqSite) -> None:
    queue = at.create()
    send(queue, "1", "2")
    cursor = queue.create_cursor()
    with pytest.raises(MessageQueueException) as illegal:
        queue.peek(0, cursor=cursor, action=PeekAction.NEXT)
    code = illegal.value.message_queue_error_code
    assert code is MessageQueueErrorCode.ILLEGAL_CURSOR_ACTION


def test_what_a_cursor_is_at_was_received_by_another(at: MsmqSite) -> None:
    queue = at.create()
    send(queue, "1", "2")
    cursor = queue.create_cursor()
    queue.peek(0, cursor=cursor)
    at.open_away().receive(0)
    with pytest.raises(MessageQueueException) as gone:
        queue.receive(0, cursor=cursor)
    code = gone.value.message_queue_error_code
    assert code is MessageQueueErrorCode.MESSAGE_ALREADY_RECEIVED


def test_cursors_of_others_and_closed_ones_are_refused(at: MsmqSite) -> None:
    queue, other = at.create(), at.create("other")
    cursor = queue.create_cursor()
    with pytest.raises(MessageQueueException) as foreign:
        other.peek(0, cursor=cursor)
    cursor.close()
    with pytest.raises(MessageQueueException) as closed:
        queue.peek(0, cursor=cursor)
    for refused in (foreign, closed):
        code = refused.value.message_queue_error_code
        assert code is MessageQueueErrorCode.INVALID_HANDLE
    with pytest.raises(TypeError):
        queue.peek(0, cursor=1)  # type: ignore[arg-type]


def test_a_cursor_is_lost_with_the_connection(at: MsmqSite) -> None:
    queue = at.create()
    send(queue, "1")
    cursor = queue.create_cursor()
    queue.peek(0, cursor=cursor)
    at.manager.crash()
    at.manager.start()
    with pytest.raises(MessageQueueException):
        queue.peek(0, cursor=cursor)
    again = queue.create_cursor()
    assert queue.peek(0, cursor=again).label == "1"
