"""A standby's side of its link: what it says of the owner, and when."""

import asyncio
from collections.abc import Callable, Coroutine

import pytest
from msgspec.structs import replace

from adapter.connection.wire import codec
from adapter.connection.wire.frames import Goodbye
from adapter.connection.wire.standby_frames import (
    NONCE_BYTES,
    StandbyChallenge,
    StandbyHello,
    StandbyOrder,
    StandbyReport,
)
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Refused
from adapter.runtime.owner.announcement import OwnerPlace
from adapter.runtime.owner.owner_signs import PING_S, PINGS_MISSED, LinkEvidence
from adapter.server.standby.link_proof import OWNER, STANDBY, link_proof, proves
from adapter.server.standby.owner_link import DIAL_S, KNOWN_S, OwnerAddress, OwnerLink, Streams
from tests.support.virtual_time import VirtualLoop

KEY = b"k" * 32
PLAIN, TLS = OwnerAddress("10.0.0.1:1414", False), OwnerAddress("owner:1415", True)
BOTH = OwnerPlace(PLAIN.address, TLS.address, KEY)
SELF = StandbyReport(name="me:1", address="10.0.0.2:1414", priority=3)
MOMENT_S = 0.01
NOTHING, ALIVE, ENDED, SILENT = (
    *(LinkEvidence.NOTHING, LinkEvidence.ALIVE),
    *(LinkEvidence.ENDED, LinkEvidence.SILENT),
)


class Dialed:
    """One connection, as the owner has it: it answers as it is told."""

    def __init__(self, owner: "Owner") -> None:
        self.reader = asyncio.StreamReader()
        self.nonce = b""
        self.reports: list[StandbyReport] = []
        self.is_aborted = False
        self._owner = owner
        self._buffer = codec.FrameBuffer()

    # As much of a StreamWriter as is used.

    @property
    def transport(self) -> "Dialed":
        return self

    def abort(self) -> None:
        self.is_aborted = True

    def write(self, data: bytes) -> None:
        for payload in self._buffer.feed(data):
            frame = codec.decode_client_frame(payload)
            if isinstance(frame, StandbyHello):
                assert (frame.version, frame.queue_manager) == (1, "QM1")
                self.nonce = frame.nonce
                self._owner.challenge(self)
            else:
                assert isinstance(frame, StandbyReport)
                self.reports.append(frame)
                if self._owner.answers:
                    self.say(self._owner.order)

    def say(self, frame: StandbyChallenge | StandbyOrder | Goodbye) -> None:
        if not self.reader.at_eof():
            self.reader.feed_data(bytes(codec.encode(frame)))

    def close(self) -> None:
        self.reader.feed_eof()


class Owner:
    """An owner, what becomes of each attempt to dial it, and how it answers."""

    def __init__(self) -> None:
        self.dialed: list[OwnerAddress] = []
        self.when_s: list[float] = []
        self.links: list[Dialed] = []
        self.outcomes: dict[OwnerAddress, Exception | None] = {}
        """What becomes of dialing: a failure; None: nothing comes, for ever."""
        self.nonce = b"o" * NONCE_BYTES
        self.answers = True
        self.order = StandbyOrder(end_offset=70)
        self.key = KEY
        self.role = OWNER
        self.greeting: Goodbye | StandbyOrder | None = None
        """What it says instead of a challenge."""

    async def dial(self, where: OwnerAddress) -> Streams:
        self.dialed.append(where)
        self.when_s.append(asyncio.get_running_loop().time())
        if where in self.outcomes:
            failure = self.outcomes[where]
            if failure is None:
                await asyncio.Event().wait()
                raise AssertionError
            raise failure
        link = Dialed(self)
        self.links.append(link)
        return link.reader, link  # type: ignore[return-value]

    def challenge(self, link: Dialed) -> None:
        if self.greeting is not None:
            link.say(self.greeting)
        else:
            proof = link_proof(self.key, self.role, link.nonce, self.nonce)
            link.say(StandbyChallenge(nonce=self.nonce, proof=proof))


class Site:
    """A link, and the owner that it dials."""

    def __init__(self, owner: Owner) -> None:
        self.owner = owner
        self.report = SELF
        self.wanted: list[bool] = []
        self.broke: list[str] = []
        self.link = OwnerLink("QM1", lambda: self.report, self.wanted.append, self.broke.append)

    async def watch(self, place: OwnerPlace = BOTH, for_s: float = MOMENT_S) -> OwnerLink:
        """Have it watch an owner from now on, and let some time pass."""
        self.link.watch(b"owner id", place)
        await asyncio.sleep(for_s)
        return self.link


Work = Callable[[Site], Coroutine[None, None, None]]


def at_site(test: Work) -> Callable[[pytest.MonkeyPatch], None]:
    """Make a test of a coroutine; its waits take no time. What it starts ends with it."""

    async def work(owner: Owner) -> None:
        site = Site(owner)
        try:
            await asyncio.wait_for(test(site), 600)
            assert site.broke == []
        finally:
            site.link.stop()

    # Not wraps: pytest would see the parameter of the test.
    def run(monkeypatch: pytest.MonkeyPatch) -> None:
        owner = Owner()
        # A function, not a method of the owner: it is called with the address.
        monkeypatch.setattr(OwnerAddress, "dial", lambda where: owner.dial(where))  # noqa: PLW0108
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            runner.run(work(owner))

    run.__doc__ = test.__doc__
    return run


# Proofs.


@at_site
async def test_both_ends_prove_that_they_know_the_key_and_then_the_owner_lives(at: Site) -> None:
    link = await at.watch()
    (dialed,) = at.owner.links
    (report,) = dialed.reports
    assert proves(report.proof, KEY, STANDBY, dialed.nonce, at.owner.nonce)
    assert replace(report, proof=b"") == SELF
    assert (link.evidence, link.end_offset, link.ahead) == (ALIVE, 70, 0)
    at.report = replace(SELF, next_offset=5)
    await asyncio.sleep(PING_S)
    assert dialed.reports[1:] == [at.report], "it is proven once"


@at_site
async def test_an_owner_is_not_told_anything_before_it_has_proven_itself(at: Site) -> None:
    for key, role in ((b"another key", OWNER), (KEY, STANDBY)):
        at.owner.key, at.owner.role = key, role
        link = await at.watch(for_s=5 * PING_S)
        assert link.evidence is NOTHING
        assert all(one.is_aborted and not one.reports for one in at.owner.links)


@at_site
async def test_who_says_goodbye_or_no_challenge_is_not_the_owner(at: Site) -> None:
    goodbye = Goodbye(reason=Refused(Reason.QUEUE_MANAGER_NOT_AVAILABLE, "QM1", "a standby"))
    for greeting in (goodbye, StandbyOrder(end_offset=1)):
        at.owner.greeting = greeting
        link = await at.watch()
        assert (link.evidence, link.is_new) == (NOTHING, False)
        assert not any(one.reports for one in at.owner.links)


@at_site
async def test_an_owner_that_has_no_key_is_not_dialed(at: Site) -> None:
    link = await at.watch(replace(BOTH, key=b""))
    assert (link.evidence, link.is_new, at.owner.dialed) == (NOTHING, False, [])


@at_site
async def test_each_connection_has_a_nonce_of_its_own(at: Site) -> None:
    await at.watch()
    at.owner.links[0].close()
    await asyncio.sleep(2 * PING_S)
    first, second = at.owner.links
    assert first.nonce != second.nonce


# Where it dials.


@at_site
async def test_without_tls_is_tried_first(at: Site) -> None:
    at.owner.outcomes[PLAIN] = OSError("no route")
    link = await at.watch()
    assert at.owner.dialed == [PLAIN, TLS]
    assert link.evidence is ALIVE


@pytest.mark.parametrize(
    ("place", "dialed"),
    [
        (BOTH, [PLAIN, TLS]),
        (replace(BOTH, address=""), [TLS]),
        (replace(BOTH, tls_address=""), [PLAIN]),
        (replace(BOTH, address="", tls_address=""), []),
    ],
)
def test_where_an_owner_announced_nothing_it_is_not_dialed(
    place: OwnerPlace, dialed: list[OwnerAddress], monkeypatch: pytest.MonkeyPatch
) -> None:
    @at_site
    async def work(at: Site) -> None:
        at.owner.outcomes = {PLAIN: OSError("no route"), TLS: OSError("no route")}
        link = await at.watch(place)
        assert at.owner.dialed == dialed
        assert not link.is_new

    work(monkeypatch)


@at_site
async def test_an_owner_that_is_not_reached_is_tried_again_after_a_ping(at: Site) -> None:
    at.owner.outcomes = {PLAIN: OSError("no route"), TLS: OSError("no route")}
    await at.watch(for_s=3 * PING_S - MOMENT_S)
    assert at.owner.dialed == [PLAIN, TLS] * 3
    at.owner.outcomes.clear()
    await asyncio.sleep(PING_S)
    assert at.owner.dialed == [PLAIN, TLS, PLAIN, TLS, PLAIN, TLS, PLAIN]
    assert at.link.evidence is ALIVE


@at_site
async def test_a_link_that_has_lasted_is_made_again_at_once_and_where_it_was(at: Site) -> None:
    at.owner.outcomes[PLAIN] = OSError("no route")
    await at.watch(for_s=DIAL_S + PING_S)
    at.owner.outcomes.clear()
    lost_s = asyncio.get_running_loop().time()
    at.owner.links[0].close()
    await asyncio.sleep(MOMENT_S)
    assert at.owner.dialed == [PLAIN, TLS, TLS]
    assert at.owner.when_s[-1] - lost_s < MOMENT_S
    assert at.owner.links[0].is_aborted


@at_site
async def test_a_link_that_breaks_at_once_is_not_made_again_at_once(at: Site) -> None:
    await at.watch(for_s=DIAL_S / 2)
    at.owner.links[0].close()
    await asyncio.sleep(PING_S - 2 * MOMENT_S)
    assert at.owner.dialed == [PLAIN]
    await asyncio.sleep(PING_S)
    assert at.owner.dialed == [PLAIN, PLAIN]


# Evidence.


@at_site
async def test_an_owner_whose_port_is_closed_has_ended_if_it_was_reached_there(at: Site) -> None:
    at.owner.outcomes[PLAIN] = ConnectionRefusedError("refused")
    link = await at.watch()
    assert (at.owner.dialed, link.evidence) == ([PLAIN, TLS], ALIVE)
    at.owner.outcomes[TLS] = ConnectionRefusedError("refused")
    at.owner.links[0].close()
    await asyncio.sleep(MOMENT_S)
    assert link.evidence is ALIVE, "a link may break"
    await asyncio.sleep(PING_S)
    assert link.evidence is ENDED


@at_site
async def test_nothing_follows_from_a_closed_port_where_the_owner_was_never_reached(
    at: Site,
) -> None:
    at.owner.outcomes = {one: ConnectionRefusedError("refused") for one in (PLAIN, TLS)}
    link = await at.watch(for_s=10 * PING_S)
    assert link.evidence is NOTHING


@at_site
async def test_an_owner_that_leaves_pings_unanswered_is_silent(at: Site) -> None:
    link = await at.watch(for_s=PING_S + MOMENT_S)
    assert link.evidence is ALIVE
    at.owner.answers = False  # it has answered two
    await asyncio.sleep(PINGS_MISSED * PING_S)
    assert (len(at.owner.links[0].reports), link.evidence) == (2 + PINGS_MISSED, ALIVE)
    await asyncio.sleep(PING_S)
    assert link.evidence is SILENT
    at.owner.answers = True
    await asyncio.sleep(PING_S)
    assert link.evidence is ALIVE


@at_site
async def test_an_answer_now_and_then_is_enough(at: Site) -> None:
    link = await at.watch()
    for _ in range(5):
        at.owner.answers = False
        await asyncio.sleep((PINGS_MISSED - 1) * PING_S)
        assert link.evidence is ALIVE
        at.owner.answers = True
        await asyncio.sleep(PING_S)


@at_site
async def test_what_has_proven_itself_and_answers_no_report_is_not_known_to_live(at: Site) -> None:
    at.owner.answers = False
    link = await at.watch(for_s=10 * PING_S)
    assert (link.evidence, link.is_new) == (NOTHING, True)


@at_site
async def test_an_owner_whose_machine_does_not_answer_is_silent(at: Site) -> None:
    """Its link breaks, and nothing comes when it is dialed: that takes as long as pings do."""
    link = await at.watch()
    at.owner.outcomes[PLAIN] = None
    at.owner.links[0].close()
    await asyncio.sleep(PING_S + DIAL_S - MOMENT_S)
    assert link.evidence is ALIVE
    await asyncio.sleep(PING_S + DIAL_S)
    assert link.evidence is SILENT
    assert at.owner.dialed[1:] == [PLAIN] * (len(at.owner.dialed) - 1)


@at_site
async def test_an_owner_that_was_never_reached_is_not_silent(at: Site) -> None:
    at.owner.outcomes = {PLAIN: None, TLS: None}
    link = await at.watch(for_s=20 * DIAL_S)
    assert link.evidence is NOTHING


@at_site
async def test_an_owner_that_takes_the_link_and_answers_no_hello_is_left_alone(at: Site) -> None:
    link = await at.watch()
    assert link.evidence is ALIVE
    at.owner.challenge = lambda link: None  # type: ignore[method-assign]
    at.owner.links[0].close()
    await asyncio.sleep(PING_S + DIAL_S - 2 * MOMENT_S)
    assert not at.owner.links[1].is_aborted
    await asyncio.sleep(3 * MOMENT_S)
    assert at.owner.links[1].is_aborted


@at_site
async def test_an_owner_that_says_goodbye_on_a_link_does_not_serve_any_more(at: Site) -> None:
    link = await at.watch()
    at.owner.outcomes[PLAIN] = OSError("no route")
    at.owner.links[0].say(Goodbye(reason=Refused(Reason.QUEUE_MANAGER_STOPPING, "QM1", "")))
    await asyncio.sleep(MOMENT_S)
    assert link.evidence is NOTHING
    assert at.owner.links[0].is_aborted


@at_site
async def test_what_is_no_frame_ends_the_link_and_says_nothing_of_the_owner(at: Site) -> None:
    link = await at.watch()
    at.owner.links[0].reader.feed_data(b"\0\0\0\1\xc1")
    await asyncio.sleep(MOMENT_S)
    assert (at.owner.links[0].is_aborted, link.evidence) == (True, ALIVE)


@at_site
async def test_a_silent_owner_that_has_written_is_forgiven_and_no_other_evidence_is(
    at: Site,
) -> None:
    link = await at.watch()
    link.forgive()
    await asyncio.sleep(MOMENT_S)
    assert link.evidence is ALIVE
    at.owner.answers = False
    await asyncio.sleep((PINGS_MISSED + 1) * PING_S)
    assert link.evidence is SILENT
    link.forgive()
    await asyncio.sleep(0)
    assert link.evidence is not SILENT
    at.owner.outcomes[PLAIN] = ConnectionRefusedError("refused")
    at.owner.links[0].close()
    await asyncio.sleep(PING_S)
    assert link.evidence is ENDED
    link.forgive()
    await asyncio.sleep(MOMENT_S)
    assert link.evidence is ENDED, "whatever it has written, its process has gone"


# What the owner orders.


@at_site
async def test_the_last_order_counts(at: Site) -> None:
    link = await at.watch()
    at.owner.order = StandbyOrder(end_offset=90, ahead=2, prepare=True)
    await asyncio.sleep(PING_S)
    assert (link.end_offset, link.ahead, link.is_wanted) == (90, 2, True)
    await asyncio.sleep(3 * PING_S)
    assert at.wanted == [True], "it is told once"
    at.owner.order = StandbyOrder(end_offset=91, ahead=1)
    await asyncio.sleep(PING_S)
    assert (link.end_offset, link.ahead, link.is_wanted) == (91, 1, False)
    assert at.wanted == [True, False]


@at_site
async def test_the_owner_before_says_nothing_of_the_next_one(at: Site) -> None:
    at.owner.order = StandbyOrder(end_offset=90, ahead=2, prepare=True)
    link = await at.watch()
    assert at.wanted == [True]
    old = at.owner.links[0]
    at.owner.outcomes = {PLAIN: None, TLS: None}
    old.say(StandbyOrder(end_offset=98))  # is read before the loop hears of the next owner
    link.watch(b"another", BOTH)
    assert link.evidence is NOTHING, "at once, whatever the loop is busy with"
    old.say(StandbyOrder(end_offset=99))
    await asyncio.sleep(MOMENT_S)
    assert (link.evidence, link.ahead, link.end_offset, link.is_new) == (NOTHING, 0, 0, True)
    assert (link.is_wanted, at.wanted) == (False, [True, False])
    assert old.is_aborted
    # Pings that the one before left unanswered are not counted against this one.
    at.owner.outcomes.clear()
    at.owner.answers = True
    link = await at.watch()
    assert link.evidence is ALIVE


@at_site
async def test_a_port_where_the_owner_before_was_reached_says_nothing_of_the_next_one(
    at: Site,
) -> None:
    await at.watch()
    at.owner.outcomes = {one: ConnectionRefusedError("refused") for one in (PLAIN, TLS)}
    link = await at.watch(for_s=5 * PING_S)
    assert link.evidence is NOTHING


# Where clients find the owner.


@at_site
async def test_clients_are_led_to_where_the_link_goes(at: Site) -> None:
    link = await at.watch()
    assert link.addresses(with_tls=False) == PLAIN.address
    assert link.addresses(with_tls=True) == TLS.address
    at.owner.answers = False
    await asyncio.sleep((PINGS_MISSED + 1) * PING_S)
    assert link.evidence is SILENT
    assert (link.addresses(with_tls=False), link.addresses(with_tls=True)) == ("", "")


@at_site
async def test_no_client_is_led_to_an_address_without_tls_that_was_not_reached(at: Site) -> None:
    """It may be one of the owner's own machine, and another program's on the client's."""
    at.owner.outcomes[PLAIN] = ConnectionRefusedError("refused")
    link = await at.watch()
    assert link.addresses(with_tls=False) == ""
    assert link.addresses(with_tls=True) == TLS.address


@at_site
async def test_no_client_is_led_anywhere_before_the_owner_is_known(at: Site) -> None:
    at.owner.answers = False
    link = await at.watch()
    assert (link.addresses(with_tls=False), link.addresses(with_tls=True)) == ("", "")


# Whether it is known yet.


@at_site
async def test_it_is_waited_for_whether_the_owner_can_be_reached(at: Site) -> None:
    loop = asyncio.get_running_loop()
    assert not at.link.is_new, "none is watched yet"
    at.owner.outcomes = {PLAIN: None, TLS: OSError("no route")}
    link = await at.watch()
    assert link.is_new
    await link.await_known()
    assert (round(loop.time(), 1), link.is_new) == (round(DIAL_S, 1), False)


@at_site
async def test_that_wait_has_a_bound(at: Site) -> None:
    loop = asyncio.get_running_loop()
    at.owner.answers = False
    link = await at.watch()
    began_s = loop.time()
    await link.await_known()
    assert (round(loop.time() - began_s, 1), link.is_new) == (KNOWN_S, True)


@at_site
async def test_the_first_answer_ends_that_wait(at: Site) -> None:
    link = await at.watch(for_s=0)
    await link.await_known()
    assert (link.evidence, link.is_new) == (ALIVE, False)
    assert asyncio.get_running_loop().time() < MOMENT_S


@at_site
async def test_after_a_stop_nothing_is_dialed_or_waited_for(at: Site) -> None:
    at.owner.outcomes = {PLAIN: None}
    link = await at.watch()
    waiting = asyncio.get_running_loop().create_task(link.await_known())
    await asyncio.sleep(MOMENT_S)
    link.stop()
    link.stop()
    await waiting
    await asyncio.sleep(10 * DIAL_S)
    assert (at.owner.dialed, link.is_new) == ([PLAIN], False)


@pytest.mark.parametrize("host", ["x" * 64, "a..b"])
@pytest.mark.parametrize("port", ["1414", "x", "99999"])
def test_an_invalid_address_is_one_that_does_not_answer(host: str, port: str) -> None:
    with pytest.raises(OSError, match=r".+"):
        asyncio.run(OwnerAddress(f"{host}:{port}", is_tls=False).dial())
