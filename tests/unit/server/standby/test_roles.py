"""Owner and standbys of one ledger in memory, each with a listener of its own on this machine."""

import asyncio
import functools
import os
import threading
from pathlib import Path

import pytest
from msgspec import structs

import adapter
from adapter.cli import ending, qmgr
from adapter.cli.main import run as mqk
from adapter.connection.wire import codec
from adapter.connection.wire.frames import Goodbye
from adapter.connection.wire.standby_frames import StandbyChallenge, StandbyHello, StandbyReport
from adapter.core.contract.reasons import Reason
from adapter.runtime.owner.following import StoppedForGood
from adapter.runtime.owner.lifecycle import OwnerState
from adapter.runtime.owner.owner_signs import PING_S, PINGS_MISSED, LinkEvidence
from adapter.server.listen import held_clients
from adapter.server.server import Server
from adapter.server.standby import owner_link, standbys
from tests.support.awaited import until
from tests.support.certificates import Authority
from tests.support.standby_site import HOST, WAIT_S, in_loop, site


@in_loop
async def test_an_owner_knows_its_standbys_and_how_far_they_are() -> None:
    async with site() as at:
        owner = await at.owner()
        standby = await at.standby(priority=3)
        (told,) = owner.roles.standbys.figures()
        assert (told.name, told.address, told.priority) == (
            standby.roles.name,
            standby.address,
            3,
        )
        assert owner.figures().by_name()["role"] == "owner"
        await until(lambda: owner.roles.standbys.figures()[0].lag_records == 0)
        told_by_itself = standby.figures().by_name()
        assert told_by_itself["role"] == "standby"
        assert told_by_itself["follower"]["lag_records"] == 0
        assert owner.address in told_by_itself["follower"]["owner"]


@in_loop
async def test_a_link_needs_no_user_and_goes_by_tls_where_nothing_else_is_reached(
    tmp_path: Path,
) -> None:
    """Its owner admits clients by certificates and passwords only."""
    users = tmp_path / "users"
    users.touch(0o600)
    authority = Authority(tmp_path)
    tls = authority.server(client_ca=str(authority.path))
    async with site() as at:
        owner = at.server(tls=tls, credentials_file=str(users), authorities=True)
        await owner.listen(HOST, 0)
        owner.owner.taking.place = structs.replace(owner.owner.taking.place, address=f"{HOST}:1")
        await owner.owner.start()
        await owner._serve()
        standby = await at.standby()
        assert owner.roles.standbys.figures()[0].name == standby.roles.name
        assert owner.connections.count == 0
        # No client is led to what the owner announced without TLS: nobody has met it there.
        await until(
            lambda: standby.roles.moved_to(with_tls=True) == owner.owner.taking.place.tls_address
        )
        assert standby.roles.moved_to(with_tls=False) == ""


@in_loop
async def test_a_tls_client_is_sent_to_where_a_standby_has_tls() -> None:
    async with site() as at:
        owner = await at.owner()
        standby = await at.standby()
        place = standby.owner.taking.place
        standby.owner.taking.place = structs.replace(place, tls_address="standby:1415")
        await until(lambda: owner.roles.standbys.figures()[0].tls_address == "standby:1415")
        await switch(owner)
        assert owner.connections.moved_to(True) == "standby:1415"
        assert owner.connections.moved_to(False) == standby.address


@in_loop
async def test_a_standby_knows_other_queue_managers_before_it_takes_over() -> None:
    async with site() as at:
        await at.owner()
        standby = await at.standby()
        await until(lambda: "QM1" in standby.directory.queue_managers)
        assert standby.state is OwnerState.FOLLOWING


@in_loop
async def test_an_owner_whose_port_is_closed_is_replaced_at_once() -> None:
    """The ledger would say it after half an hour."""
    async with site() as at:
        owner = await at.owner()
        standby = await at.standby()
        await owner.crash()
        await until(lambda: standby.state is OwnerState.RUNNING)


@in_loop
async def test_an_owner_that_answers_no_ping_and_writes_nothing_is_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with site() as at:
        owner = await at.owner()
        standby = await at.standby()
        owner.roles.standbys.stop()
        monkeypatch.setattr(owner.roles.standbys, "take", lambda *_: None)
        await until(lambda: standby.state is OwnerState.RUNNING)


@in_loop
async def test_an_owner_that_answers_no_ping_and_writes_is_not_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It writes because it misses its standby: a network that lets neither through."""
    async with site() as at:
        owner = await at.owner()
        standby = await at.standby()
        link = standby.roles.link
        assert link is not None

        async def hear_nothing(_reader: object, _buffer: object, timeout_s: float) -> list[object]:
            await asyncio.sleep(timeout_s)
            return []

        monkeypatch.setattr(owner_link, "_receive", hear_nothing)
        monkeypatch.setattr(owner.roles.standbys, "take", lambda *_: None)
        found: list[LinkEvidence] = []
        forgive = link.forgive

        def note() -> None:
            found.append(link.evidence)
            forgive()

        monkeypatch.setattr(link, "forgive", note)
        await until(lambda: LinkEvidence.SILENT in found)
        await until(lambda: link.evidence is LinkEvidence.ALIVE)
        assert owner.state is OwnerState.RUNNING
        assert standby.state is OwnerState.FOLLOWING


@in_loop
async def test_an_owner_that_froze_behind_a_record_that_is_read_late_is_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its last record is read when its pings have gone unanswered: they are counted anew."""
    async with site() as at:
        owner = await at.owner()
        standby = await at.standby()
        link = standby.roles.link
        assert link is not None
        forgiven: list[LinkEvidence] = []
        forgive = link.forgive

        def note() -> None:
            forgiven.append(link.evidence)
            forgive()

        monkeypatch.setattr(link, "forgive", note)
        owner.roles.standbys.stop()
        monkeypatch.setattr(owner.roles.standbys, "take", lambda *_: None)
        while LinkEvidence.SILENT not in forgiven:
            owner.owner.loop.heartbeat()
            await asyncio.sleep(0.05)
        assert standby.state is OwnerState.FOLLOWING
        began_s = asyncio.get_running_loop().time()
        await until(lambda: standby.state is OwnerState.RUNNING)
        took_s = asyncio.get_running_loop().time() - began_s
        assert took_s > PINGS_MISSED * PING_S, "it was given its time"


@in_loop
async def test_of_several_standbys_the_one_of_the_highest_priority_takes_over() -> None:
    async with site() as at:
        owner = await at.owner()
        low, high, other = [await at.standby(priority) for priority in (1, 5, 3)]
        await until(
            lambda: (
                [one.roles.link.ahead if one.roles.link else -1 for one in (high, other, low)]
                == [0, 1, 2]
            )
        )
        await owner.crash()
        await until(lambda: high.state is OwnerState.RUNNING)
        await until(lambda: len(high.roles.standbys.figures()) == 2)
        assert [low.state, other.state] == [OwnerState.FOLLOWING] * 2


def switch(server: Server, to: str = "") -> "asyncio.Future[dict[str, str]]":
    """Ask a server to hand over; what it answers."""
    answer: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()
    server.switch_owner(to, answer.set_result)
    return answer


@in_loop
async def test_a_switch_hands_over_to_the_standby_that_is_named() -> None:
    async with site() as at:
        owner = await at.owner()
        first, second = await at.standby(priority=9), await at.standby()
        assert await switch(owner, second.address) == {
            "name": second.roles.name,
            "address": second.address,
        }
        assert owner.stopping.is_set()
        late = await switch(owner, first.address)
        assert "is being handed over or stopped already" in late["why_not"]
        await owner.stop(quiesce_s=5.0)
        await until(lambda: second.state is OwnerState.RUNNING)
        assert owner.is_next_standby
        await until(lambda: len(second.roles.standbys.figures()) == 1)
        assert first.state is OwnerState.FOLLOWING


@in_loop
async def test_a_switch_right_behind_a_take_over_waits_for_a_standby_to_link(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(standbys, "LINK_S", 2 * WAIT_S)
    async with site() as at:
        first = await at.owner()
        owner = await at.standby()
        await first.crash()
        await until(lambda: owner.state is OwnerState.RUNNING)
        answer = switch(owner)
        standby = await at.standby()
        assert (await answer)["name"] == standby.roles.name


@in_loop
async def test_a_switch_without_a_standby_changes_nothing() -> None:
    async with site() as at:
        owner = await at.owner()
        assert "has no standby: start one with --standby" in (await switch(owner))["why_not"]
        standby = await at.standby()
        told = (await switch(owner, "elsewhere:1414"))["why_not"]
        assert "has no standby elsewhere:1414" in told
        assert standby.roles.name in told
        assert owner.state is OwnerState.RUNNING
        assert not owner.stopping.is_set()


@in_loop
async def test_a_standby_that_is_lost_while_it_gets_ready_is_told_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with site() as at:
        owner, standby = await at.owner(), await at.standby()
        begun = asyncio.Event()

        async def prepare() -> None:
            begun.set()
            await asyncio.Event().wait()

        monkeypatch.setattr(standby.owner.taking, "prepare", prepare)
        answer = switch(owner)
        await begun.wait()
        standby.roles.stop()
        told = (await answer)["why_not"]
        assert f"standby {standby.roles.name} was lost before it got ready" in told
        assert not owner.stopping.is_set()


@in_loop
async def test_an_owner_that_is_told_to_stop_does_not_say_that_it_has_handed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The stop comes while the standby gets ready, and its first steps take a while."""
    async with site() as at:
        owner, standby = await at.owner(), await at.standby()
        begun, may_end = asyncio.Event(), asyncio.Event()

        async def prepare() -> None:
            begun.set()
            await may_end.wait()

        monkeypatch.setattr(standby.owner.taking, "prepare", prepare)
        answer = switch(owner)
        await begun.wait()
        owner.tell_to_stop(for_good=True)
        may_end.set()
        assert "was told to stop meanwhile" in (await answer)["why_not"]
        assert "is being handed over or stopped already" in (await switch(owner))["why_not"]
        assert owner.roles.successor is None
        await owner.stop()
        with pytest.raises(StoppedForGood):
            await asyncio.wait_for(at.tasks.pop(), WAIT_S)


@in_loop
async def test_a_standby_that_does_not_come_is_waited_for_and_then_replaced() -> None:
    """The one that was named dies at that moment; the other one waits for it first."""
    async with site() as at:
        owner = await at.owner()
        other, named = await at.standby(), await at.standby()
        await switch(owner, named.address)
        named.owner.standby.give_up()
        assert not await asyncio.wait_for(at.tasks[1], WAIT_S)
        named.roles.stop()
        await owner.stop()
        assert other.state is OwnerState.FOLLOWING
        await until(lambda: other.state is OwnerState.RUNNING)


@in_loop
async def test_clients_are_told_where_the_queue_manager_moves() -> None:
    async with site() as at:
        owner = await at.owner()
        standby = await at.standby()
        reader, writer = await asyncio.open_connection(*owner.bound)
        await switch(owner)
        stopping = asyncio.create_task(owner.stop())
        data = await asyncio.wait_for(reader.read(), WAIT_S)
        (payload,) = codec.FrameBuffer().feed(data)
        goodbye = codec.decode_server_frame(payload)
        assert isinstance(goodbye, Goodbye)
        assert goodbye.moved_to == standby.address
        writer.close()
        await stopping


@in_loop
async def test_a_client_that_comes_before_the_link_is_there_waits_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else a program that knows a standby alone would be refused in its first moments."""
    may_dial, dial = asyncio.Event(), owner_link.OwnerAddress.dial

    async def dial_late(where: owner_link.OwnerAddress) -> owner_link.Streams:
        await may_dial.wait()
        return await dial(where)

    monkeypatch.setattr(owner_link.OwnerAddress, "dial", dial_late)
    monkeypatch.setattr(held_clients, "HOLD_S", WAIT_S)
    async with site() as at:
        owner = await at.owner()
        coming = asyncio.create_task(at.standby())
        await until(lambda: len(at.servers) > 1 and bool(at.servers[1].roles.link))
        standby = at.servers[1]
        await until(lambda: standby.roles.link is not None and standby.roles.link.is_new)
        connecting = asyncio.create_task(asyncio.to_thread(adapter.connect, standby.address))
        await until(lambda: len(standby.connections.held) == 1)
        may_dial.set()
        await coming
        qm = await connecting
        assert qm.statistics()["address"] == owner.address
        await asyncio.to_thread(qm.close)


@in_loop
async def test_a_standby_reports_that_it_stands_by_once_its_owner_can_switch_to_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else a switch right behind its start would be refused, as if there were no standby."""
    may_dial, dial = asyncio.Event(), owner_link.OwnerAddress.dial

    async def dial_late(where: owner_link.OwnerAddress) -> owner_link.Streams:
        await may_dial.wait()
        return await dial(where)

    monkeypatch.setattr(owner_link.OwnerAddress, "dial", dial_late)
    async with site() as at:
        owner = await at.owner()
        coming = asyncio.create_task(at.standby())
        await until(lambda: len(at.servers) > 1 and at.servers[1].roles.link is not None)
        link = at.servers[1].roles.link
        assert link is not None
        await until(lambda: link.is_new)
        await until(lambda: at.servers[1].roles.figures().role == "standby")
        assert at.stand_by == []
        may_dial.set()
        standby = await coming
        assert (await switch(owner))["name"] == standby.roles.name


@in_loop
async def test_a_standby_stands_by_though_its_owner_says_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It follows the ledger. If it has taken over meanwhile it reports that, and nothing else."""
    monkeypatch.setattr(owner_link, "KNOWN_S", 0.05)
    async with site() as at:
        owner = await at.owner()
        monkeypatch.setattr(owner.roles.standbys, "_report", lambda *_: None)
        standby = await at.standby()
        assert owner.roles.standbys.figures() == []
        assert at.stand_by == [standby.roles.name]
        is_known = asyncio.Event()
        monkeypatch.setattr(standby.roles.link, "await_known", is_known.wait)
        standby.roles.when_linked(functools.partial(at.stand_by.append, "late"))
        await owner.crash()
        await until(lambda: standby.state is OwnerState.RUNNING)
        is_known.set()
        assert standby.roles._reporting is not None
        await asyncio.wait({standby.roles._reporting}, timeout=WAIT_S)
        assert at.stand_by == [standby.roles.name]


@in_loop
async def test_a_standby_sends_clients_to_the_owner_that_answers_it() -> None:
    async with site() as at:
        owner = await at.owner()
        standby = await at.standby()
        assert standby.roles.moved_to(with_tls=False) == owner.address
        assert standby.roles.moved_to(with_tls=True) == ""
        assert owner.roles.moved_to(with_tls=False) == ""
        await owner.crash()
        await until(lambda: standby.state is OwnerState.RUNNING)
        assert standby.roles.moved_to(with_tls=False) == ""


@in_loop
async def test_a_standby_that_is_about_to_take_over_does_not_send_clients_away() -> None:
    """They are told to try again, and not to try elsewhere."""
    async with site() as at:
        owner = await at.owner()
        standby = await at.standby()
        refused = standby.connections._why_unserved()
        assert refused is not None
        assert refused.reason is Reason.STANDBY_QUEUE_MANAGER
        assert f"(process {os.getpid()} on " in refused.detail
        assert f"at {owner.address}" in refused.detail
        await switch(owner)
        refused = standby.connections._why_unserved()
        assert refused is not None
        assert refused.reason is Reason.QUEUE_MANAGER_NOT_AVAILABLE
        assert standby.roles.moved_to(with_tls=False) == ""


BODIES = 3
"""Of a unit."""
SMALL, LARGE = b"+", b"+" * 100_000


class Putter(threading.Thread):
    """Puts numbers, one unit each, wherever the queue manager is. kind: how it puts them."""

    def __init__(self, addresses: str, queue: str, kind: str, qm: adapter.Connection) -> None:
        super().__init__(name=queue)
        self.qm = qm
        self.queue = queue
        self.kind = kind
        self.qm.define_queue(queue)
        self.kept = self.qm.queue(queue)
        self.put = 0
        self.ends = threading.Event()
        self.problem = ""

    @property
    def more(self) -> bytes:
        """What goes behind each number."""
        return LARGE if self.kind == "large" else SMALL

    def run(self) -> None:
        try:
            while not self.ends.is_set():
                self.put_unit()
                self.put += 1
        except adapter.Error as error:
            self.problem = f"{self.kind}: {error}"

    def put_unit(self) -> None:
        """Put some messages, and commit."""
        bodies = [b"%d" % self.put, *[self.more] * (BODIES - 1)]
        if self.kind == "by a queue":  # whose handle is closed before the commit
            with self.qm.unit(), self.qm.queue(self.queue) as queue:
                for body in bodies:
                    queue.put(body, wait=False)
            return
        waits = {"waits": range(BODIES), "mixed": [1]}.get(self.kind, [])
        with self.qm.unit():
            for at, body in enumerate(bodies):
                self.kept.put(body, wait=at in waits)

    def end(self) -> list[bytes]:
        """Stop, and return what is on the queue."""
        self.ends.set()
        self.join(WAIT_S)
        with self.kept:
            return [message.body for message in self.kept.browse()]


@pytest.mark.parametrize("is_shared", [False, True], ids=["own connections", "one connection"])
@in_loop
async def test_no_unit_fails_at_a_switch(is_shared: bool) -> None:
    """Each client is let go between two of its units, however it puts."""
    async with site() as at:
        owner = await at.owner()
        standby = await at.standby()
        run = asyncio.get_running_loop().run_in_executor
        addresses = f"{standby.address},{owner.address}"
        connect = functools.partial(adapter.connect, addresses, reconnect_timeout_s=WAIT_S)
        kinds = ("waits", "does not wait", "large", "mixed", "by a queue", "does not wait")
        programs: list[Putter] = []
        for number, kind in enumerate(kinds):
            qm = programs[0].qm if is_shared and programs else await run(None, connect)
            programs.append(await run(None, Putter, addresses, f"Q{number}", kind, qm))
        for one in programs:
            one.start()
        await until(lambda: all(one.put > 20 or one.problem for one in programs))
        await switch(owner)
        await owner.stop(quiesce_s=WAIT_S)
        put = [one.put for one in programs]
        await until(
            lambda: all(
                one.put > before + 20 or one.problem
                for one, before in zip(programs, put, strict=True)
            )
        )
        assert [one.problem for one in programs] == [""] * len(kinds)
        assert standby.state is OwnerState.RUNNING
        for one in programs:
            found = await run(None, one.end)
            units = [[b"%d" % n, *[one.more] * (BODIES - 1)] for n in range(one.put)]
            assert found == [body for unit in units for body in unit]
        for qm in {id(one.qm): one.qm for one in programs}.values():
            await run(None, qm.close)


@in_loop
async def test_who_does_not_read_the_ledger_is_no_standby() -> None:
    async with site() as at:
        owner = await at.owner()
        reader, writer = await asyncio.open_connection(*owner.bound)
        nonce = os.urandom(16)
        writer.write(codec.encode(StandbyHello(version=1, queue_manager="QM1", nonce=nonce)))
        data = await asyncio.wait_for(reader.read(1024), WAIT_S)
        (payload,) = codec.FrameBuffer().feed(data)
        challenge = codec.decode_owner_frame(payload)
        assert isinstance(challenge, StandbyChallenge)
        report = StandbyReport(name="x:1", address="x:1", proof=challenge.proof)
        writer.write(codec.encode(report))
        (payload,) = codec.FrameBuffer().feed(await asyncio.wait_for(reader.read(), WAIT_S))
        goodbye = codec.decode_owner_frame(payload)
        assert isinstance(goodbye, Goodbye)
        assert goodbye.reason.reason == Reason.NOT_AUTHORIZED
        assert owner.roles.standbys.figures() == []
        writer.close()


@pytest.mark.parametrize("where", ["{standby}", "{standby},{owner}", "{owner}"])
@in_loop
async def test_a_hand_over_by_a_command_ends_with_the_owner_whatever_address_it_was_given(
    where: str,
) -> None:
    """Of a queue manager on another machine it sees ports alone; the standby's stays open."""
    looked: list[str] = []

    def serves(address: str) -> bool:
        looked.append(address)
        return address != owner.address or len(looked) == 1

    async with site() as at:
        owner, standby = await at.owner(), await at.standby()
        address = where.format(owner=owner.address, standby=standby.address)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(qmgr, "STOP_TIMEOUT_S", WAIT_S / 2)
            patch.setattr(ending, "serves", serves)
            command = ["qmgr", "stop", "QM1", "--hand-over", "--qmgr", address]
            assert await asyncio.to_thread(mqk, command) == 0
        assert looked == [owner.address] * 2
        await owner.run()
        await owner.stop()
        await until(lambda: standby.role == "owner")
