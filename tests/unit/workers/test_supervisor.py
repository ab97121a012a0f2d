"""Workers as processes: they are replaced, stopped and reloaded, and say why they end."""

import os
import signal
import sys
import time
import urllib.request
from pathlib import Path

import pytest

import adapter
from adapter import testing
from adapter.core.contract.commands import INPUT
from adapter.errors import InvalidOption
from adapter.localkafka.ports import free_ports
from adapter.workers.processes import ForkedProcess
from adapter.workers.running import run_worker
from adapter.workers.settings import WorkerSettings
from adapter.workers.supervisor import WorkerSupervisor
from tests.support.backlog import until
from tests.support.worker_process import TOP, WorkerProcess, await_depth, bodies

PROGRAM = """
import sys
import adapter

PREFIX = b"done "


def handle(message):
    adapter.worker_connection().put("OUT", PREFIX + message.body)


adapter.run_worker(handle, "Q", address=sys.argv[1], processes=2, stop_timeout=5)
print("it has returned")
"""

SHORT_OF_PROCESSES = """
import os
import sys
import adapter

left = [2]
begin = os.fork


def fork():
    if left[0]:
        left[0] -= 1
        return begin()
    left[0] = 9
    raise BlockingIOError(11, "Resource temporarily unavailable")


def handle(message):
    if message.body == b"poison":
        os._exit(11)
    adapter.worker_connection().put("OUT", message.body)
    qm = adapter.connect(sys.argv[1])
    qm.put("SHOWN", message.body)
    qm.get("GO", timeout=30)


os.fork = fork
retry = adapter.Retry(0, then="FAILED")
adapter.run_worker(handle, "Q", address=sys.argv[1], processes=2, retry=retry)
"""

SLOW_IMPORT = """
try:
    open("begun", "x").close()
except FileExistsError:
    pass  # by the other process
else:
    open("go").read()  # until it is written to
    raise ZeroDivisionError
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


def test_it_works_until_sigterm(
    manager: testing.TestQueueManager, qm: adapter.Connection, log: Path
) -> None:
    qm.queue("Q").put_many(b"%d" % number for number in range(40))
    options = ("--processes", 2, "--threads", 2, "--prefetch", 4)
    with WorkerProcess(manager.address, "copy_in_loop", *options, log=log) as worker:
        await_depth(qm, "OUT", 40)
        children = worker.children()
        assert len(children) == 2
        assert {one.properties["pid"] for one in qm.queue("OUT").browse()} <= {*children}
        assert worker.stop() == 0
    assert sorted(map(int, bodies(qm, "OUT"))) == list(range(40))
    assert not qm.queue_status("Q")[0].uncommitted
    assert "stopping: messages in hand are finished first" in log.read_text()


@pytest.mark.parametrize("function", ["linger", "linger_in_loop"])
def test_what_is_in_hand_is_finished_and_the_rest_given_back(
    manager: testing.TestQueueManager, qm: adapter.Connection, log: Path, function: str
) -> None:
    qm.queue("Q").put_many([b"0.5", b"0.1"])
    with WorkerProcess(manager.address, function, "--prefetch", 2, log=log) as worker:
        await_depth(qm, "SHOWN", 1)
        worker.signal(signal.SIGINT)
        assert worker.wait() == 130
    assert bodies(qm, "OUT") == [b"0.5"]
    assert [(one.body, one.backout_count) for one in qm.queue("Q").browse()] == [(b"0.1", 0)]


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize(
    ("function", "kind"),
    [("linger", "threads"), ("linger_in_loop", "tasks"), ("block_the_loop", "tasks")],
)
def test_what_takes_longer_than_the_stop_timeout_is_given_back(
    manager: testing.TestQueueManager,
    qm: adapter.Connection,
    log: Path,
    twice: bool,
    function: str,
    kind: str,
) -> None:
    qm.put("Q", b"60")
    timeout = 60 if twice else 0.2
    with WorkerProcess(manager.address, function, "--stop-timeout", timeout, log=log) as worker:
        await_depth(qm, "SHOWN", 1)
        began_s = time.monotonic()
        worker.signal()
        if twice:
            worker.await_log("stopping")
            worker.signal()
        assert worker.wait() == 0
        assert time.monotonic() - began_s < 20
    await_depth(qm, "Q", 1)
    said = f"not done within 0.2 s, and given back: messages of 1 {kind}"
    assert twice or said in log.read_text()


@pytest.mark.parametrize(
    ("function", "prefetch"), [("die", 0), ("die_in_loop", 0), ("die_in_loop", 4)]
)
def test_a_process_that_dies_is_replaced(
    manager: testing.TestQueueManager,
    qm: adapter.Connection,
    log: Path,
    function: str,
    prefetch: int,
) -> None:
    qm.queue("Q").put_many([b"1", b"poison", b"2"])
    retry = ("--retry-times", 1, "--retry-backoff", 0.05, "--retry-then", "FAILED")
    options = ("--prefetch", prefetch, *retry)
    with WorkerProcess(manager.address, function, *options, log=log) as worker:
        await_depth(qm, "FAILED", 1)
        await_depth(qm, "OUT", 2)
        worker.await_log("has ended with status 11: another one is started", times=2)
        (child,) = worker.children()
        os.kill(child, signal.SIGKILL)
        worker.await_log("was ended by SIGKILL")
        until(lambda: worker.children() not in ([], [child]))
        assert worker.stop() == 0


def test_a_process_that_cannot_be_started_ends_no_other(
    manager: testing.TestQueueManager, qm: adapter.Connection, log: Path, tmp_path: Path
) -> None:
    program = tmp_path / "program.py"
    program.write_text(SHORT_OF_PROCESSES)
    worker = WorkerProcess(manager.address, "copy", log=log)
    worker._command = [sys.executable, str(program), manager.address]
    qm.define_queue("GO")
    with worker:
        qm.put("Q", b"in hand")
        await_depth(qm, "SHOWN", 1)
        qm.put("Q", b"poison")
        worker.await_log("a process cannot be started: [Errno 11]")
        await_depth(qm, "FAILED", 1)
        qm.put("GO", b"")
        await_depth(qm, "OUT", 1)
        assert worker.stop() == 0
    assert (bodies(qm, "FAILED"), bodies(qm, "OUT")) == ([b"poison"], [b"in hand"])
    assert "was ended by" not in log.read_text()


def test_processes_end_when_their_supervisor_is_gone(
    manager: testing.TestQueueManager, qm: adapter.Connection, log: Path
) -> None:
    with WorkerProcess(manager.address, "copy", "--processes", 2, log=log) as worker:
        until(lambda: qm.queue_status("Q")[0].waiting_gets == 2)
        worker.signal(signal.SIGKILL)
        until(lambda: qm.queue_status("Q")[0].open_input_count == 0)
        worker.await_log("the supervisor is gone", times=2)


@pytest.mark.parametrize(
    ("function", "says"),
    [
        ("no_such_module:x", "mqk: module no_such_module cannot be imported: ModuleNotFoundError"),
        ("nope", "mqk: module tests.support.worker_functions has no function nope"),
        ("not_callable", "is not a function, but a int"),
    ],
)
def test_a_function_that_is_not_there_ends_it(function: str, says: str, log: Path) -> None:
    with WorkerProcess("127.0.0.1:1", function, "--processes", 2, log=log) as worker:
        assert worker.wait() == 1
    assert says in log.read_text()
    assert "Traceback" not in log.read_text()


def test_a_queue_that_is_not_there_is_waited_for(
    manager: testing.TestQueueManager, qm: adapter.Connection, log: Path
) -> None:
    with WorkerProcess(manager.address, "copy", log=log, queue="LATE") as worker:
        worker.await_log("queue LATE does not exist")
        qm.define_queue("LATE")
        qm.put("LATE", b"x")
        await_depth(qm, "OUT", 1)
        assert worker.stop() == 0


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_ends_is_told_and_its_process_replaced(
    manager: testing.TestQueueManager, qm: adapter.Connection, log: Path
) -> None:
    qm.put("Q", b"x")
    with WorkerProcess(manager.address, "leave", "--retry-backoff", 0.1, log=log) as worker:
        worker.await_log("has ended with status 1: another one is started")
        worker.await_log("the thread worker 1 ended unexpectedly: SystemExit('leaving')")


def test_it_is_loaded_anew_when_a_file_changes(
    manager: testing.TestQueueManager, qm: adapter.Connection, log: Path, tmp_path: Path
) -> None:
    module = tmp_path / "shop.py"
    text = (TOP / "tests/support/worker_functions.py").read_text()
    module.write_text("raise ZeroDivisionError")
    worker = WorkerProcess(manager.address, "shop:copy", "--reload", log=log, folder=tmp_path)
    with worker:
        worker.await_log("waiting for a change of a file")
        module.write_text(text)
        qm.put("Q", b"1")
        await_depth(qm, "OUT", 1)
        before = getters(qm)
        module.write_text(text.replace("message.body,", "b'changed',") + "# longer\n")
        worker.await_log("a file has changed", times=2)
        until(lambda: bool(getters(qm)) and not getters(qm) & before)
        qm.put("Q", b"2")
        await_depth(qm, "OUT", 2)
        assert worker.stop() == 0
    assert bodies(qm, "OUT") == [b"1", b"changed"]


@pytest.mark.parametrize("processes", [1, 2])
def test_a_file_that_changes_while_it_is_imported_is_loaded_anew(
    manager: testing.TestQueueManager,
    qm: adapter.Connection,
    log: Path,
    tmp_path: Path,
    processes: int,
) -> None:
    """One process is importing it, and fails then; the other, if there is one, has imported it."""
    module = tmp_path / "shop.py"
    text = (TOP / "tests/support/worker_functions.py").read_text()
    module.write_text(SLOW_IMPORT + text)
    os.mkfifo(tmp_path / "go")
    options = ("--reload", "--processes", processes)
    worker = WorkerProcess(manager.address, "shop:copy", *options, log=log, folder=tmp_path)
    with worker:
        until((tmp_path / "begun").exists)
        until(lambda: len(getters(qm)) == processes - 1)
        before = {*worker.children()}
        module.write_text(text.replace("message.body,", "b'changed',"))
        if processes > 1:
            worker.await_log("a file has changed")
        (tmp_path / "go").write_text("")
        worker.await_log("a file has changed")
        until(lambda: len({*worker.children()} - before) == processes)
        until(lambda: len(getters(qm)) == processes)
        qm.put("Q", b"1")
        await_depth(qm, "OUT", 1)
        assert worker.stop() == 0
    assert bodies(qm, "OUT") == [b"changed"]
    assert log.read_text().count("a file has changed") == 1


HANGING = {
    "an import": ("import helper\n", "open('begun', 'x').close()\nopen('go').read()\n"),
    "its end": ("import atexit\nimport helper\natexit.register(helper.wait)\n", ""),
}
"""What a program has before its function, and what its module `helper` begins with."""
WAIT = "def wait():\n    open('go').read()\n"


@pytest.mark.parametrize("hangs", HANGING)
def test_a_process_that_hangs_is_replaced_when_a_file_changes(
    hangs: str,
    manager: testing.TestQueueManager,
    qm: adapter.Connection,
    log: Path,
    tmp_path: Path,
) -> None:
    """Nothing ever writes to `go`."""
    text = (TOP / "tests/support/worker_functions.py").read_text()
    before, helper = HANGING[hangs]
    (tmp_path / "shop.py").write_text(before + text)
    (tmp_path / "helper.py").write_text(helper + WAIT)
    os.mkfifo(tmp_path / "go")
    options = ("--reload", "--stop-timeout", 0.1)
    worker = WorkerProcess(manager.address, "shop:copy", *options, log=log, folder=tmp_path)
    with worker:
        if helper:
            until((tmp_path / "begun").exists)
        else:
            until(lambda: len(getters(qm)) == 1)
        (tmp_path / "helper.py").write_text("def wait():\n    pass  # and no longer\n")
        worker.await_log("a file has changed")
        qm.put("Q", b"1")
        await_depth(qm, "OUT", 1)
        assert "does not end: it is killed" in worker.log()
        assert worker.stop() == 0


def getters(qm: adapter.Connection) -> set[int]:
    """The connections that have Q open for input."""
    return {one.connection for one in qm.open_handles() if one.queue == "Q" and one.modes & INPUT}


def test_probes_see_it(
    manager: testing.TestQueueManager, qm: adapter.Connection, log: Path, tmp_path: Path
) -> None:
    (port,) = free_ports(1)
    file = tmp_path / "health"
    options = ("--health-port", port, "--health-file", file, "--processes", 2)
    with WorkerProcess(manager.address, "copy", *options, log=log) as worker:
        until(file.exists)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as page:
            assert "mqk_worker_processes_ready 2" in page.read().decode()
        assert worker.stop() == 0
    assert not file.exists()


def test_a_program_runs_a_worker_of_its_own(
    manager: testing.TestQueueManager, qm: adapter.Connection, log: Path, tmp_path: Path
) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    qm.queue("Q").put_many([b"1", b"2"])
    worker = WorkerProcess(manager.address, "copy", log=log)
    worker._command = [sys.executable, str(program), manager.address]
    with worker:
        await_depth(qm, "OUT", 2)
        assert worker.stop() == 0
    assert sorted(bodies(qm, "OUT")) == [b"done 1", b"done 2"]
    assert log.read_text().count("it has returned") == 1


def test_a_worker_is_run_in_the_main_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("threading.main_thread", object)
    with pytest.raises(InvalidOption, match="in the main thread"):
        run_worker(print, "Q")


def test_a_process_that_loads_its_function_for_long_is_named_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    supervisor = WorkerSupervisor(WorkerSettings(queue="Q", connecting={}), "shop:f")
    process = ForkedProcess(17, -1)
    supervisor._places[0].process = process
    supervisor._note_slow()
    assert not caplog.records
    process.began_s -= 60
    process.files = {"shop.py": 1, "helper.py": 2}
    supervisor._note_slow()
    supervisor._note_slow()
    (told,) = caplog.messages
    assert told.startswith("process 17 has been loading the function for 60 s")
    assert told.endswith("helper.py")
    supervisor._places[0].process = None
    supervisor._close_all()
