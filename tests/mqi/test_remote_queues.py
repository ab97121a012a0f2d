"""Programs of the MQI that put to queues of another queue manager, and get replies and reports."""

import time
from collections.abc import Iterator

import ibmmq
import pytest
from ibmmq import CMQC, CMQCFC, CMQXC

import adapter.testing
from adapter.runtime.network.memory import MemoryNetwork
from adapter.testing import TestQueueManager
from tests.mqi.conftest import CHANNEL, conname, reason_of

Site = tuple[ibmmq.QueueManager, ibmmq.QueueManager]


@pytest.fixture
def managers() -> Iterator[tuple[TestQueueManager, TestQueueManager]]:
    with adapter.testing.network("QMA", "QMB") as (a, b):
        a.mqsc("DEFINE QLOCAL(REPLIES)")
        a.mqsc("DEFINE QREMOTE(TO.B) RNAME(WORK) RQMNAME(QMB)")
        a.mqsc("DEFINE QREMOTE(ALIAS.B) RQMNAME(QMB)")
        b.mqsc("DEFINE QLOCAL(WORK)")
        yield a, b


@pytest.fixture
def site(managers: tuple[TestQueueManager, TestQueueManager]) -> Iterator[Site]:
    connected = [
        ibmmq.connect(name, CHANNEL, conname(one))
        for name, one in zip(("QMA", "QMB"), managers, strict=True)
    ]
    yield connected[0], connected[1]
    for one in connected:
        one.disconnect()


def got(qmgr: ibmmq.QueueManager, name: str) -> tuple[bytes, ibmmq.MD]:
    """Get a message, waiting for it."""
    md = ibmmq.MD()
    gmo = ibmmq.GMO(Options=CMQC.MQGMO_WAIT | CMQC.MQGMO_NO_SYNCPOINT, WaitInterval=20_000)
    return ibmmq.Queue(qmgr, name, CMQC.MQOO_INPUT_SHARED).get(None, md, gmo), md


def test_by_remote_queue_queue_manager_and_alias(site: Site) -> None:
    a, b = site
    for od in (
        ibmmq.OD(ObjectName="TO.B"),
        ibmmq.OD(ObjectName="WORK", ObjectQMgrName="QMB"),
        ibmmq.OD(ObjectName="WORK", ObjectQMgrName="ALIAS.B"),
    ):
        queue = ibmmq.Queue(a, od, CMQC.MQOO_OUTPUT)
        queue.put(b"put")
        queue.close()
        assert got(b, "WORK")[0] == b"put"
        pmo = ibmmq.PMO()
        a.put1(od, b"put1", ibmmq.MD(), pmo)
        assert (pmo.ResolvedQName.strip(), pmo.ResolvedQMgrName.strip()) == (b"WORK", b"QMB")
        assert got(b, "WORK")[0] == b"put1"


def test_request_reply_and_reports(site: Site) -> None:
    a, b = site
    asked = ibmmq.MD(
        ReplyToQ=b"REPLIES",
        MsgType=CMQC.MQMT_REQUEST,
        Report=CMQC.MQRO_COA | CMQC.MQRO_COD,
    )
    ibmmq.Queue(a, "TO.B", CMQC.MQOO_OUTPUT).put(b"question", asked)
    question, md = got(b, "WORK")
    assert (question, md.ReplyToQMgr.strip(), md.MsgId) == (b"question", b"QMA", asked.MsgId)
    answering = ibmmq.OD(ObjectName=md.ReplyToQ, ObjectQMgrName=md.ReplyToQMgr)
    b.put1(answering, b"answer", ibmmq.MD(CorrelId=md.MsgId, MsgType=CMQC.MQMT_REPLY))
    found = [got(a, "REPLIES") for _ in range(3)]
    assert sorted(one.Feedback for _, one in found) == [
        CMQC.MQFB_NONE,
        CMQC.MQFB_COA,
        CMQC.MQFB_COD,
    ]
    assert {one.CorrelId for _, one in found} == {asked.MsgId}


def test_what_cannot_be_opened(site: Site) -> None:
    a, _ = site
    for name, options, reason in (
        ("TO.B", CMQC.MQOO_INPUT_SHARED, CMQC.MQRC_OPTION_NOT_VALID_FOR_TYPE),
        ("TO.B", CMQC.MQOO_BROWSE, CMQC.MQRC_OPTION_NOT_VALID_FOR_TYPE),
        ("ALIAS.B", CMQC.MQOO_OUTPUT, CMQC.MQRC_REMOTE_Q_NAME_ERROR),
    ):
        with pytest.raises(ibmmq.MQMIError) as refused:
            ibmmq.Queue(a, name, options)
        assert reason_of(refused) == reason


def test_publications_go_to_a_queue_of_another_queue_manager(
    managers: tuple[TestQueueManager, TestQueueManager], site: Site
) -> None:
    (manager, _), (a, b) = managers, site
    told = manager.mqsc("DEFINE SUB(FAR) TOPICSTR('prices') DEST(WORK) DESTQMGR(QMB)")
    assert "No command failed" in told
    shown = manager.mqsc("DISPLAY SUB(FAR) DEST DESTQMGR")
    assert "DESTQMGR(QMB)" in shown
    topic = ibmmq.Topic(a, topic_string="prices", open_opts=CMQC.MQOO_OUTPUT)
    topic.pub(b"one dozen")
    body, _ = got(b, "WORK")
    assert body.endswith(b"one dozen")


def test_a_program_puts_behind_a_header_of_its_own(
    managers: tuple[TestQueueManager, TestQueueManager], site: Site
) -> None:
    (manager, _), (a, b) = managers, site
    manager.mqsc(
        "DEFINE QLOCAL(X) USAGE(XMITQ)\nDEFINE QLOCAL(DEAD)\nALTER QMGR DEADQ(DEAD)\n"
        "DEFINE QLOCAL(REPLIES) REPLACE"
    )
    asked = ibmmq.MD(
        Version=CMQC.MQMD_VERSION_1,
        MsgType=CMQC.MQMT_REQUEST,
        MsgId=b"m" * 24,
        ReplyToQ=b"REPLIES",
        Format=CMQC.MQFMT_STRING,
        CodedCharSetId=1208,
    )
    header = ibmmq.XQH(RemoteQName=b"WORK".ljust(48), RemoteQMgrName=b"QMB".ljust(48))
    queue = ibmmq.Queue(a, "X", CMQC.MQOO_OUTPUT)
    described = ibmmq.MD(Format=CMQC.MQFMT_XMIT_Q_HEADER)
    queue.put(b"neither header nor body", described)
    body = header.pack() + asked.pack()[: CMQC.MQMD_LENGTH_1] + b"question"
    queue.put(body, ibmmq.MD(Format=CMQC.MQFMT_XMIT_Q_HEADER))
    question, md = got(b, "WORK")
    assert (question, md.MsgId, md.MsgType) == (b"question", b"m" * 24, CMQC.MQMT_REQUEST)
    b.put1(
        ibmmq.OD(ObjectName=md.ReplyToQ, ObjectQMgrName=md.ReplyToQMgr),
        b"answer",
        ibmmq.MD(CorrelId=md.MsgId),
    )
    answer, md = got(a, "REPLIES")
    assert (answer, md.CorrelId) == (b"answer", b"m" * 24)
    letter, md = got(a, "DEAD")
    assert ibmmq.DLH().unpack(letter[:172]).Reason == CMQC.MQFB_XMIT_Q_MSG_ERROR
    assert letter[172:] == b"neither header nor body"


def test_the_status_of_channels_shows_senders(
    managers: tuple[TestQueueManager, TestQueueManager], site: Site
) -> None:
    (manager, _), (a, b) = managers, site
    ibmmq.Queue(a, "TO.B", CMQC.MQOO_OUTPUT).put(b"sent")
    assert got(b, "WORK")[0] == b"sent"
    pcf = ibmmq.PCFExecute(a, response_wait_interval=20_000)
    try:
        every = {CMQCFC.MQCACH_CHANNEL_NAME: b"*"}
        found = pcf.MQCMD_INQUIRE_CHANNEL_STATUS(every)
        types = [one[CMQCFC.MQIACH_CHANNEL_TYPE] for one in found]
        assert sorted(set(types)) == [CMQXC.MQCHT_SENDER, CMQXC.MQCHT_SVRCONN]
        (sender,) = pcf.MQCMD_INQUIRE_CHANNEL_STATUS(
            every
            | {
                CMQCFC.MQCACH_XMIT_Q_NAME: b"QMB",
                CMQCFC.MQIACH_CHANNEL_INSTANCE_TYPE: CMQC.MQOT_CURRENT_CHANNEL,
            }
        )
        assert sender[CMQCFC.MQCACH_CHANNEL_NAME].strip() == b"TO.QMB"
        assert sender[CMQC.MQCA_REMOTE_Q_MGR_NAME].strip() == b"QMB"
        assert sender[CMQCFC.MQCACH_XMIT_Q_NAME].strip() == b"QMB"
        assert sender[CMQCFC.MQIACH_CHANNEL_STATUS] == CMQCFC.MQCHS_RUNNING
        for name in ("OTHER", "TO.QMC"):
            with pytest.raises(ibmmq.MQMIError) as refused:
                pcf.MQCMD_INQUIRE_CHANNEL_STATUS({CMQCFC.MQCACH_CHANNEL_NAME: name.encode()})
            assert reason_of(refused) == CMQCFC.MQRCCF_CHL_STATUS_NOT_FOUND
        saved = {CMQCFC.MQIACH_CHANNEL_INSTANCE_TYPE: CMQC.MQOT_SAVED_CHANNEL}
        with pytest.raises(ibmmq.MQMIError) as refused:
            pcf.MQCMD_INQUIRE_CHANNEL_STATUS(every | saved)
        assert reason_of(refused) == CMQCFC.MQRCCF_CHL_STATUS_NOT_FOUND
    finally:
        pcf.disconnect()
    asked = "DISPLAY CHSTATUS(*) XMITQ(QMB) STATUS RQMNAME MSGS BATCHES BYTSSENT"
    shown = shown_with(manager, asked, "MSGS(1)")  # the sender counts what it has committed
    for part in ("TO.QMB", "CHLTYPE(SDR)", "RQMNAME(QMB)", "BATCHES(1)", "BYTSSENT(4)"):
        assert part in shown
    assert "SVRCONN" not in shown


def test_finding_mq_5_a_sender_is_stopped_and_started(
    managers: tuple[TestQueueManager, TestQueueManager], site: Site
) -> None:
    (manager, _), (a, b) = managers, site
    queue = ibmmq.Queue(a, "TO.B", CMQC.MQOO_OUTPUT)
    queue.put(b"first")
    assert got(b, "WORK")[0] == b"first"
    pcf = ibmmq.PCFExecute(a, response_wait_interval=20_000)
    try:
        named = {CMQCFC.MQCACH_CHANNEL_NAME: b"TO.QMB"}
        pcf.MQCMD_STOP_CHANNEL(named | {CMQCFC.MQIACF_MODE: CMQCFC.MQMODE_QUIESCE})
        shown_with(manager, "DISPLAY CHSTATUS(TO.QMB) STATUS", "STATUS(STOPPED)")
        queue.put(b"waits", ibmmq.MD(Persistence=CMQC.MQPER_PERSISTENT))
        assert "CURDEPTH(1)" in manager.mqsc("DISPLAY QLOCAL(QMB) CURDEPTH")
        with pytest.raises(ibmmq.MQMIError) as refused:
            pcf.MQCMD_STOP_CHANNEL({CMQCFC.MQCACH_CHANNEL_NAME: b"NONE"})
        assert reason_of(refused) == CMQCFC.MQRCCF_CHANNEL_NOT_FOUND
        pcf.MQCMD_START_CHANNEL(named)
        assert got(b, "WORK")[0] == b"waits"
        pcf.MQCMD_STOP_CHANNEL(named)
    finally:
        pcf.disconnect()
    queue.put(b"waits", ibmmq.MD(Persistence=CMQC.MQPER_PERSISTENT))
    manager.restart()
    assert "CURDEPTH(1)" in manager.mqsc("DISPLAY QLOCAL(QMB) CURDEPTH")
    assert "AMQ8018I" in manager.mqsc("START CHANNEL(TO.QMB)")
    assert got(b, "WORK")[0] == b"waits"


def test_finding_mq_7_what_is_too_long_on_arrival_is_a_dead_letter(
    managers: tuple[TestQueueManager, TestQueueManager], site: Site
) -> None:
    """Nothing is segmented on arrival, as by a receiving channel of IBM MQ; the next goes on."""
    (_, manager), (a, b) = managers, site
    manager.mqsc("DEFINE QLOCAL(DEAD)\nALTER QMGR DEADQ(DEAD)\nALTER QLOCAL(WORK) MAXMSGL(10)")
    queue = ibmmq.Queue(a, "TO.B", CMQC.MQOO_OUTPUT)
    md = ibmmq.MD(Version=CMQC.MQMD_VERSION_2, MsgFlags=CMQC.MQMF_SEGMENTATION_ALLOWED)
    queue.put(b"x" * 100, md)
    queue.put(b"next")
    assert got(b, "WORK")[0] == b"next"
    letter = got(b, "DEAD")[0]
    header = ibmmq.DLH()
    header.unpack(letter[:172])
    assert header.Reason == CMQC.MQRC_MSG_TOO_BIG_FOR_Q
    assert header.DestQName.strip() == b"WORK"
    assert letter[172:].endswith(b"x" * 100)


def shown_with(manager: TestQueueManager, command: str, part: str) -> str:
    """Return the answer to a command once it has a part."""
    until_s = time.monotonic() + 20.0
    while part not in (shown := manager.mqsc(command)):
        assert time.monotonic() < until_s, shown
        time.sleep(0.01)
    return shown


def test_what_waits_for_a_queue_manager_that_is_away_can_be_seen(
    managers: tuple[TestQueueManager, TestQueueManager],
) -> None:
    manager, other = managers
    other.stop()
    transport = manager._network.transport if manager._network is not None else None
    assert isinstance(transport, MemoryNetwork)
    transport.topics.pop("mq.QMB.in.QMA", None)
    a = ibmmq.connect("QMA", CHANNEL, conname(manager))
    queue = ibmmq.Queue(a, "TO.B", CMQC.MQOO_OUTPUT)
    for body in (b"1", b"2"):
        queue.put(body)
    shown = shown_with(manager, "DISPLAY CHSTATUS(TO.QMB) STATUS SUBSTATE", "RETRYING")
    assert "SUBSTATE( )" in shown
    # Messages of an attempt are got in a unit, and CURDEPTH is without what is got, as in MQ.
    shown_with(manager, "DISPLAY QLOCAL(*) CURDEPTH WHERE(USAGE EQ XMITQ)", "CURDEPTH(2)")
    assert "RQMNAME(QMB)" in manager.mqsc("DISPLAY QREMOTE(TO.B) ALL")
    browsing = ibmmq.Queue(a, "QMB", CMQC.MQOO_BROWSE)
    seen = []
    for option in (CMQC.MQGMO_BROWSE_FIRST, CMQC.MQGMO_BROWSE_NEXT):
        gmo = ibmmq.GMO(Options=option | CMQC.MQGMO_WAIT, WaitInterval=20_000)
        seen.append(browsing.get(None, ibmmq.MD(), gmo))
    assert [one[428:] for one in seen] == [b"1", b"2"]
    browsing.close()
    a.disconnect()
    other.start()
    b = ibmmq.connect("QMB", CHANNEL, conname(other))
    assert [got(b, "WORK")[0] for _ in range(2)] == [b"1", b"2"]
    b.disconnect()


def put_to(qmgr: ibmmq.QueueManager, name: str, body: bytes) -> None:
    qmgr.put1(ibmmq.OD(ObjectName=name), body, ibmmq.MD(Persistence=CMQC.MQPER_PERSISTENT))


def test_finding_mq_1_a_transmission_queue_leads_to_the_queue_manager_of_its_name(
    managers: tuple[TestQueueManager, TestQueueManager], site: Site
) -> None:
    """What names another queue manager goes there too: to an alias, or to the dead letters."""
    (one, other), (a, b) = managers, site
    one.mqsc(
        "DEFINE QLOCAL(QMB) USAGE(XMITQ)\n"
        "DEFINE QREMOTE(R.TYPO) RNAME(WORK) RQMNAME(QBX) XMITQ(QMB)\n"
        "DEFINE QREMOTE(R.CLASS) RNAME(WORK) RQMNAME(ALSO.B) XMITQ(QMB)"
    )
    other.mqsc(
        "DEFINE QLOCAL(DEAD)\nALTER QMGR DEADQ(DEAD)\n"
        "DEFINE QREMOTE(ALSO.B) RNAME(' ') RQMNAME(QMB)"
    )
    put_to(a, "R.TYPO", b"nowhere")
    put_to(a, "R.CLASS", b"by an alias")
    put_to(a, "TO.B", b"good")
    assert [got(b, "WORK")[0] for _ in range(2)] == [b"by an alias", b"good"]
    letter, _ = got(b, "DEAD")
    header = ibmmq.DLH()
    header.unpack(letter[: header.get_length()])
    assert header.Reason == CMQC.MQRC_UNKNOWN_REMOTE_Q_MGR
    assert (header.DestQName.strip(), header.DestQMgrName.strip()) == (b"WORK", b"QBX")
    other.mqsc("DEFINE QREMOTE(QBX) RNAME(' ') RQMNAME(QMB)")
    put_to(a, "R.TYPO", b"now it is known")
    assert got(b, "WORK")[0] == b"now it is known"
    assert "RQMNAME(QMB)" in one.mqsc("DISPLAY CHSTATUS(TO.QMB) RQMNAME")


def test_finding_mq_1_a_hub_sends_on() -> None:
    """Two queue managers that know each other under names of the hub only."""
    with adapter.testing.network("QA", "HUB", "QC") as (a, hub, c):
        a.mqsc(
            "DEFINE QLOCAL(HUB) USAGE(XMITQ)\nALTER QMGR DEFXMITQ(HUB)\n"
            "DEFINE QREMOTE(FAR) RNAME(WORK) RQMNAME(BRANCH.7)\n"
            "DEFINE QREMOTE(NEAR) RNAME(WORK) RQMNAME(QC) XMITQ(HUB)"
        )
        hub.mqsc("DEFINE QREMOTE(BRANCH.7) RNAME(' ') RQMNAME(QC)")
        c.mqsc("DEFINE QLOCAL(WORK)")
        with a.connect() as here, c.connect() as there:
            for name in ("FAR", "NEAR"):
                here.put(name, name)
                found = there.get("WORK", timeout=20)
                assert found is not None
                assert found.text == name
        assert sorted(hub.statistics()["network"]["senders"]) == ["QC"]


def test_finding_mq_1_what_would_go_back_for_ever_is_a_dead_letter() -> None:
    """Each of the two has the other as the default for what it does not know."""
    with adapter.testing.network("QA", "QB") as (a, b):
        for one, other in ((a, "QB"), (b, "QA")):
            one.mqsc(
                f"DEFINE QLOCAL({other}) USAGE(XMITQ)\nDEFINE QLOCAL(DEAD)\n"
                f"ALTER QMGR DEFXMITQ({other}) DEADQ(DEAD)"
            )
        with a.connect() as here, b.connect() as there:
            here.put("WORK", "round and round", queue_manager="NOBODY")
            found = there.get("DEAD", timeout=20)
            assert found is not None
            assert found.body.endswith(b"round and round")
        assert b.statistics()["network"]["senders"] == {}


def test_finding_mq_3_an_expiry_on_a_transmission_queue_is_reported(
    managers: tuple[TestQueueManager, TestQueueManager],
) -> None:
    """The report is of the message that was put: the one that the MQXQH describes."""
    manager, _ = managers
    manager.mqsc("DEFINE QLOCAL(QMB) USAGE(XMITQ)\nALTER QLOCAL(QMB) GET(DISABLED)")
    a = ibmmq.connect("QMA", CHANNEL, conname(manager))
    md = ibmmq.MD(
        ReplyToQ=b"REPLIES",
        Expiry=1,
        Report=CMQC.MQRO_EXPIRATION_WITH_DATA | CMQC.MQRO_COA,
        Format=CMQC.MQFMT_STRING,
    )
    a.put1(ibmmq.OD(ObjectName="TO.B"), b"too late", md)
    body, report = got(a, "REPLIES")
    assert (body, report.Feedback) == (b"too late", CMQC.MQFB_EXPIRATION)
    assert (report.CorrelId, report.Format) == (md.MsgId, CMQC.MQFMT_STRING)
    assert "CURDEPTH(0)" in manager.mqsc("DISPLAY QLOCAL(QMB) CURDEPTH")
    a.disconnect()


def test_finding_mq_differences_a_date_that_was_set_arrives_elsewhere(
    managers: tuple[TestQueueManager, TestQueueManager], site: Site
) -> None:
    """Through a remote queue, and as a dead letter."""
    a, b = site
    own, other = managers
    other.mqsc("DEFINE QLOCAL(DEAD)")
    other.mqsc("ALTER QMGR DEADQ(DEAD)")
    own.mqsc("DEFINE QREMOTE(NOWHERE) RNAME(MISSING) RQMNAME(QMB)")
    set_all = CMQC.MQOO_OUTPUT | CMQC.MQOO_SET_ALL_CONTEXT
    for name in ("TO.B", "NOWHERE"):
        said = ibmmq.MD(PutDate="20010203", PutTime="04050607")
        pmo = ibmmq.PMO(Options=CMQC.MQPMO_SET_ALL_CONTEXT)
        ibmmq.Queue(a, name, set_all).put(b"old", said, pmo)
    for name in ("WORK", "DEAD"):
        _, found = got(b, name)
        assert (found.PutDate, found.PutTime) == (b"20010203", b"04050607"), name
