"""mqk doctor: what this machine has, and what is wrong with it, with a queue manager or a Kafka.

Every check is a function that returns findings; none of them changes anything.
"""

from __future__ import annotations

import importlib.metadata as metadata
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import click
import msgspec
from msgspec import Struct

import adapter
from adapter.cli import cluster, output
from adapter.command import failures, options
from adapter.errors import ConnectionBroken, Error
from adapter.host import compiled, launch
from adapter.localkafka import LocalKafkaError, detached, jars, ports

PYTHON_MIN = (3, 11)
DEFAULT_PORT = int(options.DEFAULT_ADDRESS.rpartition(":")[2])
LIBRARIES = ("confluent-kafka", "msgspec", "uvloop", "fastavro", "aiohttp", "click", "rich")
IMPORT_TIMEOUT_S = 60
CONNECT_TIMEOUT_S = 10.0
LOOK_TIMEOUT_S = 2.0
SLOW_S = 5.0
"""After so long without an acknowledged write, something is wrong with Kafka."""

Level = Literal["ok", "note", "problem"]


class DoctorCheck(Struct):
    """One line of the report."""

    level: Level
    subject: str
    text: str


@click.command()
@click.option(
    "--qmgr",
    envvar="MQK_QMGR",
    metavar="ADDRESS",
    help="The queue manager to ask: HOST:PORT or unix:/PATH.  "
    f"[default: one at {options.DEFAULT_ADDRESS}]",
)
@options.kafka_client_if_wanted
@options.json_output
def doctor(qmgr: str | None, kafka: options.KafkaClient, as_json: bool) -> None:
    """Look for what is missing or wrong; exit status 1 if there is a problem."""
    checks: list[Callable[[], Iterator[DoctorCheck]]] = [machine, imports, free_ports]
    local = detached.status()
    servers = kafka.servers or (local.bootstrap_servers if local.running else None)
    if servers:
        client = kafka.options
        checks.append(lambda: ask_kafka(servers, client))
    address = qmgr or _default_queue_manager()
    if address is not None:
        checks.append(lambda: queue_manager(address))
    findings = []
    for check in checks:
        for finding in check():
            findings.append(finding)
            if as_json:
                output.emit(msgspec.structs.asdict(finding))
    if not as_json:
        output.table(("", "what", "finding"), [msgspec.structs.astuple(one) for one in findings])
    if any(finding.level == "problem" for finding in findings):
        click.get_current_context().exit(failures.FAILED)


def machine() -> Iterator[DoctorCheck]:
    """Python, the libraries, Java, Maven."""
    enough = sys.version_info >= PYTHON_MIN
    text = f"{platform.python_version()} ({sys.executable})"
    yield DoctorCheck(
        "ok" if enough else "problem", "Python", text if enough else f"{text}: too old"
    )
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in LIBRARIES)
    runs = compiled.text(compiled.count())
    yield DoctorCheck("ok", "mqk", f"{metadata.version('mqk')}, {runs}, with {versions}")
    if not compiled.count():
        yield DoctorCheck("note", "compiled modules", how_to_compile(Path(adapter.__file__)))
    try:
        yield DoctorCheck("ok", "Java", jars.find_java().path)
    except LocalKafkaError as problem:
        yield DoctorCheck("problem", "Java", str(problem))
    yield from _jars()


def how_to_compile(own: Path) -> str:
    """Say how this installation gets compiled modules; own: where it has the package adapter."""
    missing = "" if shutil.which("cc") else ", once a C compiler is installed (Debian: gcc)"
    if own.parents[1].joinpath("native", "modules.py").is_file():  # a checkout, or an editable one
        folder = own.parents[1] / "build" / "compiled"
        how = f"`make compiled`{missing}, then PYTHONPATH={folder}"
    else:
        version = ".".join(map(str, sys.version_info[:2]))
        how = (
            f"a wheel for Python {version}, or `MQK_COMPILE=1 pip install .` in a checkout{missing}"
        )
    return f"none, so a queue manager with many clients needs more CPU; to have them: {how}"


def _jars() -> Iterator[DoctorCheck]:
    """Maven matters only until it has fetched Kafka."""
    folder, maven = jars.jars_folder(), shutil.which("mvn")
    if folder.is_dir():
        yield DoctorCheck("ok", "Kafka's jars", f"{jars.kafka_version()} in {folder}")
    elif maven is None:
        text = "not downloaded yet, and mvn is not in PATH: install Maven"
        yield DoctorCheck("problem", "Kafka's jars", text)
    else:
        yield DoctorCheck(
            "note", "Kafka's jars", f"{jars.kafka_version()} will be fetched by {maven}"
        )


def imports() -> Iterator[DoctorCheck]:
    """Whether programs that are started here import this adapter, and not another one."""
    own = Path(adapter.__file__).resolve()
    others = set(metadata.packages_distributions().get("adapter", [])) - {"mqk"}
    for name in sorted(others):
        text = f"the distribution {name} also installs a package `adapter`: uninstall one of them"
        yield DoctorCheck("problem", "import adapter", text)
    found = imported_here()
    if found == str(own):
        yield DoctorCheck("ok", "import adapter", found)
    else:
        text = f"a program started in {Path.cwd()} gets {found or 'nothing'} and not {own}"
        yield DoctorCheck("problem", "import adapter", f"{text}: rename the other one")


def imported_here() -> str:
    """Where `import adapter` leads a program that is started in this folder; empty if nowhere."""
    program = (
        "import importlib.util as u, pathlib as p, sys; sys.path.insert(0, ''); "
        "s = u.find_spec('adapter'); "
        "print(p.Path(s.origin).resolve() if s and s.origin else s and list(s.submodule_search_"
        "locations)[0])"
    )
    try:
        done = subprocess.run(
            launch.python("-c", program),
            capture_output=True, text=True, timeout=IMPORT_TIMEOUT_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return ""
    return done.stdout.strip()


def free_ports() -> Iterator[DoctorCheck]:
    """The default ports."""
    for port, purpose in ((detached.DEFAULT_PORT, "Kafka"), (DEFAULT_PORT, "a queue manager")):
        taken = not ports.is_free(port)
        text = f"in use{_user_of(port)}" if taken else f"free for {purpose}"
        yield DoctorCheck("note" if taken else "ok", f"port {port}", text)


def _user_of(port: int) -> str:
    local = detached.status()
    if local.running and local.bootstrap_servers.endswith(f":{port}"):
        return " by the Kafka of `mqk kafka start`"
    return " by a queue manager" if port == DEFAULT_PORT and _default_queue_manager() else ""


def _default_queue_manager() -> str | None:
    """Where a queue manager listens if no other address is given; None if none does."""
    address = f"{ports.HOST}:{DEFAULT_PORT}"
    if ports.is_free(DEFAULT_PORT):
        return None
    try:
        adapter.connect(address, connect_timeout_s=LOOK_TIMEOUT_S, reconnect_timeout_s=0.0).close()
    except ConnectionBroken:
        return None  # another program listens there, which is no problem of a queue manager
    except Error:
        pass  # it is one, and says why it does not serve
    return address


def ask_kafka(servers: str, client: dict[str, str]) -> Iterator[DoctorCheck]:
    """Whether Kafka answers, and what could lose messages there, or make commits wait."""
    try:
        found = cluster.examine(servers, client)
    except cluster.NotReachedError as problem:
        yield DoctorCheck("problem", "Kafka", str(problem))
        return
    text = f"{servers}: brokers: {found.brokers}, topics of queue managers: {len(found.topics)}"
    yield DoctorCheck("ok", "Kafka", text)
    for danger in cluster.dangers(found):
        level: Level = "note" if danger is cluster.ONE_BROKER and _is_local(servers) else "problem"
        yield DoctorCheck(level, "data-loss risk", danger)
    if slow := cluster.stall(found):
        yield DoctorCheck("note", "fail-over", slow)


def _is_local(servers: str) -> bool:
    """Whether this is the Kafka that `mqk kafka start` runs: meant for one machine."""
    local = detached.status()
    return local.running and local.bootstrap_servers == servers


def queue_manager(address: str) -> Iterator[DoctorCheck]:
    """Whether a queue manager answers."""
    try:
        with adapter.connect(address, connect_timeout_s=CONNECT_TIMEOUT_S) as qm:
            figures, name = qm.figures(), qm.name
    except Error as problem:
        yield DoctorCheck("problem", "queue manager", str(problem))
        return
    runs = compiled.text(figures.get("compiled_modules", 0))
    yield DoctorCheck("ok", "queue manager", f"{name} at {address}, {runs}")
    if figures.get("authorities_checked"):
        yield DoctorCheck("ok", "authorities", "checked: `mqk auth list` shows what is granted")
    else:
        text = "not checked: every client that may connect may do everything (setting authorities)"
        yield DoctorCheck("note", "authorities", text)
    yield from troubles(figures)


def troubles(figures: Mapping[str, Any]) -> Iterator[DoctorCheck]:
    """What a queue manager that answers says of itself, as /ready and its status do; pure."""
    waits_s = figures.get("ledger_waits_s", 0)
    if waits_s >= SLOW_S:
        text = f"Kafka has acknowledged no writes for {waits_s:.0f} s: puts and commits wait"
        yield DoctorCheck("problem", "ledger", text)
    if figures.get("movers_hold"):
        yield DoctorCheck("problem", "copying stalled", figures["movers_hold"])
    for topic, why in (figures.get("movers_parked") or {}).items():
        yield DoctorCheck("problem", "topic parked", f"{topic}: {why}")
    receiver = (figures.get("network") or {}).get("receiver", {})
    for topic, why in receiver.get("later", {}).items():
        text = f"{topic}, {why}: upgrade this queue manager"
        yield DoctorCheck("problem", "arrivals wait", text)
    for what, why in (figures.get("undone") or {}).items():
        yield DoctorCheck("problem", what, why)
