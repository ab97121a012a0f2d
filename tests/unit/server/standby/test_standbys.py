"""The owner's side of the links of its standbys: who counts, goes first, is ready, is lost."""

import asyncio
from collections.abc import Callable

from msgspec.structs import replace

from adapter.connection.wire import codec
from adapter.connection.wire.standby_frames import (
    NONCE_BYTES,
    StandbyChallenge,
    StandbyHello,
    StandbyOrder,
    StandbyReport,
)
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Refused
from adapter.server.standby.link_proof import OWNER, STANDBY, link_proof, proves
from adapter.server.standby.standbys import (
    BEAT_S,
    BEATS,
    LINK_S,
    LOST_S,
    PREPARE_S,
    READY_LAG_S,
    LinkedStandby,
    Standbys,
)
from tests.support.virtual_time import in_virtual_time

KEY = b"k" * 32
OF_STANDBY = b"s" * NONCE_BYTES
MOMENT_S = 0.01


class Standby:
    """A standby, seen from the owner: the end of its link, and what it reports."""

    def __init__(self, owner: "Owner", number: int, priority: int = 0) -> None:
        self.number = number
        self.report = StandbyReport(
            name=f"host{number}:{4000 + number}",
            address=f"10.0.0.{number}:1414",
            tls_address=f"tls{number}:1415",
            priority=priority,
            next_offset=owner.end_offset,
        )
        self.challenges: list[StandbyChallenge] = []
        self.orders: list[StandbyOrder] = []
        self.admitted = 0
        self.ended: list[Refused] = []
        self._owner = owner

    # StandbyEnd.

    def write(self, frame: bytes | bytearray) -> None:
        (payload,) = codec.FrameBuffer().feed(bytes(frame))
        said = codec.decode_owner_frame(payload)
        if isinstance(said, StandbyChallenge):
            self.challenges.append(said)
        else:
            assert isinstance(said, StandbyOrder)
            self.orders.append(said)

    def let_in(self) -> None:
        self.admitted += 1

    def goodbye(self, reason: Refused) -> None:
        self.ended.append(reason)

    # What it does.

    def hello(self) -> StandbyChallenge:
        frame = StandbyHello(version=1, queue_manager="QM1", nonce=OF_STANDBY)
        self._owner.standbys.take(self, frame)
        return self.challenges[-1]

    def proof(self, key: bytes = KEY, role: bytes = STANDBY) -> bytes:
        return link_proof(key, role, OF_STANDBY, self.challenges[-1].nonce)

    def tell(self, proof: bytes = b"", **changed: object) -> None:
        self.report = replace(self.report, **changed)
        self._owner.standbys.take(self, replace(self.report, proof=proof))

    def link(self, **changed: object) -> "Standby":
        self.hello()
        self.tell(self.proof(), **changed)
        assert self.admitted == 1
        return self


class Owner:
    """An owner whose ledger has so many records."""

    def __init__(self, key: bytes = KEY) -> None:
        self.end_offset = 100
        self.beats: list[float] = []
        self.broke: list[str] = []
        loop = asyncio.get_running_loop()
        self.standbys = Standbys(
            "QM1",
            lambda: key,
            lambda: self.end_offset,
            lambda: self.beats.append(loop.time()),
            self.broke.append,
            loop.time,
        )

    def names(self) -> list[str]:
        return [one.name for one in self.standbys.figures()]


# Proofs.


@in_virtual_time
async def test_the_owner_proves_itself_and_counts_a_standby_that_does() -> None:
    owner = Owner()
    standby = Standby(owner, 1)
    challenge = standby.hello()
    assert proves(challenge.proof, KEY, OWNER, OF_STANDBY, challenge.nonce)
    assert (owner.names(), standby.admitted) == ([], 0)
    standby.tell(standby.proof())
    assert (owner.names(), standby.admitted) == ([standby.report.name], 1)
    standby.tell()
    assert (standby.admitted, len(standby.orders), standby.ended) == (1, 2, [])


@in_virtual_time
async def test_each_link_has_a_nonce_of_its_own() -> None:
    owner = Owner()
    assert Standby(owner, 1).hello().nonce != Standby(owner, 2).hello().nonce


@in_virtual_time
async def test_a_standby_that_proves_nothing_is_refused_and_not_heard_again() -> None:
    owner = Owner()
    other = Standby(owner, 1)
    other.hello()
    wrong: tuple[Callable[[Standby], bytes], ...] = (
        lambda one: b"",
        lambda one: one.proof(b"another key".ljust(32)),
        lambda one: one.proof(role=OWNER),  # the owner's own proof, sent back
        lambda one: one.challenges[-1].proof,
        lambda one: other.proof(),  # of another connection
    )
    for number, proof in enumerate(wrong, 2):
        standby = Standby(owner, number)
        standby.hello()
        standby.tell(proof(standby))
        assert [one.reason for one in standby.ended] == [Reason.NOT_AUTHORIZED]
        standby.tell(standby.proof())
        assert (standby.admitted, standby.orders, len(standby.ended)) == (0, [], 1)
    assert owner.names() == []
    await asyncio.sleep(2 * LOST_S)
    assert owner.beats == [], "no standby was lost"


@in_virtual_time
async def test_an_owner_without_a_key_has_no_standbys() -> None:
    owner = Owner(key=b"")
    standby = Standby(owner, 1)
    assert standby.hello().proof == b""
    standby.tell(standby.proof())
    assert (standby.admitted, len(standby.ended)) == (0, 1)


@in_virtual_time
async def test_a_report_without_a_hello_is_none() -> None:
    owner = Owner()
    standby = Standby(owner, 1)
    standby.tell(b"proof")
    assert (owner.names(), standby.orders, standby.ended) == ([], [], [])


# Order.


@in_virtual_time
async def test_the_highest_priority_goes_first_then_the_one_that_came_first() -> None:
    owner = Owner()
    ranked = [Standby(owner, number, priority) for number, priority in enumerate((3, 9, 3, 0), 1)]
    Standby(owner, 5, priority=9).hello()  # has not proven itself
    for standby in ranked:
        standby.link()
    for standby in ranked:
        standby.tell()
    low, high = ranked[3], ranked[1]
    assert [one.orders[-1].ahead for one in ranked] == [1, 0, 2, 3]
    assert owner.names() == [one.report.name for one in (high, ranked[0], ranked[2], low)]
    low.tell(priority=9)
    assert low.orders[-1].ahead == 1
    owner.standbys.gone(high)
    low.tell()
    assert low.orders[-1].ahead == 0


@in_virtual_time
async def test_an_order_says_where_the_ledger_ends_and_who_is_to_get_ready() -> None:
    owner = Owner()
    standby = Standby(owner, 1).link()
    owner.end_offset = 107
    standby.tell()
    assert (standby.orders[-1].end_offset, standby.orders[-1].prepare) == (107, False)


@in_virtual_time
async def test_what_is_known_of_a_standby() -> None:
    owner = Owner()
    standby = Standby(owner, 1, priority=4).link(next_offset=97)
    (known,) = owner.standbys.figures()
    assert (known.address, known.tls_address) == ("10.0.0.1:1414", "tls1:1415")
    assert (known.priority, known.lag_records, known.lag_s) == (4, 3, 0.0)
    standby.tell(next_offset=103)  # it has read what the owner does not know to be durable yet
    (known,) = owner.standbys.figures()
    assert known.lag_records == 0


# Lag.


@in_virtual_time
async def test_a_standby_that_has_caught_up_exactly_is_not_late_on_a_quiet_queue_manager() -> None:
    owner = Owner()
    standby = Standby(owner, 1).link()
    for _ in range(10):
        await asyncio.sleep(BEAT_S)
        standby.tell()
    assert [one.lag_s for one in owner.standbys.figures()] == [0.0]


@in_virtual_time
async def test_lag_is_the_time_for_which_what_was_durable_then_is_not_applied() -> None:
    owner = Owner()
    standby = Standby(owner, 1).link()
    lags = []
    for applied in (100, 100, 102, 103, 105, 200):
        owner.end_offset += 2
        await asyncio.sleep(BEAT_S)
        standby.tell(next_offset=applied)
        lags.append(round(owner.standbys.figures()[0].lag_s / BEAT_S))
    # Behind 102 from the first report on; there at the third, and from then on behind 106.
    assert lags == [0, 1, 0, 1, 2, 0]


# Readiness.


async def soon() -> None:
    """Let others run, and a moment pass."""
    await asyncio.sleep(MOMENT_S)


def preparing(owner: Owner, to: str = "") -> "asyncio.Task[LinkedStandby | str]":
    return asyncio.get_running_loop().create_task(owner.standbys.prepare(to))


def name(answer: LinkedStandby | str) -> str:
    """The name of the standby that is ready."""
    assert isinstance(answer, LinkedStandby), answer
    assert answer.report is not None
    return answer.report.name


@in_virtual_time
async def test_a_standby_is_ready_when_it_has_got_ready_and_is_not_late() -> None:
    owner = Owner()
    standby = Standby(owner, 1).link()
    ready = preparing(owner)
    await soon()
    assert standby.orders[-1].prepare
    owner.end_offset = 110
    standby.tell(next_offset=100)
    standby.tell(next_offset=100)  # behind 110 from now on
    await asyncio.sleep(READY_LAG_S)
    standby.tell(is_prepared=True)
    await soon()
    await soon()
    assert not ready.done(), "clients would wait for what it has not applied"
    standby.tell(next_offset=110)
    link = await ready
    assert isinstance(link, LinkedStandby)
    assert name(link) == standby.report.name
    assert (link.addresses(with_tls=False), link.addresses(with_tls=True)) == (
        "10.0.0.1:1414",
        "tls1:1415",
    )


@in_virtual_time
async def test_a_standby_that_is_a_little_late_is_ready() -> None:
    owner = Owner()
    standby = Standby(owner, 1).link()
    owner.end_offset = 110
    standby.tell()
    standby.tell()
    await asyncio.sleep(READY_LAG_S - MOMENT_S)
    standby.tell(is_prepared=True)
    assert isinstance(await preparing(owner), LinkedStandby)


@in_virtual_time
async def test_a_standby_that_has_not_got_ready_is_given_so_much_time() -> None:
    owner = Owner()
    standby = Standby(owner, 1).link()
    answer = preparing(owner)
    for _ in range(round(PREPARE_S / BEAT_S) - 1):
        await asyncio.sleep(BEAT_S)
        standby.tell()
        assert standby.orders[-1].prepare
    assert not answer.done()
    why_not = await answer
    assert isinstance(why_not, str)
    assert "host1:4001 did not get ready within 5 s" in why_not
    standby.tell()
    assert not standby.orders[-1].prepare, "it need not stay ready"


@in_virtual_time
async def test_a_standby_that_is_lost_before_it_is_ready_is_named() -> None:
    owner = Owner()
    standby = Standby(owner, 1).link()
    answer = preparing(owner)
    await soon()
    owner.standbys.gone(standby)
    assert "host1:4001 was lost before it got ready" in str(await answer)


@in_virtual_time
async def test_the_one_that_goes_first_is_chosen_and_any_by_its_name_address_or_host() -> None:
    owner = Owner()
    standbys = [Standby(owner, number, number).link(is_prepared=True) for number in (1, 2, 3)]
    for to, number in [
        ("", 3),
        ("host1:4001", 1),
        ("10.0.0.2:1414", 2),
        ("tls2:1415", 2),
        ("host1", 1),
    ]:
        assert name(await preparing(owner, to)) == standbys[number - 1].report.name, to
    for to in ("host4", "host", "10.0.0.1", "1414", ":1414"):
        why_not = await preparing(owner, to)
        assert f"no standby {to}: its standbys are host3:4003, host2:4002, host1:" in str(why_not)


@in_virtual_time
async def test_a_standby_without_an_address_is_not_the_one_that_was_not_named() -> None:
    owner = Owner()
    Standby(owner, 1).link(is_prepared=True, address="", tls_address="")
    high = Standby(owner, 2, 9).link(is_prepared=True)
    assert name(await preparing(owner)) == high.report.name


@in_virtual_time
async def test_without_a_standby_the_answer_comes_at_once() -> None:
    owner = Owner()
    Standby(owner, 1).hello()
    now_s = asyncio.get_running_loop().time()
    assert "has no standby: start one with --standby" in str(await preparing(owner))
    assert asyncio.get_running_loop().time() - now_s < MOMENT_S


@in_virtual_time
async def test_right_behind_a_take_over_a_standby_may_be_about_to_link() -> None:
    owner = Owner()
    owner.standbys.note_take_over()
    await asyncio.sleep(LINK_S / 2)
    late, in_time = preparing(owner, "host9"), preparing(owner)
    await asyncio.sleep(LINK_S / 2 - BEAT_S)
    standby = Standby(owner, 1).link(is_prepared=True)
    assert name(await in_time) == standby.report.name
    assert not late.done()
    await asyncio.sleep(BEAT_S + 3 * MOMENT_S)
    assert late.done()
    assert "has no standby host9" in str(await late)


# Losses.


@in_virtual_time
async def test_an_owner_that_loses_a_standby_writes_to_its_ledger_for_a_while() -> None:
    """A standby that does not reach it sees so that it lives."""
    owner = Owner()
    standby, other = Standby(owner, 1).link(), Standby(owner, 2).link()
    await asyncio.sleep(BEAT_S / 2)
    owner.standbys.gone(standby)
    assert owner.names() == [other.report.name]
    for _ in range(2 * BEATS):
        other.tell()
        await asyncio.sleep(BEAT_S)
    assert len(owner.beats) == BEATS
    gaps = [after - before for before, after in zip(owner.beats, owner.beats[1:], strict=False)]
    assert all(abs(gap - BEAT_S) < MOMENT_S for gap in gaps)
    assert owner.broke == []


@in_virtual_time
async def test_the_last_standby_that_is_lost_causes_writes_too() -> None:
    owner = Owner()
    standby = Standby(owner, 1).link()
    owner.standbys.gone(standby)
    owner.standbys.gone(standby)
    await asyncio.sleep(3 * BEATS * BEAT_S)
    assert len(owner.beats) == BEATS
    owner.standbys.gone(standby)
    Standby(owner, 2).hello()
    owner.standbys.gone(Standby(owner, 2))
    await asyncio.sleep(3 * BEATS * BEAT_S)
    assert len(owner.beats) == BEATS, "what was not linked is not lost"
    assert owner.standbys._timer is None, "there is nothing to look at"


@in_virtual_time
async def test_a_standby_is_lost_again_after_all_was_quiet() -> None:
    owner = Owner()
    owner.standbys.gone(Standby(owner, 1).link())
    await asyncio.sleep(3 * BEATS * BEAT_S)
    owner.beats.clear()
    standby = Standby(owner, 2)
    standby.hello()
    standby.tell(standby.proof())
    assert owner.beats == []
    await asyncio.sleep(LOST_S / 2)
    owner.standbys.gone(standby)
    await asyncio.sleep(3 * BEATS * BEAT_S)
    assert len(owner.beats) == BEATS


@in_virtual_time
async def test_a_standby_that_is_silent_for_too_long_is_taken_for_gone() -> None:
    owner = Owner()
    silent, loud = Standby(owner, 1).link(), Standby(owner, 2).link()
    unproven = Standby(owner, 3)
    unproven.hello()
    for _ in range(round(LOST_S / BEAT_S) - 1):
        await asyncio.sleep(BEAT_S)
        loud.tell()
    assert (silent.ended, owner.beats) == ([], [])
    for _ in range(3):
        await asyncio.sleep(BEAT_S)
        loud.tell()
    assert [one.reason for one in silent.ended] == [Reason.QUEUE_MANAGER_NOT_AVAILABLE]
    assert owner.names() == [loud.report.name]
    assert owner.beats
    silent.tell()
    assert owner.names() == [loud.report.name], "it says hello again, on another connection"
    assert unproven.ended == [], "the listener bounds how long it may take"


@in_virtual_time
async def test_what_is_silent_for_as_long_as_is_allowed_is_not_lost() -> None:
    owner = Owner()
    standby = Standby(owner, 1).link()
    for _ in range(5):
        await asyncio.sleep(LOST_S - MOMENT_S)
        standby.tell()
    assert (standby.ended, owner.beats) == ([], [])


@in_virtual_time
async def test_after_a_stop_nothing_is_looked_at_and_nothing_written() -> None:
    owner = Owner()
    first, second = Standby(owner, 1).link(), Standby(owner, 2).link()
    owner.standbys.gone(first)
    owner.standbys.stop()
    assert owner.names() == []
    written = len(owner.beats)
    owner.standbys.gone(second)
    await asyncio.sleep(3 * BEATS * BEAT_S)
    assert (len(owner.beats), second.ended) == (written, [])


@in_virtual_time
async def test_a_failure_of_what_must_not_fail_is_reported() -> None:
    owner = Owner()
    standby = Standby(owner, 1).link()

    def fail(_reason: Refused) -> None:
        raise ZeroDivisionError

    standby.goodbye = fail  # type: ignore[method-assign, assignment]
    await asyncio.sleep(2 * LOST_S)
    (broken,) = owner.broke
    assert "looking at standbys" in broken
