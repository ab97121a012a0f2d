"""A local Kafka that outlives the program that starts it: start, stop, status.

A file in the data folder says where it listens, and which processes were started. Such a process
runs, and is signalled, as long as it holds a broker's lock on its data: ids are used again, and the
brokers of another program may have been started on the folder since.
"""

import os
import select
import signal
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from adapter.host import launch
from adapter.localkafka import broker, jars, preparation, readiness
from adapter.localkafka.alone import alone_on
from adapter.localkafka.errors import LocalKafkaError
from adapter.localkafka.jars import Say, say_nothing
from adapter.localkafka.plan import plan_cluster, require_startable
from adapter.localkafka.settings import BrokerPlan, bootstrap_servers, broker_folder, data_folder

DEFAULT_PORT = 9092
STOP_GRACE_S = 20.0
KILL_GRACE_S = 10.0
LINGER_S = 2.0
"""How long processes may last whose data is closed."""


class Started(Struct, frozen=True):
    """What the state file holds."""

    bootstrap_servers: str
    kafka_version: str
    pids: dict[int, int]  # by broker number


class Status(Struct, frozen=True):
    """What is known of a detached Kafka; servers are empty where none was started."""

    running: bool
    bootstrap_servers: str
    kafka_version: str
    data_dir: str
    brokers: int
    pids: dict[int, int]  # of the brokers that run, by number


def default_data_dir() -> Path:
    """mqk/kafka in XDG_DATA_HOME, else in ~/.local/share."""
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "mqk" / "kafka"


def start_detached(
    brokers: int = 1,
    data_dir: str | Path | None = None,
    *,
    port: int | None = DEFAULT_PORT,
    say: Say = say_nothing,
    may_run: bool = False,
) -> Status:
    """Start a Kafka that goes on running; returns when it answers.

    may_run: one with as many brokers that runs on this data folder is as good; another process that
    starts it is waited for. Raises LocalKafkaError, also when one runs there and may not.
    """
    folder = _folder(data_dir)
    with alone_on(folder, say):
        found = status(folder)
        if may_run and found.running and found.brokers == brokers:
            return found
        return _start(folder, brokers, port, say)


def _start(folder: Path, brokers: int, port: int | None, say: Say) -> Status:
    plans = plan_cluster(folder, brokers, port, {})
    require_startable(plans)  # before anything is downloaded
    machine = preparation.find_machine(say)
    broker.prepare(machine, plans, {})
    pids = {
        plan.number: launch.detach(broker.run_command(machine, plan), output=plan.output_file)
        for plan in plans
    }
    started = Started(bootstrap_servers(plans), jars.kafka_version(), pids)
    _write_state(folder, started)
    try:
        readiness.await_ready(plans, lambda: _check_alive(plans, pids), say)
    except BaseException as why:
        for pid in pids.values():
            _signal(pid, signal.SIGKILL)
        if not isinstance(why, Exception):
            say("interrupted: Kafka is not running, its brokers were ended")
        raise
    return status(folder)


def stop_detached(data_dir: str | Path | None = None, say: Say = say_nothing) -> Status:
    """Stop it cleanly, within a bound; stopping one that does not run is no error. Another process
    that starts it is waited for: else it would run a moment later.
    """
    return find_and_stop(data_dir, say)[1]


def find_and_stop(data_dir: str | Path | None, say: Say) -> tuple[bool, Status]:
    """Do what stop_detached() does; return whether it ran, too."""
    folder = _folder(data_dir)
    if not folder.exists():
        return False, status(folder)
    with alone_on(folder, say):
        before = status(folder)
        with _processes(before.pids.values()) as processes:
            _end(folder, signal.SIGTERM, STOP_GRACE_S)
            _end(folder, signal.SIGKILL, KILL_GRACE_S)
            _await_ends(processes, LINGER_S)
        after = status(folder)
    if after.running:
        raise LocalKafkaError(
            f"the brokers with the process ids {sorted(after.pids.values())} on {folder} did not "
            "end: end them by hand"
        )
    return before.running, after


def status(data_dir: str | Path | None = None) -> Status:
    """Whether a detached Kafka runs on a data folder, and where it listens."""
    folder = _folder(data_dir)
    started = _read_state(folder)
    if started is None:
        return Status(False, "", "", str(folder), 0, {})
    alive = {
        number: pid
        for number, pid in started.pids.items()
        if readiness.holder_of(_data(folder, number)) == pid
    }
    return Status(
        running=bool(alive),
        bootstrap_servers=started.bootstrap_servers,
        kafka_version=started.kafka_version,
        data_dir=str(folder),
        brokers=len(started.pids),
        pids=alive,
    )


def _folder(data_dir: str | Path | None) -> Path:
    return default_data_dir() if data_dir is None else Path(data_dir).absolute()


def _state_file(folder: Path) -> Path:
    return folder / "localkafka.json"


def _write_state(folder: Path, started: Started) -> None:
    """Write the state file in one step, so that no reader finds half of it."""
    path = _state_file(folder)
    beside = path.with_suffix(f".{os.getpid()}")
    beside.write_bytes(msgspec.json.format(msgspec.json.encode(started), indent=2))
    beside.replace(path)


def _read_state(folder: Path) -> Started | None:
    path = _state_file(folder)
    if not path.exists():
        return None
    try:
        return msgspec.json.decode(path.read_bytes(), type=Started)
    except msgspec.DecodeError as problem:
        raise LocalKafkaError(
            f"{path} is damaged ({problem}): end the brokers by hand if they run, and remove it"
        ) from problem


def _data(folder: Path, number: int) -> Path:
    return data_folder(broker_folder(folder, number))


def _check_alive(plans: Sequence[BrokerPlan], pids: Mapping[int, int]) -> None:
    for plan in plans:
        if not _signal(pids[plan.number], 0):
            raise broker.ended_while_starting(plan)


def _end(folder: Path, number: signal.Signals, grace_s: float) -> None:
    """Signal the brokers that run on a folder, and wait at most so long for each."""
    pids = status(folder).pids
    for pid in pids.values():
        _signal(pid, number)
    for broker_number in pids:
        readiness.await_unused(_data(folder, broker_number), grace_s)


@contextmanager
def _processes(pids: Iterable[int]) -> Iterator[list[int]]:
    """Open a file for each process that lives; it cannot come to mean another process. Linux has
    such files.
    """
    with ExitStack() as stack:
        found = []
        for pid in pids if hasattr(os, "pidfd_open") else ():
            with suppress(ProcessLookupError):
                found.append(os.pidfd_open(pid))
                stack.callback(os.close, found[-1])
        yield found


def _await_ends(processes: Iterable[int], grace_s: float) -> None:
    """Wait for the ends of processes that have let go of their data; kill those that linger. Of a
    quorum the last ones look for the others for 20 s, and their ports are taken meanwhile.
    """
    deadline_s = time.monotonic() + grace_s
    for process in processes:
        if not _has_ended(process, max(0.0, deadline_s - time.monotonic())):
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(process, signal.SIGKILL)
            _has_ended(process, KILL_GRACE_S)


def _has_ended(process: int, within_s: float) -> bool:
    ending = select.poll()
    ending.register(process, select.POLLIN)
    return bool(ending.poll(within_s * 1000))


def _signal(pid: int, number: int) -> bool:
    """Send a signal; False if there is no such process (signal 0 only asks)."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True
