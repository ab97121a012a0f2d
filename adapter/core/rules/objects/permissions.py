"""Permissions that programs of MSMQ and Service Broker set on one object: its authority records.

Only records by the object's own name are changed. What a record with wildcards grants stays, as on
MQ, and nothing forbids: who is to have less than such a record grants needs a record of MQ.
This module does not know what an authority is needed for.
"""

from __future__ import annotations

from adapter.core.attributes import broker as kinds
from adapter.core.contract import authorities as a
from adapter.core.contract.authority_commands import PermissionChange
from adapter.core.contract.broker import BrokerPermit
from adapter.core.contract.commands import Request
from adapter.core.contract.msmq import MsmqPermit
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.records import AuthorityDeleted, AuthoritySet, Record
from adapter.core.model.authorities import Entity, is_generic
from adapter.core.model.manager import QueueManager
from adapter.core.rules.broker import catalog
from adapter.core.rules.msmq import queues
from adapter.core.rules.objects.authorities import check_entity
from adapter.core.rules.objects.checks_of_faces import OF_EVERYONE, subject
from adapter.core.rules.primitives.decision import Decision, done

Bits = dict[Entity, int]
"""What users and groups are to have; 0: no record."""


def decide_msmq(qm: QueueManager, request: Request, command: MsmqPermit) -> Decision:
    """MQSetQueueSecurity; SetPermissions and ResetPermissions of System.Messaging."""
    queue = queues.queue_at(qm, command.name, command.computer)
    if not queue.is_sent_to:
        text = "permissions are set of queues, not of journals, subqueues and system queues"
        raise Refusal(Reason.ATTRIBUTE_ERROR, command.name, text)
    wanted: Bits = {}
    if command.reset:
        wanted = dict.fromkeys(qm.authorities.entities_named(a.QUEUE, queue.name), 0)
        wanted[a.EVERYONE, True] = OF_EVERYONE
        if queue.attributes.owner:
            wanted[queue.attributes.owner, False] = a.APPLICABLE[a.QUEUE]
    return _decide(qm, request, command, wanted)


def decide_broker(qm: QueueManager, request: Request, command: BrokerPermit) -> Decision:
    """GRANT and REVOKE on a queue, a service, or another object of the catalog."""
    if command.kind == kinds.QUEUE:
        catalog.queue_named(qm, command.name)
    else:
        catalog.check_there(qm, command.kind, command.name)
    return _decide(qm, request, command, {})


def records_of(qm: QueueManager, command: MsmqPermit | BrokerPermit) -> list[a.AuthorityRecord]:
    """Return the records of the object of a command, by its name."""
    object_type, name = subject(qm, command)
    return [
        a.AuthorityRecord(
            name, object_type, *entity, qm.authorities.get(name, object_type, *entity) or 0
        )
        for entity in qm.authorities.entities_named(object_type, name)
    ]


def _decide(
    qm: QueueManager, request: Request, command: MsmqPermit | BrokerPermit, wanted: Bits
) -> Decision:
    """Change the records of an object by its name, all or none. wanted: as it is reset to."""
    object_type, name = subject(qm, command)
    if is_generic(name):
        text = f"a record of the name {name} would be one of other objects too, as * and ? are any"
        raise Refusal(Reason.OPTIONS_ERROR, command.name, text)
    for change in command.changes:
        entity = _entity(command.name, object_type, change)
        before = wanted.get(entity, qm.authorities.get(name, object_type, *entity) or 0)
        wanted[entity] = before & change.keep | change.add
    records: list[Record] = []
    count = qm.authorities.count
    for entity, bits in wanted.items():
        known = qm.authorities.get(name, object_type, *entity)
        if bits and bits != known:
            records.append(AuthoritySet(name, object_type, *entity, bits))
            count += known is None
        elif not bits and known is not None:
            records.append(AuthorityDeleted(name, object_type, *entity))
            count -= 1
    if count > max(qm.limits.authority_records, qm.authorities.count):
        text = f"{qm.limits.authority_records} authority records at most"
        raise Refusal(Reason.LIMIT_REACHED, command.name, text)
    return done(qm, request, records)


def _entity(shown: str, object_type: str, change: PermissionChange) -> Entity:
    """Return whose record a change is of, or refuse it."""
    check_entity(change.entity, shown)
    problem = a.problem_with_bits(object_type, change.add)
    if problem:
        raise Refusal(Reason.ATTRIBUTE_ERROR, shown, problem)
    return change.entity, change.is_group
