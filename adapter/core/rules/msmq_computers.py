"""Computers of MSMQ: which one this queue manager is, and where the queues of others are read.

Another computer's queues are read over a connection to its queue manager, which the directory
names. This module does not know which queues a computer has.
"""

from __future__ import annotations

from adapter.core.contract.commands import Request
from adapter.core.contract.format_names import FormatName, same_computer
from adapter.core.contract.msmq import MsmqLocate
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.results import ComputerFound
from adapter.core.model.computers import KnownComputer
from adapter.core.model.manager import QueueManager
from adapter.core.rules.decision import Decision


def computer_of(qm: QueueManager) -> str:
    """Return the computer that the queue manager is, in names of MSMQ."""
    return qm.attributes.msmq_computer or qm.name


def is_here(qm: QueueManager, name: FormatName) -> bool:
    """Whether a name means a queue of this queue manager."""
    return same_computer(name.computer, computer_of(qm))


def known(qm: QueueManager, computer: str) -> KnownComputer | None:
    """Return another computer, if it has a queue manager in the directory."""
    return qm.known_computers.get(computer.casefold())


def not_here(qm: QueueManager, name: FormatName, text: str) -> Refusal:
    """Make the refusal to read a queue of another computer. text: its name as it was given."""
    other = known(qm, name.computer)
    if other is not None:
        why = f"connect to queue manager {other.queue_manager}, which has its queues"
    else:
        why = "no queue manager in the directory has this computer's queues"
    return Refusal(Reason.COMPUTER_NOT_REACHABLE, text, why)


def decide_locate(qm: QueueManager, request: Request, command: MsmqLocate) -> Decision:
    """Say where the queues of a computer are read: here, if no queue manager is known to have
    them.
    """
    computer = command.computer or computer_of(qm)
    other = None if same_computer(computer, computer_of(qm)) else known(qm, computer)
    found = other or KnownComputer(qm.name, "")
    level = qm.attributes.msmq_level
    return Decision([], ComputerFound(computer, found.queue_manager, found.address, level))
