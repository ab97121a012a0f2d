"""Authority records: setting, deleting, showing and explaining them.

This module does not know what an authority is needed for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from adapter.core.contract import authorities as a
from adapter.core.contract import authority_commands as ac
from adapter.core.contract.commands import Request
from adapter.core.contract.parties import Principal
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.records import AuthorityDeleted, AuthoritySet, Record
from adapter.core.contract.results import AuthorityExplained, AuthorityRecords
from adapter.core.model.authorities import is_generic, means, name_of
from adapter.core.model.manager import QueueManager
from adapter.core.rules.primitives.decision import Decision, done


def decide_set(qm: QueueManager, request: Request, command: ac.SetAuthority) -> Decision:
    """SET AUTHREC: what is removed goes last, so that it is not there even if it is added."""
    profile = _profile(qm, command.object_type, command.profile)
    for bits in (command.add, command.remove):
        problem = a.problem_with_bits(command.object_type, bits)
        if problem:
            raise Refusal(Reason.ATTRIBUTE_ERROR, command.profile, problem)
    records: list[Record] = []
    known = qm.authorities
    for entity, is_group in _entities(command, command.profile):
        before = known.get(profile, command.object_type, entity, is_group)
        bits = ((before or 0) | command.add) & ~command.remove
        if bits != before:
            kind, logged = command.object_type, _is_logged(qm, command.object_type, profile)
            records.append(AuthoritySet(profile, kind, entity, is_group, bits, logged=logged))
    most = qm.limits.authority_records
    if known.count + len(records) > most:
        text = f"{most} authority records at most"
        raise Refusal(Reason.LIMIT_REACHED, command.profile, text)
    return done(qm, request, records)


def decide_delete(qm: QueueManager, request: Request, command: ac.DeleteAuthority) -> Decision:
    """DELETE AUTHREC: the answer counts the records that are gone."""
    profile = _profile(qm, command.object_type, command.profile)
    records: list[Record] = [
        AuthorityDeleted(profile, command.object_type, entity, is_group)
        for entity, is_group in _entities(command, command.profile)
        if qm.authorities.get(profile, command.object_type, entity, is_group) is not None
    ]
    if not records:
        text = f"no user or group that was named has an authority record of {command.object_type}"
        raise Refusal(Reason.OBJECT_NOT_FOUND, command.profile, text)
    return done(qm, request, records, len(records))


def decide_inquire(qm: QueueManager, request: Request, command: ac.InquireAuthorities) -> Decision:
    """DISPLAY AUTHREC: the records that fit, in order."""
    if command.of not in get_args(ac.Selection):
        known = ", ".join(get_args(ac.Selection))
        text = f"{command.of!r} is no selection of authority records: use {known}"
        raise Refusal(Reason.OPTIONS_ERROR, command.profile, text)
    found = list(_found(qm, command))
    found.sort(key=lambda one: (one.profile, one.object_type, one.is_group, one.entity))
    return Decision([], AuthorityRecords(found, qm.authorities.are_checked), qm.entry_n)


def decide_explain(qm: QueueManager, request: Request, command: ac.ExplainAuthority) -> Decision:
    """Say what a user may do with an object, and by which records."""
    _check_type(command.object_type, command.name)
    principal = Principal(command.user, groups=tuple(command.groups))
    name = name_of(command.object_type, command.name)
    records = list(qm.authorities.deciding(principal, command.object_type, name))
    bits = qm.authorities.bits(principal, command.object_type, name)
    explained = AuthorityExplained(bits, records, qm.authorities.are_checked)
    return Decision([], explained, qm.entry_n)


def _found(qm: QueueManager, command: ac.InquireAuthorities) -> Iterator[a.AuthorityRecord]:
    profile, object_type = command.profile, command.object_type
    if object_type:
        _check_type(object_type, profile)
    entities = {(command.entity, command.is_group)}
    if command.of == "members":
        user = "" if command.is_group else command.entity
        entities |= set(qm.authorities.entities_of(Principal(user)))
    for one in qm.authorities.every():
        if object_type not in ("", one.object_type):
            continue
        name = a.SELF if one.object_type == a.QUEUE_MANAGER and profile == qm.name else profile
        if profile and not _fits(one, name, command.of):
            continue
        if not command.entity or (one.entity, one.is_group) in entities:
            yield one


def _fits(one: a.AuthorityRecord, name: str, of: str) -> bool:
    """Whether a record is of this profile, or its profile means an object of this name."""
    if one.profile == name or of == "records" or is_generic(name):
        return one.profile == name
    return means(one.profile, name)


def _profile(qm: QueueManager, object_type: str, profile: str) -> str:
    """Return a profile as it is kept, or refuse; of the queue manager its name may be left out."""
    _check_type(object_type, profile)
    if object_type == a.QUEUE_MANAGER and profile in ("", qm.name):
        profile = a.SELF
    problem = a.problem_with_profile(object_type, profile)
    if problem:
        raise Refusal(Reason.NAME_ERROR, profile, problem)
    return profile


def _check_type(object_type: str, name: str) -> None:
    if object_type not in a.APPLICABLE:
        text = f"{object_type!r} is not a type of object; the types are {', '.join(a.APPLICABLE)}"
        raise Refusal(Reason.OBJECT_TYPE_ERROR, name, text)


def _entities(
    command: ac.SetAuthority | ac.DeleteAuthority, profile: str
) -> list[tuple[str, bool]]:
    """Return the users and groups that a command names, each once, or refuse."""
    named = [(name, False) for name in command.users] + [(name, True) for name in command.groups]
    if not named:
        raise Refusal(Reason.OPTIONS_ERROR, profile, "a user or a group is needed")
    for name, _ in named:
        check_entity(name, profile)
    return list(dict.fromkeys(named))


def check_entity(name: str, profile: str) -> None:
    """Refuse an invalid name of a user or a group. profile: what the record is of, for the text."""
    if not 0 < len(name) <= a.ENTITY_LENGTH_MAX or not name.isprintable():
        text = f"a user or group has 1 to {a.ENTITY_LENGTH_MAX} printable characters"
        raise Refusal(Reason.OPTIONS_ERROR, profile, text)


def _is_logged(qm: QueueManager, object_type: str, profile: str) -> bool:
    """Whether a record outlives the process: one of a temporary queue goes with that."""
    queue = qm.queues.get(profile) if object_type == a.QUEUE else None
    return queue is None or not queue.is_temporary


def apply_authority_set(qm: QueueManager, record: AuthoritySet) -> None:
    """Take the record."""
    given = record.profile, record.object_type, record.entity, record.is_group, record.bits
    qm.authorities.set(a.AuthorityRecord(*given), logged=record.logged)


def apply_authority_deleted(qm: QueueManager, record: AuthorityDeleted) -> None:
    """Forget the record."""
    of = record.profile, record.object_type, record.entity, record.is_group
    qm.authorities.remove(*of)


def describe(qm: QueueManager) -> Iterator[AuthoritySet]:
    """Describe all records for a snapshot; those of temporary queues go with these."""
    for one in qm.authorities.in_ledger():
        yield AuthoritySet(one.profile, one.object_type, one.entity, one.is_group, one.bits)
