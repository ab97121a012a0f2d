"""Groups and segments for programs that have a version-1 MQMD: MQMDE, and what is refused."""

from typing import Any

import ibmmq
import pytest
from ibmmq import CMQC

from tests.mqi.conftest import reason_of

BOTH = CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED
IN_GROUP = CMQC.MQMF_MSG_IN_GROUP
GROUP = b"g" * 24


def extended(**fields: Any) -> bytes:
    """A body behind an MQMDE: the second message of a group, if nothing else is said."""
    said = {
        "GroupId": GROUP,
        "MsgSeqNumber": 2,
        "MsgFlags": IN_GROUP,
        "Format": CMQC.MQFMT_STRING,
        "CodedCharSetId": 1208,
    }
    return bytes(ibmmq.MDE(**(said | fields)).pack()) + b"body"


def first_version(**fields: Any) -> ibmmq.MD:
    return ibmmq.MD(Version=CMQC.MQMD_VERSION_1, Format=CMQC.MQFMT_MD_EXTENSION, **fields)


@pytest.mark.parametrize(
    "match", [CMQC.MQMO_MATCH_GROUP_ID, CMQC.MQMO_MATCH_MSG_SEQ_NUMBER, CMQC.MQMO_MATCH_OFFSET]
)
def test_what_needs_fields_of_version_2_is_refused(queue: ibmmq.Queue, match: int) -> None:
    """MQRC_WRONG_MD_VERSION: the program has no GroupId, MsgSeqNumber and Offset to say or see."""
    order = CMQC.MQGMO_LOGICAL_ORDER
    first = CMQC.MQMD_VERSION_1
    for gmo in (ibmmq.GMO(MatchOptions=match), ibmmq.GMO(Options=order, MatchOptions=0)):
        with pytest.raises(ibmmq.MQMIError) as refused:
            queue.get(None, ibmmq.MD(Version=first), gmo)
        assert reason_of(refused) == CMQC.MQRC_WRONG_MD_VERSION
        with pytest.raises(ibmmq.MQMIError) as refused:
            queue.get(None, ibmmq.MD(), gmo)
        assert reason_of(refused) == CMQC.MQRC_NO_MSG_AVAILABLE
    with pytest.raises(ibmmq.MQMIError) as refused:
        queue.put(b"", ibmmq.MD(Version=first), ibmmq.PMO(Options=CMQC.MQPMO_LOGICAL_ORDER))
    assert reason_of(refused) == CMQC.MQRC_WRONG_MD_VERSION
    with pytest.raises(ibmmq.MQMIError) as refused:
        queue.get(None, ibmmq.MD(), ibmmq.GMO(Options=order, Version=CMQC.MQGMO_VERSION_1))
    assert reason_of(refused) == CMQC.MQRC_WRONG_GMO_VERSION


@pytest.mark.parametrize(
    "option",
    [
        CMQC.MQGMO_LOGICAL_ORDER,
        CMQC.MQGMO_COMPLETE_MSG,
        CMQC.MQGMO_ALL_MSGS_AVAILABLE,
        CMQC.MQGMO_ALL_SEGMENTS_AVAILABLE,
    ],
)
def test_options_of_groups_and_segments_need_version_2(
    qmgr: ibmmq.QueueManager, option: int
) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", BOTH | CMQC.MQOO_BROWSE)
    queue.put(b"body")
    for also in (0, CMQC.MQGMO_BROWSE_FIRST):
        gmo = ibmmq.GMO(Options=option | also, Version=CMQC.MQGMO_VERSION_1)
        with pytest.raises(ibmmq.MQMIError) as refused:
            queue.get(None, ibmmq.MD(), gmo)
        assert reason_of(refused) == CMQC.MQRC_WRONG_GMO_VERSION
    gmo = ibmmq.GMO(Options=option, Version=CMQC.MQGMO_VERSION_2)
    assert queue.get(None, ibmmq.MD(), gmo) == b"body"


def test_match_options_mean_nothing_under_the_cursor(qmgr: ibmmq.QueueManager) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", BOTH | CMQC.MQOO_BROWSE)
    queue.put(b"body")
    md = ibmmq.MD(Version=CMQC.MQMD_VERSION_1)
    assert queue.get(None, md, ibmmq.GMO(Options=CMQC.MQGMO_BROWSE_FIRST)) == b"body"
    under = ibmmq.GMO(Options=CMQC.MQGMO_MSG_UNDER_CURSOR, MatchOptions=CMQC.MQMO_MATCH_GROUP_ID)
    assert queue.get(None, md, under) == b"body"


@pytest.fixture
def queue(qmgr: ibmmq.QueueManager) -> ibmmq.Queue:
    return ibmmq.Queue(qmgr, "ORDERS", BOTH)


@pytest.mark.parametrize("version", [CMQC.MQMD_VERSION_1, CMQC.MQMD_VERSION_2])
def test_a_put_takes_it_off(queue: ibmmq.Queue, version: int) -> None:
    md = first_version(CodedCharSetId=819)
    md.Version = version
    queue.put(extended(), md)
    assert md.Format == CMQC.MQFMT_MD_EXTENSION, "it is still what the program has in its buffer"
    assert md.CodedCharSetId == 819
    got = ibmmq.MD()
    assert queue.get(None, got) == b"body"
    assert (got.GroupId, got.MsgSeqNumber, got.MsgFlags) == (GROUP, 2, IN_GROUP)
    assert (got.Format, got.CodedCharSetId) == (CMQC.MQFMT_STRING, 1208)


def test_a_get_puts_it_on(queue: ibmmq.Queue) -> None:
    put = {"GroupId": GROUP, "MsgSeqNumber": 2, "MsgFlags": IN_GROUP}
    queue.put(b"in a group", ibmmq.MD(Format=CMQC.MQFMT_STRING, CodedCharSetId=819, **put))
    queue.put(b"alone", ibmmq.MD(Format=CMQC.MQFMT_STRING))
    md = ibmmq.MD(Version=CMQC.MQMD_VERSION_1)
    body = queue.get(None, md)
    assert md.Format == CMQC.MQFMT_MD_EXTENSION
    extension = ibmmq.MDE().unpack(body[: CMQC.MQMDE_LENGTH_2])
    assert (extension.GroupId, extension.MsgSeqNumber, extension.MsgFlags) == (GROUP, 2, IN_GROUP)
    assert (extension.Offset, extension.OriginalLength) == (0, CMQC.MQOL_UNDEFINED)
    assert (extension.Format, extension.CodedCharSetId) == (CMQC.MQFMT_STRING, 819)
    assert body[CMQC.MQMDE_LENGTH_2 :] == b"in a group"
    queue.put(body, first_version(CodedCharSetId=md.CodedCharSetId))
    alone = ibmmq.MD(Version=CMQC.MQMD_VERSION_1)
    assert queue.get(None, alone) == b"alone", "there is nothing to say of it"
    again = ibmmq.MD()
    assert queue.get(None, again) == b"in a group"
    assert again.GroupId == GROUP


@pytest.mark.parametrize(
    ("md", "body"),
    [
        ({"GroupId": b"h" * 24, "MsgFlags": IN_GROUP, "Version": 2}, extended()),
        ({"Encoding": 273}, extended()),
        ({"CodedCharSetId": 500}, extended()),
        ({}, extended(Version=3)),
    ],
)
def test_one_that_is_not_meant_is_part_of_the_body(
    queue: ibmmq.Queue, md: dict[str, Any], body: bytes
) -> None:
    put = first_version()
    put.set(**md)
    queue.put(body, put)
    assert queue.get(None, ibmmq.MD()) == body


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"_StrucId": b"MDX "}, CMQC.MQRC_MDE_ERROR),
        ({"StrucLength": 80}, CMQC.MQRC_MDE_ERROR),
        ({"Flags": 1}, CMQC.MQRC_MDE_ERROR),
        ({"MsgFlags": 1 << 18}, CMQC.MQRC_MSG_FLAGS_ERROR),
    ],
)
def test_one_that_cannot_be(queue: ibmmq.Queue, fields: dict[str, Any], reason: int) -> None:
    with pytest.raises(ibmmq.MQMIError) as refused:
        queue.put(extended(**fields), first_version())
    assert reason_of(refused) == reason


def test_one_that_is_not_whole(queue: ibmmq.Queue) -> None:
    with pytest.raises(ibmmq.MQMIError) as refused:
        queue.put(extended()[: CMQC.MQMDE_LENGTH_2 - 1], first_version())
    assert reason_of(refused) == CMQC.MQRC_MDE_ERROR


@pytest.mark.parametrize("format_", [b"MQHMDE", b"MQHMDE\0\0", b"MQHMDE  "])
def test_a_format_may_end_with_nuls(qmgr: ibmmq.QueueManager, format_: bytes) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", BOTH)
    queue.put(extended(), ibmmq.MD(Version=CMQC.MQMD_VERSION_1, Format=format_))
    md = ibmmq.MD(Version=CMQC.MQMD_VERSION_2)
    assert queue.get(None, md) == b"body"
    assert (md.GroupId, md.MsgSeqNumber, md.Format) == (GROUP, 2, CMQC.MQFMT_STRING)


@pytest.mark.parametrize(
    ("said", "before", "meant"),
    [
        (CMQC.MQCCSI_INHERIT, 819, 819),
        (CMQC.MQCCSI_INHERIT, CMQC.MQCCSI_INHERIT, 1208),
        (CMQC.MQCCSI_Q_MGR, 819, 1208),
        (500, 819, 500),
    ],
)
def test_an_extension_may_leave_the_character_set_to_the_descriptor(
    qmgr: ibmmq.QueueManager, said: int, before: int, meant: int
) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", BOTH)
    queue.put(extended(CodedCharSetId=said), first_version(CodedCharSetId=before))
    md = ibmmq.MD()
    queue.get(None, md)
    assert md.CodedCharSetId == meant
