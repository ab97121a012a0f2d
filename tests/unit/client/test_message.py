"""A message as programs see it: its body, and its dead-letter header, which is a field."""

from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import adapter
from adapter.cli.messages import as_json
from adapter.client.conversion import outgoing
from adapter.core.mq_layouts.dead_letter import from_dlh
from adapter.errors import InvalidOption, InvalidType, NotAuthorized, NotOpenForSetIdentity
from tests.drivers import Driver
from tests.support.few_rights import as_ann

HEADER = adapter.DeadLetter(reason=2053, destination="ORDERS", destination_queue_manager="QM1")


def got(qm: adapter.Connection) -> adapter.Message:
    message = qm.get("Q")
    assert message is not None
    return message


def test_a_header_goes_before_the_body_and_says_what_the_body_is() -> None:
    message = outgoing("text", {"dead_letter": HEADER, "format": "MQSTR", "ccsid": 819})
    header = from_dlh(message.body)
    assert (message.format, message.encoding, message.ccsid) == ("MQDEAD", 546, 1208)
    assert (header.format, header.encoding, header.ccsid) == ("MQSTR", 546, 819)
    assert (header.reason, header.destination) == (2053, "ORDERS")
    assert message.body[172:] == b"text"


@pytest.mark.parametrize("body", ["Zürich", "Zürich".encode(), bytearray("Zürich".encode())])
def test_a_body_is_given_as_bytes_or_text_and_read_as_bytes(
    qm: adapter.Connection, body: bytes | bytearray | str
) -> None:
    message = adapter.Message(body, priority=3)
    assert (message.body, message.text) == ("Zürich".encode(), "Zürich")
    message.body = "x"
    message.body = body
    assert (message.body, message.text) == ("Zürich".encode(), "Zürich")
    assert message == adapter.Message("Zürich", priority=3)
    qm.put("Q", message)
    assert got(qm).text == "Zürich"


def test_what_is_no_body_is_refused() -> None:
    message = adapter.Message("text", properties=None)  # type: ignore[arg-type]
    assert message.properties == {}
    with pytest.raises(InvalidType, match="a body is bytes or str, not int"):
        message.body = 12  # type: ignore[assignment]
    assert message.body == b"text"
    with pytest.raises(InvalidType, match="a body is bytes or str, not NoneType"):
        adapter.Message(None)  # type: ignore[arg-type]


def test_it_comes_as_it_was_put(qm: adapter.Connection) -> None:
    qm.put("Q", "text", dead_letter=HEADER, format="MQSTR", encoding=273)
    message = got(qm)
    assert (message.body, message.format, message.encoding) == (b"text", "MQSTR", 273)
    assert message.dead_letter is not None
    assert (message.dead_letter.reason, message.dead_letter.destination) == (2053, "ORDERS")
    assert as_json(message)["dead_letter"]["reason"] == 2053


def test_a_message_keeps_its_header_when_it_is_put_again(qm: adapter.Connection) -> None:
    qm.put("Q", "text", dead_letter=HEADER, format="MQSTR")
    first = got(qm)
    qm.put("Q", first)
    again = got(qm)
    assert (again.dead_letter, again.body, again.format) == (first.dead_letter, b"text", "MQSTR")


def test_none_takes_it_off(qm: adapter.Connection) -> None:
    qm.put("Q", "text", dead_letter=HEADER, format="MQSTR")
    qm.put("Q", got(qm), dead_letter=None)
    message = got(qm)
    assert (message.dead_letter, message.body, message.format) == (None, b"text", "MQSTR")
    assert as_json(message)["dead_letter"] is None


def test_a_browsed_message_has_it_too(qm: adapter.Connection) -> None:
    qm.put("Q", "text", dead_letter=HEADER)
    (message,) = qm.queue("Q").browse()
    assert message.dead_letter is not None
    assert message.body == b"text"


def test_a_body_that_only_looks_like_one_is_a_body(qm: adapter.Connection) -> None:
    qm.put("Q", b"DLH and more", format="MQDEAD")
    message = got(qm)
    assert (message.dead_letter, message.body) == (None, b"DLH and more")


def test_something_else_is_refused(qm: adapter.Connection) -> None:
    with pytest.raises(InvalidType, match=r"adapter\.DeadLetter or None"):
        qm.put("Q", "text", dead_letter="2053")  # type: ignore[arg-type]


def test_every_put_may_say_who_has_put_the_message(qm: adapter.Connection) -> None:
    queue = qm.queue("Q")
    with qm.unit() as unit:
        queue.put("a", user="alice", wait=False)
        queue.put("b", wait=False)
        queue.put("c", application="batch job 7", unit=unit)
    found = [got(qm) for _ in range(3)]
    own = found[1]
    assert [one.user for one in found] == ["alice", own.user, own.user]
    assert [one.application for one in found] == [own.application] * 2 + ["batch job 7"]
    assert own.user not in ("", "alice")
    with qm.subscribe("a") as subscription:
        qm.publish("a", "d", user="alice")
        (message,) = [subscription.get()]
        assert message is not None
        assert (message.user, message.application) == ("alice", own.application)


def test_a_group_goes_on_whoever_has_put_its_messages(qm: adapter.Connection) -> None:
    queue = qm.queue("Q")
    with qm.unit():
        queue.put("a", logical_order=True)
        queue.put("b", logical_order=True, user="alice")
        queue.put("c", logical_order=True, last_in_group=True)
    found = [got(qm) for _ in range(3)]
    assert [one.group_seq for one in found] == [1, 2, 3]
    assert len({one.group_id for one in found}) == 1
    assert [one.user == "alice" for one in found] == [False, True, False]


@pytest.mark.parametrize(
    ("rights", "may_set"),
    [
        ([], ()),
        (["setid"], ("user",)),
        (["setid", "setall"], ("user", "application")),
    ],
)
def test_a_put_needs_the_rights_of_what_it_asks_and_no_other(
    driver: Driver, tmp_path: Path, rights: list[str], may_set: tuple[str, ...]
) -> None:
    with as_ann(driver, tmp_path, "put", *rights) as (operator, ann):
        operator.set_authority("SELF", "qmgr", users=["ann"], add=rights or ["connect"])
        queue = ann.queue("Q")
        for field in ("user", "application"):
            said: dict[str, Any] = {field: "another"}
            for put in (queue.put, partial(ann.put, "Q")):
                with nullcontext() if field in may_set else pytest.raises(NotAuthorized):
                    put("said", **said)
            if field not in may_set:
                with pytest.raises(NotAuthorized):
                    queue.request("said", timeout=0, **said)
            queue.put("plain")  # whatever was refused before
            assert queue.put_many(["plain"]) == 1
        found = [(one.user == "another", one.application == "another") for one in take(operator)]
        expected = []
        for field in ("user", "application"):
            expected += [(field == "user", field == "application")] * 2 * (field in may_set)
            expected += [(False, False)] * 2
        assert found == expected


def test_a_group_in_logical_order_needs_no_right_but_to_put(driver: Driver, tmp_path: Path) -> None:
    with as_ann(driver, tmp_path, "put") as (operator, ann):
        queue = ann.queue("Q")
        with ann.unit():
            queue.put("a", logical_order=True)
            queue.put("alone")
            queue.put("b", logical_order=True, last_in_group=True)
        with pytest.raises(NotOpenForSetIdentity):
            queue.put("c", logical_order=True, user="bob")
        queue.put("d")
        found = take(operator)
        assert [one.body for one in found] == [b"a", b"alone", b"b", b"d"]
        assert [one.group_seq for one in found] == [1, 1, 2, 1]
        assert found[0].group_id == found[2].group_id != found[1].group_id


def take(qm: adapter.Connection) -> list[adapter.Message]:
    """Get all there is on the queue."""
    with qm.queue("Q") as queue:
        return list(iter(queue.get, None))


def test_a_put_may_say_who_has_put_the_message(qm: adapter.Connection) -> None:
    """Not so the message: what is put again is put by this program."""
    qm.put("Q", "text", user="alice", application="batch job 7")
    message = got(qm)
    assert (message.user, message.application) == ("alice", "batch job 7")
    qm.put("Q", message)
    message = got(qm)
    assert message.user != "alice"
    assert message.application != "batch job 7"
    with pytest.raises(InvalidOption, match="user has at most 64 characters"):
        qm.put("Q", "text", user="a" * 65)
