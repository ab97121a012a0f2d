"""Messages of an endpoint: what it sends is counted, what is put to it is not and has its names."""

from adapter.core.contract.broker import DIALOG_TIMER
from adapter.core.contract.records import ConversationSet
from adapter.core.rules.broker.headers import message_of, message_to

GUIDS = (b"h" * 16, b"c" * 16, b"g" * 16)


def endpoint() -> ConversationSet:
    return ConversationSet(*GUIDS, "queue", "near", "far", "", "contract", True, 7)


def test_what_an_endpoint_sends_is_numbered_and_counted() -> None:
    state = endpoint()
    headers = [message_of(state, "type", b"x", "N").broker for _ in range(2)]
    assert [one and one.sequence for one in headers] == [0, 1]
    assert state.sent == 2
    assert headers[0] is not None
    assert (headers[0].service, headers[0].from_service) == ("far", "near")
    assert headers[0].from_initiator
    assert headers[0].has_direction


def test_what_the_queue_manager_puts_to_it_is_of_no_direction_and_not_counted() -> None:
    state = endpoint()
    state.sent = 3
    message = message_to(state, DIALOG_TIMER, b"", "E")
    header = message.broker
    assert header is not None
    assert state.sent == 3
    assert (header.service, header.from_service, header.from_initiator) == ("near", "far", False)
    assert not header.has_direction
    assert header.shown_sequence == 3
    assert (message.group_seq, message.priority) == (4, 6)
