"""Having everything ready that brokers are started with: Java, the jars, and a class archive.

Most of a broker's start is Java loading some ten thousand classes. A broker that is run once with
-XX:ArchiveClassesAtExit leaves them ready to be mapped into memory, which saves about half of it.
The archive lies beside the jars and belongs to one Java; where it cannot be made, brokers start
without it, only slower.
"""

import tempfile
from pathlib import Path

from adapter.host import launch
from adapter.localkafka import broker, jars
from adapter.localkafka.broker import Machine
from adapter.localkafka.errors import LocalKafkaError
from adapter.localkafka.jars import Say
from adapter.localkafka.plan import plan_cluster
from adapter.localkafka.readiness import await_ready

# Java writes the archive after the broker has stopped; it takes a few seconds.
WRITE_GRACE_S = 120.0


def find_machine(say: Say) -> Machine:
    """Look Java up, have the jars and the archive ready; raises LocalKafkaError."""
    java = jars.find_java()
    folder = jars.resolve_jars(say)
    archive = folder / f"classes-{java.identity}.jsa"
    if not archive.exists():
        with jars.cache_lock(folder.parent):
            if not archive.exists():
                say("preparing Kafka's classes for this Java, once")
                make_archive(Machine(java.path, folder), archive)
    usable = archive.stat().st_size > 0
    return Machine(java.path, folder, archive if usable else None)


def make_archive(machine: Machine, archive: Path) -> None:
    """Run a broker once for its classes. An empty file says that this Java could not keep them."""
    with tempfile.TemporaryDirectory(dir=archive.parent.parent, prefix="archiving-") as work:
        made = Path(work) / "classes.jsa"
        try:
            _run_once(machine, Path(work) / "kafka", made)
        except LocalKafkaError:
            made.unlink(missing_ok=True)
        made.touch()
        made.replace(archive)


def _run_once(machine: Machine, data: Path, made: Path) -> None:
    plans = plan_cluster(data, 1, None, {})
    broker.prepare(machine, plans, {})
    (plan,) = plans
    java, *arguments = broker.run_command(machine, plan)
    command = [java, f"-XX:ArchiveClassesAtExit={made}", *arguments]
    child = launch.start(command, output=plan.output_file)
    try:
        await_ready(plans, lambda: broker.require_running(plan, child.exit_status()))
    finally:
        child.stop(WRITE_GRACE_S)
