"""A local Kafka whose brokers' clock is as wrong as a test wants, from one moment to the next.

The broker gets a class of its own in the place of Kafka's clock, compiled from SystemTime.java,
which needs the compiler of the JDK. The machine's clock is left alone.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from adapter.localkafka import broker
from adapter.localkafka.broker import Machine
from adapter.localkafka.settings import BrokerPlan

COMPILE_S = 60.0
SOURCE = Path(__file__).parent / "SystemTime.java"


class WrongClock:
    """The clock of all brokers that are started while `patch` holds. folder: for its files."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self._classes = folder / "classes"
        self._offset = folder / "offset"
        self.set(0.0)
        self._run_command = broker.run_command
        patch.setattr(broker, "run_command", self._command)

    def set(self, ahead_s: float) -> None:
        """Let the brokers' clock be so far ahead of the machine's, or behind it."""
        part = self._offset.with_suffix(".part")
        part.write_text(str(round(ahead_s * 1000)))
        part.replace(self._offset)

    def _command(self, machine: Machine, plan: BrokerPlan) -> list[str]:
        if not self._classes.exists():
            self._compile(machine)
        command = self._run_command(machine, plan)
        path = command.index("-cp") + 1
        command[path] = f"{self._classes}:{command[path]}"
        return [command[0], f"-Dmqk.clock.offset={self._offset}", *command[1:]]

    def _compile(self, machine: Machine) -> None:
        compiler = [machine.java, "-m", "jdk.compiler/com.sun.tools.javac.Main"]
        jars = ":".join(str(jar) for jar in machine.jars.glob("kafka-clients-*.jar"))
        options = ["-proc:none", "-nowarn", "-cp", jars, "-d", str(self._classes)]
        subprocess.run([*compiler, *options, str(SOURCE)], check=True, timeout=COMPILE_S)
