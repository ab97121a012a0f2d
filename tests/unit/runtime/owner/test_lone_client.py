"""When the owner waits for Kafka itself: for one client alone, and for nobody else."""

from adapter.core.contract import commands as c
from adapter.core.contract.message import MessageData
from adapter.core.contract.results import PutDone
from adapter.runtime.owner.lone_client import (
    LOOKS,
    ROUNDS,
    ROUNDS_AFTER_FAILURE,
    ROUNDS_AGAIN,
    LoneClient,
)
from adapter.storage.ledger.memory import MemoryLedger
from adapter.storage.ledger.port import ignore_durable
from tests.support.by_hand import ByHand
from tests.support.core import Client


def commit(lone: LoneClient, connection: int, times: int = 1) -> None:
    for _ in range(times):
        lone.asked(connection, while_in_flight=False)
        lone.committed()


def is_alone(lone: LoneClient) -> bool:
    return lone.is_alone


def test_a_client_is_alone_after_some_commits() -> None:
    lone = LoneClient()
    lone.asked(7, while_in_flight=False)
    commit(lone, 7, ROUNDS - 1)
    assert not is_alone(lone)
    commit(lone, 7)
    assert is_alone(lone)


def test_another_client_ends_it() -> None:
    lone = LoneClient()
    commit(lone, 7, ROUNDS)
    lone.asked(8, while_in_flight=False)
    assert not is_alone(lone)
    commit(lone, 8, ROUNDS)
    assert is_alone(lone)


def test_a_client_that_does_not_wait_for_its_commits_is_not_alone() -> None:
    lone = LoneClient()
    for _ in range(3 * ROUNDS):
        commit(lone, 7)
        lone.asked(7, while_in_flight=True)
    assert not is_alone(lone)


def test_it_is_checked_again() -> None:
    lone = LoneClient()
    commit(lone, 7, ROUNDS + LOOKS - 1)
    assert is_alone(lone)
    commit(lone, 7)
    assert not is_alone(lone)
    commit(lone, 7, ROUNDS_AGAIN - 1)
    assert not is_alone(lone)
    commit(lone, 7)
    assert is_alone(lone)


def test_one_that_sends_more_is_found_when_it_is_checked_again() -> None:
    lone = LoneClient()
    commit(lone, 7, ROUNDS + LOOKS)
    commit(lone, 7)
    lone.asked(7, while_in_flight=True)
    commit(lone, 7, ROUNDS - 1)
    assert not is_alone(lone)


def test_after_a_wait_in_vain_it_takes_longer() -> None:
    lone = LoneClient()
    commit(lone, 7, ROUNDS)
    lone.failed()
    commit(lone, 7, ROUNDS_AFTER_FAILURE - 1)
    assert not is_alone(lone)
    commit(lone, 7)
    assert is_alone(lone)


class Watched:
    """A ledger that reports when it is looked at, and notes that."""

    def __init__(self, ledger: MemoryLedger) -> None:
        self.calls: list[str] = []
        self.answers = True
        self.append = ledger.append
        self._ledger = ledger

    def look(self, wait_s: float) -> bool:
        assert 0 < wait_s < 0.1
        self.calls.append("look")
        if self.answers:
            told, self._ledger.on_durable = self._ledger.on_durable, ignore_durable
            self._ledger.pump()
            self._ledger.on_durable = told
        return self.answers

    def leave(self) -> None:
        self.calls.append("leave")


def put(client: Client) -> int:
    return client.send(c.Put(1, [MessageData(body=b"a", persistence=1)]))


def put_durably(owner: ByHand, client: Client) -> None:
    request = put(client)
    owner.turn()
    owner.ledger.pump()
    assert isinstance(client.answer(request), PutDone)


def watched() -> tuple[ByHand, Client, Client, Watched]:
    """Two clients, of which the first has been alone for a while, and the ledger."""
    owner = ByHand()
    clients = owner.connect(), owner.connect()
    clients[0].define()
    for client in clients:
        client.open()
        put(client)  # which opens its session
    owner.held = True
    ledger = Watched(owner.ledger)
    owner.loop.appends._ledger = ledger  # type: ignore[assignment]  # what the loop does with it
    for _ in range(ROUNDS + 1):
        put_durably(owner, clients[0])
    return owner, *clients, ledger


def test_the_owner_looks_for_the_report_of_a_client_that_is_alone() -> None:
    owner, client, _, ledger = watched()
    ledger.calls.clear()
    request = put(client)
    owner.turn()
    assert ledger.calls == ["look"]
    assert isinstance(client.answer(request), PutDone)


def test_with_a_second_client_reports_come_from_the_ledger() -> None:
    owner, client, other, ledger = watched()
    put(client)
    ledger.calls.clear()
    put(other)
    owner.turn()
    assert ledger.calls in ([], ["leave"])
    put_durably(owner, other)
    assert "look" not in ledger.calls


def test_after_a_look_in_vain_reports_come_from_the_ledger() -> None:
    owner, client, _, ledger = watched()
    ledger.calls.clear()
    ledger.answers = False
    for _ in range(5):
        put_durably(owner, client)
    assert ledger.calls == ["look", "leave"]


def test_the_reply_is_sent_in_the_turn_that_looks_and_a_report_of_before_changes_nothing() -> None:
    owner, client, _, _ = watched()
    request = put(client)
    owner.turn()
    assert isinstance(client.answer(request), PutDone)
    n = owner.loop.appends.durable_n
    assert n == owner.loop.appends.appended_n
    owner.loop.durable(n - 1)
    assert owner.loop.appends.durable_n == n
