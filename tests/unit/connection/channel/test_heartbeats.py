"""Heartbeats: a frozen queue manager is left for another address, a dead client loses its locks.

Each test runs with both drivers. The interval is short; relays stand for processes that freeze, and
for machines that are gone.
"""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

import adapter
from adapter import errors as e
from adapter import testing
from adapter.server.listen.bounds import ConnectionBounds
from tests.drivers import Driver
from tests.support.certificates import Authority
from tests.support.relay import Relay, relay

BEAT_S = 0.1
DEAD_S = 3 * BEAT_S
LIVING_S = 0.5
"""The interval of a connection that has to live: a busy machine may keep either end for a while."""
WAIT_S = 20.0
TOO_LONG_S = 60.0
"""A client that waits for a frozen process for so long fails the test."""
BOUNDS = ConnectionBounds(heartbeat_ms=round(BEAT_S * 1000))


@pytest.fixture
def manager() -> Iterator[testing.TestQueueManager]:
    with testing.queue_manager(bounds=BOUNDS) as made, made.connect() as qm:
        qm.define_queue("Q")
        yield made


@pytest.fixture
def relays(manager: testing.TestQueueManager) -> Iterator[list[Relay]]:
    with ExitStack() as stack:
        yield [stack.enter_context(relay(manager.address)) for _ in range(2)]


@pytest.fixture
def connect(driver: Driver) -> Iterator[Callable[..., adapter.Connection]]:
    made = []

    def make(address: str, **options: object) -> adapter.Connection:
        made.append(driver.connect(address, **{"heartbeat_s": BEAT_S} | options))
        return made[-1]

    yield make
    for connection in made:
        connection.close()


Connect = Callable[..., adapter.Connection]


def until(holds: Callable[[], object], what: str) -> None:
    deadline_s = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < deadline_s, f"not within {WAIT_S:g} s: {what}"
        time.sleep(0.01)


def addresses(relays: list[Relay]) -> str:
    return ",".join(one.address for one in relays)


def test_a_get_that_waits_at_a_frozen_queue_manager_goes_on_at_another(
    relays: list[Relay], connect: Connect, manager: testing.TestQueueManager
) -> None:
    qm = connect(addresses(relays), connect_timeout_s=TOO_LONG_S)
    got: list[adapter.Message | None] = []
    queue = qm.queue("Q")
    waiting = threading.Thread(target=lambda: got.append(queue.get(timeout=WAIT_S)))
    waiting.start()
    relays[0].freeze()
    until(lambda: relays[1].accepted, "the other address is tried")
    with manager.connect() as other:
        other.put("Q", b"x")
    waiting.join(WAIT_S)
    assert [one and one.body for one in got] == [b"x"]
    assert qm.statistics()["reconnects"] == 1


def test_an_idle_connection_notices_it_without_a_verb(
    relays: list[Relay], connect: Connect
) -> None:
    qm = connect(addresses(relays), connect_timeout_s=TOO_LONG_S)
    lost_s = time.monotonic()
    relays[0].freeze()
    until(lambda: qm.statistics()["connections_lost"], "the silence is noticed")
    assert time.monotonic() - lost_s > DEAD_S - 2 * BEAT_S
    qm.put("Q", b"x")
    assert relays[1].accepted == 1
    assert time.monotonic() - lost_s < TOO_LONG_S


def test_the_end_of_an_idle_connection_is_noticed_without_a_verb(
    relays: list[Relay], connect: Connect
) -> None:
    qm = connect(addresses(relays))
    relays[0].die()
    until(lambda: qm.statistics()["connections_lost"], "the end is noticed")
    qm.put("Q", b"x")


def test_an_idle_connection_that_was_lost_long_ago_is_made_again_by_the_next_verb(
    relays: list[Relay], connect: Connect
) -> None:
    """The time for attempts counts from the verb, and not from the loss that nothing waited for."""
    qm = connect(relays[0].address, reconnect_timeout_s=0.3)
    relays[0].die()
    until(lambda: qm.statistics()["connections_lost"], "the end is noticed")
    time.sleep(0.5)
    began_s = time.monotonic()
    with pytest.raises(e.ConnectionBroken):
        qm.put("Q", b"x")
    assert time.monotonic() - began_s > 0.2


def test_a_dead_client_gives_back_what_it_has_locked(
    relays: list[Relay], connect: Connect, manager: testing.TestQueueManager
) -> None:
    qm = connect(relays[0].address, reconnect_timeout_s=0.1)
    qm.put("Q", b"x")
    unit = qm.unit()
    unit.begin()
    message = qm.queue("Q").get(unit=unit)
    assert message is not None
    relays[0].freeze()
    with manager.connect() as other:
        back = other.queue("Q").get(timeout=WAIT_S)
    assert back is not None
    assert back.backout_count == 1
    with suppress(e.Error):
        unit.backout()


def test_connections_that_say_nothing_live(
    relays: list[Relay], connect: Connect, manager: testing.TestQueueManager
) -> None:
    """Both ends hear of each other by heartbeats, and units stay open."""
    qm = connect(relays[0].address, heartbeat_s=LIVING_S)
    unit = qm.unit()
    unit.begin()
    qm.put("Q", b"x", unit=unit)
    before = relays[0].relayed_bytes
    time.sleep(4 * LIVING_S)
    assert relays[0].relayed_bytes > before
    unit.commit()
    figures = qm.statistics()
    assert figures["reconnects"] == figures["connections_lost"] == 0


def test_a_long_message_on_a_slow_network_is_a_sign_of_life(
    relays: list[Relay], connect: Connect
) -> None:
    """Both ways, for several times as long as a silence may last."""
    qm = connect(relays[0].address, heartbeat_s=LIVING_S)
    body = bytes(4 * 1024 * 1024)
    relays[0].pause_s = LIVING_S / 2
    began_s = time.monotonic()
    qm.put("Q", body)
    message = qm.get("Q", timeout=WAIT_S)
    assert time.monotonic() - began_s > 3 * LIVING_S
    assert message is not None
    assert message.body == body
    assert qm.statistics()["connections_lost"] == 0


def test_heartbeats_within_tls(connect: Connect, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    with (
        testing.queue_manager(tls=authority.server(), bounds=BOUNDS) as manager,
        relay(manager.tls_address) as first,
        relay(manager.tls_address) as second,
    ):
        both = f"{first.address},{second.address}"
        qm = connect(both, tls=authority.path, heartbeat_s=LIVING_S)
        qm.define_queue("Q")
        time.sleep(4 * LIVING_S)
        assert qm.statistics()["connections_lost"] == 0
        first.freeze()
        qm.put("Q", b"x")
        assert second.accepted == 1
        qm.close()


def test_heartbeats_over_a_socket_of_this_machine(connect: Connect, tmp_path: Path) -> None:
    path = tmp_path / "QM1.sock"
    with testing.queue_manager(bounds=BOUNDS, unix_path=str(path)) as manager:
        qm = connect(f"unix:{path}")
        qm.define_queue("Q")
        unit = qm.unit()
        unit.begin()
        qm.put("Q", b"x", unit=unit)
        sent = qm.statistics()["frames_sent"]
        time.sleep(2 * DEAD_S)
        assert qm.statistics()["frames_sent"] > sent
        unit.commit()
        assert manager.statistics()["connections"] == 1
        qm.close()


@pytest.mark.parametrize(("ours", "theirs"), [(0.0, BEAT_S), (BEAT_S, 0.0)])
def test_either_end_may_want_no_heartbeats(connect: Connect, ours: float, theirs: float) -> None:
    bounds = ConnectionBounds(heartbeat_ms=round(theirs * 1000))
    with testing.queue_manager(bounds=bounds) as manager, relay(manager.address) as between:
        qm = connect(between.address, heartbeat_s=ours)
        qm.define_queue("Q")
        before = between.relayed_bytes
        time.sleep(2 * DEAD_S)
        assert between.relayed_bytes == before
        qm.put("Q", b"x")
        assert qm.statistics()["reconnects"] == 0
        qm.close()


def test_within_a_process_nothing_is_said(manager: testing.TestQueueManager) -> None:
    with manager.connect(heartbeat_s=BEAT_S) as qm:
        sent = qm.statistics()["frames_sent"], qm.statistics()["frames_received"]
        time.sleep(DEAD_S)
        assert sent == (qm.statistics()["frames_sent"], qm.statistics()["frames_received"])


OF_ONE_PROCESS = """
import adapter
from adapter import testing
from adapter.connection.channel.heartbeats import THREAD

with testing.queue_manager() as manager:
    qm = adapter.connect(manager.address, heartbeat_s=0.1)
    qm.define_queue("Q")
    thread = THREAD._thread
    assert thread is not None
    qm.close()
    thread.join(20)
    assert not thread.is_alive()
    with adapter.connect(manager.address, heartbeat_s=0.1) as again:
        assert THREAD._thread is not None
        again.put("Q", b"x")
"""


def test_the_thread_of_the_process_ends_with_its_connections() -> None:
    """In a process that has no others."""
    subprocess.run([sys.executable, "-c", OF_ONE_PROCESS], check=True, timeout=60)


def test_a_goodbye_that_says_where_to_go_is_followed_at_once(
    relays: list[Relay], connect: Connect
) -> None:
    """Also to an address that the program does not know."""
    qm = connect(relays[0].address)
    unit = qm.unit()
    unit.begin()
    qm.put("Q", b"x", unit=unit)
    relays[0].say_moved(relays[1].address)
    with pytest.raises(e.BackedOut):
        unit.commit()
    qm.put("Q", b"y")
    assert relays[1].accepted == 1


def test_a_standby_that_names_the_owner_is_followed(
    manager: testing.TestQueueManager, connect: Connect
) -> None:
    with relay(manager.address, follows=True, moved_to=manager.address) as standby:
        connect(standby.address).put("Q", b"x")
        assert standby.accepted == 1


def test_standbys_that_name_each_other_are_no_owner(connect: Connect) -> None:
    with relay("127.0.0.1:1", follows=True) as one, relay("127.0.0.1:1", follows=True) as other:
        one.moved_to, other.moved_to = other.address, one.address
        with pytest.raises(e.QueueManagerNotAvailable, match="follows another one"):
            connect(one.address)
        assert (one.accepted, other.accepted) == (1, 1)
