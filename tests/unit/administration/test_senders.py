"""Senders as channels in MQSC, and definitions of channels between queue managers."""

from functools import partial

import pytest

import adapter
from adapter.administration.mqsc.execute import Script
from adapter.client.connection import connect_in_process
from adapter.core.contract.parties import Principal, Proof
from adapter.testing import TestQueueManager


def told(qm: adapter.Connection, text: str) -> list[str]:
    """The answer to one command."""
    return list(Script(qm, echo=False, summary=False).run([text]))


def test_finding_mq_5_senders_are_stopped_started_and_shown(qm: adapter.Connection) -> None:
    told(qm, "DEFINE QLOCAL(QM2) USAGE(XMITQ)")
    (stopped,) = told(qm, "STOP CHANNEL(TO.QM2) MODE(FORCE)")
    assert stopped == "AMQ8019I: channel TO.QM2 is stopped until START CHANNEL."
    assert "GET(DISABLED)" in "".join(told(qm, "DISPLAY QLOCAL(QM2) GET"))
    (started,) = told(qm, "START CHANNEL(TO.QM2)")
    assert started == "AMQ8018I: channel TO.QM2 is started: it sends."
    assert "GET(ENABLED)" in "".join(told(qm, "DISPLAY QLOCAL(QM2) GET"))
    shown = "".join(told(qm, "DISPLAY CHANNEL(TO.*) ALL"))
    for part in ("CHANNEL(TO.QM2)", "CHLTYPE(SDR)", "XMITQ(QM2)"):
        assert part in shown
    told(qm, "DELETE QLOCAL(QM2)")


def test_finding_mq_7_the_handle_of_a_sender_names_its_channel(manager: TestQueueManager) -> None:
    server = manager._server
    assert server is not None
    own = partial(server.accept, Principal(manager.name, Proof.OWN))
    with (
        manager.connect() as qm,
        connect_in_process(manager._loop, own, application="mqk sender") as sender,
        manager.connect(application="mqk sender") as another,
    ):
        told(qm, "DEFINE QLOCAL(QM7) USAGE(XMITQ)")
        told(qm, "DEFINE QLOCAL(QM8) USAGE(XMITQ)")
        sender.queue("QM7", open_for="input_exclusive").get()
        another.queue("QM8", open_for="input_exclusive").get()
        shown = "".join(told(qm, "DISPLAY QSTATUS(*) TYPE(HANDLE) CHANNEL"))
        assert "CHANNEL(TO.QM7)" in shown
        assert "CHANNEL(TO.QM8)" not in shown, "a client is no sender by its name"


@pytest.mark.parametrize("verb", ["DEFINE", "ALTER"])
@pytest.mark.parametrize("attribute", ["PROPCTL(NONE)", "NPMSPEED(FAST)", "NPMSPEED(NORMAL)"])
def test_finding_mq_7_attributes_of_a_sender_are_read(
    qm: adapter.Connection, verb: str, attribute: str
) -> None:
    answers = told(qm, f"{verb} CHANNEL(A.TO.B) CHLTYPE(SDR) XMITQ(B) {attribute}")
    number = {"DEFINE": "AMQ8014W", "ALTER": "AMQ8016W"}[verb]
    assert answers[0].startswith(f"{number}: channel A.TO.B accepted without effect")


@pytest.mark.parametrize("kind", ["SDR", "RQSTR", "SVR", "CLUSSDR", "CLUSRCVR"])
def test_finding_mq_5_channels_between_queue_managers_are_read(
    qm: adapter.Connection, kind: str
) -> None:
    """A saved definition has many attributes; the script goes on, and ends well."""
    command = f"DEFINE CHANNEL(A.TO.B) CHLTYPE({kind}) BATCHSZ(50) CONNAME('b(1414)') REPLACE"
    script = Script(qm)
    answers = list(script.run([command]))
    assert answers[1].startswith("AMQ8014W: channel A.TO.B accepted without effect")
    assert (script.failed, script.wrong, script.without_effect) == ([], [], [1])


RECEIVER = (
    "CHANNEL(FROM.B) CHLTYPE(RCVR) TRPTYPE(TCP) QMNAME(B) MCAUSER('b') PUTAUT(CTX) BATCHSZ(50) "
    "MRRTY(10) MRTMR(1000) MREXIT(' ') MSGEXIT(' ') NPMSPEED(FAST) SEQWRAP(999999999)"
)


def test_a_receiver_is_kept_and_shown(qm: adapter.Connection) -> None:
    script = Script(qm)
    answers = list(script.run([f"DEFINE {RECEIVER}"]))
    assert answers[1].startswith("AMQ8014W: channel FROM.B created; not supported, without effect")
    (found,) = qm.objects("channel", "FROM.B")
    of = ("channel_type", "queue_manager", "mca_user", "put_authority")
    assert [found.attributes[one] for one in of] == ["RCVR", "B", "b", "CTX"]
    shown = "\n".join(told(qm, "DISPLAY CHANNEL(FROM.B) CHLTYPE QMNAME MCAUSER PUTAUT"))
    for one in ("CHLTYPE(RCVR)", "QMNAME(B)", "MCAUSER(b)", "PUTAUT(CTX)"):
        assert one in shown
    told(qm, "ALTER CHANNEL(FROM.B) CHLTYPE(RCVR) PUTAUT(DEF)")
    (found,) = qm.objects("channel", "FROM.B")
    assert found.attributes["put_authority"] == "DEF"


@pytest.mark.parametrize("attribute", ["MCAUSER('b')", "PUTAUT(CTX)"])
def test_a_receiver_that_says_for_whom_and_not_whose_is_refused(
    qm: adapter.Connection, attribute: str
) -> None:
    (answer,) = told(qm, f"DEFINE CHANNEL(A.TO.B) CHLTYPE(RCVR) {attribute}")
    assert "needs QMNAME" in answer
    told(qm, "DEFINE CHANNEL(A.TO.B) CHLTYPE(RCVR)")
    (answer,) = told(qm, f"ALTER CHANNEL(A.TO.B) CHLTYPE(RCVR) {attribute}")
    assert "needs QMNAME" in answer
    for name in ("SYSTEM.AUTO.RECEIVER", "SYSTEM.KAFKA.RECEIVER"):
        (answer,) = told(qm, f"ALTER CHANNEL({name}) CHLTYPE(RCVR) {attribute}")
        assert answer.startswith("AMQ8016I")


def test_a_channel_that_is_of_two_queues_is_neither_stopped_nor_started(
    qm: adapter.Connection,
) -> None:
    queues = [f"DC1.PAYMENTS.QUEUES.TO.{one}" for one in "AB"]
    for queue in queues:
        told(qm, f"DEFINE QLOCAL({queue}) USAGE(XMITQ)")
    told(qm, f"ALTER QLOCAL({queues[1]}) GET(DISABLED)")
    for verb, get in (("STOP", "DISABLED"), ("START", "ENABLED")):
        (answer,) = told(qm, f"{verb} CHANNEL(TO.DC1.PAYMENTS.QUEU)")
        assert f"several transmission queues, {', '.join(queues)}" in answer
        assert f"ALTER QLOCAL({queues[0]}) GET({get})" in answer
    inhibited = [one.attributes["inhibit_get"] for one in qm.queues("DC1.*")]
    assert inhibited == [False, True]
