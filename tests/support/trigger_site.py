"""A queue manager with triggered queues, seen through the SDK: applications, servers, a monitor."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import adapter
import adapter.testing
from adapter.mqi import TriggerMessage

INITQ = "INITQ"
PROCESS = "SERVER"
APPL: dict[str, Any] = {
    "appl_type": 6,
    "appl_id": "/opt/server",
    "env_data": "-v",
    "user_data": "hello",
}

TRIGGERED: dict[str, Any] = {
    "trigger_control": True,
    "trigger_type": "FIRST",
    "initiation_queue": INITQ,
    "process": PROCESS,
}


class Site:
    """Everything the conditions ask for is there: a process, an initiation queue, a monitor.

    app puts and alters, and never has a queue open for input.
    """

    def __init__(self, manager: adapter.testing.TestQueueManager) -> None:
        self.manager = manager
        self.app = manager.connect(application="app")
        self.app.define_queue(INITQ)
        self.app.define_process(PROCESS, **APPL)
        self._monitor = manager.connect(application="monitor")
        self.initiation = self._monitor.queue(INITQ)
        self.start_monitor()

    def close(self) -> None:
        self.app.close()
        self._monitor.close()

    def start_monitor(self) -> None:
        """Open the initiation queue for input."""
        self.initiation = self._monitor.queue(INITQ, open_for="input")

    def stop_monitor(self) -> None:
        self.initiation.close()

    def define(self, name: str = "Q", *, messages: int = 0, **attributes: Any) -> None:
        """Define a triggered queue, on which there are messages already that triggered nothing."""
        wanted = TRIGGERED | attributes
        self.app.define_queue(name, **(wanted | {"initiation_queue": ""}))
        for _ in range(messages):
            self.app.put(name, "waits")
        self.app.alter_queue(name, initiation_queue=wanted["initiation_queue"])

    def put(self, name: str = "Q", **fields: Any) -> None:
        self.app.put(name, "work", **fields)

    def alter(self, name: str = "Q", **attributes: Any) -> None:
        self.app.alter_queue(name, **attributes)

    def said(self) -> list[TriggerMessage]:
        """Take the trigger messages that the monitor can get now."""
        found = []
        while (message := self.initiation.get()) is not None:
            found.append(TriggerMessage.from_bytes(message.body))
        return found

    def triggered(self) -> list[str]:
        """Take the trigger messages that the monitor can get now: the queues that they name."""
        return [each.queue for each in self.said()]

    @contextmanager
    def serving(self, name: str = "Q") -> Iterator[adapter.Queue]:
        """Have a queue open for input on a connection of its own."""
        with self.manager.connect(application="server") as server:
            queue = server.queue(name, open_for="input")
            yield queue
            queue.close()

    def serve_nothing(self, name: str = "Q") -> None:
        """Start a server that closes the queue without having got anything."""
        with self.serving(name):
            pass

    def drain(self, name: str = "Q") -> int:
        """Have a server take what there is and end; returns how many messages it took."""
        count = 0
        with self.serving(name) as queue:
            while queue.get() is not None:
                count += 1
        return count


@contextmanager
def site(**settings: Any) -> Iterator[Site]:
    """Run a queue manager in this process whose clock stands still until it is advanced."""
    with adapter.testing.queue_manager("SPEC", clock="manual", **settings) as manager:
        made = Site(manager)
        try:
            yield made
        finally:
            made.close()


# Each takes one of the conditions 5 to 9 away from a queue; the number is the manual's.
def _no_process(at: Site, name: str) -> None:
    at.app.delete_object("process", PROCESS)


def _no_process_name(at: Site, name: str) -> None:
    at.alter(name, process="")


def _no_initiation_queue(at: Site, name: str) -> None:
    at.alter(name, initiation_queue="")


def _another_initiation_queue(at: Site, name: str) -> None:
    at.alter(name, initiation_queue="NOWHERE")


def _initiation_get_inhibited(at: Site, name: str) -> None:
    at.alter(INITQ, inhibit_get=True)


def _initiation_put_inhibited(at: Site, name: str) -> None:
    at.alter(INITQ, inhibit_put=True)


def _initiation_is_for_transmission(at: Site, name: str) -> None:
    at.alter(INITQ, usage="XMITQ")


def _no_monitor(at: Site, name: str) -> None:
    at.stop_monitor()


def _control_off(at: Site, name: str) -> None:
    at.alter(name, trigger_control=False)


def _type_none(at: Site, name: str) -> None:
    at.alter(name, trigger_type="NONE")


TAKEN_AWAY = {
    "5 no such process": _no_process,
    "5 no process named": _no_process_name,
    "6 no initiation queue named": _no_initiation_queue,
    "6 no such initiation queue": _another_initiation_queue,
    "6 gets inhibited": _initiation_get_inhibited,
    "6 puts inhibited": _initiation_put_inhibited,
    "6 for transmission": _initiation_is_for_transmission,
    "7 no monitor": _no_monitor,
    "8 control off": _control_off,
    "9 type none": _type_none,
}


def take_away(at: Site, what: str, name: str = "Q") -> None:
    """Take one of the conditions away."""
    TAKEN_AWAY[what](at, name)
