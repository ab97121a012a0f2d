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
from adapter.registry.compatibility import JudgedPairs
from adapter.registry.port import LATEST

SOFT_DELETED = "was soft deleted.Set permanent=true to delete permanently"
NOT_DELETED = "was not deleted first before being permanently deleted"
"""Confluent's words, blank for blank: programs look for them."""
NUMBER_MAX = 2**31 - 1
ID_GIVEN_MAX = NUMBER_MAX - 1_000_000
"""The last id that an import may give: schemas that are registered later have the ids behind it."""
NUMBERS_TAKEN = f'allowed are 1 to {NUMBER_MAX} and "latest"'
NO_PARTS = (".", "..")
"""What is no part of the path of a URL: clients take it away, and ask for something else."""
SUBJECT_LENGTH_MAX = 512  # of a topic's name and what is put behind it there are 255

Answer = TypeVar("Answer")


class RegistryDecision(Struct, Generic[Answer], frozen=True):
    """What changes, and what is answered when it has."""

    answer: Answer
    changes: Sequence[s.Change] = ()


class Comparison(Struct, frozen=True):
    """What a schema is held against: the versions of a subject, by a level. Judging it takes long,
    and needs nothing else of a registry. earlier: number and text of each.
    """

    subject: str
    level: str
    earlier: Sequence[tuple[int, str]]
    judged: JudgedPairs

    def require(self, text: str) -> None:
        """Refuse a canonical schema that the level forbids."""
        if why := self.problems(text):
            raise refusal(
                codes.INCOMPATIBLE,
                "Schema being registered is incompatible with an earlier schema for subject "
                f"'{self.subject}', level {self.level}: {'. '.join(why)}",
                self.subject,
            )

    def problems(self, text: str) -> list[str]:
        """Say what speaks against a canonical schema; [] if nothing."""
        try:
            return avro_schema.problems(self.level, text, self.earlier, self.judged)
        except InvalidSchema as error:
            raise refusal(codes.INVALID_SCHEMA, error.text, self.subject) from None


def register(
    state: s.RegistryState, subject: str, schema: str, version: int = 0, schema_id: int = 0
) -> RegistryDecision[int]:
    """Make a schema the latest version, if the subject has it not yet.

    version, schema_id: which ones it is to have; 0: the next ones. An id is given in mode IMPORT
    only, and another version than the next one. What is there as it is asked for is answered in
    every mode: nothing is written.
    """
    check_subject(subject)
    return register_text(state, subject, canonical(schema, subject), version, schema_id)


def register_text(
    state: s.RegistryState, subject: str, text: str, version: int = 0, schema_id: int = 0
) -> RegistryDecision[int]:
    """Register a canonical schema; see register()."""
    there = admit(state, subject, text, version, schema_id)
    if there is not None:
        return RegistryDecision(there.id)
    if (held_against := comparison_due(state, subject)) is not None:
        held_against.require(text)
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


def admit(
    state: s.RegistryState, subject: str, text: str, version: int, schema_id: int
) -> s.Version | None:
    """The version that a canonical schema is already, as it is asked for; None: it is a new one,
    and the subject's mode allows it and its numbers.
    """
    importing = state.mode(subject) == "IMPORT"
    there = asked_for(state, subject, text, version if importing else 0, schema_id)
    if there is not None:
        return there
    require_writable(state, subject)
    why = ""
    if importing and not (version or schema_id):
        why = f"Subject {subject} is in mode IMPORT: give id"
    elif schema_id and not importing:
        why = f"Subject {subject} is not in mode IMPORT: give no id"
    if why:
        raise refusal(codes.NOT_PERMITTED, why, subject)
    if version and not importing and version != (due := next_version(state, subject)):
        why = f"Version {version} does not follow previous version {due - 1}: {due} is next"
        raise refusal(codes.INVALID_SCHEMA, why, subject)
    return None


def comparison_due(state: s.RegistryState, subject: str) -> Comparison | None:
    """What a schema is held against that is registered; None in an import."""
    return None if state.mode(subject) == "IMPORT" else comparison(state, subject)


def numbered_schema(
    state: s.RegistryState, subject: str, text: str, version: int, schema_id: int
) -> s.SchemaKept:
    """Give a schema its numbers: those asked for, or the next ones."""
    if not 0 <= version <= NUMBER_MAX or not 0 <= schema_id <= ID_GIVEN_MAX:
        why = f"A version is 1 to {NUMBER_MAX}, an id that is given 1 to {ID_GIVEN_MAX}"
        raise refusal(codes.UNPROCESSABLE, why, subject)
    there = state.kept.get(subject, {}).get(version)
    if version and there is not None and not _is_same(there.schema, text):
        raise refusal(codes.NOT_PERMITTED, f"Version {version} is another schema", subject)
    of_id = state.text(schema_id)
    if schema_id and of_id is not None and not _is_same(of_id, text):
        raise refusal(codes.NOT_PERMITTED, f"Id {schema_id} is another schema", subject)
    number = version or next_version(state, subject)
    new_id = schema_id or state.id_of(text) or state.next_id
    if max(number, new_id) > NUMBER_MAX:
        why = f"No number up to {NUMBER_MAX} is left: an import has given the last one"
        raise refusal(codes.STORE_FAILED, why, subject)
    return s.SchemaKept(subject, number, new_id, state.text(new_id) or text)


def next_version(state: s.RegistryState, subject: str) -> int:
    """Return the number behind the last version of a subject, also of a deleted one."""
    return max(state.kept.get(subject, ()), default=0) + 1


def asked_for(
    state: s.RegistryState, subject: str, text: str, version: int, schema_id: int
) -> s.Version | None:
    """The version of a subject that is this canonical schema, with these numbers; 0: any."""
    wanted = avro_schema.identity(text)
    return next(
        (
            one
            for one in state.versions(subject)
            if one.identity == wanted and version in (0, one.version) and schema_id in (0, one.id)
        ),
        None,
    )


def _is_same(one: str, other: str) -> bool:
    return avro_schema.identity(one) == avro_schema.identity(other)


def find(
    state: s.RegistryState, subject: str, text: str, *, deleted: bool = False
) -> s.Version | None:
    """The first version of a subject that is this canonical schema."""
    wanted = avro_schema.identity(text)
    found = state.versions(subject, deleted=deleted)
    return next((one for one in found if one.identity == wanted), None)


def lookup(state: s.RegistryState, subject: str, text: str, *, deleted: bool = False) -> s.Version:
    """Which version of a subject a canonical schema is."""
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


def comparison(state: s.RegistryState, subject: str, wanted: int | str | None = None) -> Comparison:
    """What the next version of a subject is held against, by its level; wanted: one version only,
    of which the latest need not be there.
    """
    found = state.versions(subject)
    if wanted is not None:
        number = as_version(wanted, subject)
        found = [version(state, subject, number)] if found or number != LATEST else []
    earlier = [(one.version, one.schema) for one in found]
    return Comparison(subject, state.level(subject), earlier, state.judged)


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
    return RegistryDecision(found.version, deletions(state, [found], permanent=permanent))


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
    changes = deletions(state, going, permanent=permanent)
    return RegistryDecision([one.version for one in going], changes)


def deletions(
    state: s.RegistryState, going: Sequence[s.Version], *, permanent: bool
) -> Sequence[s.Change]:
    """What is true when versions of one subject are deleted: with the last living one its level and
    its mode go, whichever way it went.
    """
    subject = going[0].subject
    gone = s.SchemaPurged if permanent else s.SchemaDeleted
    changes: list[s.Change] = [gone(subject, one.version) for one in going]
    numbers = {one.version for one in going}
    if all(one.version in numbers for one in state.versions(subject)):
        if subject in state.levels:
            changes.append(s.LevelSet(subject, ""))
        if subject in state.modes:
            changes.append(s.ModeSet(subject, ""))
    return changes


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
    is_long = len(subject) > SUBJECT_LENGTH_MAX
    if not subject or is_long or not subject.isprintable() or subject in NO_PARTS:
        text = (
            f"A subject's name has 1 to {SUBJECT_LENGTH_MAX} printable characters, and is not "
            f"{' or '.join(NO_PARTS)}"
        )
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
