"""What a buffer has room for: no get returns more, and one that fails says how much is enough.

Messages of several kinds, each of which is changed on its way to a program: by another character
set, by properties that go elsewhere, by an MQMDE. Each is got and browsed with every length that
may matter. ibmmqc is called as the package calls it, because it hides lengths.
"""

import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

import ibmmq
import pytest
from ibmmq import CMQC, ibmmqc

GET, ACCEPT, CONVERT = CMQC.MQGMO_NO_SYNCPOINT, CMQC.MQGMO_ACCEPT_TRUNCATED_MSG, CMQC.MQGMO_CONVERT
FIRST, WITHOUT = CMQC.MQGMO_BROWSE_FIRST, CMQC.MQGMO_NO_PROPERTIES
IN_HANDLE = CMQC.MQGMO_PROPERTIES_IN_HANDLE
OPEN = CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_BROWSE
UMLAUTS = "é".encode("latin-1") * 10
FOLDER = b"<usr><n>" + b"v" * 100 + b"</n></usr>"
TEXT = {"Format": CMQC.MQFMT_STRING, "CodedCharSetId": 819}
GROUPED = {"Version": 2, "MsgFlags": CMQC.MQMF_LAST_MSG_IN_GROUP, "GroupId": b"G" * 24}
HEADED = {"Format": CMQC.MQFMT_RF_HEADER_2, "Encoding": 546}
MDE_LENGTH = CMQC.MQMDE_LENGTH_2


def headed(data: bytes) -> bytes:
    """Data behind an MQRFH2 with a property."""
    folder = FOLDER.ljust(-(-len(FOLDER) // 4) * 4)
    length = 36 + 4 + len(folder)
    fixed = (b"RFH ", 2, length, 546, 1208, b"MQSTR   ", 0, 1208)
    return struct.pack("<4siiii8sii", *fixed) + struct.pack("<i", len(folder)) + folder + data


class Case(NamedTuple):
    """A message, how it is got, and what a program is to get: unconverted, and converted."""

    md: dict[str, Any]
    body: bytes
    options: int
    version: int
    own: bytes
    wanted: bytes


CASES = {
    "plain": Case({}, b"0123456789", 0, 2, b"0123456789", b"0123456789"),
    "longer": Case(TEXT, UMLAUTS, CONVERT, 2, UMLAUTS, "é".encode() * 10),
    "stripped": Case(HEADED, headed(b"xyz"), WITHOUT, 2, b"xyz", b"xyz"),
    "in a handle": Case(HEADED, headed(b"xyz"), IN_HANDLE, 2, b"xyz", b"xyz"),
    "with an MQMDE": Case(GROUPED, b"xyz", 0, 1, bytes(MDE_LENGTH) + b"xyz", b""),
    "without an MQMDE": Case({}, b"xyz", 0, 1, b"xyz", b"xyz"),
    "both": Case(
        GROUPED | TEXT, UMLAUTS, CONVERT, 1, bytes(MDE_LENGTH) + UMLAUTS, bytes(MDE_LENGTH + 20)
    ),
}


@pytest.fixture
def queue(qmgr: ibmmq.QueueManager) -> Iterator[ibmmq.Queue]:
    """A queue that may be got from and browsed."""
    opened = ibmmq.Queue(qmgr, "ORDERS", OPEN)
    yield opened
    opened.close()


def get(qmgr: ibmmq.QueueManager, queue: ibmmq.Queue, case: Case, options: int, room: int) -> Any:
    """Body, MQMD, length and codes of a get."""
    md = ibmmq.MD(Version=case.version, CodedCharSetId=1208)
    gmo = ibmmq.GMO(Version=4, MatchOptions=0, Options=case.options | options)
    if case.options & IN_HANDLE:
        gmo.MsgHandle = ibmmq.MessageHandle(qmgr).msg_handle
    hconn, hobj = qmgr.get_handle(), queue.get_handle()
    body, packed, _, length, code, reason = ibmmqc.MQGET(hconn, hobj, md.pack(), gmo.pack(), room)
    md.unpack(packed)
    return body, md, length, code, reason


def rooms(case: Case) -> list[int]:
    """Every length that is one of what the message has on its way, and those beside it."""
    lengths = {0, len(case.body), len(case.own), len(case.wanted), len(case.own) - MDE_LENGTH}
    near = {length + beside for length in lengths for beside in (-1, 0, 1)}
    return sorted(length for length in near if length >= 0)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("verb", [GET, FIRST])
def test_a_get_returns_what_has_room(
    qmgr: ibmmq.QueueManager, queue: ibmmq.Queue, name: str, verb: int
) -> None:
    case = CASES[name]
    queue.put(case.body, ibmmq.MD(**case.md))
    for room in rooms(case):
        body, md, length, _, reason = get(qmgr, queue, case, verb, room)
        assert len(body) <= room
        if room < len(case.own):
            assert reason == CMQC.MQRC_TRUNCATED_MSG_FAILED
            assert length == len(case.own), "which is enough"
            continue
        is_as_it_was = room < len(case.wanted)
        assert reason == (CMQC.MQRC_CONVERTED_MSG_TOO_BIG if is_as_it_was else CMQC.MQRC_NONE)
        if "CodedCharSetId" in case.md and md.Format == CMQC.MQFMT_STRING:
            assert md.CodedCharSetId == (819 if is_as_it_was else 1208)
        assert len(body) == length == len(case.own if is_as_it_was else case.wanted or case.own)
        if verb == GET:
            assert get(qmgr, queue, case, verb, 1_000)[-1] == CMQC.MQRC_NO_MSG_AVAILABLE
            queue.put(case.body, ibmmq.MD(**case.md))


@pytest.mark.parametrize("name", CASES)
def test_what_is_cut_has_room(qmgr: ibmmq.QueueManager, queue: ibmmq.Queue, name: str) -> None:
    case = CASES[name]
    for room in rooms(case):
        queue.put(case.body, ibmmq.MD(**case.md))
        body, md, length, _, reason = get(qmgr, queue, case, GET | ACCEPT, room)
        assert len(body) <= room
        if length > room:
            assert reason == CMQC.MQRC_TRUNCATED_MSG_ACCEPTED
        if case.md == TEXT and md.CodedCharSetId == 1208:
            assert body.decode().strip("é") == "", "of text whole characters"


def test_what_follows_a_message_too_long_is_not_taken(
    qmgr: ibmmq.QueueManager, queue: ibmmq.Queue
) -> None:
    case = CASES["stripped"]
    for data in (b"too long", b"ok"):
        queue.put(headed(data), ibmmq.MD(**HEADED))
    assert get(qmgr, queue, case, GET, 2)[-1] == CMQC.MQRC_TRUNCATED_MSG_FAILED
    assert get(qmgr, queue, case, GET, 8)[0] == b"too long"
    assert get(qmgr, queue, case, GET, 2)[0] == b"ok"
