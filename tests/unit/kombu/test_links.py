"""One connection for all transports of a process, its temporary queues, and routing."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from kombu.exceptions import ChannelError

import adapter
from adapter.errors import (
    BackedOut,
    ConnectionBroken,
    Error,
    QueueInUse,
    QueueNotEmpty,
    QueueNotFound,
)
from adapter.kombu.intakes import TemporaryQueueSource
from adapter.kombu.links import ProcessLink, ProcessLinks
from adapter.kombu.temporary import Binding
from adapter.testing import TestQueueManager


@pytest.fixture
def link(qm: adapter.Connection) -> ProcessLink:
    return ProcessLink(qm)


def put(link: ProcessLink, queue: str) -> bool:
    return link.put(queue, b"x", {"properties": {}})


def test_a_temporary_queue_is_reached_by_its_name_from_everywhere(
    link: ProcessLink, manager: TestQueueManager
) -> None:
    with manager.connect() as elsewhere:
        other = ProcessLink(elsewhere)
        assert not put(other, "mine")
        link.declare_temporary("mine")
        assert put(other, "mine")
        assert put(other, "mine")
        assert link.depth("mine") == 2
        link.drop_temporary("mine")
        assert not put(other, "mine")


def test_a_name_that_was_temporary_may_become_permanent(link: ProcessLink) -> None:
    link.declare_temporary("mine")
    assert put(link, "mine")
    link.drop_temporary("mine")
    link.define("mine", {})
    assert put(link, "mine")
    assert link.depth("mine") == 1


def test_a_name_is_that_of_a_permanent_or_of_a_temporary_queue(
    link: ProcessLink, qm: adapter.Connection
) -> None:
    link.define("stays", {})
    qm.define_queue("REAL")
    qm.define_object("alias", "alias", target="REAL")
    for name in ("stays", "alias"):
        with pytest.raises(ChannelError, match=f"'{name}' exists, and is neither auto_delete"):
            link.declare_temporary(name)
        assert link.temporary(name) is None
        assert put(link, name)
    assert (link.depth("stays"), link.depth("REAL")) == (1, 1)
    link.declare_temporary("goes")
    link.declare_temporary("goes")
    with pytest.raises(ChannelError, match="'goes' of this process is auto_delete or exclusive"):
        link.define("goes", {})
    assert put(link, "goes")
    assert link.depth("goes") == 1
    assert not qm.queues("goes")


def test_bindings_route_to_permanent_and_temporary_queues(link: ProcessLink) -> None:
    link.define("stays", {})
    link.declare_temporary("goes")
    for queue in ("stays", "goes"):
        link.bind(queue, ("shop", "topic", "order.*"))
        link.bind(queue, ("shop", "topic", "order.*"))
    assert link.publish("shop", "order.new", b"x", {})
    assert not link.publish("shop", "order", b"x", {})
    assert (link.depth("stays"), link.depth("goes")) == (1, 1)
    for queue in ("stays", "goes"):
        link.unbind(queue, "shop", "order.*")
        link.unbind(queue, "shop", "order.*")
    assert not link.publish("shop", "order.new", b"x", {})


OVERLAPPING = [
    [("shop", "topic", "a.*"), ("shop", "topic", "*.b"), ("shop", "topic", "#")],
    [("shop", "fanout", "one"), ("shop", "fanout", "two")],
    [("shop", "direct", "a.b"), ("shop", "topic", "a.b"), ("shop", "topic", "a.#")],
]


@pytest.mark.parametrize("is_temporary", [False, True])
def test_a_binding_follows_the_type_of_its_exchange(link: ProcessLink, is_temporary: bool) -> None:
    if is_temporary:
        link.declare_temporary("Q")
    else:
        link.define("Q", {})
    link.bind("Q", ("shop", "direct", "order.*"))
    link.bind("Q", ("shop", "topic", "order.*"))
    assert link.publish("shop", "order.new", b"x", {})
    assert not link.publish("shop", "other", b"x", {})
    assert link.depth("Q") == 1


@pytest.mark.parametrize("bindings", OVERLAPPING)
def test_a_message_comes_to_a_queue_once_however_many_bindings_match(
    link: ProcessLink, bindings: list[Binding]
) -> None:
    for permanent in ("first", "second"):
        link.define(permanent, {})
    for temporary in ("third", "fourth"):
        link.declare_temporary(temporary)
    queues = ("first", "second", "third", "fourth")
    for queue in queues:
        for binding in bindings:
            link.bind(queue, binding)
    assert link.publish("shop", "a.b", b"x", {})
    assert [link.depth(queue) for queue in queues] == [1, 1, 1, 1]
    for queue in queues:
        link.unbind(queue, bindings[0][0], bindings[0][2])
    assert link.publish("shop", "a.b", b"x", {}) == (len(bindings) > 1)
    assert [link.depth(queue) for queue in queues] == [2, 2, 2, 2]


def test_a_temporary_queue_that_was_made_again_gets_a_message_once(link: ProcessLink) -> None:
    link.declare_temporary("mine")
    for key in ("a.*", "*.b"):
        link.bind("mine", ("shop", "topic", key))
    temporary = link.temporary("mine")
    assert temporary is not None
    temporary.make_again(temporary.subscription)
    assert link.publish("shop", "a.b", b"x", {})
    assert link.depth("mine") == 1


def test_what_another_program_has_retained_was_there_before_the_binding(
    link: ProcessLink, qm: adapter.Connection
) -> None:
    qm.publish("kombu/kept/a/b", b"x", retain=True)
    link.declare_temporary("mine")
    for key in ("a.*", "*.b"):
        link.bind("mine", ("kept", "topic", key))
    assert link.depth("mine") == 0


def test_bindings_of_permanent_queues_outlive_the_program(manager: TestQueueManager) -> None:
    with manager.connect() as first:
        link = ProcessLink(first)
        link.define("stays", {})
        link.declare_temporary("goes")
        for queue in ("stays", "goes"):
            link.bind(queue, ("shop", "fanout", ""))
    with manager.connect() as second:
        assert ProcessLink(second).publish("shop", "any", b"x", {})
        assert ProcessLink(second).depth("stays") == 1
        assert not second.queues("SYSTEM.MANAGED.*", system=True)


def test_a_deleted_queue_takes_its_bindings_along(
    link: ProcessLink, qm: adapter.Connection
) -> None:
    for queue in ("first", "second"):
        link.define(queue, {})
        link.bind(queue, ("shop", "direct", "k"))
    assert link.publish("shop", "k", b"x", {})
    assert link.delete("first") == 1
    assert not link.has("first")
    assert [one.name for one in qm.objects("subscription")] == ["kombu second shop k"]


def test_a_queue_that_is_not_deleted_keeps_its_bindings(
    link: ProcessLink, qm: adapter.Connection
) -> None:
    link.define("Q", {})
    link.bind("Q", ("shop", "direct", "k"))
    with qm.queue("Q", open_for="input"), pytest.raises(QueueInUse):
        link.delete("Q")
    assert link.publish("shop", "k", b"x", {})
    with pytest.raises(QueueNotEmpty):
        link.delete("Q", if_empty=True)
    assert link.publish("shop", "k", b"x", {})
    assert link.delete("Q") == 2
    assert not qm.objects("subscription")


def test_what_was_free_and_is_in_use_when_it_is_deleted_is_bound_again(
    link: ProcessLink, qm: adapter.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "_is_in_use", lambda _: False)
    link.define("Q", {})
    link.bind("Q", ("shop", "topic", "order.*"))
    with qm.queue("Q", open_for="input"), pytest.raises(QueueInUse):
        link.delete("Q")
    assert link.publish("shop", "order.new", b"x", {})


def test_threads_that_bind_a_temporary_queue_at_once_bind_it_once(link: ProcessLink) -> None:
    with ThreadPoolExecutor(6) as threads:
        for turn in range(5):
            begun = threading.Barrier(6)

            def declare(name: str, begun: threading.Barrier = begun) -> None:
                begun.wait(10)
                link.declare_temporary(name)
                link.bind(name, ("shop", "direct", name))

            list(threads.map(declare, [f"mine{turn}"] * 6))
            assert link.publish("shop", f"mine{turn}", b"x", {})
            assert link.depth(f"mine{turn}") == 1


def test_a_lost_temporary_queue_is_made_again_with_its_bindings(link: ProcessLink) -> None:
    link.declare_temporary("mine")
    link.bind("mine", ("shop", "fanout", ""))
    temporary = link.temporary("mine")
    assert temporary is not None
    lost = temporary.subscription
    lost.close()
    temporary.make_again(lost)
    made = temporary.subscription
    assert made is not lost
    temporary.make_again(lost)
    assert temporary.subscription is made, "another consumer has made it again"
    assert link.publish("shop", "k", b"x", {})
    assert put(link, "mine")
    assert link.depth("mine") == 2


class LosesAtCall:
    """A connection that is lost once more at a call of subscribe(), before or after it is done."""

    def __init__(self, qm: adapter.Connection, at: int, error: Error, *, is_done: bool) -> None:
        self._qm, self._at, self._error, self._is_done = qm, at, error, is_done

    def subscribe(self, *given: Any, **fields: Any) -> adapter.Subscription:
        self._at -= 1
        if not self._at and not self._is_done:
            raise self._error
        made = self._qm.subscribe(*given, **fields)
        if not self._at:
            made.close()
            raise self._error
        return made


@pytest.mark.parametrize("is_done", [False, True])
@pytest.mark.parametrize("error", [ConnectionBroken("x"), QueueNotFound("x", "Q"), BackedOut("x")])
@pytest.mark.parametrize("at", [1, 2, 3])
@pytest.mark.parametrize("then", ["get", "bind", "make again"])
def test_a_temporary_queue_that_is_lost_while_it_is_made_again_has_all_its_bindings(
    link: ProcessLink, qm: adapter.Connection, at: int, error: Error, is_done: bool, then: str
) -> None:
    link.declare_temporary("mine")
    bindings: list[Binding] = [("shop", "topic", "a"), ("shop", "topic", "b")]
    for binding in bindings:
        link.bind("mine", binding)
    temporary = link.temporary("mine")
    assert temporary is not None
    lost = temporary.subscription
    lost.close()
    link_of: Any = temporary
    link_of._qm = LosesAtCall(qm, at, error, is_done=is_done)
    with pytest.raises((BackedOut, ConnectionBroken, QueueNotFound)) as raised:
        temporary.make_again(lost)
    assert at == 1 or not isinstance(raised.value, QueueNotFound)
    link_of._qm = qm
    if then == "get":
        source = TemporaryQueueSource(qm, temporary, no_ack=True)
        assert source.get(0, None) is None
        source.close()
    elif then == "bind":
        link.bind("mine", bindings[0])
    else:
        temporary.make_again(lost)
    assert all(link.publish("shop", key, b"x", {}) for key in "ab")
    assert put(link, "mine")
    assert link.depth("mine") == 3


def test_an_existing_queue_keeps_its_attributes(link: ProcessLink, qm: adapter.Connection) -> None:
    qm.define_queue("Q", max_depth=5)
    link.define("Q", {"max_depth": 7})
    assert qm.queue("Q").inquire().max_depth == 5


def test_transports_with_the_same_parameters_share_a_connection(
    manager: TestQueueManager,
) -> None:
    links = ProcessLinks()
    first = links.acquire("one", manager.connect)
    second = links.acquire("one", manager.connect)
    other = links.acquire("two", manager.connect)
    assert first is second is not other
    links.release("one", first)
    states = [first.qm.is_closed]
    links.release("one", second)
    states.append(first.qm.is_closed)
    assert states == [False, True]
    again = links.acquire("one", manager.connect)
    assert not again.qm.is_closed
    links.release("one", again)
    links.release("two", other)


def test_a_queue_manager_that_does_not_answer_holds_up_only_those_who_want_it(
    manager: TestQueueManager,
) -> None:
    links = ProcessLinks()
    answers = threading.Event()

    def connect_slowly() -> adapter.Connection:
        assert answers.wait(20)
        return manager.connect()

    with ThreadPoolExecutor(2) as threads:
        slow = [threads.submit(links.acquire, "slow", connect_slowly) for _ in range(2)]
        for _ in range(2):
            links.release("one", links.acquire("one", manager.connect))
        assert not any(one.done() for one in slow)
        answers.set()
        first, second = (one.result(20) for one in slow)
    assert first is second
    links.release("slow", first)
    links.release("slow", second)
    assert first.qm.is_closed


def test_an_alias_has_the_messages_of_its_target(link: ProcessLink, qm: adapter.Connection) -> None:
    qm.define_queue("REAL")
    qm.define_object("alias", "A", target="REAL")
    for _ in range(3):
        assert put(link, "A")
    assert link.depth("A") == 3
    with pytest.raises(ChannelError, match="'A' is an alias of another"):
        link.delete("A")
    assert link.purge("A") == 3
    assert (link.depth("A"), qm.queue("REAL").depth()) == (0, 0)
    qm.delete_object("alias", "A")
    assert link.delete("A") == 0


def test_a_message_for_the_empty_name_reaches_no_queue(link: ProcessLink) -> None:
    assert not put(link, "")


def test_an_exclusive_queue_is_gone_with_its_declarers(link: ProcessLink) -> None:
    link.declare_temporary("one", declarer=1)
    for declarer in (1, 2):
        link.declare_temporary("both", declarer=declarer)
    link.declare_temporary("auto-delete", declarer=1)
    link.declare_temporary("auto-delete")
    link.declare_temporary("consumed", declarer=1)
    consumed = link.consume_temporary("consumed")
    assert consumed is not None
    link.end_declarer(1)
    there = [name for name in ("one", "both", "auto-delete", "consumed") if link.has(name)]
    assert there == ["both", "auto-delete", "consumed"]
    link.end_declarer(2)
    assert not put(link, "both")
    link.end_consumer(consumed)
    assert not put(link, "consumed")


def test_a_consumer_of_a_deleted_queue_is_none_of_the_next_one(link: ProcessLink) -> None:
    link.declare_temporary("mine")
    former = link.consume_temporary("mine")
    link.drop_temporary("mine")
    link.declare_temporary("mine")
    assert link.consume_temporary("mine") is not former
    assert former is not None
    link.end_consumer(former)
    assert put(link, "mine")


def test_a_closed_connection_is_replaced(manager: TestQueueManager) -> None:
    links = ProcessLinks()
    first = links.acquire("one", manager.connect)
    first.qm.close()
    second = links.acquire("one", manager.connect)
    assert not second.qm.is_closed
    links.release("one", first)
    assert links.acquire("one", manager.connect) is second
    second.qm.close()


def test_a_forked_child_connects_itself(
    manager: TestQueueManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    links = ProcessLinks()
    parents = links.acquire("one", manager.connect)
    with monkeypatch.context() as in_child:
        in_child.setattr(os, "getpid", lambda: 0)
        assert parents.is_inherited
        childs = links.acquire("one", manager.connect)
        assert childs is not parents
        assert not childs.is_inherited
        links.release("one", childs)
    assert not parents.qm.is_closed
    parents.qm.close()
