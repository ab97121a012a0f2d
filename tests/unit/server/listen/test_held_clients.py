"""Clients that came while nothing was served: held, admitted in order, refused in the end."""

import asyncio
import threading
from typing import Any, cast

import pytest

import adapter
from adapter import testing
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Refused
from adapter.runtime.owner.owner import Owner
from adapter.server.listen import held_clients
from adapter.server.listen.clients import ServedClient
from adapter.server.listen.held_clients import AT_ONCE, HeldClients

TAKING_OVER = Refused(Reason.QUEUE_MANAGER_NOT_AVAILABLE, "QM1", "it is taking over; try again")
WAIT_S = 10.0


class FakeClient:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.said: list[Refused] = []

    def goodbye(self, reason: Refused) -> None:
        self.said.append(reason)


class Door:
    """Held clients, and why nothing is served."""

    def __init__(self) -> None:
        self.refused: Refused | None = TAKING_OVER
        self.held = HeldClients(lambda: self.refused)
        self.admitted: list[int] = []

    def come(self, number: int) -> FakeClient:
        client = FakeClient()
        held = self.held.hold(cast("ServedClient", client), lambda: self.admitted.append(number))
        if not held:
            self.admitted.append(number)
        return client

    async def until_none_is_held(self) -> None:
        for _ in range(round(WAIT_S / held_clients.LOOK_S)):
            if not len(self.held):
                return
            await asyncio.sleep(held_clients.LOOK_S)
        raise AssertionError("clients are held for too long")


async def served_later(count: int) -> Door:
    door = Door()
    clients = [door.come(number) for number in range(count)]
    await asyncio.sleep(3 * held_clients.LOOK_S)
    assert door.admitted == []
    door.refused = None
    late = door.come(count)
    assert door.admitted == []  # it is not served before the others
    await door.until_none_is_held()
    assert not any(one.said for one in [*clients, late])
    return door


@pytest.mark.parametrize("count", [1, 3 * AT_ONCE])
def test_they_are_admitted_in_order_when_the_queue_manager_serves(count: int) -> None:
    assert asyncio.run(served_later(count)).admitted == list(range(count + 1))


def test_one_that_comes_while_it_serves_is_not_held() -> None:
    door = Door()
    door.refused = None
    door.come(1)
    assert (door.admitted, len(door.held)) == ([1], 0)


@pytest.mark.parametrize("reason", [Reason.STANDBY_QUEUE_MANAGER, Reason.QUEUE_MANAGER_STOPPING])
def test_who_is_not_to_wait_is_refused_at_once(reason: Reason) -> None:
    door = Door()
    door.refused = Refused(reason, "QM1")
    assert door.come(1).said == [door.refused]
    assert (door.admitted, len(door.held)) == ([], 0)


def test_a_standby_that_has_lost_a_race_sends_them_away() -> None:
    async def lose() -> None:
        door = Door()
        clients = [door.come(number) for number in range(3)]
        door.refused = Refused(Reason.STANDBY_QUEUE_MANAGER, "QM1")
        await door.until_none_is_held()
        assert [one.said for one in clients] == [[door.refused]] * 3
        assert door.admitted == []

    asyncio.run(lose())


def test_they_are_not_held_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    async def wait() -> None:
        monkeypatch.setattr(held_clients, "HOLD_S", 0.1)
        door = Door()
        client = door.come(1)
        await door.until_none_is_held()
        assert (client.said, door.admitted) == ([TAKING_OVER], [])

    asyncio.run(wait())


def test_one_that_has_gone_is_forgotten() -> None:
    async def go() -> None:
        door = Door()
        client = door.come(1)
        door.held.gone(cast("ServedClient", client))
        door.refused = None
        await asyncio.sleep(3 * held_clients.LOOK_S)
        assert door.admitted == []

    asyncio.run(go())


def test_a_client_that_connects_during_a_start_waits_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And it is served at once then, though it makes only this one attempt."""
    may_start, begun = threading.Event(), threading.Event()
    start = Owner.start

    async def slow(owner: Owner, **how: Any) -> None:
        begun.set()
        await asyncio.to_thread(may_start.wait, WAIT_S)
        await start(owner, **how)

    with testing.queue_manager() as manager:
        address = manager.address
        manager.crash()
        monkeypatch.setattr(Owner, "start", slow)
        monkeypatch.setattr(held_clients, "HOLD_S", WAIT_S)
        starting = threading.Thread(target=manager.start)
        starting.start()
        assert begun.wait(WAIT_S)
        names: list[str] = []

        def connect() -> None:
            with adapter.connect(address, connect_timeout_s=WAIT_S) as qm:
                names.append(qm.name)

        program = threading.Thread(target=connect)
        program.start()
        program.join(0.2)
        assert names == []
        may_start.set()
        for one in (starting, program):
            one.join(WAIT_S)
        assert names == ["QM1"]
