"""The programs of examples/, each a process of its own, on a queue manager on a real Kafka.

They know nothing but the package that they import: the oldest (in a long run) and the newest wheel
of ibmmq, and pymqi. There is no client of IBM's in their environment.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE

import pytest
from msgspec import Struct

import adapter
from adapter.errors import PutInhibited
from tests.support.examples import chosen
from tests.support.monitored_site import await_that
from tests.support.server_process import ServerProcess
from tests.support.shared_kafka import AnyKafka

TOP = Path(__file__).parents[2]
EXAMPLES = TOP / "examples"
PACKAGES = ("oldest ibmmq", "ibmmq", "pymqi")
OLDEST = "2.1.0"  # what came before it has no wheels
TIMEOUT_S = 60.0
NOTHING_MORE_S = "0.3"  # until a program takes it that there are no more messages


class Place(Struct):
    """A queue manager, and how programs of one package find it and the package."""

    qm: adapter.Connection
    folder: Path
    environment: dict[str, str]
    prefix: str

    def named(self, name: str) -> str:
        """The name of a queue for the programs of this package alone."""
        return f"{self.prefix}.{name}"

    @contextmanager
    def start(self, program: str, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
        """Start a program; it is killed at the end if it still runs."""
        with subprocess.Popen(
            [sys.executable, self.folder / program, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=self.environment,
        ) as running:
            try:
                yield running
            finally:
                running.kill()

    def run(self, program: str, *arguments: str, told: str = "") -> str:
        """Run a program to its end; told: its standard input. Returns what it printed."""
        with self.start(program, *arguments) as running:
            printed, _ = running.communicate(told, timeout=TIMEOUT_S)
        assert running.returncode == 0
        return printed


@pytest.fixture(scope="module")
def server(
    kafka: AnyKafka, tmp_path_factory: pytest.TempPathFactory, run_numbers: Iterator[int]
) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("server")
    name = f"EXAMPLES{next(run_numbers)}"
    with ServerProcess(name, kafka.bootstrap_servers, folder) as running:
        running.start()
        yield running


@pytest.fixture(scope="session")
def oldest_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the oldest wheel of ibmmq in it."""
    folder = tmp_path_factory.mktemp("ibmmq")
    told = ["--no-deps", "--only-binary=:all:", f"--target={folder}", f"ibmmq=={OLDEST}"]
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    subprocess.run([*command, *told], check=True, timeout=TIMEOUT_S * 2)
    return folder


@pytest.fixture(scope="module", params=chosen(PACKAGES, lambda one: one != "oldest ibmmq"))
def place(request: pytest.FixtureRequest, server: ServerProcess) -> Iterator[Place]:
    package: str = request.param
    site = {"oldest ibmmq": "oldest_site", "pymqi": "pymqi_site"}.get(package)
    first = [str(request.getfixturevalue(site))] if site else []
    host, port = server.address.split(":")
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([*first, str(TOP), str(TOP / "adapter" / "toplevel")]),
        "MQSERVER": f"DEV.APP.SVRCONN/TCP/{host}({port})",
        "MQK_QMGR": server.address,
    }
    prefix = package.upper().replace(" ", ".")
    with adapter.connect(server.address) as qm:
        qm.define_queue(f"{prefix}.Q", description="for the programs", backout_threshold=2)
        yield Place(qm, EXAMPLES / package.rpartition(" ")[2], environment, prefix)


@pytest.mark.parametrize("place", ["oldest ibmmq"], indirect=True)
def test_the_oldest_wheel_is_the_one_that_is_found(place: Place) -> None:
    code = "import ibmmq; print(ibmmq.__version__)"
    command = [sys.executable, "-c", code]
    found = subprocess.check_output(command, env=place.environment, text=True)
    assert found.strip() == OLDEST


def test_put_browse_and_get(place: Place) -> None:
    queue = place.named("Q")
    place.run("put.py", queue, told="flour\nsalt\n")
    shown = place.run("browse.py", queue).splitlines()
    assert [line.rpartition(": ")[2] for line in shown] == ["flour", "salt"]
    assert shown[0].startswith("priority 0, persistence 1, backed out 0 times, put 2")
    assert "by put.py" in shown[0]
    assert place.run("get.py", queue, NOTHING_MORE_S) == "flour\nsalt\n"
    assert place.qm.queue(queue).depth() == 0


def test_requests_are_answered(place: Place) -> None:
    queue = place.named("REQUESTS")
    place.qm.define_queue(queue)
    with place.start("echo.py", queue):
        assert place.run("request.py", queue, told="who?\nwhere?\n") == "WHO?\nWHERE?\n"


def test_inquire_and_set(place: Place) -> None:
    queue = place.named("Q")
    shown = place.run("inquire.py", queue)
    assert "depth: 0\n" in shown
    assert "backout threshold: 2\n" in shown
    assert "description: for the programs\n" in shown
    assert place.run("set.py", queue, "inhibited") == f"puts to {queue} are inhibited\n"
    with pytest.raises(PutInhibited):
        place.qm.put(queue, "x")
    assert place.run("set.py", queue, "allowed") == f"puts to {queue} are allowed\n"


def test_publish_and_subscribe(place: Place) -> None:
    topic, name = place.named("prices"), place.named("AUDIT")
    assert place.run("subscribe.py", f"{topic}/#", "0", name) == "subscribed\n"
    with place.start("subscribe.py", f"{topic}/+") as subscriber:
        assert subscriber.stdout is not None
        assert subscriber.stdout.readline() == "subscribed\n"
        place.run("publish.py", f"{topic}/fruit", told="apples 3\npears 4\n")
        assert [subscriber.stdout.readline() for _ in range(2)] == ["apples 3\n", "pears 4\n"]
    collected = place.run("subscribe.py", f"{topic}/#", NOTHING_MORE_S, name)
    assert collected == "subscribed\napples 3\npears 4\n"


@pytest.mark.parametrize("place", chosen(PACKAGES[:2], lambda one: one == "ibmmq"), indirect=True)
def test_a_function_is_called_for_each_message(place: Place) -> None:
    """pymqi has no callbacks."""
    queue = place.named("Q")
    with place.start("callback.py", queue) as running:
        for priority, body in ((3, "flour"), (0, "salt"), (5, "stop")):
            await_that(lambda: place.qm.queue(queue).depth() == 0)
            place.qm.put(queue, body, priority=priority)
        printed, _ = running.communicate(timeout=TIMEOUT_S)
    assert running.returncode == 0
    assert printed == "3: flour\n0: salt\n5: stop\n"


def test_poison_is_set_aside(place: Place) -> None:
    queue, aside = place.named("NUMBERS"), place.named("ASIDE")
    place.qm.define_queue(aside)
    place.qm.define_queue(queue, backout_threshold=2, backout_requeue_queue=aside)
    place.run("put.py", queue, told="40\nflour\n2\n")
    assert place.run("poison.py", queue, NOTHING_MORE_S) == (
        "set aside after 2 attempts: flour\ntotal 42\n"
    )
    assert [m.body for m in place.qm.queue(aside).browse()] == [b"flour"]
    assert place.qm.queue(queue).depth() == 0


def test_groups_are_assembled(place: Place) -> None:
    queue = place.named("Q")
    place.qm.put(queue, "alone", group_id=b"g" * 24, group_seq=1)  # and no more of this group
    place.run("put_group.py", queue, told="flour\nsalt\nyeast\n")
    place.run("put_group.py", queue, told="milk\n")
    assert place.run("get_group.py", queue, NOTHING_MORE_S) == "flour, salt, yeast\nmilk\n"
    alone = place.qm.get(queue)
    assert alone is not None
    assert alone.body == b"alone"


def test_an_inventory(place: Place) -> None:
    place.qm.put(place.named("Q"), "x")
    shown = place.run("inventory.py", place.named("*")).splitlines()
    assert f"{place.named('Q')}: 1, for the programs" in shown
    place.qm.get(place.named("Q"))


def test_a_server_is_triggered(place: Place) -> None:
    names = ("WORK", "RESULTS", "INITQ", "CAPITALS")
    work, results, initiation, process = (place.named(name) for name in names)
    place.qm.define_queue(results)
    place.qm.define_queue(initiation)
    command = f"{sys.executable} {place.folder / 'triggered.py'}"
    place.qm.define_process(process, appl_id=command, user_data=results)
    place.qm.define_queue(
        work,
        trigger_control=True,
        trigger_type="FIRST",
        process=process,
        initiation_queue=initiation,
    )
    monitor = subprocess.Popen(
        [sys.executable, "-m", "adapter.cli", "trigger-monitor", "-q", initiation],
        env=place.environment,
    )
    try:
        await_that(lambda: place.qm.queue(initiation).status().open_input_count == 1)
        for told in ("flour", "salt"):
            place.run("put.py", work, told=told)
            message = place.qm.get(results, timeout=TIMEOUT_S)
            assert message is not None
            assert message.body.decode() == told.upper()
            await_that(lambda: place.qm.queue(work).status().open_input_count == 0)
    finally:
        monitor.send_signal(signal.SIGTERM)
        assert monitor.wait(TIMEOUT_S) == 0


def test_without_arguments_the_usage_is_printed(place: Place) -> None:
    programs = [path for path in place.folder.glob("*.py") if path.name != "inventory.py"]
    running = [
        (path, subprocess.Popen([sys.executable, path], stderr=PIPE, env=place.environment))
        for path in programs
    ]
    for path, process in running:
        _, printed = process.communicate(timeout=TIMEOUT_S)
        first_line = path.read_text().partition("\n")[0].strip('"')
        assert (process.returncode, printed.decode().partition("\n")[0]) == (1, first_line)


def test_the_programs_of_pymqi_are_those_of_ibmmq() -> None:
    """But for the callbacks. Mend one with: sed s/ibmmq/pymqi/g examples/ibmmq/X."""
    ours = {path.name: path.read_text() for path in (EXAMPLES / "ibmmq").glob("*.py")}
    theirs = {path.name: path.read_text() for path in (EXAMPLES / "pymqi").glob("*.py")}
    assert theirs == {
        name: text.replace("ibmmq", "pymqi") for name, text in ours.items() if name != "callback.py"
    }
