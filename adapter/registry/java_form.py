"""A schema as Apache Avro for Java writes it: `Schema.toString()` of release 1.12.

Confluent's serializers look a schema up by this text, and its registry keeps it. So two texts with
one such form are one schema: names may be written with or without their namespace, and what means
nothing may be there or not. What has no meaning for Avro, and Java keeps, stays: docs, properties.

A type that is defined again alike is written by its name. Any JSON may be given: what is no schema
comes out as it is, for a form that cannot be made would be a record that cannot be read.
"""

from __future__ import annotations

from typing import Any, Final

PRIMITIVES: Final = frozenset(
    ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
)
RECORDS: Final = ("record", "error")
NAMED: Final = frozenset((*RECORDS, "enum", "fixed"))
KINDS: Final = PRIMITIVES | NAMED | {"array", "map", "union"}
OF_TYPES: Final = frozenset(
    ("doc", "fields", "items", "name", "namespace", "size", "symbols", "type", "values", "aliases")
)
"""What no type has as a property, whichever kinds it means something for."""
OF_FIELDS: Final = frozenset(("default", "doc", "name", "order", "type", "aliases"))
PARTS: Final = {"record": "fields", "error": "fields", "enum": "symbols", "fixed": "size"}
ENUM_DEFAULT: Final = "default"


def java_form(node: Any) -> Any:
    """Return a schema, as JSON has it, in the form of Java."""
    return JavaForm().of(node, "")


def split(name: str, space: str) -> tuple[str, str]:
    """Return the namespace and the last part of a name; "" is the null namespace.

    >>> split("com.acme.R", "x"), split("R", "x"), split(".R", "x")
    (('com.acme', 'R'), ('x', 'R'), ('', 'R'))
    """
    before, dot, last = name.rpartition(".")
    return (before if dot else space), last


class JavaForm:
    """Writes one schema. wrong: what Java refuses about the names that it defines; repeated: those
    that are defined more than once, alike.
    """

    def __init__(self) -> None:
        self.wrong: list[str] = []
        self.repeated: list[str] = []
        self._defined: dict[str, dict[str, Any]] = {}
        """By full name: the first definition."""

    def of(self, node: Any, space: str) -> Any:
        """Return the form of a type. space: the namespace around it, "" for none."""
        if isinstance(node, str):
            return node if node in PRIMITIVES else self._reference(node, space)
        if isinstance(node, list):
            return [self.of(one, space) for one in node]
        if not isinstance(node, dict):
            return node
        kind = node.get("type")
        if not isinstance(kind, str):
            return self.of(kind, space) if kind else node
        if kind in NAMED:
            return self._definition(node, space)
        if kind in PRIMITIVES:
            has = _properties(node, OF_TYPES)
            return {"type": kind, **has} if has else kind
        part = {"array": "items", "map": "values"}.get(kind)
        if part is None:
            return self._reference(kind, space)
        return {"type": kind, part: self.of(node.get(part), space), **_properties(node, OF_TYPES)}

    def _reference(self, name: str, space: str) -> str:
        full = _full(*split(name, space))
        if full not in self._defined and name in self._defined:
            full = name  # of the null namespace
        return _name_within(full, space)

    def _definition(self, node: dict[str, Any], around: str) -> Any:
        named, declared = node.get("name"), node.get("namespace")
        if not isinstance(named, str):
            return node
        space, name = split(named, declared if isinstance(declared, str) else around)
        full = _full(space, name)
        if full in self._defined:
            self.repeated.append(full)
            if not _alike(self._defined[full], node):
                self.wrong.append(f"{full} is defined twice, and not alike")
            return _name_within(full, around)
        if full in PRIMITIVES:
            self.wrong.append(f"{full} is the name of a primitive type")
        self._defined[full] = node
        kind = node["type"]
        made: dict[str, Any] = {"type": kind, "name": name}
        if space != around:
            made["namespace"] = space
        if isinstance(node.get("doc"), str):
            made["doc"] = node["doc"]
        part = PARTS[kind]
        made[part] = node.get(part)
        if kind in RECORDS and isinstance(made[part], list):
            made[part] = [self._field(one, space) for one in made[part]]
        if aliases := _texts(node.get("aliases")):
            named_so = [_name_within(_full(*split(one, space)), space) for one in aliases]
            made["aliases"] = list(dict.fromkeys(named_so))
        has = _properties(node, OF_TYPES)
        if kind == "enum" and not isinstance(has.get(ENUM_DEFAULT, ""), str):
            del has[ENUM_DEFAULT]
        return made | has

    def _field(self, field: Any, space: str) -> Any:
        if not isinstance(field, dict):
            return field
        made = {"name": field.get("name"), "type": self.of(field.get("type"), space)}
        if isinstance(field.get("doc"), str):
            made["doc"] = field["doc"]
        if "default" in field:
            made["default"] = field["default"]
        order = field.get("order")
        if isinstance(order, str) and order.lower() != "ascending":
            made["order"] = order.lower()
        if aliases := _texts(field.get("aliases")):
            made["aliases"] = list(dict.fromkeys(aliases))
        return made | _properties(field, OF_FIELDS)


def _alike(first: dict[str, Any], again: dict[str, Any]) -> bool:
    """Whether Java takes the second definition of a name: of enums and fixed types it compares
    these parts, before the second one has its properties; records it takes once only.
    """
    kind = first["type"]
    reserved = OF_TYPES | {ENUM_DEFAULT} if kind == "enum" else OF_TYPES
    if kind != again["type"] or kind in RECORDS or _properties(first, reserved):
        return False
    return bool(first.get(PARTS[kind]) == again.get(PARTS[kind]))


def _properties(node: dict[str, Any], reserved: frozenset[str]) -> dict[str, Any]:
    return {key: value for key, value in node.items() if key not in reserved}


def _name_within(full: str, space: str) -> str:
    """Return how a full name is written within a namespace."""
    own, name = split(full, "")
    return name if own and own == space and name not in KINDS else full


def _full(space: str, name: str) -> str:
    return f"{space}.{name}" if space else name


def _texts(aliases: Any) -> list[str]:
    names = aliases if isinstance(aliases, list) else []
    return [one for one in names if isinstance(one, str)]
