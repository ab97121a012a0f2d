"""mqk qmgr: status and stop of one that runs, and starts that cannot succeed."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import adapter
from adapter import testing
from adapter.cli import background, qmgr
from adapter.cli.ending import ManagerEnd, serves
from adapter.cli.qmgr import summary
from adapter.command.failures import Failed
from adapter.errors import ConnectionBroken, QueueManagerQuiescing
from adapter.host import launch
from adapter.runtime.owner import processes
from adapter.server.services.kafka_wiring import KafkaSettings
from adapter.server.settings import ServerSettings
from adapter.testing import TestQueueManager
from tests.support.backlog import until
from tests.unit.cli.conftest import Mqk

LONGER_THAN_A_STOP_S = 1.0


def test_status_shows_the_figures(at: Mqk) -> None:
    said = at("qmgr", "status")
    assert said.status == 0
    assert ["queue", "manager", "QM1"] in [line.split() for line in said.out.splitlines()]
    everything = at("qmgr", "status", "--all").out
    assert ["queue_manager", "QM1"] in [line.split() for line in everything.splitlines()]
    told = json.loads(at("qmgr", "status", "--json").out)
    assert told["queue_manager"] == "QM1"
    assert told["state"] == "running"


def test_the_address_may_be_told(mqk: Mqk, manager: TestQueueManager) -> None:
    assert mqk("qmgr", "status", "--qmgr", manager.address).status == 0


@pytest.mark.parametrize("verb", ["status", "stop"])
def test_none_that_answers_is_a_failure(verb: str, mqk: Mqk) -> None:
    said = mqk("qmgr", verb, "--qmgr", "127.0.0.1:1")
    assert said.status == 1
    assert "127.0.0.1:1" in said.err
    assert "[MQRC_Q_MGR_NOT_AVAILABLE]" in said.err


START = ["qmgr", "start", "QM", "--bootstrap-server", "127.0.0.1:1"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["qmgr", "start"], "queue_manager is not set: use NAME, MQK_QUEUE_MANAGER, or"),
        (["qmgr", "start", "no name"], "NAME: queue_manager is 'no name'; a name has 1 to 48 of"),
        ([*START, "--listen", "127.0.0.1:x"], "--listen: listen is '127.0.0.1:x'; it is HOST:PORT"),
        ([*START, "--http-port", "65536"], "--http-port: http_port is '65536'; it is a number fr"),
        ([*START, "--config", "no/such"], "no/such cannot be read: No such file"),
        ([*START, "-X", "nonsense"], "is not key=value"),
        ([*START, "--command-config", "no/such"], "no/such cannot be read"),
        ([*START, "--log", "x"], "--log goes with --background"),
        (["qmgr", "status", "--qmgr"], "requires an argument"),
    ],
)
def test_wrong_use(arguments: list[str], words: str, mqk: Mqk) -> None:
    said = mqk(*arguments)
    assert said.status == 2
    assert words in said.err


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", "192.0.2.1:1414"])
def test_only_loopback_is_listened_on(address: str, mqk: Mqk, tmp_path: Path) -> None:
    """Refused before anything is started or Kafka is asked."""
    for more in ([], ["--background", "--log", tmp_path / "log"]):
        said = mqk(*START, "--listen", address, *more)
        assert said.status == 1
        assert "loopback" in said.err
        assert said.err.count("\n") == 1
        assert not (tmp_path / "log").exists()


def test_a_log_that_cannot_be_written_is_named(mqk: Mqk, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    said = mqk(*START, "--background", "--log", tmp_path / "file" / "log")
    assert said.status == 1
    assert "cannot be written: " in said.err


def test_status_says_what_is_sent_and_received() -> None:
    sender = {"state": "retrying", "messages": 5, "error": "the queue is open"}
    receiver = {"messages": 7, "trouble": "Kafka is away", "blocked": {"mq.QM1.in": "ORDERS"}}
    figures = {"network": {"senders": {"QMB": sender}, "receiver": receiver}}
    assert list(summary(figures))[-4:] == [
        ("sender of QMB", "retrying, 5 messages sent: the queue is open"),
        ("messages received", 7),
        ("not receiving", "Kafka is away"),
        ("arrivals wait", "mq.QM1.in: queue ORDERS does not take them, nor a dead-letter queue"),
    ]


def test_feeds_that_do_not_go_on_are_told() -> None:
    waits = {"state": "waiting", "why": "queue Q is full"}
    feeds = {"F": waits, "G": {"state": "running", "why": ""}}
    told = [one for one in summary({"feeds": feeds}) if one[0].startswith("feed")]
    assert told == [("feed F", "waiting: queue Q is full")]


def test_status_shows_standbys_and_waits_for_kafka() -> None:
    standby = {
        "address": "b:1414",
        "tls_address": "",
        "priority": 2,
        "lag_records": 1,
        "lag_s": 0.5,
    }
    told = dict(summary({"ledger_waits_s": 2.5, "standbys": {"b:1414": standby}}))
    assert told["waiting for Kafka"] == "for 2.5 s"
    assert told["standby b:1414"] == "b:1414, priority 2, 1 record (0.5 s) behind"
    told = dict(summary({"ledger_waits_s": 0.002, "standbys": {}}))
    assert (told["waiting for Kafka"], told["standbys"]) == ("no", "none")


def test_a_switch_without_a_standby_is_refused_and_nothing_happens(at: Mqk) -> None:
    for arguments in (["QM1"], ["--to", "elsewhere:1414"], ["--json"]):
        said = at("qmgr", "switch", *arguments)
        assert said.status == 1
        assert said.err == (
            "mqk: queue manager QM1 has no standby: start one with --standby, and see it in `mqk "
            "qmgr status`; nothing was changed\n"
        )
    said = at("qmgr", "switch", "QM9")
    assert said.status == 1
    assert "queue manager QM1 was not handed over" in said.err
    assert at("qmgr", "status").status == 0


def test_a_standby_does_not_take_over_from_a_live_owner(mqk: Mqk) -> None:
    said = mqk(*START, "--standby", "--take-over", "--yes")
    assert said.status == 2
    assert "a standby waits for the owner's end, and --take-over does not" in said.err


def test_finding_users_12_a_stop_by_name_stops_no_other(at: Mqk, manager: TestQueueManager) -> None:
    said = at("qmgr", "stop", "QM9")
    assert said.status == 1
    assert f"queue manager {manager.name} was not stopped" in said.err
    with manager.connect() as qm:
        assert qm.name == manager.name


@pytest.mark.parametrize("verb", ["figures", "stop_queue_manager"])
def test_one_that_another_program_stops_meanwhile_has_stopped(
    mqk: Mqk, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    asked = getattr(adapter.Connection, verb)
    with testing.queue_manager("QM7") as other:

        def stop_first(qm: adapter.Connection, **options: bool) -> object:
            other.stop()
            return asked(qm, **options)

        monkeypatch.setattr(adapter.Connection, verb, stop_first)
        said = mqk("qmgr", "stop", "--qmgr", other.address)
    assert (said.status, said.out) == (0, "queue manager QM7 has stopped\n")


def test_one_that_accepts_no_clients_any_more_is_waited_for(
    mqk: Mqk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program has told it to stop, and it ends."""
    with testing.queue_manager("QM7") as other:
        stopping = threading.Thread(target=other.stop)

        def refuse(*_: object, **__: object) -> None:
            raise QueueManagerQuiescing("queue manager QM7 is quiescing", "QM7")

        monkeypatch.setattr(adapter, "connect", refuse)
        wrong = mqk("qmgr", "stop", "QM9", "--qmgr", other.address)
        stopping.start()
        said = mqk("qmgr", "stop", "--qmgr", other.address)
        stopping.join()
    assert wrong.status == 1
    assert "queue manager QM7 was not stopped: it listens at" in wrong.err
    assert (said.status, said.out) == (0, "queue manager QM7 has stopped\n")


def test_a_lost_connection_alone_is_no_stop(
    at: Mqk, monkeypatch: pytest.MonkeyPatch, manager: TestQueueManager
) -> None:
    def lose(_qm: adapter.Connection, **_options: bool) -> None:
        raise ConnectionBroken("an operator has ended it")

    monkeypatch.setattr(adapter.Connection, "stop_queue_manager", lose)
    monkeypatch.setattr(qmgr, "STOP_TIMEOUT_S", 0.1)
    said = at("qmgr", "stop")
    assert said.status == 1
    assert "an operator has ended it" in said.err
    assert manager.is_running


def test_finding_users_8_a_parked_topic_is_called_parked() -> None:
    figures = {"movers_parked": {"mq.QM1.q.A": "it has 1 partitions and needs 10"}}
    told = ("topic parked", "mq.QM1.q.A: it has 1 partitions and needs 10")
    assert told in list(summary(figures))


def test_what_is_not_done_for_now_is_shown() -> None:
    told = ("the ledger was not trimmed", "Kafka denies Delete on topic T")
    assert told in list(summary({"undone": dict([told])}))


def test_finding_users_22_the_process_names_its_queue_manager(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[list[str]] = []

    def start(command: list[str], **_: object) -> None:
        started.append(command)
        raise OSError(1, "no more processes")

    monkeypatch.setattr("subprocess.Popen", start)
    settings = ServerSettings(queue_manager="ORDERS", kafka=KafkaSettings(bootstrap_servers="k:1"))
    with pytest.raises(Failed, match="no more processes"):
        background.start(settings, tmp_path / "log")
    assert started[0][-1] == "ORDERS"


def test_one_that_is_not_ready_in_time_is_ended_and_that_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Else it would be waited for, or looked for."""
    sleeps = [sys.executable, "-c", "import time; time.sleep(600)"]
    monkeypatch.setattr(launch, "program", lambda *_: sleeps)
    monkeypatch.setattr(background, "START_TIMEOUT_S", 0.1)
    settings = ServerSettings(queue_manager="ORDERS", kafka=KafkaSettings(bootstrap_servers="k:1"))
    log = tmp_path / "log"
    with pytest.raises(Failed, match=f"ORDERS was not ready after 0 s, and was ended: {log}"):
        background.start(settings, log)


def test_a_process_that_has_taken_over_is_stopped_too(
    mqk: Mqk, quiet: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that is asked first stood still, and does not know yet that it was replaced."""
    with testing.queue_manager("QM1") as replaced, testing.queue_manager("QM1") as owner:
        until(lambda: owner.statistics()["uptime_s"] > LONGER_THAN_A_STOP_S)
        let_stop(monkeypatch, replaced, owner)
        said = mqk("qmgr", "stop", "QM1", "--qmgr", f"{replaced.address},{owner.address}")
        assert (said.status, said.out) == (0, "queue manager QM1 has stopped\n")
        assert [one.is_running for one in (replaced, owner)] == [False, False]


def test_one_that_was_started_again_meanwhile_goes_on(
    mqk: Mqk, quiet: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a supervisor of processes, whatever the stop of its earlier process says."""
    wait_for_end = ManagerEnd.wait
    with testing.queue_manager("QM1") as manager:

        def wait(end: ManagerEnd, timeout_s: float) -> None:
            wait_for_end(end, timeout_s)
            manager.start()

        let_stop(monkeypatch, manager)
        monkeypatch.setattr(ManagerEnd, "wait", wait)
        assert mqk("qmgr", "stop", "QM1", "--qmgr", manager.address).status == 0
        assert manager.is_running


def let_stop(monkeypatch: pytest.MonkeyPatch, *managers: TestQueueManager) -> None:
    """Let clients stop queue managers of this process."""
    by_address = {one.address: one for one in managers}

    def stop(qm: adapter.Connection, **_options: bool) -> None:
        by_address[qm.statistics()["address"]].stop()

    monkeypatch.setattr(adapter.Connection, "stop_queue_manager", stop)


def test_finding_mq_8_one_that_is_slow_to_answer_has_not_stopped() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = "127.0.0.1:{1}".format(*silent.getsockname())
        assert serves(address)
    assert not serves(address)


MACHINE = processes.machine().hex()
# Like a queue manager and its movers: a process that has started another one.
TWO = """
import subprocess, sys, time
other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(other.pid, flush=True)
time.sleep(600)
"""


def test_finding_mq_8_a_stop_waits_for_the_processes_and_not_for_the_port() -> None:
    """The port has been closed, and both processes still run."""
    first = subprocess.Popen([sys.executable, "-c", TWO], stdout=subprocess.PIPE, text=True)
    assert first.stdout is not None
    second = int(first.stdout.readline())
    figures = {"process": {"id": first.pid, "machine": MACHINE}}
    end = ManagerEnd("QM1", "127.0.0.1:1", figures)
    with pytest.raises(Failed) as told:
        end.wait(0.1)
    assert f"and its processes {first.pid}, {second} still run after 0 s" in str(told.value)
    first.kill()  # not waited for: a process that only its parent has not noticed runs no more
    with pytest.raises(Failed, match=f"process {second} still runs after 0 s"):
        end.wait(0.1)
    threading.Timer(0.1, os.kill, (second, signal.SIGKILL)).start()
    end.wait(60)
    first.communicate(timeout=60)


@pytest.mark.parametrize(
    "figures",
    [
        {},  # of an earlier release
        {"process": {"id": 1, "machine": ""}},
        {"process": {"id": 1, "machine": "00" * 4}},  # as a container counts, or another machine
        {"process": {"id": os.getpid(), "machine": MACHINE}},  # a test's, in this process
    ],
)
def test_finding_mq_8_of_other_processes_the_port_is_waited_for(figures: dict[str, object]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = "127.0.0.1:{1}".format(*listening.getsockname())
        end = ManagerEnd("QM1", address, figures)
        with pytest.raises(Failed, match=f"{address} still answers after 0 s"):
            end.wait(0.1)
    end.wait(60)


def test_finding_mq_8_its_figures_name_its_process(manager: TestQueueManager) -> None:
    assert manager.statistics()["process"] == {"id": os.getpid(), "machine": MACHINE}
