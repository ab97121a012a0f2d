"""The schema registry API: what each path answers, from what rules say.

The paths, bodies and codes are those of Confluent's API, of which this is a part: Avro, without
references, contexts and rule sets. It knows requests and answers, and no sockets.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import metadata
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from adapter.errors import SchemaError
from adapter.registry import codes, rules
from adapter.registry.codes import refusal
from adapter.registry.port import LATEST
from adapter.registry.state import GLOBAL, Version
from adapter.registry.topic import TopicRegistry

AVRO = "AVRO"
DIGITS_MAX = 10
"""Of a number in a path: no id or version has more."""
DEFAULT_CONTEXT = ":.:"
SCHEMAS_LISTED_MAX = 1_000
"""Of one answer, as Confluent has it; a client asks for further ones with an offset."""


class ApiRequest(Struct, frozen=True):
    """A request. parts: of the path, decoded; query: its first values."""

    parts: Mapping[str, str] = {}
    query: Mapping[str, str] = {}
    body: bytes = b""

    @property
    def subject(self) -> str:
        """The subject that the path names, or the one that stands for all."""
        named = self.parts.get("subject", GLOBAL).removeprefix(DEFAULT_CONTEXT)
        if named.startswith(":."):
            raise refusal(
                codes.UNPROCESSABLE, f"{named} is in a context, and contexts are not kept here"
            )
        return named

    @property
    def prefix(self) -> str:
        """How the subjects begin that are asked for; of all contexts, for there is one."""
        wanted = self.query.get("subjectPrefix", "")
        return wanted.removeprefix(":*:").removeprefix(DEFAULT_CONTEXT)

    def flag(self, *names: str) -> bool:
        """Whether one of these is true in the query."""
        return any(self.query.get(name, "").lower() == "true" for name in names)

    def number(self, name: str, default: int) -> int:
        """A number in the query."""
        text = self.query.get(name, "")
        try:
            return int(text) if text else default
        except ValueError:
            raise refusal(codes.UNPROCESSABLE, f"{name} is a number, not {text!r}") from None


class SchemaBody(Struct, rename="camel", forbid_unknown_fields=True):
    """A schema as it is sent. What NOT_KEPT names must be empty."""

    schema: str = ""
    schema_type: str | None = None
    references: list[Any] | None = None
    id: int | None = None
    version: int | None = None
    subject: str | None = None
    guid: str | None = None
    metadata: Any = None
    rule_set: Any = None
    schema_tags_to_add: Any = None
    schema_tags_to_remove: Any = None
    propagate_schema_tags: bool | None = None


class LevelBody(Struct, rename="camel", forbid_unknown_fields=True):
    """A level as it is sent. What NOT_KEPT names must be empty. normalize changes nothing: schemas
    are compared in one form anyway.
    """

    compatibility: str = ""
    compatibility_group: Any = None
    compatibility_policy: Any = None
    alias: Any = None
    normalize: bool | None = None
    validate_fields: bool | None = None
    validate_names: bool | None = None
    validate_rules: bool | None = None
    default_metadata: Any = None
    override_metadata: Any = None
    default_rule_set: Any = None
    override_rule_set: Any = None


class ModeBody(Struct, forbid_unknown_fields=True):
    """A mode as it is sent."""

    mode: str = ""


NOT_KEPT = (
    *("references", "metadata", "rule_set", "schema_tags_to_add", "schema_tags_to_remove"),
    *("compatibility_group", "compatibility_policy", "alias", "validate_fields"),
    *("validate_names", "validate_rules", "default_metadata", "override_metadata"),
    *("default_rule_set", "override_rule_set"),
)
"""What a schema or a level may have elsewhere. A client that sends such a thing relies on it, as on
rules that encrypt fields: it is refused, never dropped."""


Body = TypeVar("Body", bound=Struct)
Answer = Callable[[TopicRegistry, ApiRequest], Any]


class Route(Struct, frozen=True):
    """One path of the API; {names} stand for one part each. changes: what all others read."""

    method: str
    path: str
    answer: Answer
    changes: bool = False


def error_body(error: SchemaError) -> dict[str, Any]:
    """What is sent with an error."""
    return {"error_code": error.code, "message": error.text}


def body_of(asked: ApiRequest, kind: type[Body]) -> Body:
    """Read what was sent; refuse what would not be kept."""
    try:
        sent = msgspec.json.decode(asked.body or b"{}", type=kind)
    except msgspec.ValidationError as error:
        raise refusal(codes.UNPROCESSABLE, f"The body cannot be read: {error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise refusal(codes.BAD_REQUEST, f"The body is not JSON: {error}") from error
    for name in NOT_KEPT:
        if getattr(sent, name, None):
            field = msgspec.structs.fields(kind)[kind.__struct_fields__.index(name)].encode_name
            raise refusal(codes.UNPROCESSABLE, f"{field} is not kept here: leave it out")
    return sent


def sent_schema(asked: ApiRequest) -> SchemaBody:
    """Read the schema that was sent."""
    sent = body_of(asked, SchemaBody)
    kind = sent.schema_type or AVRO
    if kind != AVRO:
        raise refusal(codes.INVALID_SCHEMA, f"Invalid schema type {kind}: only AVRO is kept here")
    if not sent.schema:
        raise refusal(codes.INVALID_SCHEMA, "Empty schema")
    return sent


def shown(one: Version) -> dict[str, Any]:
    """A version as it is answered."""
    return {"subject": one.subject, "version": one.version, "id": one.id, "schema": one.schema}


def as_id(asked: ApiRequest) -> int:
    """The id that the path names."""
    text = asked.parts["id"]
    if not text.isascii() or not text.isdigit() or len(text) > DIGITS_MAX:
        raise refusal(codes.NOT_FOUND, "HTTP 404 Not Found")
    return int(text)


def page_of(found: list[Any], asked: ApiRequest, most: int = sys.maxsize) -> list[Any]:
    """The part of a list that was asked for, of so many elements at most."""
    start, limit = max(0, asked.number("offset", 0)), asked.number("limit", -1)
    return found[start : start + (most if limit < 0 else min(limit, most))]


def constant(value: object) -> Answer:
    """Make what answers the same to all."""
    return lambda _registry, _asked: value


def release(_registry: TopicRegistry, _asked: ApiRequest) -> Any:
    """Say which release this is."""
    return {"version": metadata.version("mqk"), "commitId": ""}


def schema_by_id(registry: TopicRegistry, asked: ApiRequest) -> Any:
    """The schema of an id; with fetchMaxId also the highest id that was given."""
    found: dict[str, Any] = {"schema": registry.schema(as_id(asked))}
    if asked.flag("fetchMaxId"):
        found["maxId"] = registry.ask(lambda known: known.next_id - 1)
    return found


def schema_text(registry: TopicRegistry, asked: ApiRequest) -> Any:
    """The schema of an id, as it is."""
    return msgspec.Raw(registry.schema(as_id(asked)).encode())


def subjects_of_id(registry: TopicRegistry, asked: ApiRequest) -> Any:
    """The subjects that have a version with an id."""
    return sorted({one["subject"] for one in versions_of_id(registry, asked)})


def versions_of_id(registry: TopicRegistry, asked: ApiRequest) -> Any:
    """The versions that have an id."""
    wanted, deleted = as_id(asked), asked.flag("deleted")
    found = registry.ask(lambda known: rules.uses(known, wanted, deleted=deleted))
    return [{"subject": one.subject, "version": one.version} for one in found]


def schemas(registry: TopicRegistry, asked: ApiRequest) -> Any:
    """All versions of all subjects."""
    prefix, latest = asked.prefix, asked.flag("latestOnly")
    found = registry.ask(lambda known: known.everything(deleted=asked.flag("deleted")))
    named = [one for one in found if one.subject.startswith(prefix)]
    if latest:
        named = list({one.subject: one for one in named}.values())
    return [shown(one) for one in page_of(named, asked, SCHEMAS_LISTED_MAX)]


def subjects(registry: TopicRegistry, asked: ApiRequest) -> Any:
    """The names of subjects."""
    prefix = asked.prefix
    only = asked.flag("deletedOnly", "deleted_only")
    deleted = only or asked.flag("deleted")
    living = frozenset(registry.subjects()) if only else frozenset()
    found = registry.ask(lambda known: known.subjects(deleted=deleted))
    return page_of([one for one in found if one.startswith(prefix) and one not in living], asked)


def versions(registry: TopicRegistry, asked: ApiRequest) -> Any:
    """The numbers of a subject's versions."""
    only = asked.flag("deletedOnly")
    deleted = only or asked.flag("deleted")
    found = registry.ask(lambda known: rules.existing(known, asked.subject, deleted=deleted))
    return page_of([one.version for one in found if one.deleted or not only], asked)


def version_asked(registry: TopicRegistry, asked: ApiRequest) -> Version:
    """The version that the path names."""
    wanted, deleted = asked.parts["version"], asked.flag("deleted")
    return registry.ask(lambda known: rules.version(known, asked.subject, wanted, deleted=deleted))


def version_text(registry: TopicRegistry, asked: ApiRequest) -> Any:
    """The schema of one version, as it is."""
    return msgspec.Raw(version_asked(registry, asked).schema.encode())


def referenced_by(registry: TopicRegistry, asked: ApiRequest) -> Any:
    """Nothing refers to another subject."""
    version_asked(registry, asked)
    return []


def register(registry: TopicRegistry, asked: ApiRequest) -> Any:
    """Make a schema the latest version of a subject."""
    sent = sent_schema(asked)
    numbers = max(sent.version or 0, 0), max(sent.id or 0, 0)
    return {"id": registry.register_numbered(asked.subject, sent.schema, *numbers)}


def lookup(registry: TopicRegistry, asked: ApiRequest) -> Any:
    """Say which version of a subject a schema is."""
    text, deleted = sent_schema(asked).schema, asked.flag("deleted")
    return shown(registry.find(asked.subject, text, deleted=deleted))


def delete_subject(registry: TopicRegistry, asked: ApiRequest) -> Any:
    """Delete all versions of a subject."""
    return registry.delete_subject(asked.subject, permanent=asked.flag("permanent"))


def delete_version(registry: TopicRegistry, asked: ApiRequest) -> Any:
    """Delete a version."""
    wanted, permanent = asked.parts["version"], asked.flag("permanent")
    return registry.change(
        lambda known: rules.delete_version(known, asked.subject, wanted, permanent=permanent)
    )


def check_one(registry: TopicRegistry, asked: ApiRequest) -> Any:
    """Say whether a schema goes together with one version."""
    text, wanted = sent_schema(asked).schema, asked.parts.get("version", LATEST)
    return judgement(registry.check(asked.subject, text, wanted), asked)


def check_all(registry: TopicRegistry, asked: ApiRequest) -> Any:
    """Say whether a schema could be the next version."""
    return judgement(registry.check(asked.subject, sent_schema(asked).schema), asked)


def judgement(found: list[str], asked: ApiRequest) -> Any:
    """What is answered of a comparison."""
    told = {"messages": found} if asked.flag("verbose") else {}
    return {"is_compatible": not found, **told}


def level(registry: TopicRegistry, asked: ApiRequest) -> Any:
    """The compatibility level of a subject, or of all."""
    default = asked.flag("defaultToGlobal")
    found = registry.ask(lambda known: rules.level(known, asked.subject, default=default))
    return {"compatibilityLevel": found}


def set_level(registry: TopicRegistry, asked: ApiRequest) -> Any:
    """Set the compatibility level of a subject, or of all."""
    sent = body_of(asked, LevelBody)
    told = {} if sent.normalize is None else {"normalize": sent.normalize}
    if told and not sent.compatibility:
        return told
    wanted = sent.compatibility
    found = registry.change(lambda known: rules.set_level(known, asked.subject, wanted))
    return {"compatibility": found, **told}


def take_level(registry: TopicRegistry, asked: ApiRequest) -> Any:
    """Take away the compatibility level of a subject, or of all."""
    found = registry.change(lambda known: rules.take_level(known, asked.subject))
    return {"compatibilityLevel": found}


def mode(registry: TopicRegistry, asked: ApiRequest) -> Any:
    """The mode of a subject, or of all."""
    default = asked.flag("defaultToGlobal")
    return {"mode": registry.ask(lambda known: rules.mode(known, asked.subject, default=default))}


def set_mode(registry: TopicRegistry, asked: ApiRequest) -> Any:
    """Set the mode of a subject, or of all."""
    wanted, force = body_of(asked, ModeBody).mode, asked.flag("force")
    return {
        "mode": registry.change(
            lambda known: rules.set_mode(known, asked.subject, wanted, force=force)
        )
    }


def take_mode(registry: TopicRegistry, asked: ApiRequest) -> Any:
    """Take away the mode of a subject."""
    return {"mode": registry.change(lambda known: rules.take_mode(known, asked.subject))}


CLUSTER = {"scope": {"path": [], "clusters": {"schema-registry-cluster": "mqk"}}, "id": ""}
"""Which registry this is."""
_SUBJECT = "/subjects/{subject}"
_VERSION = _SUBJECT + "/versions/{version}"
_CHECK = "/compatibility/subjects/{subject}/versions"

ROUTES = (
    Route("GET", "/", constant({})),
    Route("GET", "/v1/metadata/version", release),
    Route("GET", "/v1/metadata/id", constant(CLUSTER)),
    Route("GET", "/contexts", constant(["."])),
    Route("GET", "/schemas", schemas),
    Route("GET", "/schemas/types", constant([AVRO])),
    Route("GET", "/schemas/ids/{id}", schema_by_id),
    Route("GET", "/schemas/ids/{id}/schema", schema_text),
    Route("GET", "/schemas/ids/{id}/subjects", subjects_of_id),
    Route("GET", "/schemas/ids/{id}/versions", versions_of_id),
    Route("GET", "/subjects", subjects),
    Route("POST", _SUBJECT, lookup),
    Route("DELETE", _SUBJECT, delete_subject, changes=True),
    Route("GET", _SUBJECT + "/versions", versions),
    Route("POST", _SUBJECT + "/versions", register, changes=True),
    Route("GET", _VERSION, lambda registry, asked: shown(version_asked(registry, asked))),
    Route("DELETE", _VERSION, delete_version, changes=True),
    Route("GET", _VERSION + "/schema", version_text),
    Route("GET", _VERSION + "/referencedby", referenced_by),
    Route("POST", _CHECK, check_all),
    Route("POST", _CHECK + "/{version}", check_one),
    Route("GET", "/config", level),
    Route("PUT", "/config", set_level, changes=True),
    Route("DELETE", "/config", take_level, changes=True),
    Route("GET", "/config/{subject}", level),
    Route("PUT", "/config/{subject}", set_level, changes=True),
    Route("DELETE", "/config/{subject}", take_level, changes=True),
    Route("GET", "/mode", mode),
    Route("PUT", "/mode", set_mode, changes=True),
    Route("GET", "/mode/{subject}", mode),
    Route("PUT", "/mode/{subject}", set_mode, changes=True),
    Route("DELETE", "/mode/{subject}", take_mode, changes=True),
)
