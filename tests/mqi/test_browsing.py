"""Browsing by token and in one order, and what depends on the clock of the queue manager."""

import time

import ibmmq
import pytest
from ibmmq import CMQC

from adapter.mqi import getting
from tests.mqi.conftest import reason_of

EVERYTHING = CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_BROWSE


class WrongClock:
    """The module time of a machine whose clock is wrong."""

    monotonic = staticmethod(time.monotonic)

    def __init__(self, wrong_s: float) -> None:
        self.wrong_s = wrong_s

    def time(self) -> float:
        return time.time() + self.wrong_s


def test_the_rest_of_life_is_that_of_the_queue_managers_clock(
    qmgr: ibmmq.QueueManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", EVERYTHING)
    for wrong_s in (-3600, 3600):
        for options in (CMQC.MQGMO_BROWSE_FIRST, CMQC.MQGMO_NO_SYNCPOINT, CMQC.MQGMO_SYNCPOINT):
            if options != CMQC.MQGMO_NO_SYNCPOINT:
                queue.put("x", ibmmq.MD(Expiry=600))
            md = ibmmq.MD()
            monkeypatch.setattr(getting, "time", WrongClock(wrong_s))
            queue.get(None, md, ibmmq.GMO(Options=options))
            assert 300 < md.Expiry <= 600


MATCHING = CMQC.MQMO_MATCH_MSG_TOKEN


@pytest.mark.parametrize(
    ("gmo", "reason"),
    [
        ({"Options": CMQC.MQGMO_BROWSE_NEXT}, None),
        ({"Options": CMQC.MQGMO_BROWSE_FIRST}, None),
        ({"Options": CMQC.MQGMO_BROWSE_NEXT | CMQC.MQGMO_LOCK}, None),
        ({"Options": CMQC.MQGMO_NO_SYNCPOINT}, None),
        ({"Options": CMQC.MQGMO_WAIT, "WaitInterval": 1}, CMQC.MQRC_OPTIONS_ERROR),
        ({"Options": CMQC.MQGMO_BROWSE_NEXT | CMQC.MQGMO_WAIT}, CMQC.MQRC_OPTIONS_ERROR),
        ({"Options": CMQC.MQGMO_NO_SYNCPOINT, "Version": 2}, CMQC.MQRC_WRONG_GMO_VERSION),
        ({"Options": CMQC.MQGMO_BROWSE_NEXT, "Version": 2}, CMQC.MQRC_WRONG_GMO_VERSION),
    ],
)
def test_a_message_is_found_by_its_token(
    qmgr: ibmmq.QueueManager, gmo: dict[str, int], reason: int | None
) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", EVERYTHING)
    for body in ("a", "b", "c"):
        queue.put(body)
    first, following = CMQC.MQGMO_BROWSE_FIRST, CMQC.MQGMO_BROWSE_NEXT
    second = ibmmq.GMO(Version=3)
    for second.Options in (first, following):
        queue.get(None, ibmmq.MD(), second)
    queue.get(None, ibmmq.MD(), ibmmq.GMO(Options=first))
    asked = ibmmq.GMO(**({"Version": 3} | gmo), MatchOptions=MATCHING, MsgToken=second.MsgToken)
    if reason is None:
        assert queue.get(None, ibmmq.MD(), asked) == b"b"
        assert queue.get(None, ibmmq.MD(), ibmmq.GMO(Options=following)) == b"c"
        return
    with pytest.raises(ibmmq.MQMIError) as refused:
        queue.get(None, ibmmq.MD(), asked)
    assert reason_of(refused) == reason


@pytest.mark.parametrize("first_in_order", [True, False])
def test_a_browse_goes_on_in_the_order_that_it_has_begun_in(
    qmgr: ibmmq.QueueManager, first_in_order: bool
) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", EVERYTHING)
    for body in ("a", "b"):
        queue.put(body)
    one, other = CMQC.MQGMO_LOGICAL_ORDER, CMQC.MQGMO_NONE
    if not first_in_order:
        one, other = other, one
    first, following = CMQC.MQGMO_BROWSE_FIRST, CMQC.MQGMO_BROWSE_NEXT
    assert queue.get(None, ibmmq.MD(), ibmmq.GMO(Version=2, Options=first | one)) == b"a"
    with pytest.raises(ibmmq.MQMIError) as refused:
        queue.get(None, ibmmq.MD(), ibmmq.GMO(Version=2, Options=following | other))
    assert reason_of(refused) == CMQC.MQRC_INCONSISTENT_BROWSE
    assert queue.get(None, ibmmq.MD(), ibmmq.GMO(Version=2, Options=following | one)) == b"b"
    assert queue.get(None, ibmmq.MD(), ibmmq.GMO(Version=2, Options=first | other)) == b"a"
    assert queue.get(None, ibmmq.MD(), ibmmq.GMO(Version=2, Options=following | other)) == b"b"
