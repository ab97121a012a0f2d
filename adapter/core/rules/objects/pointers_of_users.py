"""What leads whom to what: objects that a user or a group may use, and their targets not.

Of a pointing object all that its attributes would ask for if they were set today is asked again,
see pointers: what was defined before that was asked, or by who had more rights, is found. This
module refuses nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from adapter.core.attributes import broker
from adapter.core.attributes.objects import SUBSCRIPTION, SubscriptionAttributes
from adapter.core.contract import authorities as a
from adapter.core.contract.authority_commands import InquirePointers
from adapter.core.contract.commands import Request
from adapter.core.contract.parties import Principal
from adapter.core.contract.reasons import Refusal
from adapter.core.contract.results import LackedRight, PointerFound, PointersFound
from adapter.core.model.manager import QueueManager
from adapter.core.rules.network import put_rights
from adapter.core.rules.objects import pointers
from adapter.core.rules.objects.authorities import check_entity
from adapter.core.rules.primitives.access import Asker
from adapter.core.rules.primitives.decision import Decision

QUEUE: Final = "queue"
LOOKS: Final = a.DISPLAY | a.INQUIRE
"""Who has no more on an object is led nowhere by it."""


class Witness(Asker):
    """Is asked for rights as who asks is, and notes which are missing. noted: these."""

    __slots__ = ("noted",)

    def __init__(self, qm: QueueManager, principal: Principal) -> None:
        super().__init__(qm, 0, principal, "")
        self.noted: list[LackedRight] = []

    def refuse_missing(self, object_type: str, name: str, missing: int) -> None:
        """Note what is missing, and go on."""
        if missing:
            self.noted.append(LackedRight(object_type, name, missing))


def decide_inquire(qm: QueueManager, request: Request, command: InquirePointers) -> Decision:
    """Say what leads a user or a group to what it has no right to."""
    check_entity(command.entity, command.entity)
    principal = Principal(command.entity, groups=tuple(command.groups))
    if command.is_group:
        principal = Principal("", groups=(command.entity,))
    found = [
        PointerFound(kind, name, bits, lacks)
        for kind, name, attributes in _objects(qm)
        if (bits := _bits_on(qm, principal, kind, name, attributes)) & ~LOOKS
        and (lacks := _lacks(qm, principal, kind, name, attributes))
    ]
    found.sort(key=lambda one: (one.kind, one.name))
    return Decision([], PointersFound(found, qm.authorities.are_checked), qm.entry_n)


def _objects(qm: QueueManager) -> Iterator[tuple[str, str, msgspec.Struct]]:
    """Iterate over the objects that may lead elsewhere: kind, name and attributes of each."""
    for name, queue in qm.queues.items():
        if queue.attributes.backout_requeue_queue or queue.attributes.initiation_queue:
            yield QUEUE, name, queue.attributes
    for (kind, name), attributes in qm.objects.items():
        if kind == SUBSCRIPTION or kind in pointers.RULES:
            yield kind, name, attributes


def _bits_on(
    qm: QueueManager, principal: Principal, kind: str, name: str, attributes: msgspec.Struct
) -> int:
    """Return what a principal has on a pointing object; its owner all of a subscription."""
    if isinstance(attributes, SubscriptionAttributes):
        is_own = bool(principal.user) and attributes.owner == principal.user
        return a.APPLICABLE[a.TOPIC] if is_own else 0
    bare = kind.removeprefix(broker.PREFIX)
    object_type = a.SERVICE if bare != kind else a.TYPE_OF_KIND.get(kind, kind)
    return qm.authorities.bits(principal, object_type, name)


def _lacks(
    qm: QueueManager, principal: Principal, kind: str, name: str, attributes: msgspec.Struct
) -> list[LackedRight]:
    witness = Witness(qm, principal)
    try:
        if isinstance(attributes, SubscriptionAttributes):
            to, manager = attributes.destination, attributes.destination_queue_manager
            if attributes.destination_class != "MANAGED":
                put_rights.require(qm, witness, to, manager)
        else:
            given: dict[str, Any] = msgspec.structs.asdict(attributes)
            pointers.check(qm, witness, kind, name, given)
    except Refusal:  # of a target that there cannot be
        pass
    return witness.noted
