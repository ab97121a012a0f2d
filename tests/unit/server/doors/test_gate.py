"""A gate does for each door what no door decides: here a door of the test's own, without frames."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Self
from unittest.mock import Mock

import pytest

from adapter.core.contract import commands as c
from adapter.core.contract.authorities import CONNECT, QUEUE_MANAGER
from adapter.core.contract.authority_commands import SetAuthority
from adapter.core.contract.parties import ORIGIN_LENGTH_MAX, Principal, Proof
from adapter.core.contract.reasons import Reason
from adapter.core.contract.replies import Reply
from adapter.core.contract.results import Done, Refused
from adapter.core.contract.traits import TRAITS, is_durable
from adapter.host import addresses
from adapter.runtime.owner.clock import SystemClock
from adapter.server.access.claim import Claim
from adapter.server.process.figures import ServerFigures
from adapter.server.server import Server
from adapter.server.services.kafka_wiring import KafkaSettings
from adapter.server.services.movers import NoMovers
from adapter.server.settings import ServerSettings
from adapter.storage.ledger.memory import MemoryLedger, MemoryLog

OPERATOR = Principal("root", Proof.OPERATOR)
OF_ANOTHER_MACHINE = addresses.Peer("192.0.2.7:4000", "192.0.2.7")


class Door(Mock):
    """One client; what is said to it is kept."""

    @classmethod
    def opened(cls, server: Server, principal: Principal | None = None) -> Self:
        said: asyncio.Queue[list[Reply] | Refused] = asyncio.Queue()
        number = server.connections.next_number()
        door = cls(number=number, peer=addresses.HERE, principal=principal, party=None, said=said)
        door.reply = door.goodbye = said.put_nowait
        door.numbered = 0
        server.connections.begin(door)
        return door


@asynccontextmanager
async def serving(**settings: Any) -> AsyncIterator[Server]:
    kept = ServerSettings(
        queue_manager="QM1", kafka=KafkaSettings(bootstrap_servers=""), **settings
    )
    server = Server(kept, MemoryLedger(MemoryLog("QM1 in memory")), SystemClock(), NoMovers())
    await server.start("127.0.0.1", 0)
    try:
        yield server
    finally:
        await server.crash()


async def admitted(server: Server, principal: Principal | None = OPERATOR, user: str = "") -> Door:
    door = Door.opened(server, principal)
    is_in = asyncio.Event()
    server.gate.admit(door, Claim(user=user, application="a test"), is_in.set)
    await asyncio.wait_for(is_in.wait(), 10)
    return door


async def asked(server: Server, door: Door, command: c.Command) -> object:
    number = 0
    if is_durable(command):
        door.numbered = number = door.numbered + 1
    request = c.Request(door.number, 1, number, command)
    server.gate.request(door, request, TRAITS[type(command)])
    replies = await asyncio.wait_for(door.said.get(), 10)
    assert isinstance(replies, list)
    return replies[0].result


async def test_a_command_of_an_admitted_client_is_executed() -> None:
    async with serving() as server:
        door = await admitted(server, None, "ada")
        assert door.party is not None
        assert (door.party.user, door.party.application) == ("ada", "a test")
        assert isinstance(await asked(server, door, c.SessionOpen(b"s" * 16)), Done)


@pytest.mark.parametrize(
    ("claim", "peer"),
    [
        (Claim(user="a" * (ORIGIN_LENGTH_MAX + 1)), addresses.HERE),
        (Claim(user="ada"), OF_ANOTHER_MACHINE),
        (Claim(user="ada", token="t"), addresses.HERE),
    ],
)
async def test_a_claim_that_is_not_proven_is_refused(claim: Claim, peer: addresses.Peer) -> None:
    async with serving() as server:
        door = Door.opened(server)
        door.peer = peer
        server.gate.admit(door, claim, lambda: pytest.fail("it is admitted"))
        refused = await asyncio.wait_for(door.said.get(), 10)
        assert isinstance(refused, Refused)
        assert refused.reason is Reason.NOT_AUTHORIZED
        assert door.party is None


ASKED: dict[str, Callable[[Server, Door, list[Any]], object]] = {
    "figures": lambda server, door, _: server.gate.figures(door, "AskServer"),
    "stop": lambda server, door, said: server.gate.stop(
        door, "Stop", lambda: said.append("accepted"), immediate=False, hand_over=False
    ),
    "switch": lambda server, door, said: server.gate.switch(
        door, "SwitchOwner", "127.0.0.1:1", said.append
    ),
}


@pytest.mark.parametrize("what", ASKED)
async def test_what_is_asked_of_the_server_needs_an_authority(what: str) -> None:
    async with serving(authorities=True) as server:
        operator = await admitted(server)
        assert isinstance(await asked(server, operator, c.SessionOpen(b"s" * 16)), Done)
        grant = SetAuthority("", QUEUE_MANAGER, ["ada"], add=CONNECT)
        assert isinstance(await asked(server, operator, grant), Done)
        other = await admitted(server, Principal("ada", Proof.PASSWORD))
        said: list[Any] = []
        refused = ASKED[what](server, other, said)
        assert isinstance(refused, Refused)
        assert (refused.reason, said) == (Reason.AUTHORITY_MISSING, [])
        assert not server.stopping.is_set()


async def test_a_stop_is_accepted_before_it_begins() -> None:
    async with serving() as server:
        door = await admitted(server)
        before: list[bool] = []
        refused = server.gate.stop(
            door,
            "Stop",
            lambda: before.append(server.stopping.is_set()),
            immediate=True,
            hand_over=False,
        )
        assert (refused, before, server.stopping.is_set()) == (None, [False], True)


async def test_figures_are_for_who_may_display() -> None:
    async with serving() as server:
        door = await admitted(server)
        assert isinstance(server.gate.figures(door, "AskServer"), ServerFigures)
