"""The programs that trigger messages start: at most so many at a time, waited for or not.

    ApplId "<MQTMC2, 732 characters>" EnvData

goes to the shell; where programs have to be in allowed directories, it is split into words, and no
shell is used. A program is waited for before the next one is started, unless EnvData ends with `&`.
Programs end with the process that started them; what they started themselves does not. This
module knows no queue and no queue manager.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Mapping
from functools import partial

from adapter.errors import Error
from adapter.host import launch, watched
from adapter.host.allowed import AllowedPrograms, ProgramNotAllowed, words_of
from adapter.services.trigger_message import TriggerMessage

log = logging.getLogger("adapter.mqi")

PROGRAMS_MAX = 50
"""The default: each program is a process of the operating system, and may be heavy."""
STOP_GRACE_S = 10.0
"""Time for a program to commit or back out its work after SIGTERM."""
LOOK_S = 60.0
"""A wait for a program's end is as long as the program takes, in steps of this."""
NOT_STARTED = frozenset({126, 127})
"""What the shell ends with if it cannot run a command, or finds none."""

OnFailure = Callable[[TriggerMessage, str], None]


class CannotStart(Error):  # noqa: N818 -- it says what happened
    """A program could not be started (MQFB_APPL_CANNOT_BE_STARTED)."""


class Program:
    """One that was started."""

    def __init__(self, trigger: TriggerMessage, child: launch.Child) -> None:
        self.trigger = trigger
        self.child = child
        self.ended = threading.Event()
        self.gone = threading.Event()
        """It was stopped, with all its processes: the shell may end before the program it runs."""
        self.status = 0
        self.is_told = False
        """It was sent SIGTERM: only once, for some programs take a second one for haste."""

    def __str__(self) -> str:
        return f"program {self.trigger.appl_id} for queue {self.trigger.queue}"


class Programs:
    """Starts programs and sees to their end. Every method may be called from any thread.

    on_failure: told, from a thread of its own, of a program in the background that turned out not
    to be one; environment: of the programs, None: ours. allowed: no others are started; None: any,
    by a shell.
    """

    def __init__(
        self,
        on_failure: OnFailure,
        *,
        most: int = PROGRAMS_MAX,
        environment: Mapping[str, str] | None = None,
        allowed: AllowedPrograms | None = None,
    ) -> None:
        self._on_failure = on_failure
        self._most = most
        self._environment = environment
        self._allowed = allowed
        self._change = threading.Condition()
        self._running: set[Program] = set()
        self._stopping = False
        self._started = self._failed = 0

    def await_room(self, timeout_s: float | None = None) -> bool:
        """Wait until one more may be started; False if none may in time, or any more."""
        with self._change:
            self._change.wait_for(lambda: self._stopping or self._has_room, timeout_s)
            return self._has_room and not self._stopping

    def start(self, trigger: TriggerMessage) -> None:
        """Start the program that a trigger message names; wait for its end, but for one in the
        background. Raises CannotStart.
        """
        before, after, waits = command_of(trigger)
        with self._change:
            if self._stopping:
                raise CannotStart("the trigger monitor is being stopped", trigger.queue)
            program = Program(trigger, self._launch(before, after, trigger))
            self._running.add(program)
            self._started += 1
        log.info("started %s as process %d", program, program.child.pid)
        follow, lose = partial(self._follow, program, waits), partial(self._lose, program)
        watched.thread(f"that waits for {program}", follow, lose)
        if waits:
            program.ended.wait()
            if self._is_failure(program):
                raise CannotStart(_not_started(program), trigger.queue)

    def stop(self, grace_s: float = STOP_GRACE_S) -> None:
        """Start no more; end those that run: SIGTERM, and SIGKILL when that does not help in time.

        Returns when all have ended.
        """
        with self._change:
            self._stopping = True
            self._change.notify_all()
            running = list(self._running)
            untold = [program for program in running if not program.is_told]
            for program in untold:
                program.is_told = True
        for program in untold:
            watched.thread(f"that ends {program}", partial(_end, program, grace_s), log.error)
        for program in running:
            if program.gone.wait(grace_s + launch.KILL_TIMEOUT_S):
                program.ended.wait(launch.KILL_TIMEOUT_S)

    def statistics(self) -> dict[str, int]:
        """Return how many run, were started, and could not be."""
        return {
            "programs_running": len(self._running),
            "programs_started": self._started,
            "programs_failed": self._failed,
        }

    @property
    def _has_room(self) -> bool:
        return len(self._running) < self._most

    def _launch(self, before: str, after: str, trigger: TriggerMessage) -> launch.Child:
        argument = os.fsdecode(trigger.to_tmc2())
        try:
            if self._allowed is not None:
                words = [*words_of(before), argument, *words_of(after)]
                return self._allowed.start(words, self._environment)
            command = f'{before} "$1" {after}'.rstrip()
            arguments = ["/bin/sh", "-c", command, "trigger-monitor", argument]
            return launch.start(arguments, output=None, environment=self._environment)
        except ProgramNotAllowed as problem:
            self._failed += 1
            raise CannotStart(problem.text, trigger.queue) from problem
        except OSError as problem:
            self._failed += 1
            raise CannotStart(f"no process could be started: {problem}", trigger.queue) from problem

    def _follow(self, program: Program, waited_for: bool) -> None:
        """Wait for a program's end, in a thread of its own."""
        status = program.child.wait(LOOK_S)
        while status is None:
            status = program.child.wait(LOOK_S)
        program.status = status
        program.child.leave_group()
        with self._change:
            self._running.discard(program)
            self._change.notify_all()
        if self._is_failure(program):
            self._failed += 1
            if not waited_for:
                self._on_failure(program.trigger, _not_started(program))
        else:
            log.log(
                logging.WARNING if status else logging.INFO,
                "%s ended with status %d", program, status,
            )  # fmt: skip
        program.ended.set()

    def _lose(self, program: Program, text: str) -> None:
        """Go on without a program whose end cannot be waited for: nothing else waits for it."""
        log.error("%s", text)
        with self._change:
            self._running.discard(program)
            self._change.notify_all()
        program.ended.set()

    def _is_failure(self, program: Program) -> bool:
        return program.status in NOT_STARTED and not self._stopping


def command_of(trigger: TriggerMessage) -> tuple[str, str, bool]:
    """Return what of a command is before the MQTMC2 and behind it, and whether it is waited for.

    The MQTMC2 is a parameter and no part of the command: it holds data that applications set, and
    no character of it shall be read by a shell.
    """
    if not trigger.appl_id.strip():
        raise CannotStart(f"process {trigger.process} has no ApplId", trigger.queue)
    rest = trigger.env_data.rstrip()
    background = rest.endswith("&") and not rest.endswith("&&")
    if background:
        rest = rest[:-1].rstrip()
    return trigger.appl_id, rest, not background


def _not_started(program: Program) -> str:
    return (
        f"the shell could not run {program.trigger.appl_id} (status {program.status}): "
        "is it there, and may it be executed?"
    )


def _end(program: Program, grace_s: float) -> None:
    log.info("ending %s", program)
    program.child.stop_group(grace_s)
    program.gone.set()
