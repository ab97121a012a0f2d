"""What a registry holds, and the changes that make it: applied live and on replay alike.

Everything is remembered by what it is about, a *key*: a version, a level, a mode. A change says
what is now true of one key. It knows no topic and no HTTP, and decides nothing.
"""

from __future__ import annotations

from msgspec import Struct, json

from adapter.registry import avro_schema
from adapter.registry.compatibility import JudgedPairs

GLOBAL = ""
"""Stands for the subject of what holds for all that have nothing of their own."""
DEFAULT_LEVEL = "BACKWARD"
DEFAULT_MODE = "READWRITE"
MODES = ("READWRITE", "READONLY", "READONLY_OVERRIDE", "IMPORT")

Key = tuple[str, str, int]

SCHEMAS_MAX = 100_000
"""Versions that a registry keeps, in memory too."""
BYTES_MAX = 256 * 1024 * 1024
"""Of the texts of all schemas."""


class SchemaKept(Struct, frozen=True, tag_field="keytype", tag="SCHEMA"):
    """A version of a subject."""

    subject: str
    version: int
    id: int
    schema: str


class SchemaDeleted(Struct, frozen=True, tag_field="keytype", tag="DELETED"):
    """A version is deleted; its schema can still be read by its id."""

    subject: str
    version: int


class SchemaPurged(Struct, frozen=True, tag_field="keytype", tag="PURGED"):
    """A version is gone for good."""

    subject: str
    version: int


class LevelSet(Struct, frozen=True, tag_field="keytype", tag="CONFIG"):
    """A compatibility level; "" takes it away."""

    subject: str
    level: str


class ModeSet(Struct, frozen=True, tag_field="keytype", tag="MODE"):
    """What a subject allows; "" takes it away."""

    subject: str
    mode: str


Change = SchemaKept | SchemaDeleted | SchemaPurged | LevelSet | ModeSet


def about(change: Change) -> Key:
    """The key of a change: a later one of the same key takes its place."""
    match change:
        case SchemaKept() | SchemaPurged():
            return "SCHEMA", change.subject, change.version
        case SchemaDeleted():  # its own: what it says does not stand for the schema's text
            return "DELETED", change.subject, change.version
        case LevelSet():
            return "CONFIG", change.subject, 0
        case ModeSet():
            return "MODE", change.subject, 0


def says_nothing(change: Change) -> bool:
    """Whether a change leaves nothing of its key."""
    match change:
        case SchemaPurged():
            return True
        case LevelSet():
            return not change.level
        case ModeSet():
            return not change.mode
    return False


def replaced_deletion(change: Change) -> Key | None:
    """The key of the deletion that means nothing any more when a version is there again, or gone
    for good.
    """
    if isinstance(change, (SchemaKept, SchemaPurged)):
        return "DELETED", change.subject, change.version
    return None


def nothing_of(key: Key) -> Change | None:
    """The change that leaves nothing of a key; None for a deletion, which goes with its version."""
    kind, subject, version = key
    match kind:
        case "SCHEMA":
            return SchemaPurged(subject, version)
        case "CONFIG":
            return LevelSet(subject, "")
        case "MODE":
            return ModeSet(subject, "")
    return None


class ChangeEntry(Struct, frozen=True):
    """What one append writes: changes that take effect together.

    next_id: the first id that was never given, so that none is ever given twice.
    """

    changes: list[Change]
    next_id: int


def encode(entry: ChangeEntry) -> bytes:
    """Write an entry, as JSON."""
    return json.encode(entry)


def decode(payload: bytes) -> ChangeEntry:
    """Read an entry. Raises msgspec's DecodeError or ValidationError."""
    return json.decode(payload, type=ChangeEntry)


class Version(Struct):
    """A version of a subject as it stands."""

    subject: str
    version: int
    id: int
    schema: str
    identity: str
    """See avro_schema.identity."""
    deleted: bool = False


class RegistryState:
    """All that a registry holds. Only apply changes it."""

    def __init__(self, schemas_max: int = SCHEMAS_MAX, bytes_max: int = BYTES_MAX) -> None:
        """schemas_max: how many versions of schemas there may be, of all subjects. bytes_max: of
        their texts, each id once.
        """
        self.schemas_max = schemas_max
        self.bytes_max = bytes_max
        self.bytes = 0
        self.kept: dict[str, dict[int, Version]] = {}
        self.levels: dict[str, str] = {}
        self.modes: dict[str, str] = {}
        self.next_id = 1
        self.judged = JudgedPairs()
        """Of schemas; no part of what is held."""
        self._texts: dict[int, str] = {}
        self._uses: dict[int, int] = {}
        self._ids: dict[str, set[int]] = {}
        """By identity; several, where releases before took two spellings for two schemas."""

    def apply(self, entry: ChangeEntry) -> None:
        """Make the changes of an entry."""
        for change in entry.changes:
            self.make(change)
        self.next_id = max(self.next_id, entry.next_id)

    def text(self, schema_id: int) -> str | None:
        """The schema of an id, also of a deleted version."""
        return self._texts.get(schema_id)

    def id_of(self, schema: str) -> int | None:
        """The first id that a canonical schema has, in whatever subject."""
        return min(self._ids.get(avro_schema.identity(schema), ()), default=None)

    def subjects(self, *, deleted: bool = False) -> list[str]:
        """The subjects that have a version, sorted; deleted: also a deleted one."""
        return sorted(
            subject
            for subject, versions in self.kept.items()
            if any(deleted or not one.deleted for one in versions.values())
        )

    def versions(self, subject: str, *, deleted: bool = False) -> list[Version]:
        """The versions of a subject, in order; deleted: also those that are deleted."""
        versions = self.kept.get(subject, {})
        return [one for _, one in sorted(versions.items()) if deleted or not one.deleted]

    def everything(self, *, deleted: bool = False) -> list[Version]:
        """The versions of all subjects, in order."""
        names = self.subjects(deleted=deleted)
        return [one for name in names for one in self.versions(name, deleted=deleted)]

    def size(self) -> int:
        """How many versions there are, also deleted ones."""
        return sum(map(len, self.kept.values()))

    def level(self, subject: str) -> str:
        """The compatibility level in force for a subject."""
        return self.levels.get(subject) or self.levels.get(GLOBAL) or DEFAULT_LEVEL

    def mode(self, subject: str) -> str:
        """The mode in force for a subject."""
        for_all = self.modes.get(GLOBAL) or DEFAULT_MODE
        if for_all == "READONLY_OVERRIDE":
            return for_all
        return self.modes.get(subject) or for_all

    def make(self, change: Change) -> None:
        """Make one change."""
        match change:
            case SchemaKept():
                self._forget(change.subject, change.version)
                same = avro_schema.identity(change.schema)
                one = Version(change.subject, change.version, change.id, change.schema, same)
                self.kept.setdefault(change.subject, {})[change.version] = one
                self.bytes += len(change.schema) - len(self._texts.get(change.id, ""))
                self._texts[change.id] = change.schema
                self._uses[change.id] = self._uses.get(change.id, 0) + 1
                self._ids.setdefault(same, set()).add(change.id)
                self.next_id = max(self.next_id, change.id + 1)
            case SchemaDeleted():
                if (there := self.kept.get(change.subject, {}).get(change.version)) is not None:
                    there.deleted = True
            case SchemaPurged():
                self._forget(change.subject, change.version)
            case LevelSet():
                set_or_take(self.levels, change.subject, change.level)
            case ModeSet():
                set_or_take(self.modes, change.subject, change.mode)

    def _forget(self, subject: str, version: int) -> None:
        versions = self.kept.get(subject, {})
        old = versions.pop(version, None)
        if old is None:
            return
        if not versions:
            del self.kept[subject]
        self._uses[old.id] -= 1
        if not self._uses[old.id]:
            self.bytes -= len(self._texts[old.id])
            del self._uses[old.id], self._texts[old.id]
            self._ids[old.identity].discard(old.id)
            if not self._ids[old.identity]:
                del self._ids[old.identity]


def set_or_take(where: dict[str, str], subject: str, value: str) -> None:
    """Set what holds for a subject; "" takes it away."""
    if value:
        where[subject] = value
    else:
        where.pop(subject, None)
