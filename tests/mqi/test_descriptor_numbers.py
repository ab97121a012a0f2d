"""Each whole number of an MQMD, at the ends of its range and beyond, as a put takes it."""

import ibmmq
import pytest
from ibmmq import CMQC

from adapter.mqi import structs
from adapter.testing import TestQueueManager

MOST = 999_999_999
GROUPED = {"Version": 2, "MsgFlags": CMQC.MQMF_MSG_IN_GROUP, "GroupId": b"G" * 24}
SEGMENT = {"Version": 2, "MsgFlags": CMQC.MQMF_SEGMENT, "GroupId": b"G" * 24}
RANGES = {
    "Report": ({}, CMQC.MQRC_REPORT_OPTIONS_ERROR, {0, CMQC.MQRO_DISCARD_MSG}),
    "MsgType": ({}, CMQC.MQRC_MSG_TYPE_ERROR, {1, 2, 4, 8, 65_536, MOST}),
    "Expiry": ({}, CMQC.MQRC_EXPIRY_ERROR, {-1, 1, MOST}),
    "Feedback": ({}, CMQC.MQRC_FEEDBACK_ERROR, {0, 1, 65_536, MOST}),
    "Priority": ({}, CMQC.MQRC_PRIORITY_ERROR, {-1, 0, 9, MOST, MOST + 1}),
    "Persistence": ({}, CMQC.MQRC_PERSISTENCE_ERROR, {0, 1, 2}),
    "MsgSeqNumber": (GROUPED, CMQC.MQRC_MSG_SEQ_NUMBER_ERROR, {1, MOST}),
    "Offset": (SEGMENT, CMQC.MQRC_OFFSET_ERROR, {0, MOST}),
    "MsgFlags": ({"Version": 2}, CMQC.MQRC_MSG_FLAGS_ERROR, {0, 1}),
    "OriginalLength": (SEGMENT, CMQC.MQRC_ORIGINAL_LENGTH_ERROR, {-1, 0, MOST, MOST + 1}),
}
"""Of each field: what is said beside it, the refusal, and the values of TRIED that are taken."""
NOT_CHECKED = {"Encoding", "CodedCharSetId", "BackoutCount", "PutApplType"}
"""The queue manager only keeps the first two, and writes the others."""
TRIED = {-2, -1, 0, MOST, MOST + 1}


def test_the_table_has_each_number() -> None:
    read = structs.MQMD.read(bytes(structs.MQMD.size))
    numbers = {name for name, value in read.items() if isinstance(value, int)}
    assert numbers - {"Version"} == {*RANGES} | NOT_CHECKED


@pytest.mark.parametrize("field", sorted(RANGES))
def test_a_number_beyond_its_range_is_refused(qmgr: ibmmq.QueueManager, field: str) -> None:
    beside, reason, taken = RANGES[field]
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT)
    for value in sorted(TRIED | taken):
        md = ibmmq.MD(**(beside | {"ReplyToQ": "REPLIES", field: value}))
        found = CMQC.MQRC_NONE
        try:
            queue.put(b"x", md)
        except ibmmq.MQMIError as error:
            found = error.reason if error.comp == CMQC.MQCC_FAILED else CMQC.MQRC_NONE
        assert found == (CMQC.MQRC_NONE if value in taken else reason), f"{field} {value}"


UNKNOWN = 0x0000_8000
"""No option; of those that are accepted only of messages for other queue managers."""


@pytest.mark.parametrize("verb", ["put", "put1"])
def test_an_unknown_report_option_counts_by_the_destination(
    manager: TestQueueManager, qmgr: ibmmq.QueueManager, verb: str
) -> None:
    manager.mqsc("DEFINE QLOCAL(XMIT) USAGE(XMITQ)")
    manager.mqsc("DEFINE QREMOTE(FAR) RNAME(Q) RQMNAME(QM2) XMITQ(XMIT)")
    failed, warned = CMQC.MQCC_FAILED, CMQC.MQCC_WARNING
    for name, code, reason in (
        ("ORDERS", failed, CMQC.MQRC_REPORT_OPTIONS_ERROR),
        ("FAR", warned, CMQC.MQRC_UNKNOWN_REPORT_OPTION),
    ):
        md = ibmmq.MD(Report=UNKNOWN)
        put = ibmmq.Queue(qmgr, name, CMQC.MQOO_OUTPUT).put
        with pytest.raises(ibmmq.MQMIError) as told:
            put(b"x", md) if verb == "put" else qmgr.put1(name, b"x", md)
        assert (told.value.comp, told.value.reason) == (code, reason)
    assert ibmmq.Queue(qmgr, "XMIT", CMQC.MQOO_INQUIRE).inquire(CMQC.MQIA_CURRENT_Q_DEPTH) == 1
