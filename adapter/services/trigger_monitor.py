"""The trigger monitor: takes trigger messages from an initiation queue and starts programs.

    TriggerMonitor(qm, "ORDERS.INITQ").run()

It starts what process definitions say, and no more: a user who may put to an initiation queue can
start the defined programs, and no others. A trigger message that cannot be carried out goes to the
dead-letter queue, with the reason. This module does not know when a trigger message is made.
Reference: IBM MQ, "Trigger monitors on AIX, Linux, and Windows"; runmqtrm.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from datetime import timedelta

from msgspec import structs

from adapter import errors
from adapter.client.acting import put_on
from adapter.client.connection import Connection
from adapter.client.message import Message
from adapter.connection.channel.arguments import as_whole
from adapter.connection.channel.unit import NO_UNIT, AnyUnit
from adapter.core.mq_layouts.trigger_message import too_long
from adapter.host.allowed import AllowedPrograms
from adapter.services.dead_letter_header import dead_letter_queue, with_header
from adapter.services.programs import PROGRAMS_MAX, STOP_GRACE_S, Programs
from adapter.services.trigger_message import TriggerMessage

log = logging.getLogger("adapter.mqi")

INITIATION_QUEUE = "SYSTEM.DEFAULT.INITIATION.QUEUE"
APPLICATION = "mqk trigger-monitor"

APPL_CANNOT_BE_STARTED = 265  # MQFB_APPL_CANNOT_BE_STARTED
TM_ERROR = 266  # MQFB_TM_ERROR
APPL_TYPE_ERROR = 267  # MQFB_APPL_TYPE_ERROR

REPORT = 4  # MQMT_REPORT

APPL_TYPES = {6: "UNIX", 15: "OPEN_TP1", 25: "USER", 28: "JAVA"}
"""MQAT numbers of what can be started here, beside those that users have for their own."""
USER_APPL_TYPE_FIRST = 65_536  # MQAT_USER_FIRST

DEFINED = ("appl_type", "appl_id", "env_data", "user_data")
"""What a trigger message has from the process definition."""

PAUSE_S = 1.0
BURY_S = 60.0
"""A program that turned out not to be one is told to the dead-letter queue within this, or to the
log alone."""

Launch = Callable[[TriggerMessage], None]


class TriggerMonitor:
    """Starts the programs that an initiation queue's trigger messages name.

    launch: called with each TriggerMessage in place of starting a process; what it raises means
    that the program could not be started. dead_letter_queue: None asks the queue manager.
    programs_max: that many run at a time, and trigger messages wait on their queue.
    stop_grace_s: how long programs have to end when stop() tells them to. environment: theirs.
    pause_s: between two attempts while the queue manager is away, or gets are inhibited. allowed:
    programs of these directories alone are started, without a shell; None: any, by a shell.
    """

    def __init__(
        self,
        qm: Connection,
        initiation_queue: str = INITIATION_QUEUE,
        launch: Launch | None = None,
        *,
        dead_letter_queue: str | None = None,
        programs_max: int = PROGRAMS_MAX,
        stop_grace_s: float = STOP_GRACE_S,
        environment: Mapping[str, str] | None = None,
        pause_s: float = PAUSE_S,
        allowed: AllowedPrograms | None = None,
    ) -> None:
        self._qm = qm
        self._pause_s = pause_s
        self._queue = qm.queue(initiation_queue)
        self._dead_letter_queue = dead_letter_queue
        self._programs = Programs(
            self._start_failed,
            most=as_whole("programs_max", programs_max, 1, 10_000),
            environment=environment,
            allowed=allowed,
        )
        self._launch = self._programs.start if launch is None else launch
        self._stop_grace_s = stop_grace_s
        self._stopping = threading.Event()
        self._taken = self._buried = self._lost = 0

    def open(self) -> None:
        """Open the initiation queue now: from here on queues are triggered. Else run() opens it.

        Raises QueueNotFound, QueueInUse.
        """
        self._queue = self._qm.queue(self._queue.name, open_for="input")

    def run(self) -> None:
        """Start programs until stop(), through restarts of the queue manager.

        Raises what cannot be waited out: QueueNotFound, QueueInUse, ConnectionClosed.
        """
        try:
            while not self._stopping.is_set():
                try:
                    self.run_once()
                except (
                    errors.ConnectionBroken,
                    errors.GetInhibited,
                    errors.InDoubt,
                    errors.NotOpen,
                ) as problem:
                    if self._stopping.is_set():
                        return
                    if isinstance(problem, errors.ConnectionClosed):
                        raise
                    log.warning("waiting for queue %s: %s", self._queue.name, problem)
                    self._stopping.wait(self._pause_s)
        finally:
            self.stop()

    def run_once(self, timeout: float | timedelta | None = None) -> bool:
        """Carry out one trigger message; False if none came in time, or stop() came.

        timeout: seconds; None: no limit. A program in the foreground is waited for.
        """
        seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
        until_s = None if seconds is None else time.monotonic() + seconds
        if not self._programs.await_room(seconds):
            return False
        left_s = None if until_s is None else max(until_s - time.monotonic(), 0.0)
        trigger = self._take(left_s)
        if trigger is None:
            return False
        self._taken += 1
        message, wanted = trigger
        if wanted is not None:
            try:
                self._launch(wanted)
            except Exception as problem:  # noqa: BLE001 -- whatever a launcher of the user's raises
                self._bury_soon(message, str(problem))
        return True

    def stop(self) -> None:
        """Take no more trigger messages, and end the programs that run; from any thread.

        Returns when they have ended: they get SIGTERM, and are killed after stop_grace_s.
        """
        self._stopping.set()
        self._queue.close()
        self._programs.stop(self._stop_grace_s)

    def statistics(self) -> dict[str, int]:
        """Return the figures of this monitor. trigger_messages_lost: only the log has them."""
        return {
            "trigger_messages": self._taken,
            "trigger_messages_dead_lettered": self._buried,
            "trigger_messages_lost": self._lost,
            **self._programs.statistics(),
        }

    def _take(self, timeout_s: float | None) -> tuple[Message, TriggerMessage | None] | None:
        """Get a trigger message for good: in a unit, so that it stays if anything comes between.

        One that cannot be carried out is on the dead-letter queue when this returns.
        """
        unit = self._qm.unit()
        unit.begin()
        try:
            if self._stopping.is_set():
                return None
            message = self._queue.get(timeout=timeout_s, unit=unit)
            if message is None:
                return None
            wanted, problem = self._read_any(message)
            if problem is not None:
                self._bury(message, *problem, unit)
            if self._stopping.is_set() and problem is None:
                return None  # it stays for the next monitor
            try:
                unit.commit()
            except errors.InDoubt as doubt:
                if self._qm.outcome(doubt.unit_id) != "committed":
                    raise
        except errors.BackedOut:
            return None  # the connection was lost: it stays on the queue, if the queue still has it
        finally:
            if unit.is_open:
                unit.backout()
        return message, wanted

    def _read_any(self, message: Message) -> tuple[TriggerMessage | None, tuple[int, str] | None]:
        """Return what _read() returns. That this one message cannot be read does not end the
        monitor: every user who may put to the queue may have put it.
        """
        try:
            return self._read(message)
        except (errors.ConnectionBroken, errors.BackedOut, errors.InDoubt):
            raise
        except errors.Error as refused:
            return None, (TM_ERROR, f"it cannot be compared with its process definition: {refused}")

    def _read(self, message: Message) -> tuple[TriggerMessage | None, tuple[int, str] | None]:
        """Return what a message asks for, or why it cannot be done: feedback and text."""
        if message.message_type == REPORT:
            who = f"user {message.user!r}, application {message.application!r}"
            return None, (TM_ERROR, f"it is a report ({who}), and reports start no programs")
        try:
            trigger = TriggerMessage.from_bytes(message.body)
        except errors.InvalidValue as error:
            return None, (TM_ERROR, error.text)
        number = trigger.appl_type
        if number not in APPL_TYPES and number < USER_APPL_TYPE_FIRST:
            types = ", ".join(APPL_TYPES.values())
            problem = (
                f"process {trigger.process} of queue {trigger.queue} is of type {number}: here "
                f"programs are started of the types {types}, and of types of your own"
            )
            return None, (APPL_TYPE_ERROR, problem)
        problem = self._other_than_defined(trigger)
        if problem:
            return None, (TM_ERROR, problem)
        return trigger.of_queue_manager(self._qm.name), None

    def _other_than_defined(self, trigger: TriggerMessage) -> str:
        """Say why a trigger message was not made from the process definition that it names.

        The queue manager makes it from that, as its layout holds it, without blanks at an end: a
        different one was put by another program, or before the definition was altered. A definition
        that the layout cuts, which earlier versions took, is that of another program.
        """
        name = trigger.process
        fitting = self._qm.objects("process", name, system=True) if name else []
        defined = next((one.attributes for one in fitting if one.name == name), None)
        if defined is None:
            return f"no process {name!r} is defined: {trigger.appl_id!r} is not started"
        meant = structs.replace(trigger, **{one: defined[one] for one in DEFINED})
        cut = too_long(meant)
        if cut:
            return (
                f"the definition of process {name} is longer in {', '.join(cut)} than a trigger "
                f"message can be: {trigger.appl_id!r} is not started"
            )
        laid_out = TriggerMessage.from_bytes(meant.to_bytes())
        other = [one for one in DEFINED if getattr(trigger, one) != getattr(laid_out, one)]
        if not other:
            return ""
        return (
            f"it differs from the definition of process {name} in {', '.join(other)}: "
            f"{trigger.appl_id!r} is not started"
        )

    def _start_failed(self, trigger: TriggerMessage, problem: str) -> None:
        """A program in the background was none."""
        self._bury_soon(Message(trigger.to_bytes(), format="MQTRIG", persistent=False), problem)

    def _bury_soon(self, message: Message, problem: str) -> None:
        """Put on the dead-letter queue what has been got for good, also if that takes a while."""
        until_s = time.monotonic() + BURY_S
        while True:
            try:
                self._bury(message, APPL_CANNOT_BE_STARTED, problem, None)
                return
            except errors.ConnectionBroken as broken:
                if time.monotonic() > until_s or self._stopping.is_set():
                    self._lose(problem, broken)
                    return
            self._stopping.wait(self._pause_s)

    def _bury(self, message: Message, feedback: int, problem: str, unit: AnyUnit | None) -> None:
        """Put a trigger message on the dead-letter queue. Raises ConnectionBroken and BackedOut;
        if the queue does not take it, the log has to do.
        """
        dead = with_header(
            message,
            feedback,
            queue=self._queue.name,
            queue_manager=self._qm.name,
            application=APPLICATION,
            now_ms=int(time.time() * 1000),
        )
        try:
            name = self._dead_letter_queue or dead_letter_queue(self._qm)
            put_on(self._qm, name, dead, unit=unit or NO_UNIT)
        except (errors.ConnectionBroken, errors.BackedOut):
            raise
        except errors.Error as refused:
            self._lose(problem, refused)
            return
        self._buried += 1
        log.error("a trigger message is on queue %s (feedback %d): %s", name, feedback, problem)

    def _lose(self, problem: str, why: errors.Error) -> None:
        self._lost += 1
        log.error(
            "a trigger message was discarded: %s. It was not put on the dead-letter queue: %s",
            problem,
            why,
        )
