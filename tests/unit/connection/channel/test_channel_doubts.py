"""What a verb says when its answer is lost: nothing was done, it is in doubt, or it is known."""

import threading
from collections.abc import Callable
from contextlib import nullcontext, suppress

import pytest
from msgspec import Struct

import adapter
from adapter import errors as e
from adapter.connection.channel.timeouts import Timeouts
from adapter.connection.wire.session import Incoming
from adapter.core import inputs
from adapter.core.contract import commands as c
from tests.support.each import each
from tests.support.loopback import Loopback, loopback

GIVE_UP_S = 0.05
WAIT_S = 10.0

NOT_KNOWN = "not known whether this was done"
UNIT_GONE = "the unit was backed out"
ASK_AGAIN = "ask again"

Call = Callable[[adapter.Connection, adapter.Queue], object]


class Verb(Struct, frozen=True):
    """A verb, the command by which it takes effect, and what is said when its answer is lost.

    is_lost: it fails with the connection, whoever comes back.
    """

    call: Call
    command: type
    error: type[e.Error] = e.InDoubt
    text: str = "it is not known whether"
    is_lost: bool = False


def in_unit(call: Call) -> Call:
    """Call in a unit that the error ends."""

    def verb(qm: adapter.Connection, queue: adapter.Queue) -> object:
        with qm.unit():
            return call(qm, queue)

    return verb


def backout(qm: adapter.Connection, queue: adapter.Queue) -> None:
    unit = qm.unit()
    unit.begin()
    queue.put(b"never", unit=unit)
    unit.backout()


VERBS = {
    "qm.put": Verb(lambda qm, _: qm.put("Q", b"new"), c.Put),
    "qm.get": Verb(lambda qm, _: qm.get("Q"), c.Get),
    "qm.get that waits": Verb(lambda qm, _: qm.get("Q", timeout=9), c.Get),
    "qm.publish": Verb(lambda qm, _: qm.publish("fruit", b"new"), c.Put),
    "queue.put": Verb(lambda _, queue: queue.put(b"new"), c.Put),
    "queue.get": Verb(lambda _, queue: queue.get(), c.Get),
    "queue.get that waits": Verb(lambda _, queue: queue.get(timeout=9), c.Get),
    "queue.put_many": Verb(lambda _, queue: queue.put_many([b"new"]), c.Commit),
    "queue.request": Verb(lambda _, queue: queue.request(b"new", timeout=0.1), c.Put),
    "commit": Verb(in_unit(lambda _, queue: queue.put(b"new")), c.Commit),
    "backout": Verb(backout, c.Backout, e.ConnectionBroken, UNIT_GONE),
    "qm.put in a unit": Verb(
        in_unit(lambda qm, _: qm.put("Q", b"")), c.Put, e.BackedOut, UNIT_GONE, True
    ),
    "qm.get in a unit": Verb(
        in_unit(lambda qm, _: qm.get("Q")), c.Get, e.BackedOut, UNIT_GONE, True
    ),
    "qm.publish in a unit": Verb(
        in_unit(lambda qm, _: qm.publish("fruit", b"")), c.Put, e.BackedOut, UNIT_GONE, True
    ),
    "queue.get in a unit": Verb(
        in_unit(lambda _, queue: queue.get()), c.Get, e.BackedOut, UNIT_GONE, True
    ),
    "define_queue": Verb(
        lambda qm, _: qm.define_queue("NEW"), c.DefineQueue, e.ConnectionBroken, NOT_KNOWN
    ),
    "purge": Verb(lambda _, queue: queue.purge(), c.PurgeQueue, e.ConnectionBroken, NOT_KNOWN),
    "set": Verb(
        lambda _, queue: queue.set(inhibit_put=False),
        c.SetAttributes,
        e.ConnectionBroken,
        NOT_KNOWN,
    ),
    "subscribe": Verb(
        lambda qm, _: qm.subscribe("fruit", name="S", durable=True),
        c.Subscribe,
        e.ConnectionBroken,
        NOT_KNOWN,
    ),
    "depth": Verb(lambda _, queue: queue.depth(), c.AskStatus, e.ConnectionBroken, ASK_AGAIN),
    "outcome": Verb(
        lambda qm, _: qm.outcome(b"\1" * 24), c.AskOutcome, e.ConnectionBroken, ASK_AGAIN
    ),
}


class Place(Struct):
    """A queue manager with a queue that has messages, and a connection that has it open."""

    server: Loopback
    qm: adapter.Connection
    queue: adapter.Queue

    def call(self, verb: Verb, then: Callable[[], None], swallow: bool = False) -> object:
        """Call a verb; when its command has been executed, its answer is held, and this happens.

        swallow: the command is lost on its way instead.
        """
        arrived = threading.Event()
        take = self.server.operations

        def watch(number: int, seen: list[int], operations: list[Incoming]) -> None:
            if any(isinstance(one.command, verb.command) for one in operations):
                self.server.holds = (object,)
                arrived.set()
                if swallow:
                    return
            take(number, seen, operations)

        def disturb() -> None:
            assert arrived.wait(WAIT_S)
            self.server.operations = take  # type: ignore[method-assign]
            then()

        self.server.operations = watch  # type: ignore[method-assign]
        thread = threading.Thread(target=disturb)
        thread.start()
        try:
            return verb.call(self.qm, self.queue)
        finally:
            thread.join()

    def break_off(self) -> None:
        """Cut the connection; the queue manager lives."""
        self.server.holds = ()
        self.server.cut_all()

    def outcome(self, unit_id: bytes) -> str:
        """Say what became of a unit, when the queue manager is back; the connection is patient."""
        self.server.holds = ()
        self.server.start()
        with adapter.connect(self.server.address) as qm:
            return qm.outcome(unit_id)


def in_a_place(check: Callable[[Place, Verb], None]) -> Callable[[str], None]:
    """Check a verb in a place of its own."""

    def test(name: str) -> None:
        with loopback() as server, adapter.connect(server.address) as admin:
            server.call(lambda: server._done(server.give(inputs.Configured({}))))
            admin.define_queue("Q")
            admin.define_queue("FRUIT")
            admin.subscribe("fruit", destination="FRUIT")
            with adapter.connect(server.address, reconnect_timeout_s=GIVE_UP_S) as qm:
                queue = qm.queue("Q", open_for="input")
                queue.put(b"old")
                queue.set(inhibit_put=False)
                with suppress(e.NoReply):
                    queue.request(b"old too", timeout=0)
                check(Place(server, qm, queue), VERBS[name])

    return test


@each(VERBS)
@in_a_place
def test_an_answer_that_never_comes(place: Place, verb: Verb) -> None:
    with pytest.raises(verb.error, match=verb.text) as caught:
        place.call(verb, place.server.crash)
    assert "nothing was done" not in str(caught.value)
    assert not isinstance(caught.value, e.ConnectionClosed)
    if isinstance(caught.value, e.InDoubt):
        assert place.outcome(caught.value.unit_id) == "committed"


@each(VERBS)
@in_a_place
def test_a_request_that_is_lost_on_its_way(place: Place, verb: Verb) -> None:
    with pytest.raises(verb.error, match=verb.text) as caught:
        place.call(verb, place.server.crash, swallow=True)
    assert "nothing was done" not in str(caught.value)
    if isinstance(caught.value, e.InDoubt):
        assert place.outcome(caught.value.unit_id) == "backed out"


@each(VERBS)
@in_a_place
def test_a_connection_that_is_closed_without_a_word_meanwhile(place: Place, verb: Verb) -> None:
    error = e.InDoubt if verb.error is e.InDoubt else e.ConnectionClosed
    with pytest.raises((error, e.BackedOut) if verb.is_lost else error) as caught:
        place.call(verb, lambda: place.qm.disconnect(abrupt=True))
    place.server.holds = ()
    assert "nothing was done" not in str(caught.value)


@each(VERBS)
@in_a_place
def test_a_connection_that_is_cut_and_made_again(place: Place, verb: Verb) -> None:
    place.qm._channel._state.timeouts = Timeouts()
    if verb.is_lost:
        with pytest.raises(verb.error, match=verb.text):
            place.call(verb, place.break_off)
        return
    is_asked_again = verb is VERBS["queue.request"]  # the queue for its reply is gone
    with pytest.raises(e.ConnectionBroken, match="ask again") if is_asked_again else nullcontext():
        place.call(verb, place.break_off)
    bodies = place.server.bodies("Q")
    assert bodies.count(b"new") <= 1
    assert b"never" not in bodies


@each(VERBS)
@in_a_place
def test_what_was_never_sent_was_not_done(place: Place, verb: Verb) -> None:
    place.server.crash()
    with pytest.raises(e.ConnectionBroken):
        place.qm.queues()
    with pytest.raises(e.ConnectionBroken) as caught:
        verb.call(place.qm, place.queue)
    said = str(caught.value)
    assert "nothing was done" in said or verb.text == ASK_AGAIN
