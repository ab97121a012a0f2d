"""Warnings: the verb has done its work, and says what is not as the program may think."""

import ibmmq
import pytest
from ibmmq import CMQC, ibmmqc

from adapter.testing import TestQueueManager
from tests.mqi.conftest import reason_of

EVERYTHING = CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_BROWSE | CMQC.MQOO_INQUIRE
WARNING = CMQC.MQCC_WARNING


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (CMQC.MQMF_MSG_IN_GROUP, CMQC.MQRC_INCOMPLETE_GROUP),
        (CMQC.MQMF_SEGMENT, CMQC.MQRC_INCOMPLETE_MSG),
    ],
)
def test_a_queue_is_closed_in_the_midst_of_a_group(
    qmgr: ibmmq.QueueManager, flags: int, reason: int
) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", EVERYTHING)
    md = ibmmq.MD(MsgFlags=flags)
    queue.put("first", md, ibmmq.PMO(Options=CMQC.MQPMO_LOGICAL_ORDER))
    answer = ibmmqc.MQCLOSE(qmgr.get_handle(), queue.get_handle(), CMQC.MQCO_NONE)
    assert answer == (WARNING, reason)
    again = ibmmqc.MQCLOSE(qmgr.get_handle(), queue.get_handle(), CMQC.MQCO_NONE)
    assert again[-1] == CMQC.MQRC_HOBJ_ERROR, "it is closed"


@pytest.mark.parametrize(("room", "returned"), [(4, 4), (10, 10), (100, 10)])
def test_the_returned_length_is_what_is_in_the_buffer(
    qmgr: ibmmq.QueueManager, room: int, returned: int
) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", EVERYTHING)
    queue.put("0123456789")
    gmo = ibmmq.GMO(Options=CMQC.MQGMO_ACCEPT_TRUNCATED_MSG, Version=3)
    hconn, hobj = qmgr.get_handle(), queue.get_handle()
    body, _, told, length, *_ = ibmmqc.MQGET(hconn, hobj, ibmmq.MD().pack(), gmo.pack(), room)
    assert (len(body), length) == (returned, 10)
    assert ibmmq.GMO().unpack(told).ReturnedLength == returned


def test_an_inquiry_without_room_for_all(
    manager: TestQueueManager, qmgr: ibmmq.QueueManager
) -> None:
    """As many whole numbers, and as many whole texts, as there is room for."""
    queue = ibmmq.Queue(qmgr, "ORDERS", EVERYTHING)
    hconn, hobj = qmgr.get_handle(), queue.get_handle()
    numbers = [CMQC.MQIA_MAX_MSG_LENGTH, CMQC.MQIA_MAX_Q_DEPTH]
    texts = [CMQC.MQCA_Q_NAME, CMQC.MQCA_Q_DESC]
    ints, chars, *codes = ibmmqc.MQINQ(hconn, hobj, numbers, [], 1, 1, 0)
    assert (len(ints), chars, codes) == (1, None, [WARNING, CMQC.MQRC_INT_ATTR_COUNT_TOO_SMALL])
    _, chars, *codes = ibmmqc.MQINQ(hconn, hobj, texts, [], 0, 2, 60)
    assert codes == [WARNING, CMQC.MQRC_CHAR_ATTRS_TOO_SHORT]
    assert chars == b"ORDERS".ljust(48)
    for ints_room, chars_room, reason in (
        (-1, 48, CMQC.MQRC_INT_ATTR_COUNT_ERROR),
        (1, -1, CMQC.MQRC_CHAR_ATTR_LENGTH_ERROR),
    ):
        answer = ibmmqc.MQINQ(hconn, hobj, [numbers[0], texts[0]], [], ints_room, 1, chars_room)
        assert answer[-1] == reason


@pytest.mark.parametrize(
    ("selectors", "ints_room", "chars_room", "reason"),
    [
        ([CMQC.MQIA_Q_TYPE, CMQC.MQIA_PLATFORM], 1, 0, CMQC.MQRC_SELECTOR_NOT_FOR_TYPE),
        ([CMQC.MQIA_PLATFORM, CMQC.MQCA_Q_NAME], 1, 4, CMQC.MQRC_SELECTOR_NOT_FOR_TYPE),
        ([CMQC.MQIA_Q_TYPE, CMQC.MQCA_Q_NAME], 0, 4, CMQC.MQRC_INT_ATTR_COUNT_TOO_SMALL),
        ([CMQC.MQIA_Q_TYPE, CMQC.MQCA_Q_NAME], 1, 4, CMQC.MQRC_CHAR_ATTRS_TOO_SHORT),
        ([1999], 1, 0, CMQC.MQRC_SELECTOR_ERROR),
        ([CMQC.MQCA_Q_NAME, 3999], 0, 500, CMQC.MQRC_SELECTOR_ERROR),
    ],
)
def test_of_several_warnings_the_first_of_the_manual_is_told(
    qmgr: ibmmq.QueueManager,
    selectors: list[int],
    ints_room: int,
    chars_room: int,
    reason: int,
) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_INQUIRE)
    hconn, hobj = qmgr.get_handle(), queue.get_handle()
    answer = ibmmqc.MQINQ(hconn, hobj, selectors, [], ints_room, 1, chars_room)
    assert answer[-1] == reason


@pytest.mark.parametrize(
    ("selector", "length"),
    [
        (CMQC.MQCA_CLUS_CHL_NAME, 20),
        (CMQC.MQCA_CF_STRUC_NAME, 12),
        (CMQC.MQCA_CLUSTER_DATE, 12),
        (CMQC.MQCA_STORAGE_CLASS, 8),
        (CMQC.MQCA_Q_DESC, 64),
    ],
)
def test_each_text_is_as_long_as_the_manual_says(
    qmgr: ibmmq.QueueManager, selector: int, length: int
) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_INQUIRE)
    hconn, hobj = qmgr.get_handle(), queue.get_handle()
    chars = ibmmqc.MQINQ(hconn, hobj, [selector, CMQC.MQCA_Q_NAME], [], 0, 1, length + 48)[1]
    assert chars[length:] == b"ORDERS".ljust(48)


def test_a_set_without_all_of_its_text_changes_nothing(
    manager: TestQueueManager, qmgr: ibmmq.QueueManager
) -> None:
    with manager.connect() as administrator:
        administrator.alter_queue("ORDERS", trigger_data="kept")
        hobj = ibmmqc.MQOPEN(
            qmgr.get_handle(), ibmmq.OD(ObjectName="ORDERS").pack(), CMQC.MQOO_SET
        )[0]
        answer = ibmmqc.MQSET(qmgr.get_handle(), hobj, [CMQC.MQCA_TRIGGER_DATA], [], b"x" * 63)
        assert answer[-1] == CMQC.MQRC_CHAR_ATTR_LENGTH_ERROR
        (found,) = administrator.queues("ORDERS")
        assert found.attributes["trigger_data"] == "kept"


def test_one_message_is_put_to_an_alias_of_a_topic(
    manager: TestQueueManager, qmgr: ibmmq.QueueManager
) -> None:
    """All that a topic takes, and it answers as a topic does."""
    with manager.connect() as administrator:
        administrator.define_object("topic", "NEWS", topic_string="news")
        administrator.define_object("alias", "ALIAS", target="NEWS", target_type="TOPIC")
    for options in (CMQC.MQPMO_RETAIN, CMQC.MQPMO_NO_SYNCPOINT):
        pmo = ibmmq.PMO(Options=options)
        qmgr.put1("ALIAS", "headline", ibmmq.MD(), pmo)
        assert pmo.ResolvedQName.strip() == b""
    warns = ibmmq.PMO(Options=CMQC.MQPMO_WARN_IF_NO_SUBS_MATCHED)
    with pytest.raises(ibmmq.MQMIError) as warned:
        qmgr.put1("ALIAS", "headline", ibmmq.MD(), warns)
    assert (warned.value.comp, reason_of(warned)) == (WARNING, CMQC.MQRC_NO_SUBS_MATCHED)
    with pytest.raises(ibmmq.MQMIError) as refused:
        qmgr.put1("ORDERS", "headline", ibmmq.MD(), ibmmq.PMO(Options=CMQC.MQPMO_RETAIN))
    assert reason_of(refused) == CMQC.MQRC_OPTIONS_ERROR
    with manager.connect() as administrator:
        assert administrator.queue("ORDERS").depth() == 0
        assert administrator.queue("ORDERS").status().open_output_count == 0
