"""What each request of a registry means: it refuses, or says what changes and what is answered.

Pure: it reads a State, changes nothing, and knows no topic and no HTTP. The codes and texts are
those of the schema registry API.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

from msgspec import Struct

from adapter.errors import InvalidSchema
from adapter.registry import avro_schema, codes
from adapter.registry import state as s
from adapter.registry.avro_schema import RULES
from adapter.registry.codes import refusal
from adapter.registry.port import LATEST

SOFT_DELETED = "was soft deleted.Set permanent=true to delete permanently"
NOT_DELETED = "was not deleted first before being permanently deleted"
"""Confluent's words, blank for blank: programs look for them."""
NUMBER_MAX = 2**31 - 1
ID_GIVEN_MAX = NUMBER_MAX - 1_000_000
"""The last id that an import may give: schemas that are registered later have the ids behind it."""
NUMBERS_TAKEN = f'allowed are 1 to {NUMBER_MAX} and "latest"'
SUBJECT_LENGTH_MAX = 512  # of a topic's name and what is put behind it there are 255

Answer = TypeVar("Answer")


class RegistryDecision(Struct, Generic[Answer], frozen=True):
    """What changes, and what is answered when it has."""

    answer: Answer
    changes: Sequence[s.Change] = ()


def register(
    state: s.RegistryState, subject: str, schema: str, version: int = 0, schema_id: int = 0
) -> RegistryDecision[int]:
    """Make a schema the latest version, if the subject has it not yet.

    version, schema_id: which ones it is to have, in mode IMPORT; 0: the next ones.
    """
    check_subject(subject)
    text = canonical(schema, subject)
    require_writable(state, subject)
    numbered = bool(version or schema_id)
    importing = state.mode(subject) == "IMPORT"
    if numbered != importing:
        wanted = "is in mode IMPORT: give id" if importing else "is not in mode IMPORT: give no id"
        raise refusal(codes.NOT_PERMITTED, f"Subject {subject} {wanted}", subject)
    if (there := find(state, subject, text)) is not None and not numbered:
        return RegistryDecision(there.id)
    if not importing:
        require_compatible(state, subject, text)
    kept = numbered_schema(state, subject, text, version, schema_id)
    if state.size() >= state.schemas_max:
        raise refusal(
            codes.STORE_FAILED, f"The registry is full: {state.schemas_max} versions", subject
        )
    if state.text(kept.id) is None and state.bytes + len(text) > state.bytes_max:
        why = (
            f"The registry is full: its schemas have {state.bytes_max:,} characters at most; "
            "delete versions that are not needed, for good"
        )
        raise refusal(codes.STORE_FAILED, why, subject)
    return RegistryDecision(kept.id, (kept,))


def numbered_schema(
    state: s.RegistryState, subject: str, text: str, version: int, schema_id: int
) -> s.SchemaKept:
    """Give a schema its numbers: those asked for, or the next ones."""
    if not 0 <= version <= NUMBER_MAX or not 0 <= schema_id <= ID_GIVEN_MAX:
        why = f"A version is 1 to {NUMBER_MAX}, an id that is given 1 to {ID_GIVEN_MAX}"
        raise refusal(codes.UNPROCESSABLE, why, subject)
    used = state.versions(subject, deleted=True)
    there = next((one for one in used if one.version == version), None)
    if version and there is not None and not _is_same(there.schema, text):
        raise refusal(codes.NOT_PERMITTED, f"Version {version} is another schema", subject)
    of_id = state.text(schema_id)
    if schema_id and of_id is not None and not _is_same(of_id, text):
        raise refusal(codes.NOT_PERMITTED, f"Id {schema_id} is another schema", subject)
    number = version or (used[-1].version + 1 if used else 1)
    new_id = schema_id or state.id_of(text) or state.next_id
    if max(number, new_id) > NUMBER_MAX:
        why = f"No number up to {NUMBER_MAX} is left: an import has given the last one"
        raise refusal(codes.STORE_FAILED, why, subject)
    return s.SchemaKept(subject, number, new_id, state.text(new_id) or text)


def _is_same(one: str, other: str) -> bool:
    return avro_schema.identity(one) == avro_schema.identity(other)


def find(
    state: s.RegistryState, subject: str, text: str, *, deleted: bool = False
) -> s.Version | None:
    """The first version of a subject that is this canonical schema."""
    wanted = avro_schema.identity(text)
    found = state.versions(subject, deleted=deleted)
    return next((one for one in found if one.identity == wanted), None)


def lookup(
    state: s.RegistryState, subject: str, schema: str, *, deleted: bool = False
) -> s.Version:
    """Which version of a subject a schema is."""
    text = canonical(schema, subject)
    existing(state, subject, deleted=deleted)
    found = find(state, subject, text, deleted=deleted)
    if found is None:
        raise refusal(codes.NO_SCHEMA, "Schema not found", subject)
    return found


def schema(state: s.RegistryState, schema_id: int) -> str:
    """The schema of an id."""
    found = state.text(schema_id)
    if found is None:
        raise refusal(codes.NO_SCHEMA, f"Schema {schema_id} not found")
    return found


def uses(state: s.RegistryState, schema_id: int, *, deleted: bool = False) -> list[s.Version]:
    """The versions that have an id."""
    schema(state, schema_id)
    return [one for one in state.everything(deleted=deleted) if one.id == schema_id]


def existing(state: s.RegistryState, subject: str, *, deleted: bool = False) -> list[s.Version]:
    """The versions of a subject that must be there."""
    found = state.versions(subject, deleted=deleted)
    if not found:
        raise refusal(codes.NO_SUBJECT, f"Subject '{subject}' not found.", subject)
    return found


def version(
    state: s.RegistryState, subject: str, wanted: int | str, *, deleted: bool = False
) -> s.Version:
    """One version of a subject; wanted: its number, or "latest" (also -1)."""
    number = as_version(wanted, subject)
    found = existing(state, subject, deleted=deleted)
    if number == LATEST:
        return found[-1]
    one = next((one for one in found if one.version == number), None)
    if one is None:
        raise refusal(codes.NO_VERSION, f"Version {number} not found.", subject)
    return one


def as_version(wanted: int | str, subject: str) -> int | str:
    """Read a version's number, or "latest"."""
    if wanted in (LATEST, -1, "-1"):
        return LATEST
    text = str(wanted)
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(NUMBER_MAX))
    if is_number and 1 <= int(text) <= NUMBER_MAX:
        return int(text)
    raise refusal(
        codes.INVALID_VERSION,
        f"The specified version '{wanted}' is not a valid version id; {NUMBERS_TAKEN}",
        subject,
    )


def against(state: s.RegistryState, subject: str, schema: str, wanted: int | str) -> list[str]:
    """What speaks against a schema behind one version, by the subject's level."""
    text = canonical(schema, subject)
    number = as_version(wanted, subject)
    if number == LATEST and not state.versions(subject):
        return []
    old = version(state, subject, number)
    return avro_schema.problems(state.level(subject), text, [(old.version, old.schema)])


def against_all(state: s.RegistryState, subject: str, schema: str) -> list[str]:
    """What speaks against a schema as the subject's next version, by the subject's level."""
    text = canonical(schema, subject)
    earlier = [(one.version, one.schema) for one in state.versions(subject)]
    return avro_schema.problems(state.level(subject), text, earlier)


def require_compatible(state: s.RegistryState, subject: str, text: str) -> None:
    """Refuse a schema that the subject's level forbids."""
    if why := against_all(state, subject, text):
        raise refusal(
            codes.INCOMPATIBLE,
            "Schema being registered is incompatible with an earlier schema for subject "
            f"'{subject}', level {state.level(subject)}: {'. '.join(why)}",
            subject,
        )


def delete_version(
    state: s.RegistryState, subject: str, wanted: int | str, *, permanent: bool
) -> RegistryDecision[int]:
    """Delete a version; permanent: one that was deleted before."""
    number = as_version(wanted, subject)
    require_writable(state, subject)
    found = version(state, subject, number, deleted=number != LATEST)
    if permanent and not found.deleted:
        text = f"Subject '{subject}' Version {found.version} {NOT_DELETED}"
        raise refusal(codes.VERSION_NOT_DELETED, text, subject)
    if found.deleted and not permanent:
        text = f"Subject '{subject}' Version {found.version} {SOFT_DELETED}"
        raise refusal(codes.VERSION_DELETED, text, subject)
    return RegistryDecision(found.version, (deletion(found, permanent=permanent),))


def delete_subject(
    state: s.RegistryState, subject: str, *, permanent: bool
) -> RegistryDecision[list[int]]:
    """Delete all versions of a subject, with its level and mode."""
    require_writable(state, subject)
    everything = existing(state, subject, deleted=True)
    living = state.versions(subject)
    if permanent and living:
        raise refusal(codes.SUBJECT_NOT_DELETED, f"Subject '{subject}' {NOT_DELETED}", subject)
    if not permanent and not living:
        raise refusal(codes.SUBJECT_DELETED, f"Subject '{subject}' {SOFT_DELETED}", subject)
    going = everything if permanent else living
    changes: list[s.Change] = [deletion(one, permanent=permanent) for one in going]
    if subject in state.levels:
        changes.append(s.LevelSet(subject, ""))
    if subject in state.modes:
        changes.append(s.ModeSet(subject, ""))
    return RegistryDecision([one.version for one in going], tuple(changes))


def deletion(one: s.Version, *, permanent: bool) -> s.Change:
    """What is true of a version that is deleted."""
    if permanent:
        return s.SchemaPurged(one.subject, one.version)
    return s.SchemaDeleted(one.subject, one.version)


def level(state: s.RegistryState, subject: str, *, default: bool) -> str:
    """The level of a subject; default: or the one in force, if it has none of its own."""
    if subject == s.GLOBAL or default or subject in state.levels:
        return state.level(subject)
    text = f"Subject '{subject}' does not have subject-level compatibility configured"
    raise refusal(codes.NO_LEVEL, text, subject)


def set_level(state: s.RegistryState, subject: str, wanted: str) -> RegistryDecision[str]:
    """Set the level of a subject, or of all that have none of their own."""
    named = wanted.upper()
    if named not in RULES:
        text = f"Invalid compatibility level. Valid values are {', '.join(RULES)}"
        raise refusal(codes.INVALID_LEVEL, text, subject)
    require_writable(state, subject)
    check_setting(state, state.levels, subject)
    return RegistryDecision(named, (s.LevelSet(subject, named),))


def take_level(state: s.RegistryState, subject: str) -> RegistryDecision[str]:
    """Take away a subject's own level, or set that of all to BACKWARD again."""
    require_writable(state, subject)
    if subject != s.GLOBAL and subject not in state.levels:
        raise refusal(codes.NO_SUBJECT, f"Subject '{subject}' not found.", subject)
    return RegistryDecision(state.level(subject), (s.LevelSet(subject, ""),))


def mode(state: s.RegistryState, subject: str, *, default: bool) -> str:
    """The mode of a subject; default: or the one in force, if it has none of its own."""
    if subject == s.GLOBAL or default or subject in state.modes:
        return state.mode(subject)
    text = f"Subject '{subject}' does not have subject-level mode configured"
    raise refusal(codes.NO_MODE, text, subject)


def set_mode(
    state: s.RegistryState, subject: str, wanted: str, *, force: bool
) -> RegistryDecision[str]:
    """Set what a subject allows. IMPORT: only where there is no schema yet, unless forced."""
    named = wanted.upper()
    if named not in s.MODES:
        text = f"Invalid mode. Valid values are {', '.join(s.MODES)}"
        raise refusal(codes.INVALID_MODE, text, subject)
    there = state.subjects() if subject == s.GLOBAL else state.versions(subject)
    if named == "IMPORT" and there and not force:
        text = (
            "Cannot import since found existing subjects"
            if subject == s.GLOBAL
            else (f"Cannot import since subject '{subject}' has versions")
        )
        raise refusal(codes.NOT_PERMITTED, text, subject)
    check_setting(state, state.modes, subject)
    return RegistryDecision(named, (s.ModeSet(subject, named),))


def take_mode(state: s.RegistryState, subject: str) -> RegistryDecision[str]:
    """Take away a subject's own mode."""
    return RegistryDecision(mode(state, subject, default=False), (s.ModeSet(subject, ""),))


def require_writable(state: s.RegistryState, subject: str) -> None:
    """Refuse changes where only reading is allowed."""
    if state.mode(subject) in ("READONLY", "READONLY_OVERRIDE"):
        text = f"Subject '{subject}' is in read-only mode" if subject else "It is read-only"
        raise refusal(codes.NOT_PERMITTED, text, subject)


def check_subject(subject: str) -> None:
    """Refuse a name that no subject has."""
    if not subject or len(subject) > SUBJECT_LENGTH_MAX or not subject.isprintable():
        text = f"A subject's name has 1 to {SUBJECT_LENGTH_MAX} printable characters"
        raise refusal(codes.UNPROCESSABLE, text, subject[:SUBJECT_LENGTH_MAX])


def check_setting(state: s.RegistryState, there: Mapping[str, str], subject: str) -> None:
    """Refuse a level or a mode of what is no subject's name, and one that there is no room for: a
    subject may have one before it has a schema. there: those that there are.
    """
    if subject == s.GLOBAL or subject in there:
        return
    check_subject(subject)
    if len(there.keys() - {s.GLOBAL}) >= state.schemas_max:
        text = f"The registry is full: {state.schemas_max} subjects have a level or a mode"
        raise refusal(codes.STORE_FAILED, text, subject)


def canonical(schema: str, subject: str) -> str:
    """Write a schema as it is kept."""
    try:
        return avro_schema.canonical(schema)
    except InvalidSchema as error:
        raise refusal(codes.INVALID_SCHEMA, error.text, subject) from None
