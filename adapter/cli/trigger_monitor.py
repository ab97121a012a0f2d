"""mqk trigger-monitor: start programs when the queue manager asks for it.

What it does is adapter.mqi's; here is how it is called and how it ends.
"""

from __future__ import annotations

import logging
import os

import click

from adapter.cli.connected import connect
from adapter.command import failures, options, signals
from adapter.connection.channel.addresses import parse_addresses, parse_directory
from adapter.host.allowed import AllowedPrograms
from adapter.services.programs import PROGRAMS_MAX, STOP_GRACE_S
from adapter.services.trigger_monitor import APPLICATION, INITIATION_QUEUE, TriggerMonitor


class Telling(logging.Handler):
    """Prints what a tool has to say on standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one line."""
        failures.tell(record.getMessage())


@click.command("trigger-monitor")
@click.option(
    "-q", "--queue", default=INITIATION_QUEUE, show_default=True, metavar="INITQ",
    help="The initiation queue to take trigger messages from.",
)  # fmt: skip
@click.option(
    "--programs-max", type=click.IntRange(1, 10_000), default=PROGRAMS_MAX, show_default=True,
    metavar="N", help="Programs that run at a time; while so many run, trigger messages wait.",
)  # fmt: skip
@click.option(
    "--grace", "grace_s", type=options.RealRange(min=0), default=STOP_GRACE_S, show_default=True,
    metavar="S", help="How long programs may take to end when the monitor is stopped.",
)  # fmt: skip
@options.allowed_programs
@options.queue_manager
def trigger_monitor(
    queue: str, programs_max: int, grace_s: float, allowed: AllowedPrograms | None, qmgr: str
) -> None:
    """Start the programs that trigger messages on INITQ ask for, until SIGTERM or Ctrl-C.

    The shell runs `ApplId "MQTMC2" EnvData` of the process definition, and the next trigger message
    is taken when the program has ended, or at once if EnvData ends with &. With --allow-directory
    no shell is used. Programs find the queue manager in MQK_QMGR and, unless it is set, MQSERVER.
    What cannot be started goes to the dead-letter queue. A queue manager that restarts is waited
    for.

    Exit status: 0 after SIGTERM, 130 after Ctrl-C, 1 if queue manager or queue are not there.
    """
    tell_all()
    with connect(qmgr, APPLICATION) as qm:
        monitor = TriggerMonitor(
            qm,
            queue,
            programs_max=programs_max,
            stop_grace_s=grace_s,
            environment=environment(qmgr),
            allowed=allowed,
        )
        monitor.open()
        with signals.ending(monitor.stop):
            failures.tell(f"taking trigger messages from {queue} of {qm.name}")
            monitor.run()
    failures.tell("the trigger monitor has ended")


def tell_all(name: str = "adapter.mqi") -> None:
    """Print what a service logs, once, on standard error."""
    log = logging.getLogger(name)
    log.setLevel(logging.INFO)
    log.propagate = False
    log.handlers = [Telling()]


def environment(qmgr: str) -> dict[str, str]:
    """Our environment, and where the queue manager is: for the SDK's commands, and MQI programs."""
    ours = os.environ | {"MQK_QMGR": qmgr}
    if parse_directory(qmgr) is not None:  # MQSERVER has no such form
        return ours
    found = parse_addresses(qmgr)
    names = ",".join(str(one) if one.path else f"{one.host}({one.port})" for one in found)
    return {"MQSERVER": f"SYSTEM.DEF.SVRCONN/TCP/{names}"} | ours
