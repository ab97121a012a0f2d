"""The log of a queue manager that serves: it holds nothing up, and warns of nothing in vain."""

import fcntl
import json
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

import adapter
from adapter.host import launch
from adapter.host.logs import LogSettings
from adapter.localkafka import free_port
from adapter.server.services.kafka_wiring import KafkaSettings
from adapter.server.services.own_schemas import ON_TOPIC
from adapter.server.settings import ServerSettings
from tests.support.server_process import ServerProcess
from tests.support.shared_kafka import AnyKafka

START_S = 60.0
STOP_S = 20.0


def full_pipe() -> tuple[int, int]:
    """A pipe that takes no byte more, as a log reader leaves it that has stopped."""
    reader, writer = os.pipe()
    flags = fcntl.fcntl(writer, fcntl.F_GETFL)
    fcntl.fcntl(writer, fcntl.F_SETFL, flags | os.O_NONBLOCK)
    with suppress(BlockingIOError):
        while True:
            os.write(writer, b"x" * 4096)
    fcntl.fcntl(writer, fcntl.F_SETFL, flags)
    return reader, writer


@contextmanager
def server(settings: ServerSettings, stderr: int) -> Iterator["subprocess.Popen[bytes]"]:
    """A queue manager that logs to a file descriptor; it serves."""
    process = subprocess.Popen(
        launch.program("adapter.server.main"),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, start_new_session=True,
    )  # fmt: skip
    watch = threading.Timer(START_S, process.kill)
    watch.start()
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(msgspec.json.encode(settings))
        process.stdin.close()
        assert json.loads(process.stdout.readline())["port"] == settings.port
        yield process
    finally:
        watch.cancel()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def test_a_log_that_nobody_reads_stops_neither_work_nor_the_end(
    kafka: AnyKafka, unique_name: Callable[..., str]
) -> None:
    reader, writer = full_pipe()
    settings = ServerSettings(
        queue_manager=unique_name(),
        kafka=KafkaSettings(bootstrap_servers=kafka.bootstrap_servers),
        port=free_port(),
        log=LogSettings(level="debug"),
    )
    try:
        with server(settings, writer) as process:
            with adapter.connect(f"127.0.0.1:{settings.port}") as qm:
                qm.define_queue("Q")
                qm.put("Q", b"1")
                message = qm.get("Q")
                assert message is not None
                assert message.body == b"1"
            process.terminate()
            assert process.wait(STOP_S) == 0
    finally:
        os.close(reader)
        os.close(writer)


def test_librdkafka_warns_of_no_setting(
    kafka: AnyKafka, unique_name: Callable[..., str], tmp_path: Path
) -> None:
    """Not of a client that is made only when it is needed, either: the registry's producer."""
    name, port = unique_name(), free_port()
    servers = kafka.bootstrap_servers
    with ServerProcess(name, servers, tmp_path, http_port=port, registry=ON_TOPIC) as one:
        one.start()
        registry = f"http://127.0.0.1:{port}/registry"
        with adapter.connect(one.address, registry=registry) as qm:
            qm.define_queue(name)
            order = {"type": "record", "name": "Order", "fields": []}
            qm.queue(name).put_value({}, schema=order, register=True)  # a new subject is written
        one.ask_to_end()
        assert one.await_end() == 0
        assert "CONFWARN" not in one.said()
        assert "warning" not in one.said()
