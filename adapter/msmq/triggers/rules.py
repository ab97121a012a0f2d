"""Applying the rules of a trigger to a message: which ones act, and what became of it.

This module knows neither queues that are monitored nor when a trigger is activated.
"""

from __future__ import annotations

import logging
from contextlib import nullcontext

from adapter.host.allowed import AllowedPrograms
from adapter.msmq.enumerations import MessageQueueTransactionType as Kind
from adapter.msmq.host import Host
from adapter.msmq.message import Message
from adapter.msmq.queue import MessageQueue
from adapter.msmq.transaction import transaction_scope
from adapter.msmq.triggers.actions import Call, as_argument, values_of
from adapter.msmq.triggers.activations import Activation, Journal
from adapter.msmq.triggers.current import calling_from
from adapter.msmq.triggers.model import Processing, Rule, Trigger
from adapter.msmq.triggers.programs import ActionPrograms

log = logging.getLogger("adapter.msmq")


class RuleFailed(Exception):  # noqa: N818 -- it ends a transaction, and is not raised to users
    """An action failed in the transaction of its trigger, which is to be aborted."""


class TriggerRules:
    """Applies rules, for all triggers of one service, and notes in its journal what happened."""

    def __init__(
        self, host: Host, journal: Journal, allowed: AllowedPrograms | None = None
    ) -> None:
        self.programs = ActionPrograms(self._program_failed, allowed)
        self._host = host
        self._journal = journal

    def apply(self, queue: MessageQueue, trigger: Trigger, message: Message) -> None:
        """Apply the rules of a trigger to a message of its queue."""
        activation = Activation(trigger.name, message.id, message.label, message.lookup_id)
        self._journal.activated(activation)
        try:
            applying = [rule for rule in trigger.rules if rule.applies_to(message)]
            names = tuple(rule.name for rule in applying)
            activation.rules_not_acted = tuple(
                rule.name for rule in trigger.rules if rule.name not in names
            )
            if applying or trigger.processing is Processing.PEEKING:
                self._process(queue, trigger, message, applying, activation)
        except RuleFailed:
            pass  # it is noted; the transaction of the trigger was aborted
        except Exception as problem:  # noqa: BLE001 -- whatever a condition meets
            self._note_failure(activation, f"trigger {trigger.name}", problem)

    def _process(
        self,
        queue: MessageQueue,
        trigger: Trigger,
        message: Message,
        rules: list[Rule],
        activation: Activation,
    ) -> None:
        """Carry out actions, and remove the message if the trigger retrieves it.

        Raises RuleFailed in a transaction: the actions behind a failed one would be undone.
        """
        in_transaction = trigger.processing is Processing.TRANSACTIONAL_RETRIEVAL
        with transaction_scope(self._host) if in_transaction else nullcontext():
            if in_transaction:
                queue.receive_by_lookup_id(message.lookup_id, transaction=Kind.AUTOMATIC)
            for rule in rules:
                self._try_rule(trigger, rule, message, activation)
                if in_transaction and activation.rules_failed:
                    raise RuleFailed
        if trigger.processing is Processing.RETRIEVAL and not activation.rules_failed:
            queue.receive_by_lookup_id(message.lookup_id)

    def _try_rule(
        self, trigger: Trigger, rule: Rule, message: Message, activation: Activation
    ) -> None:
        """Carry out one action, and note whether it failed: the next rule acts all the same."""
        try:
            with calling_from(self._host):
                self._act(trigger, rule, message)
        except Exception as problem:  # noqa: BLE001 -- whatever a function of the user's raises
            activation.rules_failed += (rule.name,)
            self._note_failure(activation, f"rule {rule.name} of trigger {trigger.name}", problem)
        else:
            activation.rules_acted += (rule.name,)

    def _note_failure(self, activation: Activation, what: str, problem: Exception) -> None:
        text = str(problem) or type(problem).__name__
        activation.error = text if activation.error is None else f"{activation.error}; {text}"
        self._journal.count("failures")
        log.error("%s failed for message %s: %s", what, activation.message_id, problem)

    def _act(self, trigger: Trigger, rule: Rule, message: Message) -> None:
        action = rule.action
        values = values_of(action.parameters, message, trigger.name, trigger.id)
        self._journal.count("actions")
        if isinstance(action, Call):
            action.call(values)
            return
        arguments = [action.executable, *map(as_argument, values)]
        beside = trigger.processing is Processing.PEEKING and not trigger.serialized
        (self.programs.start if beside else self.programs.run)(arguments)

    def _program_failed(self, text: str) -> None:
        self._journal.count("failures")
        log.error("an action failed: %s", text)
