"""Reconnection: what programs and channels ask for, and the reason codes where it fails."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import ibmmq
import pytest
from ibmmq import CMQC, CMQXC

import adapter.testing
from adapter import mq_constants as mq
from adapter.mqi import connecting
from adapter.testing import TestQueueManager
from tests.mqi.conftest import CHANNEL, conname, reason_of
from tests.support.relay import Relay, relay

SHORT_S = 0.3
WAIT_S = 10.0
ASKED = (CMQC.MQCNO_RECONNECT, CMQC.MQCNO_RECONNECT_Q_MGR)


@pytest.fixture(autouse=True)
def soon_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connecting, "RECONNECT_ASKED_S", SHORT_S)
    monkeypatch.setattr(connecting, "RECONNECT_S", SHORT_S)


@pytest.fixture
def other() -> Iterator[TestQueueManager]:
    with adapter.testing.queue_manager("QM2") as running:
        yield running


@pytest.fixture
def front(manager: TestQueueManager) -> Iterator[Relay]:
    """The first address of the queue manager, which can die."""
    with relay(manager.address) as made:
        yield made


def connected(
    conname: str, options: int = CMQC.MQCNO_NONE, default: int = mq.MQRCN_NO
) -> ibmmq.QueueManager:
    cd = ibmmq.CD(ChannelName=CHANNEL.encode(), ConnectionName=conname.encode())
    cd.ChannelType, cd.TransportType = CMQXC.MQCHT_CLNTCONN, CMQXC.MQXPT_TCP
    cd.Version, cd.DefReconnect = CMQXC.MQCD_VERSION_11, default
    qmgr = ibmmq.QueueManager(None)
    qmgr.connect_with_options("QM1", cd=cd, opts=options)
    return qmgr


def in_parentheses(address: str) -> str:
    host, port = address.rsplit(":", 1)
    return f"{host}({port})"


def refusal(call: Callable[[], object]) -> int:
    with pytest.raises(ibmmq.MQMIError) as refused:
        call()
    return reason_of(refused)


def ask(qmgr: ibmmq.QueueManager) -> None:
    """Make a call whose outcome is never in doubt."""
    ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_INQUIRE).close()


def test_a_connection_name_list_is_gone_through(manager: TestQueueManager, front: Relay) -> None:
    names = f"{in_parentheses(front.address)},{conname(manager)}"
    qmgr = connected(names, CMQC.MQCNO_RECONNECT)
    front.die()
    qmgr.put1("ORDERS", "x")
    qmgr.disconnect()


@pytest.mark.parametrize("options", ASKED)
def test_a_unit_is_backed_out_by_a_fail_over(
    manager: TestQueueManager, front: Relay, options: int
) -> None:
    qmgr = connected(f"{in_parentheses(front.address)},{conname(manager)}", options)
    pmo = ibmmq.PMO(Options=CMQC.MQPMO_SYNCPOINT)
    qmgr.put1("ORDERS", "x", ibmmq.MD(), pmo)
    front.die()
    assert refusal(lambda: qmgr.put1("ORDERS", "y", ibmmq.MD(), pmo)) == CMQC.MQRC_BACKED_OUT
    assert refusal(lambda: qmgr.put1("ORDERS", "y", ibmmq.MD(), pmo)) == CMQC.MQRC_BACKED_OUT
    qmgr.backout()
    qmgr.put1("ORDERS", "z", ibmmq.MD(), pmo)
    qmgr.commit()
    qmgr.disconnect()


@pytest.mark.parametrize("options", ASKED)
def test_a_program_that_asked_hears_that_the_time_is_over_and_then_that_it_is_broken(
    manager: TestQueueManager, options: int
) -> None:
    qmgr = connected(conname(manager), options)
    manager.crash()
    assert refusal(lambda: ask(qmgr)) == CMQC.MQRC_RECONNECT_TIMED_OUT
    manager.start()
    assert refusal(lambda: ask(qmgr)) == CMQC.MQRC_CONNECTION_BROKEN
    qmgr.disconnect()


def test_a_put_that_was_interrupted_is_in_doubt_if_no_link_is_made_again(
    manager: TestQueueManager,
) -> None:
    qmgr = connected(conname(manager), CMQC.MQCNO_RECONNECT)
    manager.crash()
    assert refusal(lambda: qmgr.put1("ORDERS", "x")) == CMQC.MQRC_CALL_INTERRUPTED
    assert refusal(lambda: ask(qmgr)) == CMQC.MQRC_CONNECTION_BROKEN
    qmgr.disconnect()


def test_a_program_that_did_not_ask_hears_that_it_is_broken(manager: TestQueueManager) -> None:
    qmgr = connected(conname(manager))
    manager.crash()
    assert refusal(lambda: ask(qmgr)) == CMQC.MQRC_CONNECTION_BROKEN
    qmgr.disconnect()


@pytest.mark.parametrize("options", ASKED)
def test_another_queue_manager_at_the_address_is_a_mismatch(
    manager: TestQueueManager, other: TestQueueManager, front: Relay, options: int
) -> None:
    qmgr = connected(f"{in_parentheses(front.address)},{conname(other)}", options)
    front.die()
    assert refusal(lambda: ask(qmgr)) == CMQC.MQRC_RECONNECT_QMID_MISMATCH
    qmgr.disconnect()


@pytest.mark.parametrize(
    ("is_other", "told"),
    [(False, CMQC.MQRC_RECONNECT_FAILED), (True, CMQC.MQRC_RECONNECT_QMID_MISMATCH)],
)
def test_the_event_handler_hears_that_it_failed(
    front: Relay, other: TestQueueManager, is_other: bool, told: int
) -> None:
    names = in_parentheses(front.address) + (f",{conname(other)}" if is_other else "")
    qmgr = connected(names, CMQC.MQCNO_RECONNECT | CMQC.MQCNO_HANDLE_SHARE_BLOCK)
    events: SimpleQueue[tuple[int, int]] = SimpleQueue()

    def on_event(**said: Any) -> None:
        events.put((said["cbc"].CompCode, said["cbc"].Reason))

    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_INPUT_SHARED)
    message = ibmmq.CBD(CallbackFunction=lambda **_: None)
    queue.cb(md=ibmmq.MD(), gmo=ibmmq.GMO(), cbd=message)
    handler = ibmmq.CBD(CallbackType=CMQC.MQCBT_EVENT_HANDLER, CallbackFunction=on_event)
    qmgr.cb(cbd=handler)
    qmgr.ctl(CMQC.MQOP_START, ibmmq.CTLO())
    front.die()
    assert events.get(timeout=WAIT_S) == (CMQC.MQCC_WARNING, CMQC.MQRC_RECONNECTING)
    assert events.get(timeout=WAIT_S) == (CMQC.MQCC_FAILED, told)
    qmgr.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())
    assert events.empty()
    qmgr.disconnect()


def test_a_channel_may_forbid_what_a_program_asks_for(
    manager: TestQueueManager, front: Relay
) -> None:
    names = f"{in_parentheses(front.address)},{conname(manager)}"
    qmgr = connected(names, CMQC.MQCNO_RECONNECT, mq.MQRCN_DISABLED)
    front.die()
    assert refusal(lambda: ask(qmgr)) == CMQC.MQRC_CONNECTION_BROKEN
    qmgr.disconnect()


@pytest.mark.parametrize(
    ("default", "reason"),
    [
        ("yes", CMQC.MQRC_RECONNECT_TIMED_OUT),
        ("queueManager", CMQC.MQRC_RECONNECT_TIMED_OUT),
        ("no", CMQC.MQRC_CONNECTION_BROKEN),
        ("disabled", CMQC.MQRC_CONNECTION_BROKEN),
    ],
)
def test_the_channel_of_a_table_says_what_programs_do_that_say_nothing(
    front: Relay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, default: str, reason: int
) -> None:
    host, port = front.address.rsplit(":", 1)
    where = {"connection": [{"host": host, "port": int(port)}], "queueManager": "QM1"}
    channel = {
        "name": CHANNEL,
        "type": "clientConnection",
        "clientConnection": where,
        "connectionManagement": {"defaultReconnect": default},
    }
    table = tmp_path / "ccdt.json"
    table.write_text(json.dumps({"channel": [channel]}), encoding="utf-8")
    monkeypatch.setenv("MQCCDTURL", table.as_uri())
    qmgr = ibmmq.QueueManager(None)
    qmgr.connect_with_options("QM1")
    front.die()
    assert refusal(lambda: ask(qmgr)) == reason
    qmgr.disconnect()


@pytest.mark.parametrize(
    ("asked", "default", "counts"),
    [
        (0, mq.MQRCN_NO, 0),
        (0, mq.MQRCN_YES, mq.MQCNO_RECONNECT),
        (0, mq.MQRCN_Q_MGR, mq.MQCNO_RECONNECT_Q_MGR),
        (0, mq.MQRCN_DISABLED, mq.MQCNO_RECONNECT_DISABLED),
        (mq.MQCNO_RECONNECT, mq.MQRCN_Q_MGR, mq.MQCNO_RECONNECT),
        (mq.MQCNO_RECONNECT_Q_MGR, mq.MQRCN_DISABLED, mq.MQCNO_RECONNECT_DISABLED),
        (mq.MQCNO_RECONNECT_DISABLED, mq.MQRCN_YES, mq.MQCNO_RECONNECT_DISABLED),
        (mq.MQCNO_RECONNECT, 7, mq.MQCNO_RECONNECT),
    ],
)
def test_what_counts_of_program_and_channel(asked: int, default: int, counts: int) -> None:
    kept = mq.MQCNO_HANDLE_SHARE_BLOCK
    assert connecting.reconnection(asked | kept, default) == counts | kept
