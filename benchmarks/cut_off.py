"""How long programs wait when an owner's machine is cut off from all others.

As benchmarks/failover.py measures it, but owner and standby are on machines of their own
(benchmarks/machines.py), and Kafka and the programs on a third. So all this runs in a process that
is alone in its network, and prints its rows as JSON.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec

from adapter.localkafka import LocalKafka
from benchmarks import failover
from benchmarks.failover import FREEZE_HEARTBEAT_MS, Fault, Pair
from benchmarks.machines import Machines, MachinesError, alone
from benchmarks.results import Row, Rows, show

ABOUT = "gaps that programs see when an owner's machine is cut off"
KEY = "cut-off"
NOT_MEASURED = "not measured: "
WITHOUT_MACHINES = 3
"""The status of a process that cannot make machines."""


def measure(trials: int = failover.TRIALS) -> Rows:
    """Cut the owner's machine off so many times; no rows where machines cannot be made."""
    try:
        command = alone([sys.executable, "-m", "benchmarks.cut_off", str(trials)])
    except MachinesError as error:
        print(f"{NOT_MEASURED}{error}", file=sys.stderr, flush=True)
        return {}
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if done.returncode == WITHOUT_MACHINES:
        return {}
    done.check_returncode()
    return msgspec.json.decode(done.stdout, type=dict[str, Row])


def measure_alone(trials: int) -> Rows:
    """Do so in this process, which is alone in its network."""
    try:
        machines = Machines(2)
    except MachinesError as error:
        print(f"{NOT_MEASURED}{error}", file=sys.stderr, flush=True)
        sys.exit(WITHOUT_MACHINES)

    def cut(pair: Pair) -> None:
        machines.cut(pair.owner.host)

    def mend(pair: Pair) -> None:
        machines.mend(pair.owner.host)
        pair.change_places()

    beating = {"heartbeat_ms": FREEZE_HEARTBEAT_MS}
    fault = Fault("an owner's machine is cut off", cut, mend, 3.0, beating)
    first, second = (failover.Place(host, machines.prefix(host)) for host in machines.hosts)
    with (
        LocalKafka() as kafka,
        tempfile.TemporaryDirectory(prefix="cut-off-") as folder,
        failover.pair_of(
            kafka.bootstrap_servers, "CUTOFF", Path(folder), fault, 0, (first, second)
        ) as pair,
    ):
        found = failover.try_fault(pair, fault, trials)
    rows = failover.rows_of(KEY, fault.name, fault.limit_s, found)
    show(rows, fault.name)
    failover.tell({KEY: fault.name}, {KEY: found})
    return rows


if __name__ == "__main__":
    print(msgspec.json.encode(measure_alone(int(sys.argv[1]))).decode())
