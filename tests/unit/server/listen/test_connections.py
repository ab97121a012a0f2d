"""Who is connected: known to the owner once admitted, and not before."""

from collections.abc import Callable
from typing import Any, cast

import pytest

from adapter import testing
from adapter.core.contract.parties import Party, Principal
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Refused
from adapter.runtime.owner.owner import Owner
from adapter.server.access.audit import AuditTrail
from adapter.server.listen.clients import ServedClient
from adapter.server.listen.connections import ClientConnections
from tests.support.raw_client import RawClient

ADA = Principal("ada")


def test_a_peer_that_has_said_nothing_is_not_connected() -> None:
    with (
        testing.queue_manager() as manager,
        RawClient(manager.address) as silent,
        manager.connect() as qm,
    ):
        assert len(qm.connections()) == 1
        assert manager.statistics()["connections"] == 1
        silent.hello()
        assert len(qm.connections()) == 2
        assert manager.statistics()["connections"] == 2


def test_a_peer_that_has_said_nothing_does_not_delay_a_stop() -> None:
    with testing.queue_manager() as manager, RawClient(manager.address) as silent:
        manager.stop(quiesce_s=60.0)
        assert silent.goodbye().reason is Reason.QUEUE_MANAGER_STOPPING


class FakeOwner:
    """Notes who is connected."""

    def __init__(self) -> None:
        self.running = True
        self.stopping = self.quiescing = False
        self.known: dict[int, Party] = {}

    @property
    def term(self) -> "FakeOwner":
        return self

    def connect(self, connection: int, party: Party) -> None:
        self.known[connection] = party

    def disconnect(self, connection: int) -> None:
        del self.known[connection]


class FakeClient:
    """As far as ClientConnections knows one."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.party: Party | None = None
        self.said: list[Refused] = []

    def goodbye(self, reason: Refused) -> None:
        self.said.append(reason)


@pytest.fixture
def owner() -> FakeOwner:
    return FakeOwner()


@pytest.fixture
def connections(owner: FakeOwner) -> ClientConnections:
    made = ClientConnections("QM1", AuditTrail(), lambda: "it is taking over")
    made.serve(cast("Owner", owner))
    return made


def client(number: int) -> Any:
    return cast("ServedClient", FakeClient(number))


def test_an_admitted_client_is_known_to_the_owner_until_it_has_gone(
    connections: ClientConnections, owner: FakeOwner
) -> None:
    one = client(connections.next_number())
    assert connections.begin(one) is None
    assert (connections.count, owner.known) == (0, {})
    assert connections.admit(one, Party("app", ADA)) is None
    assert (connections.count, owner.known) == (1, {1: Party("app", ADA)})
    assert one.party == Party("app", ADA)
    connections.gone(one)
    assert (connections.count, owner.known) == (0, {})
    assert not connections.is_open(one)


STATES: dict[Reason, Callable[[FakeOwner], None]] = {
    Reason.QUEUE_MANAGER_STOPPING: lambda owner: setattr(owner, "stopping", True),
    Reason.QUEUE_MANAGER_QUIESCING: lambda owner: setattr(owner, "quiescing", True),
    Reason.QUEUE_MANAGER_NOT_AVAILABLE: lambda owner: setattr(owner, "running", False),
}


@pytest.mark.parametrize("reason", STATES)
def test_a_client_is_refused_that_was_admitted_too_late(
    connections: ClientConnections, owner: FakeOwner, reason: Reason
) -> None:
    """A password takes a while to check: the queue manager may have begun to stop."""
    one = client(1)
    assert connections.begin(one) is None
    STATES[reason](owner)
    refused = connections.admit(one, Party())
    assert refused is not None
    assert refused.reason is reason
    assert (connections.count, owner.known) == (0, {})
    connections.gone(one)  # and the owner is not told of what it did not know


def test_an_end_reaches_clients_that_are_not_admitted_yet(connections: ClientConnections) -> None:
    admitted, silent = client(1), client(2)
    for one in (admitted, silent):
        assert connections.begin(one) is None
    connections.admit(admitted, Party())
    why = Refused(Reason.QUEUE_MANAGER_STOPPING, "QM1")
    connections.close_all(why)
    assert admitted.said == silent.said == [why]


def test_where_there_are_too_many_who_says_nothing_goes(connections: ClientConnections) -> None:
    connections.connections_max = 2
    first, second, third, fourth = map(client, range(1, 5))
    for one in (first, second):
        assert connections.begin(one) is None
    connections.greeted(first)
    assert connections.begin(third) is None
    assert [why.reason for why in second.said] == [Reason.LIMIT_REACHED]
    assert not connections.is_open(second)
    connections.gone(second)
    connections.greeted(third)
    refused = connections.begin(fourth)
    assert refused is not None
    assert refused.reason is Reason.LIMIT_REACHED
    assert first.said == third.said == []
