"""Triggers and rules, as administrators define them. This module does not know how they are run."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

from adapter.connection.channel.plain_arguments import WrongArgument, WrongArgumentType, as_flag
from adapter.msmq.errors import InvalidOperationError
from adapter.msmq.message import Message
from adapter.msmq.names import as_queue_name
from adapter.msmq.triggers.actions import Action, Call, Run
from adapter.msmq.triggers.conditions import MessageCondition


class Processing(Enum):
    """What becomes of a message that has activated a trigger.

    PEEKING leaves it on the queue. RETRIEVAL removes it, if a rule has acted and no action failed.
    TRANSACTIONAL_RETRIEVAL does so in a transaction, which the actions may take part in.
    """

    PEEKING = "peeking"
    RETRIEVAL = "retrieval"
    TRANSACTIONAL_RETRIEVAL = "transactional_retrieval"


class Rule:
    """An action, and the conditions under which it is carried out: all of them together. Without
    conditions it is carried out for every message.
    """

    def __init__(
        self, name: str, *, conditions: Iterable[MessageCondition] = (), action: Action
    ) -> None:
        self._name = as_name(name, "rule")
        self.conditions = tuple(conditions)
        for condition in self.conditions:
            if not isinstance(condition, MessageCondition):
                raise WrongArgumentType(
                    f"a condition is one such as LabelContains('urgent'), not {condition!r}"
                )
        if not isinstance(action, Run | Call):
            raise WrongArgumentType(f"an action is Run(...) or Call(...), not {action!r}")
        self.action = action

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    def applies_to(self, message: Message) -> bool:
        """Whether all conditions hold."""
        return all(condition.holds(message) for condition in self.conditions)

    def __repr__(self) -> str:
        return f"<Rule {self.name}>"


class Trigger:
    """A trigger: the queue that it monitors, and rules in the order in which they are applied.

    Each rule acts by itself. Name and queue cannot be changed. id: drawn, unless given. enabled:
    takes effect at once, also in a service that runs; MessageQueueException if that cannot open the
    queue, and the trigger stays as it was.
    """

    def __init__(
        self,
        name: str,
        queue: Any,
        *,
        rules: Iterable[Rule] = (),
        serialized: bool = False,
        processing: Processing = Processing.PEEKING,
        enabled: bool = True,
        id: str | None = None,  # noqa: A002 -- MSMQ's word
    ) -> None:
        """queue: its path, or a MessageQueue. serialized: a message is not peeked at before the
        actions for the one before it have ended.
        """
        self._name = as_name(name, "trigger")
        self._queue = as_queue_name(getattr(queue, "path", queue), "queue")
        self._id = str(uuid.uuid4()) if id is None else as_name(id, "trigger id")
        self.rules = list(rules)
        for rule in self.rules:
            if not isinstance(rule, Rule):
                raise WrongArgumentType(f"rules are of Rule, not {rule!r}")
        self.serialized = as_flag("serialized", serialized)
        if not isinstance(processing, Processing):
            raise WrongArgumentType(f"processing is of Processing, not {processing!r}")
        self.processing = processing
        self._enabled = as_flag("enabled", enabled)
        self._watchers: list[Callable[[Trigger], object]] = []
        """What is called when it has been enabled or disabled: its services."""

    @property
    def enabled(self) -> bool:
        """Whether it acts."""
        return self._enabled

    @enabled.setter
    def enabled(self, value: bool) -> None:
        before, self._enabled = self._enabled, as_flag("enabled", value)
        if self._enabled != before:
            try:
                for watcher in list(self._watchers):
                    watcher(self)
            except BaseException:
                self._enabled = before
                raise

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    @property
    def queue(self) -> str:
        """The path of the queue that it monitors."""
        return self._queue

    @property
    def id(self) -> str:
        """Its id, which actions may be given."""
        return self._id

    def __repr__(self) -> str:
        return f"<Trigger {self.name} on {self.queue}>"


def as_name(name: object, what: str) -> str:
    """Take the name of a trigger or rule."""
    if not isinstance(name, str):
        raise WrongArgumentType(f"the name of a {what} is a str, not {name!r}")
    if not name:
        raise WrongArgument(f"the name of a {what} has at least one character")
    return name


def check_together(triggers: list[Trigger]) -> None:
    """Refuse triggers that one queue cannot have together."""
    if len(triggers) < 2:
        return
    name, queue = triggers[-1].name, triggers[-1].queue
    if any(one.processing is not Processing.PEEKING for one in triggers):
        raise InvalidOperationError(
            f"trigger {name} cannot be added: of several triggers on queue {queue} all peek"
        )
    if len({one.serialized for one in triggers}) > 1:
        raise InvalidOperationError(
            f"trigger {name} cannot be added: of several triggers on queue {queue} either all are "
            "serialized, or none is serialized"
        )
