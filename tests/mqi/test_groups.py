"""Groups, locks and contexts through the MQI."""

import random

import ibmmq
import pytest
from ibmmq import CMQC

from adapter.testing import TestQueueManager
from tests.mqi.conftest import reason_of

EVERYTHING = CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_BROWSE


def test_a_group_is_put_and_assembled(qmgr: ibmmq.QueueManager) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", EVERYTHING)
    pmo = ibmmq.PMO(Options=CMQC.MQPMO_LOGICAL_ORDER | CMQC.MQPMO_SYNCPOINT)
    queue.put("alone", ibmmq.MD(Priority=0))
    md = ibmmq.MD(MsgFlags=CMQC.MQMF_MSG_IN_GROUP)
    queue.put("first", md, pmo)
    assert md.GroupId.strip(b"\0")
    assert md.MsgSeqNumber == 1
    queue.put("second", md, pmo)
    md.MsgFlags = CMQC.MQMF_LAST_MSG_IN_GROUP
    queue.put("third", md, pmo)
    assert md.MsgSeqNumber == 3
    qmgr.commit()
    gmo = ibmmq.GMO(
        Options=CMQC.MQGMO_LOGICAL_ORDER | CMQC.MQGMO_ALL_MSGS_AVAILABLE | CMQC.MQGMO_SYNCPOINT,
        MatchOptions=CMQC.MQMO_NONE,
    )
    assert queue.get(None, ibmmq.MD(), gmo) == b"alone"
    seen = []
    while chr(gmo.GroupStatus) != "L":
        found = ibmmq.MD()
        seen.append((queue.get(None, found, gmo), found.MsgSeqNumber, chr(gmo.GroupStatus)))
        assert found.GroupId == md.GroupId
    assert seen == [(b"first", 1, "G"), (b"second", 2, "G"), (b"third", 3, "L")]
    qmgr.commit()


def test_a_segmented_message_is_put_together(
    manager: TestQueueManager, qmgr: ibmmq.QueueManager
) -> None:
    with manager.connect() as administrator:
        administrator.alter_queue("ORDERS", max_message_length=1000)
    queue = ibmmq.Queue(qmgr, "ORDERS", EVERYTHING | CMQC.MQOO_INQUIRE)
    body = bytes(range(250)) * 10
    queue.put(body, ibmmq.MD(MsgFlags=CMQC.MQMF_SEGMENTATION_ALLOWED))
    assert queue.inquire(CMQC.MQIA_CURRENT_Q_DEPTH) == 3
    whole = ibmmq.GMO(Options=CMQC.MQGMO_COMPLETE_MSG)
    assert queue.get(None, ibmmq.MD(), whole) == body
    assert queue.inquire(CMQC.MQIA_CURRENT_Q_DEPTH) == 0


@pytest.mark.parametrize("browses", [True, False])
def test_a_segmented_message_is_whole_under_the_cursor_too(
    qmgr: ibmmq.QueueManager, browses: bool
) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", EVERYTHING)
    for number, body in enumerate(("AAAA", "BBBB", "CC")):
        flags = CMQC.MQMF_SEGMENT if number < 2 else CMQC.MQMF_LAST_SEGMENT
        queue.put(body, ibmmq.MD(MsgFlags=flags, Offset=4 * number, GroupId=b"G" * 24))
    under = CMQC.MQGMO_BROWSE_MSG_UNDER_CURSOR if browses else CMQC.MQGMO_MSG_UNDER_CURSOR
    whole = ibmmq.GMO(Options=under | CMQC.MQGMO_COMPLETE_MSG)

    def move(option: int) -> bytes:
        found: bytes = queue.get(None, ibmmq.MD(), ibmmq.GMO(Options=option))
        return found

    assert move(CMQC.MQGMO_BROWSE_FIRST | CMQC.MQGMO_LOCK) == b"AAAA"
    assert move(CMQC.MQGMO_BROWSE_NEXT) == b"BBBB"
    with pytest.raises(ibmmq.MQMIError) as refused:
        queue.get(None, ibmmq.MD(), whole)
    assert reason_of(refused) == CMQC.MQRC_INVALID_MSG_UNDER_CURSOR
    assert move(CMQC.MQGMO_BROWSE_FIRST | CMQC.MQGMO_COMPLETE_MSG) == b"AAAABBBBCC"
    assert queue.get(None, ibmmq.MD(), whole) == b"AAAABBBBCC"
    if not browses:
        with pytest.raises(ibmmq.MQMIError) as refused:
            move(CMQC.MQGMO_BROWSE_FIRST)
        assert reason_of(refused) == CMQC.MQRC_NO_MSG_AVAILABLE
        return
    assert move(CMQC.MQGMO_NO_SYNCPOINT) == b"AAAA"
    move(CMQC.MQGMO_BROWSE_FIRST)
    queue.put("AAAA", ibmmq.MD(MsgFlags=CMQC.MQMF_SEGMENT, Priority=9, GroupId=b"H" * 24))
    move(CMQC.MQGMO_BROWSE_FIRST)
    with pytest.raises(ibmmq.MQMIError) as refused:
        queue.get(None, ibmmq.MD(), whole)
    assert reason_of(refused) == CMQC.MQRC_NO_MSG_UNDER_CURSOR, "its segments are not all there"


def test_one_message_of_a_group_is_found(qmgr: ibmmq.QueueManager) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", EVERYTHING)
    for number in (1, 2):
        md = ibmmq.MD(GroupId=b"G" * 24, MsgSeqNumber=number, MsgFlags=CMQC.MQMF_MSG_IN_GROUP)
        queue.put(str(number), md)
    match = ibmmq.GMO(MatchOptions=CMQC.MQMO_MATCH_GROUP_ID | CMQC.MQMO_MATCH_MSG_SEQ_NUMBER)
    assert queue.get(None, ibmmq.MD(GroupId=b"G" * 24, MsgSeqNumber=2), match) == b"2"


def test_a_browsed_message_is_locked_and_unlocked(qmgr: ibmmq.QueueManager) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", EVERYTHING)
    queue.put("a")
    lock = ibmmq.GMO(Options=CMQC.MQGMO_BROWSE_FIRST | CMQC.MQGMO_LOCK)
    unlock = ibmmq.GMO(Options=CMQC.MQGMO_UNLOCK)
    assert queue.get(None, ibmmq.MD(), lock) == b"a"
    other = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_INPUT_SHARED)
    with pytest.raises(ibmmq.MQMIError) as refused:
        other.get()
    assert reason_of(refused) == CMQC.MQRC_NO_MSG_AVAILABLE
    queue.get(None, ibmmq.MD(), unlock)
    with pytest.raises(ibmmq.MQMIError) as refused:
        queue.get(None, ibmmq.MD(), unlock)
    assert reason_of(refused) == CMQC.MQRC_NO_MSG_LOCKED
    assert other.get() == b"a"


def test_a_browse_waits(qmgr: ibmmq.QueueManager) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", EVERYTHING)
    wait = ibmmq.GMO(Options=CMQC.MQGMO_BROWSE_NEXT | CMQC.MQGMO_WAIT, WaitInterval=50)
    with pytest.raises(ibmmq.MQMIError) as refused:
        queue.get(None, ibmmq.MD(), wait)
    assert reason_of(refused) == CMQC.MQRC_NO_MSG_AVAILABLE
    queue.put("a")
    assert queue.get(None, ibmmq.MD(), wait) == b"a"


def test_a_long_message_is_browsed_whole(qmgr: ibmmq.QueueManager) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", EVERYTHING)
    queue.put("a")
    queue.put("b" * 10_000)
    gmo = ibmmq.GMO(Options=CMQC.MQGMO_BROWSE_NEXT)
    assert queue.get(None, ibmmq.MD(), gmo) == b"a"
    assert len(queue.get(None, ibmmq.MD(), gmo)) == 10_000


def test_nothing_is_under_the_cursor(qmgr: ibmmq.QueueManager) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", EVERYTHING)
    queue.put("a")
    for option in (CMQC.MQGMO_MSG_UNDER_CURSOR, CMQC.MQGMO_BROWSE_MSG_UNDER_CURSOR):
        with pytest.raises(ibmmq.MQMIError) as refused:
            queue.get(None, ibmmq.MD(), ibmmq.GMO(Options=option))
        assert reason_of(refused) == CMQC.MQRC_NO_MSG_UNDER_CURSOR


def test_a_program_says_the_context(qmgr: ibmmq.QueueManager) -> None:
    options = EVERYTHING | CMQC.MQOO_SET_ALL_CONTEXT
    queue = ibmmq.Queue(qmgr, "ORDERS", options)
    said = ibmmq.MD(
        UserIdentifier="someone",
        AccountingToken=b"T" * 32,
        ApplIdentityData="identity",
        PutApplType=CMQC.MQAT_OPEN_TP1,
        PutApplName="elsewhere",
        ApplOriginData="orig",
    )
    queue.put("a", said, ibmmq.PMO(Options=CMQC.MQPMO_SET_ALL_CONTEXT))
    found = ibmmq.MD()
    queue.get(None, found)
    assert found.UserIdentifier.rstrip() == b"someone"
    assert found.AccountingToken == b"T" * 32
    assert found.ApplIdentityData.rstrip() == b"identity"
    assert found.PutApplType == CMQC.MQAT_OPEN_TP1
    assert found.PutApplName.rstrip() == b"elsewhere"
    assert found.ApplOriginData == b"orig"


def test_a_context_is_passed_on(qmgr: ibmmq.QueueManager) -> None:
    source = ibmmq.Queue(
        qmgr, "ORDERS", EVERYTHING | CMQC.MQOO_SET_ALL_CONTEXT | CMQC.MQOO_SAVE_ALL_CONTEXT
    )
    target = ibmmq.Queue(qmgr, "REPLIES", CMQC.MQOO_OUTPUT | CMQC.MQOO_PASS_ALL_CONTEXT)
    passing = ibmmq.PMO(Options=CMQC.MQPMO_PASS_ALL_CONTEXT, Context=source.get_handle())
    with pytest.raises(ibmmq.MQMIError) as refused:
        target.put("b", ibmmq.MD(), passing)
    assert reason_of(refused) == CMQC.MQRC_CONTEXT_NOT_AVAILABLE
    said = ibmmq.MD(UserIdentifier="someone", PutApplName="elsewhere")
    source.put("a", said, ibmmq.PMO(Options=CMQC.MQPMO_SET_ALL_CONTEXT))
    source.get()
    target.put("b", ibmmq.MD(), passing)
    found = ibmmq.MD()
    ibmmq.Queue(qmgr, "REPLIES").get(None, found)
    assert found.UserIdentifier.rstrip() == b"someone"
    assert found.PutApplName.rstrip() == b"elsewhere"


@pytest.mark.parametrize(
    ("day", "hour", "kept_day", "kept_hour"),
    [
        ("20010203", "04050607", b"20010203", b"04050607"),
        ("", "", b" " * 8, b" " * 8),
        ("no day", "later\0on", b"no day  ", b"later   "),
    ],
)
def test_finding_mq_differences_set_all_context_keeps_date_and_time(
    qmgr: ibmmq.QueueManager, day: str, hour: str, kept_day: bytes, kept_hour: bytes
) -> None:
    options = EVERYTHING | CMQC.MQOO_SET_ALL_CONTEXT | CMQC.MQOO_SAVE_ALL_CONTEXT
    queue = ibmmq.Queue(qmgr, "ORDERS", options)
    said = ibmmq.MD(PutDate=day, PutTime=hour)
    queue.put("a", said, ibmmq.PMO(Options=CMQC.MQPMO_SET_ALL_CONTEXT))
    assert (said.PutDate, said.PutTime) == (kept_day, kept_hour)
    found = ibmmq.MD()
    queue.get(None, found)
    assert (found.PutDate, found.PutTime) == (kept_day, kept_hour)
    target = ibmmq.Queue(qmgr, "REPLIES", CMQC.MQOO_OUTPUT | CMQC.MQOO_PASS_ALL_CONTEXT)
    passing = ibmmq.PMO(Options=CMQC.MQPMO_PASS_ALL_CONTEXT, Context=queue.get_handle())
    passed = ibmmq.MD()
    target.put("b", passed, passing)
    assert (passed.PutDate, passed.PutTime) == (kept_day, kept_hour)
    last = ibmmq.MD()
    ibmmq.Queue(qmgr, "REPLIES").get(None, last)
    assert (last.PutDate, last.PutTime) == (kept_day, kept_hour)


def test_finding_mq_differences_pass_all_context_passes_the_time_of_the_put(
    qmgr: ibmmq.QueueManager,
) -> None:
    source = ibmmq.Queue(qmgr, "ORDERS", EVERYTHING | CMQC.MQOO_SAVE_ALL_CONTEXT)
    target = ibmmq.Queue(qmgr, "REPLIES", CMQC.MQOO_OUTPUT | CMQC.MQOO_PASS_ALL_CONTEXT)
    source.put("a")
    got = ibmmq.MD()
    source.get(None, got)
    passing = ibmmq.PMO(Options=CMQC.MQPMO_PASS_ALL_CONTEXT, Context=source.get_handle())
    passed = ibmmq.MD(PutDate="20010203", PutTime="04050607")
    target.put("b", passed, passing)
    assert (passed.PutDate, passed.PutTime) == (got.PutDate, got.PutTime)


def test_finding_mq_differences_set_identity_context_sets_no_date(
    qmgr: ibmmq.QueueManager,
) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", EVERYTHING | CMQC.MQOO_SET_ALL_CONTEXT)
    said = ibmmq.MD(PutDate="20010203", PutTime="04050607")
    queue.put("a", said, ibmmq.PMO(Options=CMQC.MQPMO_SET_IDENTITY_CONTEXT))
    found = ibmmq.MD()
    queue.get(None, found)
    assert found.PutDate > b"2020"


def test_finding_mq_differences_a_subscriber_sees_the_date_that_was_set(
    qmgr: ibmmq.QueueManager,
) -> None:
    sd = ibmmq.SD(Options=CMQC.MQSO_CREATE | CMQC.MQSO_MANAGED | CMQC.MQSO_NON_DURABLE)
    sd.set_vs("ObjectString", "dates/set")
    subscription = ibmmq.Subscription(qmgr)
    subscription.sub(sub_desc=sd)
    od = ibmmq.OD(ObjectType=CMQC.MQOT_TOPIC, Version=CMQC.MQOD_VERSION_4)
    od.set_vs("ObjectString", "dates/set")
    topic = ibmmq.Topic(qmgr)
    topic.open(topic_desc=od, open_opts=CMQC.MQOO_OUTPUT | CMQC.MQOO_SET_ALL_CONTEXT)
    given = ibmmq.MD(PutDate="20010203", PutTime="04050607")
    topic.pub("news", given, ibmmq.PMO(Options=CMQC.MQPMO_SET_ALL_CONTEXT))
    shown = ibmmq.MD()
    assert subscription.get(None, shown) == b"news"
    assert (shown.PutDate, shown.PutTime) == (b"20010203", b"04050607")
    topic.pub("more", ibmmq.MD(PutDate="20010203", PutTime="04050607"))
    shown = ibmmq.MD()
    subscription.get(None, shown)
    assert shown.PutDate > b"2020"


def test_no_context_is_none(qmgr: ibmmq.QueueManager) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", EVERYTHING)
    queue.put("a", ibmmq.MD(), ibmmq.PMO(Options=CMQC.MQPMO_NO_CONTEXT))
    found = ibmmq.MD()
    queue.get(None, found)
    assert found.PutApplType == CMQC.MQAT_NO_CONTEXT
    assert not found.UserIdentifier.strip()
    assert (found.PutDate, found.PutTime) == (b" " * 8, b" " * 8)


def test_a_type_of_application_that_is_set_needs_no_name(qmgr: ibmmq.QueueManager) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", EVERYTHING | CMQC.MQOO_SET_ALL_CONTEXT)
    said = ibmmq.MD(PutApplType=CMQC.MQAT_UNIX, ApplOriginData="abcd", PutDate="20200101")
    queue.put("a", said, ibmmq.PMO(Options=CMQC.MQPMO_SET_ALL_CONTEXT))
    found = ibmmq.MD()
    queue.get(None, found)
    assert (found.PutApplType, found.ApplOriginData) == (CMQC.MQAT_UNIX, b"abcd")
    assert not found.PutApplName.strip()


def test_a_priority_that_is_too_high_is_a_warning(qmgr: ibmmq.QueueManager) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", EVERYTHING)
    with pytest.raises(ibmmq.MQMIError) as refused:
        queue.put("a", ibmmq.MD(Priority=12))
    assert reason_of(refused) == CMQC.MQRC_PRIORITY_EXCEEDS_MAXIMUM
    assert refused.value.comp == CMQC.MQCC_WARNING
    found = ibmmq.MD()
    assert queue.get(None, found) == b"a"
    assert found.Priority == 12


def put_in_groups(queue: ibmmq.Queue, seed: int) -> list[bytes]:
    """Put three groups and some single messages in a random order; their logical order."""
    draw = random.Random(seed)
    group = CMQC.MQMF_MSG_IN_GROUP
    units = [[(f"{n}.{seq}", n, seq) for seq in range(1, draw.randint(2, 4))] for n in range(3)]
    singles = [[(f"single {n}", -1, 1)] for n in range(2)]
    order = [one for unit in (*units, *singles) for one in unit]
    draw.shuffle(order)
    for body, n, seq in order:
        md = ibmmq.MD(Priority=0)
        if n >= 0:
            flags = CMQC.MQMF_LAST_MSG_IN_GROUP if body == units[n][-1][0] else group
            md = ibmmq.MD(GroupId=bytes([65 + n]) * 24, MsgSeqNumber=seq, MsgFlags=flags)
        queue.put(body, md)
    firsts = [one for one in order if one[2] == 1]
    found = [units[n] if n >= 0 else [(body, n, seq)] for body, n, seq in firsts]
    return [one[0].encode() for unit in found for one in unit]


@pytest.mark.parametrize("crashes", [0, 1, 3])
def test_a_browse_in_logical_order_shows_each_message_once(
    manager: TestQueueManager, qmgr: ibmmq.QueueManager, crashes: int
) -> None:
    """In whatever order they came, and if the connection is lost meanwhile."""
    queue = ibmmq.Queue(qmgr, "ORDERS", EVERYTHING)
    for seed in range(6 if not crashes else 1):
        logical = put_in_groups(queue, seed)
        found = []
        option = CMQC.MQGMO_BROWSE_FIRST
        for number in range(len(logical)):
            if 0 < number <= crashes:
                manager.crash()
                manager.start()
            match = {"MatchOptions": CMQC.MQMO_NONE, "Version": 2}
            gmo = ibmmq.GMO(Options=option | CMQC.MQGMO_LOGICAL_ORDER, **match)
            found.append(queue.get(None, ibmmq.MD(), gmo))
            option = CMQC.MQGMO_BROWSE_NEXT
        assert found == logical
        with pytest.raises(ibmmq.MQMIError) as refused:
            queue.get(None, ibmmq.MD(), ibmmq.GMO(Options=option | CMQC.MQGMO_LOGICAL_ORDER))
        assert reason_of(refused) == CMQC.MQRC_NO_MSG_AVAILABLE
        with manager.connect() as administrator:
            administrator.queue("ORDERS").purge()


def test_a_browse_whose_last_message_is_gone_begins_again(
    manager: TestQueueManager, qmgr: ibmmq.QueueManager
) -> None:
    """After a lost connection nothing else says where it was; none is left out."""
    queue = ibmmq.Queue(qmgr, "ORDERS", EVERYTHING)
    for body in "abc":
        queue.put(body)
    logical = CMQC.MQGMO_LOGICAL_ORDER
    first = ibmmq.GMO(Options=CMQC.MQGMO_BROWSE_FIRST | logical)
    assert queue.get(None, ibmmq.MD(), first) == b"a"
    with manager.connect() as other:
        assert other.get("ORDERS") is not None
    manager.crash()
    manager.start()
    found = [
        queue.get(None, ibmmq.MD(), ibmmq.GMO(Options=CMQC.MQGMO_BROWSE_NEXT | logical))
        for _ in range(2)
    ]
    assert found == [b"b", b"c"]


BOTH = CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED


def test_a_put_says_which_part_of_which_message_it_has_put(qmgr: ibmmq.QueueManager) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", BOTH)
    last = CMQC.MQMF_LAST_SEGMENT
    said = []
    for options, fields in (
        (CMQC.MQPMO_LOGICAL_ORDER, {"MsgFlags": CMQC.MQMF_SEGMENT}),
        (CMQC.MQPMO_LOGICAL_ORDER, {"MsgFlags": CMQC.MQMF_SEGMENT}),
        (CMQC.MQPMO_LOGICAL_ORDER, {"MsgFlags": last}),
        (0, {"MsgFlags": last, "GroupId": b"S" * 24, "MsgSeqNumber": 4, "Offset": 7}),
        (CMQC.MQPMO_LOGICAL_ORDER, {"GroupId": b"G" * 24, "MsgSeqNumber": 5, "Offset": 7}),
        (0, {"GroupId": b"G" * 24, "MsgSeqNumber": 5, "Offset": 7}),
        (CMQC.MQPMO_SYNCPOINT, {"GroupId": b"G" * 24, "MsgSeqNumber": 5, "Offset": 7}),
    ):
        md = ibmmq.MD(Version=CMQC.MQMD_VERSION_2, **fields)
        queue.put(b"0123456789", md, ibmmq.PMO(Options=options))
        said.append((md.GroupId, md.MsgSeqNumber, md.Offset))
    qmgr.commit()
    assert [offset for _, _, offset in said] == [0, 10, 20, 7, 0, 0, 0]
    assert said[-1] == (CMQC.MQGI_NONE, 1, 0)
    for expected in said:
        got = ibmmq.MD(Version=CMQC.MQMD_VERSION_2)
        queue.get(None, got)
        assert (got.GroupId, got.MsgSeqNumber, got.Offset) == expected


def test_a_put_of_version_1_has_no_fields_of_a_group_to_tell(qmgr: ibmmq.QueueManager) -> None:
    md = ibmmq.MD(Version=CMQC.MQMD_VERSION_1, GroupId=b"G" * 24, MsgSeqNumber=5, Offset=7)
    ibmmq.Queue(qmgr, "ORDERS", BOTH).put(b"plain", md)
    assert (md.GroupId, md.MsgSeqNumber, md.Offset) == (b"G" * 24, 5, 7)
