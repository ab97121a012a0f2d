"""The mqk command as a user types it: real processes, a real Kafka, no traceback ever."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from confluent_kafka import Producer
from msgspec import Struct

import adapter
from adapter.administration.pcf import structures as pcf
from adapter.localkafka import free_port
from adapter.runtime.owner import processes
from adapter.storage.format import entries, names
from adapter.storage.ledger.envelope import ENTRY, encode
from tests.support.shared_kafka import AnyKafka

TIMEOUT_S = 100.0
HOST = "127.0.0.1"


class Said(Struct):
    """What a command line came to."""

    status: int
    out: str
    err: str

    @property
    def objects(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.out.splitlines()]


class Process(Struct):
    """Where a queue manager runs."""

    id: int


class Shell:
    """Runs mqk in processes of its own, in a folder and with a HOME of its own."""

    def __init__(self, folder: Path, kafka: str) -> None:
        self.kafka = kafka
        self.address = f"{HOST}:{free_port()}"
        self.folder = folder
        self.environment = os.environ | {
            "HOME": str(folder),
            "MQK_QMGR": self.address,
            "MQK_BOOTSTRAP_SERVER": kafka,
            # Everything in HOME is new, but for the jars, which take a while.
            "MQK_CACHE_DIR": os.environ.get("MQK_CACHE_DIR", str(Path.home() / ".cache" / "mqk")),
        }
        for name in ("XDG_STATE_HOME", "XDG_DATA_HOME", "MQK_DEBUG"):
            self.environment.pop(name, None)

    def command(self, *arguments: object) -> list[str]:
        return [sys.executable, "-m", "adapter.cli", *map(str, arguments)]

    def __call__(self, *arguments: object, stdin: str = "") -> Said:
        done = subprocess.run(
            self.command(*arguments), input=stdin, capture_output=True, text=True,
            env=self.environment, cwd=self.folder, timeout=TIMEOUT_S, check=False,
        )  # fmt: skip
        assert "Traceback" not in done.stderr, done.stderr
        return Said(done.returncode, done.stdout, done.stderr)

    def start(self, *arguments: object) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            self.command(*arguments), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env=self.environment, cwd=self.folder,
        )  # fmt: skip


@pytest.fixture(scope="module")
def mqk(kafka: AnyKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A queue manager CLI in the background, started and stopped by the command."""
    shell = Shell(tmp_path_factory.mktemp("home"), kafka.bootstrap_servers)
    started = shell("qmgr", "start", "CLI", "--listen", shell.address, "--background")
    assert started.status == 0, started.err
    assert f"queue manager CLI serves at {shell.address}" in started.out
    try:
        yield shell
    finally:
        stopped = shell("qmgr", "stop")
        assert (stopped.status, stopped.out) == (0, "queue manager CLI has stopped\n")


def test_a_day_with_queues(mqk: Shell) -> None:
    assert mqk("queue", "define", "ORDERS", "--max-depth", 10).status == 0
    assert mqk("put", "ORDERS", "--priority", 3, stdin="slow\n").out == "1 message put on ORDERS\n"
    assert mqk("put", "ORDERS", "--body", "fast", "--priority", 7).status == 0
    assert [o["body"] for o in mqk("browse", "ORDERS", "--json").objects] == ["fast", "slow"]
    assert mqk("get", "ORDERS", "--timeout", 5).out == "fast\n"
    assert mqk("queue", "show", "ORDERS", "--json").objects[0]["current_depth"] == 1
    assert mqk("queue", "alter", "ORDERS", "--inhibit-get").status == 0
    refused = mqk("get", "ORDERS")
    assert refused.status == 1
    assert "[MQRC_GET_INHIBITED]" in refused.err
    assert mqk("queue", "purge", "ORDERS").out == "1 message purged from ORDERS\n"
    assert mqk("queue", "delete", "ORDERS").status == 0


def test_mqsc_and_pcf(mqk: Shell) -> None:
    script = (
        "* definitions\nDEF QL(MADE.BY.MQSC) +\n  MAXDEPTH(7)\nDEF QA(ALSO) TARGET(MADE.BY.MQSC)\n"
    )
    said = mqk("mqsc", stdin=script)
    assert (said.status, said.out.count("AMQ8006I")) == (0, 2), said.out
    assert mqk("mqsc", "-c", "DEL QL(NONE)").status == 1
    asked: list[pcf.Parameter] = [pcf.String(2016, "MADE.*"), pcf.Integers(1002, (15,))]
    header = pcf.CommandHeader(type=pcf.COMMAND, command=13)
    with adapter.connect(mqk.address) as qm:
        qm.define_queue("REPLIES")
        request = qm.put(
            "SYSTEM.ADMIN.COMMAND.QUEUE",
            pcf.encode(header, asked),
            format="MQADMIN",
            message_type=1,
            reply_to="REPLIES",
        )
        reply = qm.get("REPLIES", timeout=TIMEOUT_S, correlation_id=request.message_id)
    assert reply is not None
    assert pcf.decode(reply.body).parameters == [
        pcf.String(2016, "MADE.BY.MQSC"),
        pcf.Integer(20, 1),
        pcf.Integer(15, 7),
    ]


def test_status_tells_the_figures(mqk: Shell) -> None:
    (told,) = mqk("qmgr", "status", "--json").objects
    assert told["queue_manager"] == "CLI"
    assert told["state"] == "running"
    lines = mqk("qmgr", "status").out.splitlines()
    summary = {line[:16].strip(): line[16:].strip() for line in lines}
    assert summary["queue manager"] == "CLI"
    assert summary["address"] == mqk.address
    assert summary["Kafka"] == mqk.kafka
    assert summary["copying stalled"] == "no"
    assert "ledger_durable" in mqk("qmgr", "status", "--all").out


def test_queue_managers_are_listed(mqk: Shell) -> None:
    """Also one that was stopped, and one whose process was killed."""
    for name, number in (("STOPPED", signal.SIGTERM), ("KILLED", signal.SIGKILL)):
        running = mqk.start("qmgr", "start", name, "--listen", f"{HOST}:0", "--http-port", "0")
        assert running.stdout is not None
        said = running.stdout.readline()
        assert f"queue manager {name} serves at" in said, running.communicate(timeout=TIMEOUT_S)
        running.send_signal(number)
        running.communicate(timeout=TIMEOUT_S)
    listed = {one["queue_manager"]: one["state"] for one in mqk("qmgr", "list", "--json").objects}
    assert listed["CLI"] == "running"
    assert listed["STOPPED"] == "stopped"
    assert listed["KILLED"] == "ended"
    assert "STOPPED" in mqk("qmgr", "list").out


def test_its_log_is_where_it_says(mqk: Shell) -> None:
    log = mqk.folder / ".local" / "state" / "mqk" / "log" / "CLI.log"
    assert "ledger taken over" in log.read_text()


def test_the_ledger_is_explained(mqk: Shell) -> None:
    mqk("queue", "define", "SHOWN")
    mqk("put", "SHOWN", "--body", "secret", "--priority", 4)
    mqk("get", "SHOWN")
    said = mqk("ledger", "show", "CLI")
    assert said.status == 0, said.err
    assert "from here on the ledger is owned by CLI (process " in said.out
    assert "queue SHOWN defined" in said.out
    assert "committed (a put outside a unit): put 1 on SHOWN (lane 4: seq 1)" in said.out
    assert "got 1 on SHOWN (lane 4: seq 1)" in said.out
    assert "secret" not in said.out
    told = mqk("ledger", "show", "CLI", "--json").objects
    assert [one["offset"] for one in told] == list(range(len(told)))
    assert {one["verdict"] for one in told} == {"owner_changed", "valid"}
    some = mqk("ledger", "show", "CLI", "--json", "--from", 1, "--limit", 2).objects
    assert some == told[1:3]


def test_what_does_not_count_in_a_ledger_is_marked(kafka: AnyKafka, tmp_path: Path) -> None:
    """Another owner's late entry, an entry written twice, and a record of another program."""
    shell = Shell(tmp_path, kafka.bootstrap_servers)
    start = ["qmgr", "start", "MARKED", "--listen", shell.address, "--background"]
    assert shell(*start).status == 0
    assert shell("queue", "define", "Q").status == 0
    assert shell("qmgr", "stop").status == 0
    told = shell("ledger", "show", "MARKED", "--json").objects
    last = next(one for one in reversed(told) if one["verdict"] == "valid")
    owner, n = bytes.fromhex(str(last["owner"])), int(str(last["n"]))
    topic = names.ledger_topic("MARKED")
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for value in (
        encode(ENTRY, owner, n, entries.encode([])),
        encode(ENTRY, bytes(16), 5, entries.encode([])),
        b"hello",
    ):
        producer.produce(topic, value, partition=0)
    assert producer.flush(TIMEOUT_S) == 0
    more = shell("ledger", "show", "MARKED", "--json", "--from", len(told)).objects
    assert [one["verdict"] for one in more] == ["duplicate", "void", "corrupt"]
    text = shell("ledger", "show", "MARKED", "--from", len(told)).out
    assert text.count("does not count") == 3
    assert shell(*start).status == 0, "the queue manager ignores them too"
    assert [o["name"] for o in shell("queue", "show", "--json").objects] == ["Q"]
    assert shell("qmgr", "stop").status == 0


def test_many_lines_go_through_pipes(mqk: Shell) -> None:
    mqk("queue", "define", "LINES")
    lines = "".join(f"line {number}\n" for number in range(2500))
    assert (
        mqk("put", "LINES", "--unit-size", 1000, stdin=lines).out == "2500 messages put on LINES\n"
    )
    assert mqk("get", "LINES", "--all").out == lines


def test_a_reader_that_goes_away_costs_no_message(mqk: Shell) -> None:
    """As `mqk get Q --all | head -1`: what could not be printed is still there."""
    mqk("queue", "define", "PIPE")
    count, size = 300, 5000
    body = "x" * size
    mqk("put", "PIPE", "--unit-size", 100, stdin=f"{body}\n" * count)
    getting = mqk.start("get", "PIPE", "--all")
    assert getting.stdout is not None
    assert getting.stdout.readline() == body + "\n"
    getting.stdout.close()
    assert getting.wait(TIMEOUT_S) == 1
    assert getting.stderr is not None
    assert getting.stderr.read() == ""
    (told,) = mqk("queue", "show", "PIPE", "--json").objects
    # A pipe takes 64 KiB, and Python's reader 8 KiB more, before the writer notices.
    printed = count - int(str(told["current_depth"]))
    assert 1 <= printed <= 1 + (65536 + 3 * 8192) // size
    _end(getting)


def test_ctrl_c_ends_a_get_that_waits(mqk: Shell) -> None:
    mqk("queue", "define", "EMPTY")
    getting = mqk.start("get", "EMPTY", "--wait")
    _await_waiting_get(mqk, "EMPTY")
    getting.send_signal(signal.SIGINT)
    out, err = getting.communicate(timeout=TIMEOUT_S)
    assert (getting.returncode, out.strip(), err.strip()) == (130, "", "")
    mqk("put", "EMPTY", "--body", "still there")
    assert mqk("get", "EMPTY").out == "still there\n"


def test_a_put_that_waits_for_lines_puts_each_at_once(mqk: Shell) -> None:
    mqk("queue", "define", "SLOW")
    putting = mqk.start("put", "SLOW", "--json")
    assert putting.stdin is not None
    assert putting.stdout is not None
    putting.stdin.write("first\n")
    putting.stdin.flush()
    assert "message_id" in json.loads(putting.stdout.readline())  # it knows that it was put
    assert mqk("get", "SLOW", "--timeout", 30).out == "first\n"
    putting.send_signal(signal.SIGINT)
    _out, err = putting.communicate(timeout=TIMEOUT_S)
    assert putting.returncode == 130
    assert "interrupted; put before: 1 message" in err


def test_finding_mq_8_what_has_stopped_can_be_started_at_once(
    kafka: AnyKafka, tmp_path: Path
) -> None:
    """Its process and its movers' have ended: nothing of them is left, nor a port in use."""
    shell = Shell(tmp_path, kafka.bootstrap_servers)
    http = f"{HOST}:{free_port()}"
    start = ["qmgr", "start", "AGAIN", "--listen", shell.address, "--http-listen", http]
    for _ in range(3):
        started = shell(*start, "--background")
        assert started.status == 0, started.err
        assert http in started.out
        (told,) = shell("qmgr", "status", "--json").objects
        pid = msgspec.convert(told["process"], Process).id
        both = [pid, *processes.children(pid)]
        assert len(both) == 2, "the process and its movers'"
        assert shell("qmgr", "stop").out == "queue manager AGAIN has stopped\n"
        assert [processes.process(one) for one in both] == [processes.NOBODY] * 2


def test_a_queue_manager_in_the_foreground_ends_on_ctrl_c(kafka: AnyKafka, tmp_path: Path) -> None:
    shell = Shell(tmp_path, kafka.bootstrap_servers)
    serving = shell.start("qmgr", "start", "FRONT", "--listen", f"{HOST}:0", "--json")
    assert serving.stdout is not None
    ready = json.loads(serving.stdout.readline())
    assert ready["queue_manager"] == "FRONT"
    address = f"{ready['host']}:{ready['port']}"
    assert shell("qmgr", "status", "--qmgr", address).status == 0
    serving.send_signal(signal.SIGINT)
    _out, err = serving.communicate(timeout=TIMEOUT_S)
    assert serving.returncode == 0, err
    assert shell("qmgr", "status", "--qmgr", address).status == 1


def test_starts_that_cannot_succeed_are_a_sentence(mqk: Shell, tmp_path: Path) -> None:
    taken = mqk("qmgr", "start", "OTHER", "--listen", mqk.address)
    assert taken.status == 1
    assert mqk.address in taken.err
    behind = mqk(
        "qmgr", "start", "OTHER", "--listen", mqk.address, "--background", "--log", tmp_path / "log"
    )
    assert behind.status == 1
    assert mqk.address in behind.err
    assert "mqk: queue manager OTHER did not start: " in behind.err
    assert stat.S_IMODE((tmp_path / "log").stat().st_mode) == 0o600


def test_the_doctor_looks_at_both(mqk: Shell) -> None:
    said = mqk("doctor", "--json", "--qmgr", mqk.address)
    found = {str(one["subject"]): one for one in said.objects}
    assert str(found["queue manager"]["text"]).startswith(f"CLI at {mqk.address}, ")
    assert found["Kafka"]["level"] == "ok"
    # One broker can lose what its disk loses, and that is said.
    assert said.status == 1
    assert "single broker" in str(found["data-loss risk"]["text"])


WRONG: list[list[str]] = [
    ["nonsense"],
    ["put"],
    ["put", "Q", "--priority", "ten"],
    ["put", "Q", "--message-id", "xyz"],
    ["get", "Q", "--timeout", "soon"],
    ["get", "Q", "--count", "0"],
    ["browse", "Q", "--limit", "-1"],
    ["queue", "define"],
    ["queue", "define", "Q", "--max-depth", "-1"],
    ["queue", "alter", "Q"],
    ["ledger", "show"],
    ["ledger", "show", "Q", "--from", "x"],
    ["qmgr", "start"],
    ["qmgr", "start", "Q", "--listen", "nowhere:x"],
    ["qmgr", "start", "Q", "-X", "y"],
    ["kafka", "start", "--brokers", "7"],
    ["demo", "--flights", "3"],
    ["doctor", "--command-config", "no/such/file", "--bootstrap-server", "x:1"],
]
FAILING: list[list[str]] = [
    ["put", "NO.SUCH", "--body", "x"],
    ["get", "NO.SUCH"],
    ["browse", "NO.SUCH"],
    ["queue", "delete", "NO.SUCH"],
    ["queue", "define", "NOT A NAME"],
    ["get", "NO.SUCH", "--qmgr", "127.0.0.1:1"],
    ["get", "NO.SUCH", "--qmgr", "no.such.host.invalid:1414"],
    ["get", "NO.SUCH", "--qmgr", "a:b:c"],
    ["qmgr", "status", "--qmgr", "127.0.0.1:1"],
    ["qmgr", "stop", "--qmgr", "127.0.0.1:1"],
    ["qmgr", "start", "Q", "--listen", "0.0.0.0:0"],
    ["ledger", "show", "NO.SUCH"],
]


def test_every_wrong_command_line_is_a_sentence(mqk: Shell) -> None:
    """Each in a process of its own; several at a time, for they are many."""
    for status, lines in ((2, WRONG), (1, FAILING)):
        running = [(line, mqk.start(*line)) for line in lines]
        for line, process in running:
            out, err = process.communicate(timeout=TIMEOUT_S)
            assert process.returncode == status, (line, out, err)
            assert "Traceback" not in err, line
            assert "internal error" not in err, line
            assert err.strip(), line
            assert len(err.splitlines()) <= 4, (line, err)


def test_a_local_kafka_of_its_own(tmp_path: Path) -> None:
    shell = Shell(tmp_path, "")
    port = free_port()
    assert shell("kafka", "status").status == 1
    try:
        started = shell("kafka", "start", "--port", port)
        assert started.status == 0, started.err
        assert f"runs at {HOST}:{port}" in started.out
        (told,) = shell("kafka", "status", "--json").objects
        assert told["running"] is True
        again = shell("kafka", "start", "--port", port)
        assert (again.status, again.out) == (0, started.out)
    finally:
        stopped = shell("kafka", "stop")
    assert stopped.status == 0
    assert "Kafka stopped; its data is in " in stopped.out
    assert shell("kafka", "status").status == 1


def _await_waiting_get(shell: Shell, queue: str) -> None:
    until_s = time.monotonic() + TIMEOUT_S
    while not shell("queue", "show", queue, "--json").objects[0]["waiting_gets"]:
        assert time.monotonic() < until_s


def _end(process: "subprocess.Popen[str]") -> None:
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
