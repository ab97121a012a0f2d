"""Services at an export: what is put to its queue, what waits, and what comes back as an Error."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import pytest

import adapter
import adapter.testing
from adapter.servicebroker import DEFAULT, DIALOG_TIMER, ServiceBrokerError
from tests.support.backlog import until
from tests.support.broker_site import (
    FORMS,
    SUBMISSION,
    BrokerSite,
    error_of,
)

RESULTS = "//expenses/Results"
EXPORT = "DEFINE EXPORT(OUT) QUEUE(OUT) TOPIC('results') STATE(PAUSED)"
SECOND_MS = 1_000
MANY = 1_200
"""More than a step releases, and than stay in memory."""


class ExportSite(BrokerSite):
    """The services, and one at an export whose messages stay on its queue."""

    def __init__(self, manager: adapter.testing.TestQueueManager) -> None:
        super().__init__(manager)
        self.qm: adapter.Connection = manager.connect()
        self.define(f"DEFINE QLOCAL(OUT) MSGDLVSQ(FIFO) DEFPSIST(YES)\n{EXPORT}")
        self.admin.create_route("to Kafka", service=RESULTS, address="EXPORT://OUT")

    def define(self, commands: str) -> None:
        self.manager.mqsc(commands)

    def out(self, queue: str = "OUT") -> list[str]:
        """What is on the export's queue."""
        return [one.body.decode() for one in self.qm.queue(queue).browse()]

    def take(self, count: int) -> list[str]:
        return [(one.body if (one := self.qm.get("OUT")) else b"").decode() for _ in range(count)]

    def submit_results(self, *bodies: str, ends: bool = False, lifetime_s: int = 0) -> UUID:
        """Begin a dialog, send and perhaps end, in one transaction."""
        with self.form.transaction() as t:
            handle = t.begin_dialog(SUBMISSION, RESULTS, lifetime_s=lifetime_s or None)
            for body in bodies:
                t.send(handle, body=body.encode())
            if ends:
                t.end_conversation(handle)
        return handle

    def waiting(self) -> list[str]:
        return [(row.message_body or b"end").decode() for row in self.admin.transmission_queue()]

    def retry(self) -> None:
        """Let it be tried again what waits."""
        self.manager.clock.advance(SECOND_MS)

    def is_forgotten(self) -> bool:
        return not self.admin.conversation_endpoints() and not self.admin.transmission_queue()


@contextmanager
def export_site() -> Iterator[ExportSite]:
    with adapter.testing.queue_manager("SPEC", clock="manual") as manager:
        site = ExportSite(manager)
        try:
            yield site
        finally:
            site.close()
            site.qm.close()


def test_what_is_sent_is_put_with_the_commit_once_and_in_order() -> None:
    with export_site() as at:
        with at.form.transaction() as t:
            handle = t.begin_dialog(SUBMISSION, RESULTS)
            t.send(handle, body=b"1")
            t.save("s")
            t.send(handle, body=b"never")
            t.rollback_to("s")
            t.send(handle, body=b"2")
            assert at.out() == []
        with at.form.transaction() as t:
            t.send(handle, body=b"never")
            t.rollback()
        at.form.send(handle, body=None)
        at.restart(crash=True)
        at.form.send(handle, body=b"4")
        assert at.out() == ["1", "2", "", "4"]
        found = [one.properties for one in at.qm.queue("OUT").browse()]
        assert [one["message_sequence_number"] for one in found] == [0, 1, 2, 3]
        (endpoint,) = at.admin.conversation_endpoints()
        assert (endpoint.state, endpoint.far_broker_instance) == ("CO", "EXPORT://OUT")


def test_a_message_and_what_it_says() -> None:
    with export_site() as at:
        at.admin.create_broker_priority("first", 9, remote_service=RESULTS)
        handle = at.submit_results("1")
        (found,) = at.qm.queue("OUT").browse()
        assert found.properties == {
            "KafkaKey": str(handle),
            "conversation_handle": str(handle),
            "message_sequence_number": 0,
            "message_type_name": DEFAULT,
            "service_contract_name": DEFAULT,
            "from_service_name": SUBMISSION,
            "to_service_name": RESULTS,
        }
        assert (found.priority, found.persistent) == (8, True)
        assert found.correlation_id == handle.bytes + bytes(8)


def test_it_is_written_to_the_topic_and_gone_from_the_queue() -> None:
    with adapter.testing.queue_manager("SPEC") as manager:
        manager.topics.create("results")
        at = ExportSite(manager)
        at.define("ALTER EXPORT(OUT) STATE(RUNNING)")
        handle = at.submit_results("1", "2", ends=True)
        found = manager.topics.await_records("results", 2)
        assert [(one.value, one.key) for one in found] == [
            (b"1", str(handle).encode()),
            (b"2", str(handle).encode()),
        ]
        until(lambda: at.out() == [])
        assert at.is_forgotten()
        at.close()
        at.qm.close()


@pytest.mark.parametrize("retention", [False, True])
def test_an_end_leaves_nothing(retention: bool) -> None:
    """Neither in the transaction of the first message, nor later."""
    with export_site() as at:
        at.admin.alter_queue(FORMS, retention=retention)
        at.submit_results("1", ends=True)
        assert at.is_forgotten()
        handle = at.submit_results("2")
        assert len(at.admin.browse(FORMS)) == retention
        at.form.end_conversation(handle)
        assert at.is_forgotten()
        at.form.end_conversation(at.submit_results("3"), cleanup=True)
        assert at.is_forgotten()
        assert at.admin.browse(FORMS) == []
        at.restart(crash=True)
        assert at.is_forgotten()
        assert at.out() == ["1", "2", "3"]


def test_an_end_with_an_error_drops_what_its_transaction_has_sent() -> None:
    with export_site() as at:
        handle = at.submit_results("1")
        with at.form.transaction() as t:
            t.send(handle, body=b"never")
            t.end_conversation(handle, error=1, description="it failed")
        assert at.out() == ["1"]
        assert at.is_forgotten()


WAITS: dict[str, tuple[str, str, str]] = {
    "full": ("ALTER QLOCAL(OUT) MAXDEPTH(1)", "Queue OUT of export OUT is full.", "MAXDEPTH(9)"),
    "inhibited": (
        "ALTER QLOCAL(OUT) PUT(DISABLED)",
        "Queue OUT of export OUT is inhibited for puts.",
        "PUT(ENABLED)",
    ),
}


@pytest.mark.parametrize("why", WAITS)
@pytest.mark.parametrize("crashes", [False, True])
def test_what_the_queue_does_not_take_waits_in_its_order(why: str, crashes: bool) -> None:
    before, status, remedy = WAITS[why]
    with export_site() as at:
        at.qm.put("OUT", b"another's")
        at.define(before)
        handle = at.submit_results("1", "2")
        other = at.submit_results("a", ends=True)
        at.form.send(handle, body=b"3")
        at.form.end_conversation(handle)
        rows = at.admin.transmission_queue()
        assert {one.transmission_status for one in rows} == {status}
        assert at.admin.transmission_status(other) == status
        assert {one.state for one in at.admin.conversation_endpoints()} == {"DO"}
        at.define(f"ALTER QLOCAL(OUT) {remedy}")
        assert len(at.waiting()) == 6
        if crashes:
            at.restart(crash=True)
        at.retry()
        assert at.out() == ["another's", "1", "2", "a", "3"]
        assert at.is_forgotten()


def test_room_is_used_as_it_comes_and_no_message_overtakes_another() -> None:
    with export_site() as at:
        at.define("ALTER QLOCAL(OUT) MAXDEPTH(2)")
        handle = at.submit_results("1", "2", "3", "4")
        assert (at.out(), at.waiting()) == (["1", "2"], ["3", "4"])
        assert at.take(1) == ["1"]
        other = at.submit_results("a")  # there is room, and nothing of its conversation waits
        at.form.send(handle, body=b"5")
        assert (at.out(), at.waiting()) == (["2", "a"], ["3", "4", "5"])
        at.take(1)
        at.retry()
        assert (at.out(), at.waiting()) == (["a", "3"], ["4", "5"])
        at.form.end_conversation(handle)
        at.form.end_conversation(other)
        at.take(2)
        at.retry()
        assert (at.out(), at.is_forgotten()) == (["4", "5"], True)


def test_more_than_a_step_releases_and_than_is_in_memory() -> None:
    bodies = [f"{number:04}" for number in range(MANY)]
    with export_site() as at:
        at.define("ALTER QLOCAL(OUT) MAXDEPTH(7) PUT(DISABLED)")
        handle = at.submit_results(*bodies, ends=True)
        at.restart(crash=True)
        at.define("ALTER QLOCAL(OUT) PUT(ENABLED)")
        at.retry()
        until(lambda: len(at.out()) == 7)
        found = at.take(7)
        at.define(f"ALTER QLOCAL(OUT) MAXDEPTH({MANY})")

        def is_done() -> bool:
            at.retry()
            return len(at.out()) == MANY - 7

        until(is_done)
        assert found + at.out() == bodies
        assert at.admin.transmission_status(handle) is None
        assert at.is_forgotten()


def test_an_export_that_is_deleted_and_made_again() -> None:
    with export_site() as at:
        handle = at.submit_results("1")
        at.define("DELETE EXPORT(OUT)")
        at.form.send(handle, body=b"2")
        assert at.admin.transmission_status(handle) == "Export OUT does not exist."
        at.define("DEFINE EXPORT(OUT) QUEUE(OUT.2) TOPIC('results') STATE(PAUSED)")
        at.retry()
        status = at.admin.transmission_status(handle)
        assert status == "Queue OUT.2 of export OUT does not exist."
        at.form.send(handle, body=b"3")
        at.define("DEFINE QLOCAL(OUT.2)")
        status = at.admin.transmission_status(handle)
        assert status == "Queue OUT.2 of export OUT takes the message within a second."
        at.retry()
        assert (at.out(), at.out("OUT.2")) == (["1"], ["2", "3"])


def test_the_route_counts_as_it_is_when_the_first_message_leaves() -> None:
    with export_site() as at:
        begun = at.submit_results("1")
        at.define("ALTER QLOCAL(OUT) PUT(DISABLED)")
        waits = at.submit_results("a", "b")
        at.form.send(begun, body=b"2")
        at.admin.create_service(RESULTS, FORMS, contracts=[DEFAULT])
        at.admin.drop_route("to Kafka")
        assert [row.message_body for row in at.admin.browse(FORMS)] == [b"a", b"b"]
        assert at.waiting() == ["2"]
        at.define("ALTER QLOCAL(OUT) PUT(ENABLED)")
        at.retry()
        assert at.out() == ["1", "2"]
        at.form.send(waits, body=b"c")
        at.form.send(begun, body=b"3")
        at.admin.create_route("again", service=RESULTS, address="EXPORT://OUT")
        at.form.send(waits, body=b"d")
        assert at.out() == ["1", "2", "3"]
        assert [row.message_body for row in at.admin.browse(FORMS)] == [b"a", b"b", b"c", b"d"]


def test_a_message_that_is_too_long_for_the_queue_is_an_error() -> None:
    with export_site() as at:
        at.define("ALTER QLOCAL(OUT) MAXMSGL(3)")
        handle = at.submit_results("1", "four", "3")
        (row,) = at.form.receive(FORMS)
        text = "The queue of export 'OUT' takes no messages of this length."
        assert error_of(row) == (-8459, text)
        with pytest.raises(ServiceBrokerError) as refused:
            at.form.send(handle, body=b"4")
        assert refused.value.number == 8429
        assert (at.out(), at.waiting()) == (["1"], [])
        at.form.end_conversation(handle)
        assert at.is_forgotten()


def test_a_body_that_is_not_of_its_type_is_an_error() -> None:
    """Also behind others that wait, for a queue that is OFF, and for a side that has ended."""
    with export_site() as at:
        at.admin.create_message_type("X", validation="WELL_FORMED_XML")
        at.admin.create_contract("C", {"X": "INITIATOR"})
        at.define("ALTER QLOCAL(OUT) PUT(DISABLED)")
        handles = []
        for ends in (False, True):
            with at.form.transaction() as t:
                handles.append(t.begin_dialog(SUBMISSION, RESULTS, contract="C"))
                for body in (b"<a/>", b"<no", b"<never/>"):
                    t.send(handles[-1], message_type="X", body=body)
                if ends:
                    t.end_conversation(handles[-1])
        at.admin.alter_queue(FORMS, status=False)
        at.define("ALTER QLOCAL(OUT) PUT(ENABLED)")
        at.retry()
        assert at.out() == ["<a/>", "<a/>"]
        at.form.send(handles[0], message_type="X", body=b"<neither/>")
        at.restart(crash=True)
        at.admin.alter_queue(FORMS, status=True)
        (row,) = at.form.receive(FORMS)
        assert (row.conversation_handle, error_of(row)[0]) == (handles[0], -9615)
        at.form.end_conversation(handles[0])
        assert at.is_forgotten()
        assert at.out() == ["<a/>", "<a/>"]


def test_what_waits_when_its_lifetime_ends_is_not_put() -> None:
    with export_site() as at:
        at.define("ALTER QLOCAL(OUT) PUT(DISABLED)")
        kept = at.submit_results("1", lifetime_s=2)
        at.submit_results("2", lifetime_s=2, ends=True)
        at.manager.clock.advance(2_000)
        at.define("ALTER QLOCAL(OUT) PUT(ENABLED)")
        at.retry()
        (row,) = at.form.receive(FORMS)
        assert error_of(row)[0] == -8489
        at.form.end_conversation(kept)
        assert (at.out(), at.is_forgotten()) == ([], True)


def test_timers_and_cleanup() -> None:
    with export_site() as at:
        handle = at.submit_results("1")
        at.form.begin_conversation_timer(handle, 1)
        at.manager.clock.advance(1_000)
        (row,) = at.form.receive(FORMS)
        assert row.message_type_name == DIALOG_TIMER
        at.define("ALTER QLOCAL(OUT) PUT(DISABLED)")
        at.form.send(handle, body=b"gone")
        at.form.end_conversation(handle, cleanup=True)
        at.define("ALTER QLOCAL(OUT) PUT(ENABLED)")
        at.retry()
        assert (at.out(), at.is_forgotten()) == (["1"], True)


def test_dropping_the_service_that_sends() -> None:
    with export_site() as at:
        at.submit_results("1")
        at.define("ALTER QLOCAL(OUT) PUT(DISABLED)")
        at.submit_results("gone")
        at.admin.drop_service(SUBMISSION)
        at.retry()
        assert (at.out(), at.is_forgotten()) == (["1"], True)


def test_a_route_for_any_service_and_what_is_no_address() -> None:
    with export_site() as at:
        at.admin.alter_route("to Kafka", service="", address="export://OUT")
        with at.form.transaction() as t:
            for service in ("//any", "//other"):
                t.send(t.begin_dialog(SUBMISSION, service), body=service.encode())
        at.submit("local")
        assert at.out() == ["//any", "//other"]
        for address in ("EXPORT://", "EXPORT:OUT", "EXPORT://a b", "EXPORT://" + "A" * 49):
            with pytest.raises(ServiceBrokerError):
                at.admin.alter_route("to Kafka", address=address)
        assert [one.address for one in at.admin.routes()] == ["EXPORT://OUT"]


def test_another_queue_manager_does_not_reach_it() -> None:
    """A message is not forwarded, as to a service that is not here."""
    with adapter.testing.network("NEAR", "FAR") as (near, far):
        at = ExportSite(far)
        with near.connect_servicebroker() as broker:
            broker.create_queue("Q")
            broker.create_service("S", "Q")
            broker.create_route("far", service=RESULTS, address="FAR")
            broker.send(broker.begin_dialog("S", RESULTS), body=b"x")
            until(lambda: at.waiting() == ["x"])
            (row,) = at.admin.transmission_queue()
        assert row.transmission_status == f"The target service '{RESULTS}' does not exist."
        at.close()
        at.qm.close()
