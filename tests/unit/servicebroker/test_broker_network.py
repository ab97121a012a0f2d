"""Dialogs between two queue managers: a queue that is OFF, a far side that is lost, bad bodies."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import pytest
from msgspec import Struct

import adapter.testing
from adapter.servicebroker import DEFAULT, END_DIALOG, ERROR, ServiceBroker, ServiceBrokerError
from tests.support.backlog import until
from tests.support.broker_site import error_of

LIFETIME_OVER = -8489
NOT_VALID = -9615
HELD = 1_500
"""More than stay in memory, and than a step delivers."""
RECEIVE_MS = 10_000


class Two(Struct):
    """Two queue managers and a session with each: service Near at one, Far at the other."""

    near_manager: adapter.testing.TestQueueManager
    far_manager: adapter.testing.TestQueueManager
    near: ServiceBroker
    far: ServiceBroker

    def begin(self, **options: int) -> UUID:
        return self.near.begin_dialog("Near", "Far", **options)  # type: ignore[arg-type]


@contextmanager
def two() -> Iterator[Two]:
    with (
        adapter.testing.network("QMA", "QMB") as (a, b),
        a.connect_servicebroker() as near,
        b.connect_servicebroker() as far,
    ):
        near.create_queue("NearQueue")
        near.create_service("Near", "NearQueue")
        near.create_route("far", service="Far", address="QMB")
        far.create_queue("FarQueue")
        far.create_service("Far", "FarQueue", contracts=[DEFAULT])
        yield Two(a, b, near, far)


def test_messages_for_a_queue_that_is_off_come_in_order_after_a_restart() -> None:
    with two() as at:
        at.far.alter_queue("FarQueue", status=False)
        handle = at.begin()
        with at.near.transaction() as t:
            for number in range(HELD):
                t.send(handle, body=str(number))
        at.near.end_conversation(handle)
        until(lambda: at.near.transmission_queue() == [])
        at.far_manager.crash()
        at.far_manager.start()
        assert at.far.conversation_endpoints() == []
        at.far.alter_queue("FarQueue", status=True)
        came: list[str] = []
        while len(came) <= HELD:
            rows = at.far.receive("FarQueue", timeout_ms=RECEIVE_MS)
            assert rows, f"{len(came)} messages came"
            came += [row.text or row.message_type_name for row in rows]
        assert came == [*map(str, range(HELD)), END_DIALOG]
        until(lambda: at.near.conversation_endpoints() == [])


def test_a_lifetime_ends_while_the_far_side_is_lost() -> None:
    with two() as at:
        handle = at.begin(lifetime_s=3)
        at.near.send(handle, body="one")
        assert at.far.receive("FarQueue", timeout_ms=RECEIVE_MS)
        at.far_manager.crash()
        at.near.send(handle, body="two")
        (error,) = at.near.receive("NearQueue", timeout_ms=RECEIVE_MS)
        assert error_of(error)[0] == LIFETIME_OVER
        at.near.end_conversation(handle)
        assert at.near.conversation_endpoints() == []
        at.far_manager.start()
        assert [row.message_type_name for row in _all(at)].count(ERROR) == 1


def _all(at: Two) -> Iterator[adapter.servicebroker.Row]:
    while rows := at.far.receive("FarQueue", timeout_ms=1_000):
        yield from rows


def test_conversations_without_answers_leave_nothing() -> None:
    with two() as at:
        for _ in range(5):
            with at.near.transaction() as t:
                for _ in range(100):
                    handle = t.begin_dialog("Near", "Far")
                    t.send(handle, body="x")
                    t.end_conversation(handle)
        ended = 0
        while ended < 500:
            with at.far.transaction() as t:
                rows = t.receive("FarQueue", timeout_ms=RECEIVE_MS)
                assert rows, f"{ended} conversations came"
                for row in rows:
                    if row.message_type_name == END_DIALOG:
                        t.end_conversation(row.conversation_handle)
                        ended += 1
        until(lambda: not at.near.conversation_endpoints() + at.far.conversation_endpoints())
        until(lambda: not at.near.transmission_queue() + at.far.transmission_queue())


def test_bodies_that_attack_an_xml_parser_are_answered_with_an_error() -> None:
    entities = "".join(f'<!ENTITY e{n + 1} "{f"&e{n};" * 20}">' for n in range(10))
    bomb = f'<!DOCTYPE x [<!ENTITY e0 "aaaa">{entities}]><x>&e10;</x>'
    with two() as at:
        for session, validation in ((at.near, "NONE"), (at.far, "WELL_FORMED_XML")):
            session.create_message_type("Xml", validation=validation)
            session.create_contract("Xml", {"Xml": "ANY"})
        at.far.alter_service("Far", contracts=[DEFAULT, "Xml"])
        for body in (bomb, "<x>" * 100_000):
            handle = at.near.begin_dialog("Near", "Far", contract="Xml")
            at.near.send(handle, message_type="Xml", body=body.encode())
            (error,) = at.near.receive("NearQueue", timeout_ms=RECEIVE_MS)
            assert error_of(error)[0] == NOT_VALID


def test_any_session_uses_any_handle() -> None:
    """As in SQL Server: a handle belongs to no session."""
    with two() as at, at.near_manager.connect_servicebroker() as other:
        handle = at.begin()
        other.send(handle, body="from another session")
        (row,) = at.far.receive("FarQueue", timeout_ms=RECEIVE_MS)
        assert row.text == "from another session"


def test_a_route_that_is_created_later_counts_for_dialogs_that_have_begun() -> None:
    with two() as at:
        at.far.create_queue("LateQueue")
        at.far.create_service("Late", "LateQueue", contracts=[DEFAULT])
        sent, silent = (at.near.begin_dialog("Near", "Late") for _ in range(2))
        at.near.send(sent, body="one")
        assert len(at.near.transmission_queue()) == 1
        at.near.create_route("late", service="Late", address="QMB")
        at.near.send(sent, body="two")
        at.near.send(silent, body="three")
        came: list[str] = []
        while len(came) < 3:
            rows = at.far.receive("LateQueue", timeout_ms=RECEIVE_MS)
            assert rows, came
            came += [row.text for row in rows]
            at.far.send(rows[0].conversation_handle, body="answer")
        assert sorted(came) == ["one", "three", "two"]
        assert came.index("one") < came.index("two")
        for handle in (sent, silent):
            (answer, *_) = at.near.receive(
                "NearQueue", conversation_handle=handle, timeout_ms=RECEIVE_MS
            )
            assert answer.text == "answer"
        assert at.near.transmission_queue() == []


def test_cleanup_of_a_conversation_whose_far_side_is_lost() -> None:
    with two() as at:
        handle = at.begin()
        at.near.send(handle, body="one")
        assert at.far.receive("FarQueue", timeout_ms=RECEIVE_MS)
        at.far_manager.crash()
        at.near.end_conversation(handle, cleanup=True)
        assert at.near.conversation_endpoints() == []
        with pytest.raises(ServiceBrokerError) as refused:
            at.near.send(handle, body="two")
        assert refused.value.number == 8426
        at.far_manager.start()
        (far,) = at.far.conversation_endpoints()
        at.far.send(far.conversation_handle, body="late")
        at.far.end_conversation(far.conversation_handle)
        until(lambda: at.far.conversation_endpoints() == [])
        assert at.near.receive("NearQueue") == []


@pytest.mark.parametrize("is_remote", [False, True], ids=["here", "there"])
def test_an_error_is_received_before_what_was_held_for_a_queue_that_is_off(is_remote: bool) -> None:
    with two() as at:
        session, queue, service = (
            (at.far, "FarQueue", "Far") if is_remote else (at.near, "OwnQueue", "Own")
        )
        if not is_remote:
            at.near.create_queue("OwnQueue")
            at.near.create_service("Own", "OwnQueue", contracts=[DEFAULT])
        session.alter_queue(queue, status=False)
        handle = at.near.begin_dialog("Near", service)
        at.near.send(handle, body="held")
        at.near.end_conversation(handle, error=5, description="given up")
        until(lambda: len(session.transmission_queue()) == 2)
        session.alter_queue(queue, status=True)
        rows = session.receive(queue, timeout_ms=RECEIVE_MS)
        rows += session.receive(queue)
        assert [row.message_type_name for row in rows] == [ERROR, DEFAULT]
        session.end_conversation(rows[0].conversation_handle)
        until(lambda: not at.near.conversation_endpoints() + at.far.conversation_endpoints())


def test_a_session_may_use_the_handles_of_others() -> None:
    with two() as at, at.near_manager.connect_servicebroker() as other:
        handle = at.begin()
        other.send(handle, body="of another")
        assert at.far.receive("FarQueue", timeout_ms=RECEIVE_MS)[0].text == "of another"
        other.end_conversation(handle)


def test_finding_servicebroker_d1_what_waits_goes_to_another_queue_manager() -> None:
    with two() as at:
        at.near.alter_route("far", address="QMX")
        handle = at.begin()
        at.near.send(handle, body="one")
        at.near.send(handle, body="two")
        assert len(at.near.transmission_queue()) == 2
        at.near_manager.crash()
        at.near_manager.start()
        at.near.alter_route("far", address="QMB")
        at.near.send(handle, body="three")
        came: list[str] = []
        while len(came) < 3:
            rows = at.far.receive("FarQueue", timeout_ms=RECEIVE_MS)
            assert rows, came
            came += [row.text for row in rows]
        assert came == ["one", "two", "three"]
        at.near.alter_route("far", address="QMX")
        at.near.send(handle, body="four")
        assert [row.text for row in at.far.receive("FarQueue", timeout_ms=RECEIVE_MS)] == ["four"]
        until(lambda: at.near.transmission_queue() == [])


@pytest.mark.parametrize("at_target", [False, True])
def test_finding_servicebroker_d4_a_peer_elsewhere_that_was_cleaned_up(at_target: bool) -> None:
    with two() as at:
        handle = at.begin()
        at.near.send(handle, body="one")
        (row,) = at.far.receive("FarQueue", timeout_ms=RECEIVE_MS)
        if at_target:
            at.far.end_conversation(row.conversation_handle, cleanup=True)
            at.near.send(handle, body="two")
            (error,) = at.near.receive("NearQueue", timeout_ms=RECEIVE_MS)
        else:
            at.near.end_conversation(handle, cleanup=True)
            at.far.send(row.conversation_handle, body="two")
            (error,) = at.far.receive("FarQueue", timeout_ms=RECEIVE_MS)
        assert error_of(error)[0] == -8462


@pytest.mark.parametrize("at_target", [False, True])
def test_finding_servicebroker_d5_the_far_side_learns_that_a_service_was_dropped(
    at_target: bool,
) -> None:
    with two() as at:
        handle = at.begin()
        at.near.send(handle, body="one")
        assert at.far.receive("FarQueue", timeout_ms=RECEIVE_MS)
        if at_target:
            at.far.drop_service("Far")
            (error,) = at.near.receive("NearQueue", timeout_ms=RECEIVE_MS)
        else:
            at.near.drop_service("Near")
            (error,) = at.far.receive("FarQueue", timeout_ms=RECEIVE_MS)
        assert error_of(error)[0] == -8470
        until(lambda: not at.near.transmission_queue() + at.far.transmission_queue())


def test_an_answer_that_cannot_leave_is_a_dead_letter() -> None:
    """A queue that is no transmission queue has the name of the queue manager to answer."""
    with two() as at:
        at.far_manager.mqsc("DEFINE QLOCAL(QMA)\nDEFINE QLOCAL(DEAD)\nALTER QMGR DEADQ(DEAD)")
        at.far.create_service("Strict", "FarQueue", contracts=[])
        at.near.create_route("strict", service="Strict", address="QMB")
        at.near.send(at.near.begin_dialog("Near", "Strict"), body="of no contract there")
        with at.far_manager.connect() as qm:
            letter = qm.queue("DEAD").get(timeout=RECEIVE_MS / 1_000)
        assert letter is not None
        assert letter.dead_letter is not None
        assert letter.dead_letter.destination_queue_manager == "QMA"
        assert letter.dead_letter.reason == 2092  # MQRC_XMIT_Q_USAGE_ERROR


def test_what_cannot_leave_for_a_name_that_is_taken_waits() -> None:
    with two() as at:
        at.near_manager.mqsc("DEFINE QLOCAL(QMB)")
        at.near.send(at.begin(), body="early")
        assert len(at.near.transmission_queue()) == 1
        at.near_manager.mqsc("DELETE QLOCAL(QMB)")
        at.near.alter_route("far", service="Far", address="QMB")
        (row,) = at.far.receive("FarQueue", timeout_ms=RECEIVE_MS)
        assert row.text == "early"


def test_an_answer_of_a_program_that_cannot_leave_is_refused() -> None:
    with two() as at:
        at.near.send(at.begin(), body="question")
        (row,) = at.far.receive("FarQueue", timeout_ms=RECEIVE_MS)
        at.far_manager.mqsc("DEFINE QLOCAL(QMA)")
        with pytest.raises(ServiceBrokerError, match="QMA has not USAGE"):
            at.far.send(row.conversation_handle, body="answer")
