"""Messages that their topic has lost: what cannot do without them is refused, all else goes on."""

from adapter.core.contract import commands as c
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import MessageData
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done, Messages, Refused
from tests.support.core import Client, Core, client_on

WINDOW = Limits(window_messages=4)


def without_topic() -> Client:
    """A client of a core that has no message in memory, and whose topic has been deleted."""
    client = client_on("Q", limits=WINDOW)
    for number in range(30):
        client.put(str(number), message_id=bytes([number]) * 24)
    core = client.core
    core.crash_with_snapshot()
    core.topics = {}
    back = core.connect()
    back.open()
    return back


def is_damaged(client: Client, command: c.Command) -> bool:
    return client.refused(command) is Reason.OBJECT_DAMAGED


def test_what_needs_a_lost_message_is_refused_and_not_kept_waiting() -> None:
    client = without_topic()
    unit = client.begin()
    assert is_damaged(client, c.Get(1))
    assert is_damaged(client, c.Get(1, unit, wait_ms=-1))
    assert is_damaged(client, c.Get(1, place=(0, 5, 0)))
    assert is_damaged(client, c.Browse(1))
    assert is_damaged(client, c.Get(1, message_id=bytes([7]) * 24))
    assert client.core.queue().depth == 30
    assert not client.core.queue().suspended


def test_a_refusal_says_which_message_and_can_be_asked_for_again() -> None:
    client = without_topic()
    request = client.send(c.Get(1))
    told = client.answer(request)
    assert told == Refused(Reason.OBJECT_DAMAGED, "Q", "message 1 of lane 0")


def test_messages_of_a_higher_priority_are_got_and_lower_ones_wait() -> None:
    client = without_topic()
    client.put("urgent", priority=9)
    assert client.get() == ["urgent"]
    assert is_damaged(client, c.Get(1))


def test_a_waiting_get_is_refused_when_all_there_is_proves_lost() -> None:
    client = client_on("Q", limits=Limits(window_messages=4, kept_bytes=100))
    core = client.core
    first, second = (client.send(c.Get(1, wait_ms=-1)) for _ in range(2))
    other = core.connect()
    other.open()
    for number in range(30):
        other.put(str(number))
    assert (client.answer(first) is None, client.answer(second)) == (False, None), "no room"
    core.topics = {}
    while core.queue().stored:
        other.seen(*core.qm.sessions[other.session].outcomes)
        other.get()
    client.seen(*core.qm.sessions[client.session].outcomes)
    told = client.answer(second)
    assert isinstance(told, Refused), told
    assert told.reason == Reason.OBJECT_DAMAGED


def test_a_purge_lets_a_queue_go_on() -> None:
    client = without_topic()
    assert is_damaged(client, c.Get(1))
    assert client.do(c.PurgeQueue("Q")) == Done(30)
    client.core.topics = {("Q", 0, 0): dict.fromkeys(range(1, 31))}  # type: ignore[dict-item]
    client.put("new")
    assert client.get() == ["new"]
    assert client.get() == []


def test_a_topic_that_comes_back_is_read_again() -> None:
    client = client_on("Q", limits=WINDOW)
    for number in range(30):
        client.put(str(number))
    core: Core = client.core
    core.crash_with_snapshot()
    topics, core.topics = core.topics, {}
    back = core.connect()
    back.open()
    assert is_damaged(back, c.Get(1))
    core.topics = topics
    assert [back.get() for _ in range(30)] == [[str(number)] for number in range(30)]


def test_a_unit_that_met_a_lost_message_can_still_commit_what_it_has() -> None:
    client = without_topic()
    unit = client.begin()
    client.do(c.Put(1, [MessageData(body=b"kept", priority=5)], unit))
    assert is_damaged(client, c.Get(1, unit))
    assert isinstance(client.do(c.Commit(unit)), Done)
    answer = client.do(c.Get(1))
    assert isinstance(answer, Messages)
    assert answer.messages[0].message.body == b"kept"
