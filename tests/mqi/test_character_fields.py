"""Fields of characters keep the bytes that a program gives them, whatever set these are of."""

import ibmmq
import pytest
from ibmmq import CMQC

from adapter.testing import TestQueueManager

SAID = {
    "ApplIdentityData": "Zürich".encode("latin-1").ljust(32),
    "ApplOriginData": "äöü ".encode("latin-1"),
    "PutApplName": "Prüfer".encode("latin-1").ljust(28),
    "UserIdentifier": "ÜBERUSER".encode("cp850").ljust(12),
    "Format": "ORDER".encode("cp500").ljust(8),
    "ReplyToQ": "ANTWÖRTEN".encode("latin-1").ljust(48),
    "ReplyToQMgr": "KÖLN".encode().ljust(48),
}
SETTING = ibmmq.PMO(Options=CMQC.MQPMO_SET_ALL_CONTEXT)


@pytest.mark.parametrize("queue_name", ["ORDERS", "AWAY"])
def test_no_byte_of_a_field_is_lost(
    manager: TestQueueManager, qmgr: ibmmq.QueueManager, queue_name: str
) -> None:
    """Behind a header of a transmission queue neither."""
    with manager.connect() as administrator:
        administrator.define_queue("XMIT", usage="XMITQ")
        administrator.define_object(
            "remote", "AWAY", remote_name="X", remote_queue_manager="QM2", transmission_queue="XMIT"
        )
    ibmmq.Queue(qmgr, queue_name, CMQC.MQOO_OUTPUT | CMQC.MQOO_SET_ALL_CONTEXT).put(
        b"x", ibmmq.MD(PutApplType=6, **SAID), SETTING
    )
    source = "ORDERS" if queue_name == "ORDERS" else "XMIT"
    md = ibmmq.MD()
    body = ibmmq.Queue(qmgr, source, CMQC.MQOO_INPUT_SHARED).get(None, md)
    if source == "XMIT":
        for name, said in SAID.items():
            assert said in body, name
    else:
        assert {name: md[name] for name in SAID} == SAID
