"""What programs of other faces put can be got, whatever MQ has no room for."""

import ibmmq
from ibmmq import CMQC

from adapter.msmq import Message, QueueAccessMode
from tests.mqi.conftest import CHANNEL, conname
from tests.support.msmq_site import HOME, msmq_site

TEN_YEARS_S = 10 * 365 * 86_400


def test_a_message_of_msmq_that_lives_for_years_is_got() -> None:
    with msmq_site() as at:
        with at.manager.connect() as sdk:
            sdk.define_queue("RESULTS")
        sender = at.home.open(r"DIRECT=OS:.\RESULTS", access=QueueAccessMode.SEND)
        sender.send(Message(b"filed", time_to_be_received=TEN_YEARS_S))
        qmgr = ibmmq.connect(HOME, CHANNEL, conname(at.manager))
        try:
            queue = ibmmq.Queue(qmgr, "RESULTS", CMQC.MQOO_INPUT_SHARED)
            md = ibmmq.MD()
            assert queue.get(None, md) == b"filed"
            assert md.Expiry == 999_999_999
        finally:
            qmgr.disconnect()
