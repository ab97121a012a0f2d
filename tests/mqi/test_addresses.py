"""Where programs are told that the queue manager is: CCDT, MQSERVER, and what is refused."""

import json
import logging
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ibmmq
import pytest
from ibmmq import CMQC

from adapter import testing
from adapter.testing import TestQueueManager
from tests.mqi.conftest import CHANNEL, conname, reason_of

VARIABLES = ("MQSERVER", "MQCCDTURL", "MQCHLLIB", "MQCHLTAB", "MQK_USER", "MQK_PASSWORD")


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


WRONG = (
    b'{"channel": [{"name": 1, "type": "clientConnection", '
    b'"clientConnection": {"queueManager": "QM1"}}]}'
)


def definition(manager: TestQueueManager, name: str, queue_manager: str, **more: Any) -> Any:
    """One channel of a table; the first of its two addresses does not answer."""
    host, port = manager.address.split(":")
    connection = [{"host": host, "port": 1}, {"host": host, "port": int(port)}]
    there = {"connection": connection, "queueManager": queue_manager}
    return {"name": name, "type": "clientConnection", "clientConnection": there} | more


def table(folder: Path, *channels: Any) -> Path:
    path = folder / "ccdt.json"
    path.write_text(json.dumps({"channel": channels}))
    return path


def connected(name: str = "QM1", **options: Any) -> None:
    qmgr = ibmmq.QueueManager(None)
    qmgr.connect_with_options(name, **options)
    assert qmgr.inquire(CMQC.MQCA_Q_MGR_NAME).rstrip() == b"QM1"
    qmgr.disconnect()


def refusal(name: str = "QM1", **options: Any) -> int:
    with pytest.raises(ibmmq.MQMIError) as refused:
        connected(name, **options)
    return reason_of(refused)


def test_a_table_by_its_url(
    manager: TestQueueManager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = table(
        tmp_path,
        {"name": "OTHER", "type": "serverConnection"},
        definition(manager, "A", "QM9"),
        definition(manager, "B", "QM1", connectionManagement={"clientWeight": 3}),
        definition(manager, "C", "GROUP"),
        definition(manager, "D", ""),
    )
    for url in (f"file://{path}", str(path)):
        monkeypatch.setenv("MQCCDTURL", url)
        connected("QM1")
        connected("*GROUP")
        connected("")
        assert refusal("QM9") == CMQC.MQRC_Q_MGR_NAME_ERROR, "another one answers"
        assert refusal("QM7") == CMQC.MQRC_Q_MGR_NAME_ERROR, "not in the table"
    monkeypatch.setenv("MQSERVER", f"{CHANNEL}/TCP/127.0.0.1(1)")
    assert refusal("QM1") == CMQC.MQRC_HOST_NOT_AVAILABLE, "MQSERVER is stronger"
    cno = ibmmq.CNO(CCDTUrl=f"file://{path}")
    connected("QM1", cno=cno)


def test_entries_of_no_concern_may_be_as_they_like(
    manager: TestQueueManager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = table(
        tmp_path,
        {"name": "S", "type": "sender", "connectionManagement": {"defaultReconnect": "never"}},
        {"type": 5},
        {},
        {"name": "X", "type": "clientConnection", "clientConnection": []},
        definition(manager, "A", "QM9", connectionManagement={"clientWeight": "heavy"}),
        definition(manager, "B", "QM1"),
    )
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    monkeypatch.setenv("MQCCDTURL", str(path))
    connected("QM1")
    assert refusal("QM9") == CMQC.MQRC_CLIENT_CONN_ERROR


def test_a_table_by_folder_and_file(
    manager: TestQueueManager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = table(tmp_path, definition(manager, "B", "QM1"))
    monkeypatch.setenv("MQCHLLIB", str(tmp_path))
    monkeypatch.setenv("MQCHLTAB", path.name)
    connected("QM1")
    path.rename(tmp_path / "AMQCLCHL.TAB")
    monkeypatch.delenv("MQCHLTAB")
    connected("QM1")


@pytest.mark.parametrize(
    "content",
    [
        b"AMQR\x01\x00\xff",
        b"[]",
        b'{"channel": [5]}',
        b'{"other": ' + b"[" * 20_000 + b"]" * 20_000 + b"}",
        WRONG,
        None,
    ],
)
def test_a_table_that_cannot_be_read_is_refused(
    content: bytes | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    path = tmp_path / "AMQCLCHL.TAB"
    if content is not None:
        path.write_bytes(content)
    monkeypatch.setenv("MQCHLLIB", str(tmp_path))
    assert refusal() == CMQC.MQRC_CLIENT_CONN_ERROR
    assert "CCDT" in caplog.text
    monkeypatch.setenv("MQCCDTURL", "http://127.0.0.1/ccdt.json")
    assert refusal() == CMQC.MQRC_CLIENT_CONN_ERROR
    assert "file:///" in caplog.text


@pytest.mark.parametrize("host", ["127.0.0.1(1)", "no.such.host.invalid(1414)"])
def test_a_host_that_is_not_there(host: str, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ibmmq.MQMIError) as refused:
        ibmmq.connect("QM1", CHANNEL, host)
    assert reason_of(refused) == CMQC.MQRC_HOST_NOT_AVAILABLE
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("adapter.mqi", logging.WARNING)
    assert host.partition("(")[0] in record.getMessage()


@pytest.mark.parametrize("value", ["nonsense", "A/TCP/", "A/LU62/host(1414)", "/TCP/host(1414)"])
def test_an_mqserver_that_is_none(
    value: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("MQSERVER", value)
    assert refusal() == CMQC.MQRC_CLIENT_CONN_ERROR
    assert "MQSERVER is CHANNEL/TCP/HOST(PORT)" in caplog.text


def test_an_mqserver_at_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "QM1.sock"
    monkeypatch.setenv("MQSERVER", f"{CHANNEL}/TCP/unix:{path}")
    assert refusal() == CMQC.MQRC_HOST_NOT_AVAILABLE
    with testing.queue_manager(unix_path=path):
        connected("QM1")


def test_a_blank_before_the_port(
    manager: TestQueueManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = conname(manager).replace("(", " (")
    ibmmq.connect("QM1", CHANNEL, written).disconnect()
    monkeypatch.setenv("MQSERVER", f"{CHANNEL}/TCP/{written}")
    connected()


def test_user_and_password_of_the_environment(
    manager: TestQueueManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MQK_USER", "alice")
    qmgr = ibmmq.connect("QM1", CHANNEL, conname(manager))
    ibmmq.Queue(qmgr, "ORDERS").put("x")
    md = ibmmq.MD()
    ibmmq.Queue(qmgr, "ORDERS").get(None, md)
    assert md.UserIdentifier.rstrip() == b"alice"
    qmgr.disconnect()


def test_a_host_without_a_queue_manager() -> None:
    def hang_up(server: socket.socket) -> None:
        server.accept()[0].close()

    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as executor:
        executor.submit(hang_up, server)
        with pytest.raises(ibmmq.MQMIError) as refused:
            ibmmq.connect("QM1", CHANNEL, f"127.0.0.1({server.getsockname()[1]})")
    assert reason_of(refused) == CMQC.MQRC_Q_MGR_NOT_AVAILABLE


def test_options_without_effect_are_logged_once(
    manager: TestQueueManager, caplog: pytest.LogCaptureFixture
) -> None:
    cno = ibmmq.CNO(Options=CMQC.MQCNO_ACCOUNTING_MQI_ENABLED)
    ibmmq.connect("QM1", CHANNEL, conname(manager), cno=cno).disconnect()
    assert [one.getMessage() for one in caplog.records] == [
        "MQCONNX: accounting and activity trace of MQCNO have no effect here"
    ]
