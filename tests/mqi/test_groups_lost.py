"""Groups in logical order whose connection is lost: no verb goes on as if nothing were."""

import itertools
from collections.abc import Iterator

import ibmmq
import pytest
from ibmmq import CMQC, CMQXC, ibmmqc

from adapter.connection.wire import frames
from adapter.core.contract import commands as c
from adapter.core.rules.primitives import groups as groups_of_core
from adapter.testing import TestQueueManager
from tests.mqi.conftest import CHANNEL
from tests.support.relay import Relay, relay

IN_GROUP, LAST = CMQC.MQMF_MSG_IN_GROUP, CMQC.MQMF_LAST_MSG_IN_GROUP
SEGMENT, LAST_SEGMENT = CMQC.MQMF_SEGMENT, CMQC.MQMF_LAST_SEGMENT
PARTS = {
    "group": (IN_GROUP, IN_GROUP, LAST),
    "segments": (SEGMENT, SEGMENT, LAST_SEGMENT),
    "segments of a group": (IN_GROUP | SEGMENT, IN_GROUP | LAST_SEGMENT, LAST),
}
"""What leads on behind each message but the last one."""
ASKED = {
    CMQC.MQCNO_NONE: CMQC.MQRC_CONNECTION_BROKEN,
    CMQC.MQCNO_RECONNECT: CMQC.MQRC_RECONNECT_INCOMPATIBLE,
}
CASES = list(itertools.product(ASKED, PARTS, (1, 2, 3)))
"""How the program connects, what it puts, and behind which message the connection is lost."""
EVERYTHING = CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_BROWSE
NONE_LEFT = (CMQC.MQCC_FAILED, CMQC.MQRC_NO_MSG_AVAILABLE)
Codes = tuple[int, int]


@pytest.fixture
def way(manager: TestQueueManager) -> Iterator[Relay]:
    with relay(manager.address) as made:
        yield made


class Program:
    """A program that puts and gets in logical order, by a way that can be cut."""

    def __init__(self, way: Relay, options: int) -> None:
        host, port = way.address.rsplit(":", 1)
        name = f"{host}({port})".encode()
        cd = ibmmq.CD(ChannelName=CHANNEL.encode(), ConnectionName=name)
        cd.ChannelType, cd.TransportType = CMQXC.MQCHT_CLNTCONN, CMQXC.MQXPT_TCP
        self.way = way
        self.qmgr = ibmmq.QueueManager(None)
        self.qmgr.connect_with_options("QM1", cd=cd, opts=options)
        self.hconn = self.qmgr.get_handle()
        self.queue = ibmmq.Queue(self.qmgr, "ORDERS", EVERYTHING)

    def put(self, flags: int, options: int = CMQC.MQPMO_LOGICAL_ORDER) -> Codes:
        md, pmo = ibmmq.MD(Version=2, MsgFlags=flags), ibmmq.PMO(Options=options)
        _, _, *codes = ibmmqc.MQPUT(
            self.hconn, self.queue.get_handle(), md.pack(), pmo.pack(), b"x" * 16
        )
        return codes[0], codes[1]

    def get(self, options: int = CMQC.MQGMO_LOGICAL_ORDER) -> Codes:
        md = ibmmq.MD(Version=2)
        gmo = ibmmq.GMO(Version=2, Options=options, MatchOptions=CMQC.MQMO_NONE)
        *_, code, reason = ibmmqc.MQGET(
            self.hconn, self.queue.get_handle(), md.pack(), gmo.pack(), 99
        )
        return code, reason

    def cut(self) -> None:
        """Lose the connection, and let the client notice that."""
        self.way.cut()

    def end(self) -> None:
        ibmmqc.MQDISC(self.hconn)


def group_ids(manager: TestQueueManager) -> list[bytes]:
    """Return the group id of each message on the queue."""
    with manager.connect() as other:
        return [one.group_id for one in other.queue("ORDERS").browse()]


@pytest.mark.parametrize(("options", "kind", "behind"), CASES)
def test_a_put_that_would_begin_another_group_is_refused(
    manager: TestQueueManager, way: Relay, options: int, kind: str, behind: int
) -> None:
    """Each time, until the program closes the queue; between two groups nothing is refused."""
    program, flags = Program(way, options), PARTS[kind]
    for number, each in enumerate(flags, start=1):
        codes = program.put(each)
        assert codes == ((0, 0) if number <= behind else (CMQC.MQCC_FAILED, ASKED[options]))
        if number == behind:
            program.cut()
    assert len(group_ids(manager)) == behind
    assert len(set(group_ids(manager))) == 1
    if behind == len(flags):
        assert program.put(flags[0]) == (0, 0)
    program.end()


@pytest.mark.parametrize(("options", "kind", "behind"), CASES)
def test_a_get_that_goes_on_with_no_group_is_refused(
    manager: TestQueueManager, way: Relay, options: int, kind: str, behind: int
) -> None:
    """It does not wait for the first message of another group, with the rest before its eyes."""
    program, flags = Program(way, options), PARTS[kind]
    for each in flags:
        assert program.put(each) == (0, 0)
    for number in range(1, len(flags) + 1):
        codes = program.get()
        assert codes == ((0, 0) if number <= behind else (CMQC.MQCC_FAILED, ASKED[options]))
        if number == behind:
            program.cut()
    assert len(group_ids(manager)) == len(flags) - behind
    if behind == len(flags):
        assert program.get() == NONE_LEFT
    program.end()


def test_an_older_queue_manager_is_not_asked_for_what_it_does_not_know(
    manager: TestQueueManager, way: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frames, "PROTOCOL_VERSION", 2)
    program = Program(way, CMQC.MQCNO_RECONNECT)
    found: list[bool] = []
    monkeypatch.setattr(
        groups_of_core, "check_continues", lambda *_: found.append(bool(_[0] & c.CONTINUES))
    )
    assert [program.put(flags) for flags in PARTS["group"]] == [(0, 0)] * 3
    assert found == [False] * 3
    program.end()


def test_a_program_that_opens_the_queue_again_begins_anew(
    manager: TestQueueManager, way: Relay
) -> None:
    program = Program(way, CMQC.MQCNO_RECONNECT)
    assert program.put(IN_GROUP) == (0, 0)
    program.cut()
    refused = (CMQC.MQCC_FAILED, CMQC.MQRC_RECONNECT_INCOMPATIBLE)
    assert program.put(IN_GROUP) == refused
    program.queue.close()
    program.queue = ibmmq.Queue(program.qmgr, "ORDERS", EVERYTHING)
    assert [program.put(flags) for flags in PARTS["group"]] == [(0, 0)] * 3
    program.end()


@pytest.mark.parametrize("ends", ["MQCMIT", "MQBACK"])
def test_a_group_may_span_units_and_a_backout(
    manager: TestQueueManager, way: Relay, ends: str
) -> None:
    """A unit that is backed out leaves the handle where it was: here in no group."""
    program = Program(way, CMQC.MQCNO_RECONNECT)
    in_unit = CMQC.MQPMO_LOGICAL_ORDER | CMQC.MQPMO_SYNCPOINT
    assert program.put(IN_GROUP, in_unit) == (0, 0)
    getattr(ibmmqc, ends)(program.hconn)
    program.cut()
    is_kept = ends == "MQCMIT"
    refused = (CMQC.MQCC_FAILED, CMQC.MQRC_RECONNECT_INCOMPATIBLE)
    assert program.put(IN_GROUP, in_unit) == (refused if is_kept else (0, 0))
    program.end()


@pytest.mark.parametrize("ends", ["MQCMIT", "MQBACK"])
def test_a_get_of_a_group_may_span_units_and_a_backout(
    manager: TestQueueManager, way: Relay, ends: str
) -> None:
    program = Program(way, CMQC.MQCNO_RECONNECT)
    for each in PARTS["group"]:
        assert program.put(each) == (0, 0)
    in_unit = CMQC.MQGMO_LOGICAL_ORDER | CMQC.MQGMO_SYNCPOINT
    assert program.get(in_unit) == (0, 0)
    getattr(ibmmqc, ends)(program.hconn)
    program.cut()
    refused = (CMQC.MQCC_FAILED, CMQC.MQRC_RECONNECT_INCOMPATIBLE)
    assert program.get(in_unit) == (refused if ends == "MQCMIT" else (0, 0))
    program.end()
