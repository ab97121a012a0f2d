"""Programs that put, serve and monitor, drawn at random, for the auditor of triggers to judge.

All is durable at once here: what an unfinished entry does to messages is the other simulation's
business. The queue manager crashes, with and without a snapshot, or its owner takes over again.
"""

from __future__ import annotations

import itertools
from typing import Any

from adapter.core.attributes.queue import QueueAttributes
from adapter.core.contract import commands as c
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import MessageData as CoreMessage
from adapter.core.contract.results import Messages, PutDone, Refused
from adapter.core.mq_layouts import dead_letter, trigger_message
from tests.simulation.trigger_auditor import Told, TriggerAuditor
from tests.simulation.work import CLIENTS, Work
from tests.support.by_hand import ByHand
from tests.support.core import Core

APPLICATIONS = ("A", "B", "C", "X")
"""X is a transmission queue."""
INITIATIONS = ("I", "J")
DEAD = "DEAD"
SERVED = (*APPLICATIONS, DEAD)
ALL = (*APPLICATIONS, *INITIATIONS, DEAD)
PROCESSES = ("P", "R")
DEFAULTS = {name: getattr(QueueAttributes(), name) for name in QueueAttributes.__struct_fields__}
INPUT_AT = 100
"""Handles for input are numbered from here, those for output from 1."""


class TriggerWork(Work[TriggerAuditor]):
    """One run; a seed says everything that happens."""

    CLIENTS = (*CLIENTS, "mon")
    OTHERS = ()
    SECONDS = (0.5, 1, 3, 10)

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        limits = Limits(window_messages=self.rng.choice([1, 3, 1_000]))
        self.is_owner = seed % 2 == 0
        self.core = ByHand() if self.is_owner else Core(limits)
        self.auditor = TriggerAuditor()
        self._bodies = itertools.count(1)
        self.auditor.now_ms = self.core.now_ms
        self._connect()
        for name in ALL:
            self._define(name)
        self._open_all()
        self._alter_settings(self._settings())
        for process in PROCESSES:
            self.define_process(process)
        self._monitor()
        self.operations = {
            self.put: 45,
            self.get: 16,
            self.open: 12,
            self.close: 14,
            self.begin: 9,
            self.end: 9,
            self.take: 18,
            self.alter: 12,
            self.alter_initiation: 8,
            self.alter_settings: 1.5,
            self.change_process: 3,
            self.change_initiation: 2,
            self.purge: 2,
            self.advance: 9,
            self.lose: 2,
            self.crash: 1.5,
        }

    def look(self) -> None:
        """Show the auditor what is on the queues that trigger messages go to."""
        for name in (*INITIATIONS, DEAD):
            queue = self.core.qm.queues.get(name)
            if queue is not None:
                self.auditor.seen(name, [told(one.message) for one in queue.in_memory()])

    # -- queues and settings

    def _open_all(self, *people: str) -> None:
        for person in people or self.CLIENTS:
            for number, queue in enumerate(APPLICATIONS, 1):
                self._do(person, c.Open(number, queue, c.OUTPUT))

    def _define(self, name: str) -> None:
        rng = self.rng
        given: dict[str, Any] = {"def_persistence": True}
        if name in APPLICATIONS:
            given |= {
                "trigger_control": rng.random() < 0.8,
                "trigger_type": rng.choice(["FIRST", "FIRST", "EVERY", "DEPTH", "DEPTH"]),
                "trigger_depth": rng.choice([1, 2, 3]),
                "trigger_msg_priority": rng.choice([0, 0, 5]),
                "trigger_data": f"data of {name}",
                "initiation_queue": rng.choice(INITIATIONS),
                "process": "" if name == "X" else rng.choice(PROCESSES),
            }
            given |= {"usage": "XMITQ"} if name == "X" else {}
        elif name == DEAD and rng.random() < 0.5:
            given |= {"trigger_control": True, "initiation_queue": "J", "process": "P"}
            given |= {"trigger_type": rng.choice(["FIRST", "EVERY"])}
        self._do("ada", c.DefineQueue(name, given))
        self.auditor.defined(name, DEFAULTS | given)

    def _settings(self) -> dict[str, Any]:
        rng = self.rng
        return {
            "trigger_interval_ms": rng.choice([0, 3_000, 3_000, 999_999_999]),
            "depth_trigger_disables": rng.random() < 0.3,
            "every_triggers_on_backout": rng.random() < 0.3,
            "dead_letter_queue": rng.choice(["", DEAD, DEAD, "MISSING"]),
        }

    def _alter_settings(self, settings: dict[str, Any]) -> None:
        self._do("ada", c.AlterObject("queue_manager", "QM1", settings))
        self.auditor.settings |= settings

    def alter_settings(self) -> None:
        settings = self._settings()
        name = self.rng.choice(list(settings))
        self._alter_settings({name: settings[name]})

    def alter(self) -> None:
        """Alter one or two attributes of an application's queue."""
        rng = self.rng
        name = rng.choice(SERVED)
        values: dict[str, list[Any]] = {
            "trigger_control": [True, True, True, False],
            "trigger_type": ["FIRST", "FIRST", "EVERY", "DEPTH", "DEPTH", "NONE"],
            "trigger_depth": [1, 2, 3],
            "trigger_msg_priority": [0, 5],
            "trigger_data": ["one", "two"],
            "inhibit_get": [True, False, False],
            "initiation_queue": [*INITIATIONS, *INITIATIONS, ""],
            "process": [*PROCESSES, *PROCESSES, *PROCESSES, ""],
        }
        chosen = rng.sample(list(values), rng.choice([1, 1, 2]))
        self._alter(name, {attribute: rng.choice(values[attribute]) for attribute in chosen})

    def alter_initiation(self) -> None:
        """Alter one or two attributes of a queue that trigger messages go to."""
        rng = self.rng
        values: dict[str, list[Any]] = {
            "inhibit_put": [True, False, False, False],
            "inhibit_get": [True, False, False, False],
            "usage": ["NORMAL", "NORMAL", "NORMAL", "NORMAL", "XMITQ"],
            "max_depth": [0, 1, 4, 1_000, 1_000],
            "def_priority": [0, 4],
        }
        chosen = rng.sample(list(values), rng.choice([1, 1, 2]))
        name = rng.choice((*INITIATIONS, DEAD))
        attributes = {attribute: rng.choice(values[attribute]) for attribute in chosen}
        known = self.auditor.queues.get(name)
        for lifted in ("inhibit_put", "inhibit_get"):
            if known is not None and known[lifted] and rng.random() < 0.6:
                attributes[lifted] = False
        self._alter(name, attributes)

    def _alter(self, name: str, attributes: dict[str, Any]) -> None:
        if self._does("ada", c.AlterQueue(name, attributes)):
            self.auditor.altered(name, attributes)

    def change_process(self) -> None:
        name = self.rng.choice(PROCESSES)
        if name in self.auditor.processes and self.rng.random() < 0.3:
            self._done("ada", c.DeleteObject("process", name))
            self.auditor.processes.discard(name)
        elif name not in self.auditor.processes:
            self.define_process(name)

    def define_process(self, name: str) -> None:
        self._done("ada", c.DefineObject("process", name, {"appl_id": name.lower()}))
        self.auditor.processes.add(name)

    def change_initiation(self) -> None:
        """Delete an initiation queue that nobody has open, or define it again."""
        name = self.rng.choice(INITIATIONS)
        if name not in self.auditor.queues:
            self._define(name)
        elif self._does("ada", c.DeleteQueue(name, purge=True)):
            self.auditor.deleted(name)

    def purge(self) -> None:
        name = self.rng.choice(APPLICATIONS)
        self._done("ada", c.PurgeQueue(name))
        self.auditor.purged(name)

    # -- messages

    def put(self) -> None:
        rng = self.rng
        person, (unit, ident) = self._someone()
        number, queue = rng.choice(list(enumerate(APPLICATIONS, 1)))
        count = rng.choice([1, 1, 2, 4]) if unit else 1
        told_ = [
            (f"m{next(self._bodies)}", rng.choice([0, 4, 5, 9]), rng.random() < 0.6)
            for _ in range(count)
        ]
        messages = [
            CoreMessage(body=body.encode(), priority=priority, persistence=int(hard))
            for body, priority, hard in told_
        ]
        answer = self.people[person].do(c.Put(number, messages, ident))
        assert isinstance(answer, PutDone), answer
        self.auditor.put(queue, told_, unit)

    def get(self) -> None:
        person, (unit, ident) = self._someone()
        queue = self.rng.choice(APPLICATIONS)
        answer = self.people[person].do(c.Get(self._input(queue), ident))
        if isinstance(answer, Messages) and answer.messages:
            self.auditor.got(queue, answer.messages[0].message.body.decode(), unit)

    def take(self) -> None:
        """Let a monitor, or a dead-letter handler, get what is first."""
        name = self.rng.choice((*INITIATIONS, *INITIATIONS, DEAD))
        for client in self.people.values():
            answer = client.do(c.Get(self._input(name)))
            if isinstance(answer, Messages) and answer.messages:
                self.auditor.took(name, told(answer.messages[0].message))

    def _someone(self) -> tuple[str, tuple[str, bytes]]:
        """Choose a client, and one of its units or none."""
        person = self.rng.choice(self.CLIENTS)
        unit = self.rng.choice([*self._mine(person), ""])
        return person, (unit, self._ident(unit))

    # -- handles, connections, time

    def open(self) -> None:
        """Serve a queue for a while; monitor an initiation queue for longer."""
        person, queue = self.rng.choice(self.CLIENTS), self.rng.choice((*SERVED, *INITIATIONS * 3))
        if self._does(person, c.Open(self._input(queue), queue, c.INPUT)):
            self.auditor.opened(person, queue)

    def close(self) -> None:
        person, queue = self.rng.choice(self.CLIENTS), self.rng.choice((*SERVED * 3, *INITIATIONS))
        if self._does(person, c.Close(self._input(queue))):
            self.auditor.closed(person, queue)

    def _input(self, queue: str) -> int:
        return INPUT_AT + ALL.index(queue)

    def _monitor(self) -> None:
        """Open the initiation queues that there are, and that nobody else has for himself."""
        for queue in INITIATIONS:
            if self._does("mon", c.Open(self._input(queue), queue, c.INPUT)):
                self.auditor.opened("mon", queue)

    def _begin_again(self) -> None:
        super()._begin_again()
        if self.rng.random() < 0.8:
            self._monitor()

    def _does(self, person: str, command: c.Command) -> bool:
        """Give a command; whether it was carried out."""
        return not isinstance(self._do(person, command), Refused)


def told(message: CoreMessage) -> Told:
    """Say in the auditor's words what a message of the queue manager's own says."""
    header, body = dead_letter.split(message.format, message.body)
    said = trigger_message.from_tm(body)
    assert not message.persistence, "trigger messages are not persistent"
    assert message.format == (dead_letter.FORMAT if header else trigger_message.FORMAT)
    facts = Told(said.queue, said.trigger_data, said.process, message.priority)
    return facts._replace(reason=header.reason, to=header.destination) if header else facts
