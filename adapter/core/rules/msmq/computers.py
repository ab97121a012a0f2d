"""Computers of MSMQ: which one this queue manager is, and where the queues of others are read.

Another computer's queues are read over a connection to its queue manager, which the directory
names. A computer without a queue manager of its own, like a dependent client of MSMQ, depends on
the queue managers that its programs connect to: each has the dead-letter queues and the journal of
that computer for what its programs send there. They are made with the first message that may need
them, and it is by them, and not by the directory alone, that a message finds its way: after a
restart the directory is read only when messages may have expired already.

A queue manager may be renamed (ALTER QMGR MSMQCOMP) while programs have its queues open, and
messages with its name are stored or on their way. So its former names go on to mean it, until
another queue manager has such a name in the directory.
"""

from __future__ import annotations

from typing import Any, Final

from adapter.core.attributes.msmq import SEPARATOR, computers_in
from adapter.core.contract.commands import Request
from adapter.core.contract.computers import KnownComputer
from adapter.core.contract.format_names import (
    SYSTEM_QUEUES,
    FormatName,
    fold_computer,
    same_computer,
)
from adapter.core.contract.msmq import MsmqLocate
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.results import ComputerFound
from adapter.core.model.manager import QueueManager
from adapter.core.rules.primitives.decision import Decision

EXAMPLES_MAX = 5
"""Computers that an error names."""
FORMER_MAX: Final = 100
"""Former names of a computer that are kept, the last ones: each takes 48 bytes at most."""


def computer_of(qm: QueueManager) -> str:
    """Return the computer that the queue manager is, in names of MSMQ."""
    return qm.attributes.msmq_computer or qm.name


def is_own(qm: QueueManager, computer: str) -> bool:
    """Whether a name means the computer that the queue manager is, by its name or a former one."""
    if same_computer(computer, computer_of(qm)):
        return True
    former = qm.attributes.msmq_former_computers
    if not former or fold_computer(computer) not in computers_in(former):
        return False
    other = known(qm, computer)
    return other is None or other.is_former


def are_same(qm: QueueManager, one: str, other: str) -> bool:
    """Whether two names mean the same computer, also if it is this one by two of its names."""
    return same_computer(one, other) or (is_own(qm, one) and is_own(qm, other))


def with_former(qm: QueueManager, attributes: dict[str, Any]) -> dict[str, Any]:
    """Return what is to be altered of the queue manager, with the former names of its computer if
    that is renamed. ATTRIBUTE_ERROR if the new name is that of a computer whose system queues are
    here: by that name the queue manager's own would be meant, and these would have none.
    """
    if "msmq_computer" not in attributes:
        return attributes
    before = fold_computer(computer_of(qm))
    now = fold_computer(attributes["msmq_computer"] or qm.name)
    if now == before:
        return attributes
    kept = [queue for queue in SYSTEM_QUEUES if _key_of_other(qm, now, queue) in qm.queues]
    if kept and not is_own(qm, now):
        text = f"computer {now} depends on this queue manager: delete {now}\\{kept[0]} first"
        raise Refusal(Reason.ATTRIBUTE_ERROR, qm.name, text)
    names = computers_in(qm.attributes.msmq_former_computers)
    kept = [*(one for one in names if one not in (before, now)), before]
    return attributes | {"msmq_former_computers": SEPARATOR.join(kept[-FORMER_MAX:])}


def is_here(qm: QueueManager, name: FormatName) -> bool:
    """Whether a name means a queue of this queue manager."""
    return is_own(qm, name.computer)


def known(qm: QueueManager, computer: str) -> KnownComputer | None:
    """Return another computer, if it has a queue manager in the directory."""
    return qm.known_computers.get(fold_computer(computer))


def depends_on(qm: QueueManager, computer: str) -> bool:
    """Whether a computer is another one, and no queue manager is known to have its queues."""
    return not is_own(qm, computer) and known(qm, computer) is None


def key_of(qm: QueueManager, name: FormatName) -> str:
    """Return the key under which this queue manager has a queue, if it has it."""
    if is_here(qm, name) or name.queue not in SYSTEM_QUEUES:
        return name.queue
    return _key_of_other(qm, name.computer, name.queue)


def _key_of_other(qm: QueueManager, computer: str, queue: str) -> str:
    return queue_of(qm, computer, "{}\\" + queue)


def queue_of(qm: QueueManager, computer: str, form: str) -> str:
    """Return the name of a queue that is called by a computer, in all spellings of that the same.

    form: has {} for the computer. An earlier release only made capitals small, which differs for
    letters such as the German sharp s: a queue that was named so keeps its name.
    """
    before = form.format(computer.lower())
    return before if before in qm.queues else form.format(fold_computer(computer))


def is_kept_here(qm: QueueManager, name: FormatName) -> bool:
    """Whether a name means a queue of this queue manager, or one of a computer that depends on
    it.
    """
    return is_here(qm, name) or (name.queue in SYSTEM_QUEUES and key_of(qm, name) in qm.queues)


def examples(qm: QueueManager) -> list[str]:
    """Return names of computers that have queue managers, for who has given another one."""
    names = sorted({computer_of(qm).upper(), *map(str.upper, qm.known_computers)})
    more = len(names) - EXAMPLES_MAX
    return names[:EXAMPLES_MAX] + ([f"{more} more"] if more > 0 else [])


def not_here(qm: QueueManager, name: FormatName, text: str) -> Refusal:
    """Make the refusal to read a queue of another computer. text: its name as it was given."""
    other = known(qm, name.computer)
    if other is not None:
        why = f"connect to queue manager {other.queue_manager}, which has its queues"
    else:
        why = "no queue manager in the directory has this computer's queues; known computers: "
        why += ", ".join(examples(qm))
    return Refusal(Reason.COMPUTER_NOT_REACHABLE, text, why)


def decide_locate(qm: QueueManager, request: Request, command: MsmqLocate) -> Decision:
    """Say where the queues of a computer are read: here, if no queue manager is known to have
    them.
    """
    computer = command.computer or computer_of(qm)
    is_here = is_own(qm, computer)
    other = None if is_here else known(qm, computer)
    found = other or KnownComputer(qm.name, "")
    others = [] if is_here or other is not None else examples(qm)
    level = qm.attributes.msmq_level
    answer = ComputerFound(
        computer, found.queue_manager, found.address, level, others, found.tls_address
    )
    return Decision([], answer)
