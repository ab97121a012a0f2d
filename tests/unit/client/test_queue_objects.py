"""What comes and goes with queue objects and messages: handles, ids, names, texts."""

import gc
import json
import sys
from collections.abc import Callable
from uuid import UUID

import pytest

import adapter
from tests.support.loopback import Loopback

Connect = Callable[..., adapter.Connection]


@pytest.fixture
def queue(qm: adapter.Connection) -> adapter.Queue:
    return qm.queue("Q")


def got(queue: adapter.Queue, **how: bytes | str | UUID) -> adapter.Message:
    message = queue.get(**how)  # type: ignore[arg-type]
    assert message is not None
    return message


HANDLES_MAX = 256


def test_queue_objects_that_are_let_go_give_their_handles_back(
    server: Loopback, qm: adapter.Connection
) -> None:
    for _ in range(2 * HANDLES_MAX):
        qm.queue("Q").put(b"x")
        assert qm.queue("Q").get() is not None
    qm.queues()
    assert server.call(lambda: open_handles(server)) == 0
    assert qm.statistics()["handles"] == 0


def open_handles(server: Loopback) -> int:
    gc.collect()
    return sum(len(connection.handles) for connection in server.qm.connections.values())


def test_what_still_needs_a_queue_object_keeps_its_handles(
    server: Loopback, qm: adapter.Connection
) -> None:
    qm.put("Q", b"1")
    qm.put("Q", b"2")
    units = qm.queue("Q").units(timeout=0)
    with next(units) as unit:
        qm.queues()
        assert server.call(lambda: open_handles(server)) == 1
        assert [message.body for message in unit.messages] == [b"1"]
    browsed = next(qm.queue("Q").browse())
    qm.queues()
    assert browsed.remove()
    del units, browsed
    qm.queues()
    assert server.call(lambda: open_handles(server)) == 0


def test_handles_that_are_let_go_while_the_connection_is_lost_stay_closed(
    server: Loopback, qm: adapter.Connection
) -> None:
    qm.queue("Q", open_for="input_exclusive")
    server.cut_all()
    assert qm.queue("Q").status().open_input_count == 0


UUID_BYTES = b"0123456789abcdef"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (b"order 7", b"order 7"),
        ("örder", "örder".encode()),
        (UUID(bytes=UUID_BYTES), UUID_BYTES),
        (bytearray(b"x" * 24), b"x" * 24),
        (b"", b""),
        ("", b""),
        (None, b""),
    ],
    ids=str,
)
def test_ids_are_filled_up_with_zeros(
    queue: adapter.Queue, given: bytes | str | UUID | None, expected: bytes
) -> None:
    queue.put(b"other", correlation_id="other")
    queue.put(b"x", correlation_id=given, group_id=given, message_id=given)
    message = got(queue, correlation_id=b"" if given is None else given)
    assert message.body == b"x"
    padded = expected.ljust(24, b"\0")
    assert (message.correlation_id, message.group_id) == (padded, padded)
    assert (message.message_id == padded) is bool(expected)


def test_a_message_is_found_by_a_uuid(queue: adapter.Queue) -> None:
    wanted = UUID(bytes=UUID_BYTES)
    queue.put(adapter.Message(b"x", correlation_id=wanted))  # type: ignore[arg-type]
    assert queue.get(message_id=wanted) is None
    assert [message.body for message in queue.browse(correlation_id=wanted)] == [b"x"]


def test_a_body_as_text_and_as_json(queue: adapter.Queue) -> None:
    queue.put(json.dumps({"to": "Zürich"}, ensure_ascii=False))
    message = got(queue)
    assert message.text == '{"to": "Zürich"}'
    assert message.json() == {"to": "Zürich"}
    with pytest.raises(UnicodeDecodeError):
        _ = adapter.Message(b"\xff").text
    with pytest.raises(json.JSONDecodeError):
        adapter.Message(b"").json()


def test_properties_are_a_dict_of_their_own(queue: adapter.Queue) -> None:
    first, second = adapter.Message(b"1"), adapter.Message(b"2")
    first.properties["a"] = 1
    assert second.properties == {}
    queue.put(first)
    queue.put(second)
    assert [got(queue).properties, got(queue).properties] == [{"a": 1}, {}]


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["/srv/app/billing.py", "x"], "billing.py"),
        (["/srv/app/billing/__main__.py"], "billing"),
        (["-c"], "python"),
        ([""], "python"),
        ([], "python"),
        (["/x/" + "b" * 100], "b" * 64),
        (["/x/a\nb"], "python"),
    ],
)
def test_the_application_is_this_program(
    connect: Connect,
    qm: adapter.Connection,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    name: str,
) -> None:
    monkeypatch.setattr(sys, "argv", arguments)
    connect().put("Q", b"x")
    assert got(qm.queue("Q")).application == name
    connect(application="").put("Q", b"x")
    assert got(qm.queue("Q")).application == ""


def test_what_a_living_connection_has_received_is_counted(
    server: Loopback, qm: adapter.Connection
) -> None:
    before = qm.statistics()["bytes_received"]
    assert before > 0
    qm.put("Q", bytes(1000))
    assert qm.get("Q") is not None
    then = qm.statistics()["bytes_received"]
    assert then > before + 1000
    server.cut_all()
    qm.queues()
    assert qm.statistics()["bytes_received"] >= then


def test_one_put_alone_to_a_model_is_refused(qm: adapter.Connection) -> None:
    qm.define_object("model", "M")
    with pytest.raises(adapter.errors.OptionNotValidForType, match="it is a model queue: open it"):
        qm.put("M", b"lost")
    with qm.queue("M", open_for="output") as made:
        assert made.put(b"x").message_id
