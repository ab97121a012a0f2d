"""One broker on disk and as a command: its folder, its settings file, its last words.

It neither starts brokers nor waits for them; it knows the others only as settings name them.
"""

import base64
import os
import shutil
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from adapter.localkafka import jars, settings
from adapter.localkafka.errors import LocalKafkaError
from adapter.localkafka.settings import BrokerPlan

PROPERTIES = "meta.properties"
FIRST_RECORDS = "bootstrap.checkpoint"
FORMAT_TIMEOUT_S = 120
QUOTED_LINES_MAX = 8
QUOTED_BYTES_MAX = 64 * 1024
# Enough for a laptop's load, small enough for three brokers beside everything else.
HEAP_MB = 512
SERIAL = "-XX:+UseSerialGC"
"""No collector threads beside the broker's own, on two cores; it stops the broker meanwhile."""
CONCURRENT = "-XX:+UseZGC"
"""It stops the broker for less than 1 ms, and needs a tenth more CPU, and more memory."""
JVM_OPTIONS = (
    f"-Xmx{HEAP_MB}m",
    "-XX:+ExitOnOutOfMemoryError",
    "-Xshare:auto",
    "-Djava.awt.headless=true",
)


class Machine(Struct, frozen=True):
    """What every broker is started with: a Java, the folder of jars, an archive of classes.

    collector: Java's option for its garbage collector.
    """

    java: str
    jars: Path
    archive: Path | None = None
    collector: str = SERIAL

    @property
    def first_records(self) -> Path:
        """Where Kafka's first records of a cluster's metadata are kept, once it has made some."""
        return self.jars / FIRST_RECORDS

    def command(self, log_file: Path, main: str, *arguments: str | Path) -> list[str]:
        """A Java command line with Kafka's class path and logging."""
        logging = [f"-Dlog4j2.configurationFile={jars.LOGGING}", f"-Dmqk.broker.log={log_file}"]
        archive = [] if self.archive is None else [f"-XX:SharedArchiveFile={self.archive}"]
        java = [*JVM_OPTIONS, self.collector, *archive]
        options = [*java, *logging, "-cp", str(self.jars / "*")]
        return [self.java, *options, main, *map(str, arguments)]


def run_command(machine: Machine, plan: BrokerPlan) -> list[str]:
    """What starts the broker."""
    return machine.command(plan.log_file, "kafka.Kafka", plan.properties_file)


def cluster_id_of(plan: BrokerPlan) -> str | None:
    """The id of the cluster that a broker's folder was formatted for; None if it is new."""
    path = plan.data / PROPERTIES
    if not path.exists():
        return None
    pairs = dict(line.split("=", 1) for line in path.read_text().splitlines() if "=" in line)
    return pairs.get("cluster.id")


def new_cluster_id() -> str:
    """A random id as Kafka writes them: 16 bytes in URL-safe base64 without padding.

    None begins with a dash: Kafka's own tools take that for an option.
    """
    while True:
        drawn = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not drawn.startswith("-"):
            return drawn


def prepare(machine: Machine, cluster: Sequence[BrokerPlan], extra: Mapping[str, str]) -> None:
    """Write every broker's settings, and format the folders that are new."""
    for plan in cluster:
        plan.folder.mkdir(parents=True, exist_ok=True)
        plan.properties_file.write_text(settings.render(settings.properties(plan, cluster, extra)))
    new = [plan for plan in cluster if cluster_id_of(plan) is None]
    known = {cluster_id for plan in cluster if (cluster_id := cluster_id_of(plan))}
    if len(known) > 1:
        raise LocalKafkaError(
            f"the folders in {cluster[0].folder.parent} belong to different clusters "
            f"({', '.join(sorted(known))}): use another data folder"
        )
    if not new:
        return
    cluster_id = known.pop() if known else new_cluster_id()
    if machine.first_records.exists():
        for plan in new:
            _format_alike(machine, plan, cluster_id)
    else:
        _format(machine, new, cluster_id)
        _keep(new[0].data / FIRST_RECORDS, machine.first_records)


def _format_alike(machine: Machine, plan: BrokerPlan, cluster_id: str) -> None:
    """Format a folder as Kafka's tool has formatted another one.

    The first records of a cluster's metadata name the features of a release, and nothing else. A
    folder that bears a cluster's id is formatted, so its properties are written last.
    """
    try:
        plan.data.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(machine.first_records, plan.data / FIRST_RECORDS)
        named = {"version": "1", "cluster.id": cluster_id, "node.id": str(plan.number)}
        directory = {"directory.id": new_cluster_id()}
        (plan.data / PROPERTIES).write_text(settings.render(named | directory))
    except OSError as problem:
        raise LocalKafkaError(
            f"{plan.data} could not be formatted ({problem.strerror}): use another data folder or "
            "remove this one"
        ) from problem


def _keep(made: Path, place: Path) -> None:
    """Keep a file beside the jars, where that is allowed; others may do the same now."""
    beside = place.with_suffix(f".{os.getpid()}")
    with suppress(OSError):
        shutil.copyfile(made, beside)
        beside.replace(place)


def _format(machine: Machine, plans: Sequence[BrokerPlan], cluster_id: str) -> None:
    """Format all folders at the same time: each takes a Java of its own for a second."""
    running = [
        subprocess.Popen(
            machine.command(
                plan.log_file, "kafka.tools.StorageTool", "format", "--ignore-formatted",
                "-t", cluster_id, "-c", plan.properties_file,
            ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        for plan in plans
    ]  # fmt: skip
    try:
        for plan, process in zip(plans, running, strict=True):
            said, _ = process.communicate(timeout=FORMAT_TIMEOUT_S)
            if process.returncode != 0:
                raise LocalKafkaError(
                    f"Kafka could not format {plan.data} (exit status {process.returncode}): use "
                    f"another data folder or remove this one. It said:\n{said.strip()}"
                )
    except subprocess.TimeoutExpired as problem:
        raise LocalKafkaError(
            f"formatting took over {FORMAT_TIMEOUT_S} s: the machine is overloaded; try again"
        ) from problem
    finally:
        for process in running:
            process.kill()
            process.communicate()


def last_words(plan: BrokerPlan) -> str:
    """The last lines that a broker logged or printed, for an error's text."""
    lines = [*_tail(plan.log_file), *_tail(plan.output_file)]
    causes = [line for line in lines if " ERROR " in line or line.startswith("Caused by")]
    return "\n".join((causes or lines)[-QUOTED_LINES_MAX:]) or "(it logged nothing)"


def _tail(path: Path) -> list[str]:
    if not path.exists():
        return []
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - QUOTED_BYTES_MAX))
        return file.read().decode(errors="replace").splitlines()


def require_running(plan: BrokerPlan, status: int | None) -> None:
    """Refuse a broker that did not stay up; status is None while it runs."""
    if status is not None:
        raise ended_while_starting(plan, f" with status {status}")


def ended_while_starting(plan: BrokerPlan, how: str = "") -> LocalKafkaError:
    """The error for a broker that did not stay up."""
    return LocalKafkaError(
        f"broker {plan.number} ended{how} while starting; the whole log is {plan.log_file}. "
        f"Its last words:\n{last_words(plan)}"
    )
