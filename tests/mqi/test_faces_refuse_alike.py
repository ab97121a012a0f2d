"""What is missing is refused with the same reason by every face, and noted for the log alike."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ibmmq
import pytest
import structlog.testing
from ibmmq import CMQC

import adapter
import adapter.aio
from adapter import msmq
from adapter import servicebroker as sb
from adapter.administration.mqsc.execute import run
from adapter.core.contract.authorities import APPLICABLE, QUEUE, words_of
from adapter.server.access import credentials
from adapter.testing import TestQueueManager, queue_manager
from tests.mqi.conftest import CHANNEL, conname

WHO: dict[str, Any] = {"user": "app", "password": "app"}
REFUSED = 2035
MAIL, MAIL_KEY = r".\private$\mail", r"private$\mail"
GRANTED = r"""
DEFINE QLOCAL(ORDERS)
SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('app') AUTHADD(CONNECT, INQ)
SET AUTHREC PROFILE('SYSTEM.ADMIN.COMMAND.QUEUE') OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(PUT)
SET AUTHREC PROFILE('SYSTEM.DEFAULT.MODEL.QUEUE') OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(ALL)
"""
Operation = Callable[[TestQueueManager], object]


@pytest.fixture(scope="module")
def manager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestQueueManager]:
    folder = tmp_path_factory.mktemp("faces")
    users, socket = folder / "users", folder / "socket"
    credentials.write(users, {"app": credentials.hash_password("app")})
    with (
        queue_manager("QM1", credentials_file=users, authorities=True, unix_path=socket) as one,
        adapter.connect(f"unix:{socket}") as operator,
    ):
        script = run(operator, GRANTED)
        assert "No command failed." in script, script
        _make_objects(socket)
        yield one


def _make_objects(socket: Path) -> None:
    with msmq.connect(f"unix:{socket}") as host, sb.connect(f"unix:{socket}") as broker:
        host.create(MAIL)
        broker.create_queue("Asked")
        broker.create_service("Ask", "Asked", contracts=[sb.DEFAULT])


def by_threads(do: Callable[[adapter.Connection], object]) -> Operation:
    def call(manager: TestQueueManager) -> int | None:
        with adapter.connect(manager.address, **WHO) as qm, pytest.raises(adapter.Error) as no:
            do(qm)
        return no.value.reason

    return call


def by_tasks(do: Callable[[Any], Any]) -> Operation:
    async def work(address: str) -> None:
        async with await adapter.aio.connect(address, **WHO) as qm:
            await do(qm)

    def call(manager: TestQueueManager) -> int | None:
        with pytest.raises(adapter.Error) as no:
            asyncio.run(work(manager.address))
        return no.value.reason

    return call


def by_mqi(do: Callable[[ibmmq.QueueManager], object]) -> Operation:
    def call(manager: TestQueueManager) -> int:
        qmgr = ibmmq.connect("QM1", CHANNEL, conname(manager), **WHO)
        try:
            with pytest.raises(ibmmq.MQMIError) as no:
                do(qmgr)
        finally:
            qmgr.disconnect()
        reason: int = no.value.reason
        return reason

    return call


def by_mqsc(text: str) -> Operation:
    def call(manager: TestQueueManager) -> int:
        with adapter.connect(manager.address, **WHO) as qm:
            said = run(qm, text)
        assert "MQRC_NOT_AUTHORIZED" in said or "AMQ8135" in said, said
        return REFUSED

    return call


def by_msmq(do: Callable[[msmq.Host], object]) -> Operation:
    def call(manager: TestQueueManager) -> int:
        with (
            msmq.connect(manager.address, **WHO) as host,
            pytest.raises(msmq.MessageQueueException) as no,
        ):
            do(host)
        assert no.value.message_queue_error_code is msmq.MessageQueueErrorCode.ACCESS_DENIED
        return REFUSED

    return call


def by_broker(do: Callable[[sb.ServiceBroker], object]) -> Operation:
    def call(manager: TestQueueManager) -> int:
        with (
            sb.connect(manager.address, **WHO) as broker,
            pytest.raises(sb.ServiceBrokerError) as no,
        ):
            do(broker)
        assert no.value.number == 229
        return REFUSED

    return call


def _delete_by_pcf(qmgr: ibmmq.QueueManager) -> None:
    pcf = ibmmq.PCFExecute(qmgr, response_wait_interval=10_000)
    pcf.MQCMD_DELETE_Q({CMQC.MQCA_Q_NAME: b"ORDERS", CMQC.MQIA_Q_TYPE: CMQC.MQQT_LOCAL})


CASES = {
    "put by threads": (by_threads(lambda qm: qm.put("ORDERS", b"x")), "ORDERS", "put"),
    "put by tasks": (by_tasks(lambda qm: qm.put("ORDERS", b"x")), "ORDERS", "put"),
    "put by the MQI": (
        by_mqi(lambda qmgr: ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT)), "ORDERS", "put",
    ),
    "delete by threads": (by_threads(lambda qm: qm.delete_queue("ORDERS")), "ORDERS", "dlt"),
    "delete by tasks": (by_tasks(lambda qm: qm.delete_queue("ORDERS")), "ORDERS", "dlt"),
    "delete by MQSC": (by_mqsc("DELETE QLOCAL(ORDERS)"), "ORDERS", "dlt"),
    "delete by PCF": (by_mqi(_delete_by_pcf), "ORDERS", "dlt"),
    "delete by MSMQ": (by_msmq(lambda host: host.delete(MAIL)), MAIL_KEY, "dlt"),
    "delete by Service Broker": (
        by_broker(lambda broker: broker.drop_queue("Asked")), r"broker$\asked", "dlt",
    ),
    "receive by MSMQ": (
        by_msmq(lambda host: host.open(MAIL, access=msmq.QueueAccessMode.RECEIVE)),
        MAIL_KEY, "get",
    ),
    "receive by Service Broker": (
        by_broker(lambda broker: broker.receive("Asked")), r"broker$\asked", "get",
    ),
    "send by MSMQ": (by_msmq(lambda host: host.open(MAIL).send("x")), MAIL_KEY, "put"),
    "grant by threads": (
        by_threads(lambda qm: qm.set_authority("ORDERS", users=["app"])), "QM1", "chg",
    ),
    "grant by MSMQ": (
        by_msmq(
            lambda host: msmq.MessageQueue(host.computers, MAIL, is_lazy=True).set_permissions(
                "app", msmq.MessageQueueAccessRights.FULL_CONTROL
            )
        ),
        MAIL_KEY, " ".join(words_of(APPLICABLE[QUEUE])),
    ),
    "grant by Service Broker": (
        by_broker(lambda broker: broker.grant("SEND", on_service="Ask", to_user="app")),
        "Ask", "chg crt ctrl dlt dsp put",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_every_face_refuses_alike(manager: TestQueueManager, case: str) -> None:
    operation, name, missing = CASES[case]
    with structlog.testing.capture_logs() as lines:
        assert operation(manager) == REFUSED
    noted = [one for one in lines if one["event"] == "not authorized"]
    assert [(one["user"], one["object"], one["missing"]) for one in noted] == [
        ("app", name, missing)
    ]
