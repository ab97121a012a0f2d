"""Random pairs of Avro schemas, and values of the first: the second is the first one, changed.

Values are bytes: the generator chooses of each union which type it writes, which no library does.
"""

import copy
import random
import struct
from typing import Any

from adapter.registry.resolution import WIDER
from adapter.storage.format import avro

PRIMITIVES = ("boolean", "int", "long", "float", "double", "string", "bytes")
KINDS = (
    *PRIMITIVES,
    *PRIMITIVES,
    "record",
    "record",
    "union",
    "union",
    "enum",
    "fixed",
    "array",
    "map",
)
LETTERS = "abcdefgh"
DEFAULTS: tuple[tuple[Any, Any], ...] = (
    ("int", 7),
    ("string", "new"),
    ("bytes", "\u00ff"),
    (["null", "double"], None),
    ({"type": "array", "items": "long"}, [1, 2]),
    ({"type": "map", "values": "boolean"}, {"k": True}),
)


class Pair:
    """A writer's schema, a reader's, and a value of the writer's as bytes."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._made = 0
        self._named: dict[str, Any] = {}
        fields = [{"name": one, "type": self._schema(3)} for one in LETTERS[:4]]
        self.writer = {"type": "record", "name": "Top", "fields": fields}
        self.data = self._value(self.writer)
        self._renamed: dict[str, str] = {}
        self._changed_types: dict[str, Any] = {}
        self.reader = self._with_new_names(self._changed(copy.deepcopy(self.writer)))

    def _maybe(self, share: float) -> bool:
        return self._random.random() < share

    def _name(self) -> str:
        self._made += 1
        return f"N{self._made}"

    def _schema(self, depth: int, *, in_union: bool = False) -> Any:
        kind = self._random.choice(KINDS if depth else PRIMITIVES)
        if kind == "union":
            return self._union(depth) if not in_union else "int"
        if kind in ("record", "enum", "fixed") and self._named and self._maybe(0.2):
            return self._random.choice(list(self._named))
        match kind:
            case "record":
                made: Any = {"type": "record", "name": self._name(), "fields": []}
                for letter in LETTERS[: self._random.randint(1, 4)]:
                    made["fields"].append({"name": letter, "type": self._schema(depth - 1)})
            case "enum":
                symbols = self._random.sample("ABCDEF", self._random.randint(1, 4))
                made = {"type": "enum", "name": self._name(), "symbols": symbols}
            case "fixed":
                made = {"type": "fixed", "name": self._name(), "size": self._random.randint(1, 4)}
            case "array":
                return {"type": "array", "items": self._schema(depth - 1)}
            case "map":
                return {"type": "map", "values": self._schema(depth - 1)}
            case _:
                return kind
        self._named[made["name"]] = made
        return made

    def _union(self, depth: int) -> list[Any]:
        types = [self._schema(depth - 1, in_union=True) for _ in range(self._random.randint(1, 4))]
        if self._maybe(0.3):
            types.append("null")
        return self._distinct(types)

    def _distinct(self, types: list[Any]) -> list[Any]:
        """Leave out what a union may not have twice."""
        found: dict[str, Any] = {}
        for one in types:
            name = one if isinstance(one, str) else one.get("name") or one["type"]
            found.setdefault(name, one)
        return list(found.values())

    def _value(self, schema: Any) -> bytes:
        """Write a random value."""
        if isinstance(schema, list):
            number = self._random.randrange(len(schema))
            return avro.long(number) + self._value(schema[number])
        schema = self._named.get(schema, schema) if isinstance(schema, str) else schema
        if isinstance(schema, str):
            return self._plain_value(schema)
        match schema["type"]:
            case "record":
                return b"".join(self._value(field["type"]) for field in schema["fields"])
            case "enum":
                return avro.long(self._random.randrange(len(schema["symbols"])))
            case "fixed":
                return self._random.randbytes(schema["size"])
            case "map":
                return self._blocks(schema["values"], [b"\x04k1", b"\x04k2"])
        return self._blocks(schema["items"], [b"", b""])

    def _plain_value(self, kind: str) -> bytes:
        """Write a random value of a type that has no parts."""
        number = self._random.choice((0, 1, -1, 63, -65, self._random.randint(-(2**31), 2**31 - 1)))
        match kind:
            case "null":
                return b""
            case "boolean":
                return bytes([number & 1])
            case "int":
                return avro.long(number)
            case "long":
                return avro.long(number * self._random.choice((1, 2**20)))
            case "float":
                return struct.pack("<f", number / 4)
            case "double":
                return struct.pack("<d", number / 7)
        text = "".join(self._random.choices("xyz-1", k=self._random.randint(0, 5)))
        return avro.long(len(text)) + text.encode()

    def _blocks(self, items: Any, keys: list[bytes]) -> bytes:
        """Write blocks of items, with a key before each of a block."""
        out = b""
        for _ in range(self._random.randint(0, 2)):
            chosen = keys[: self._random.randint(1, len(keys))]
            out += avro.long(len(chosen)) + b"".join(key + self._value(items) for key in chosen)
        return out + b"\0"

    def _changed(self, schema: Any, *, in_union: bool = False) -> Any:
        """Change a schema here and there."""
        if isinstance(schema, list):
            return self._changed_union(schema)
        if not in_union and self._maybe(0.1):
            return self._distinct(["null", self._changed(schema, in_union=True)])
        if isinstance(schema, str):
            if schema in PRIMITIVES and self._maybe(0.05):
                return self._random.choice(PRIMITIVES)
            return self._random.choice(WIDER.get(schema, (schema,))) if self._maybe(0.2) else schema
        match schema["type"]:
            case "record":
                schema["fields"] = self._changed_fields(schema["fields"])
            case "enum":
                self._change_symbols(schema)
            case "fixed":
                schema["size"] += self._maybe(0.05)
            case "array":
                schema["items"] = self._changed(schema["items"])
            case "map":
                schema["values"] = self._changed(schema["values"])
        if "name" in schema and self._maybe(0.15):
            self._renamed[schema["name"]] = f"{schema['name']}new"
            if self._maybe(0.7):
                schema["aliases"] = [schema["name"]]
        return schema

    def _change_symbols(self, enum: dict[str, Any]) -> None:
        self._random.shuffle(enum["symbols"])
        if len(enum["symbols"]) > 1 and self._maybe(0.3):
            enum["symbols"].pop()
            if self._maybe(0.5):
                enum["default"] = enum["symbols"][0]

    def _changed_union(self, types: list[Any]) -> Any:
        found = [self._changed(one, in_union=True) for one in types]
        if self._maybe(0.3):
            self._random.shuffle(found)
        defines = [one for one in found if isinstance(one, dict) and "name" in one]
        if len(found) > 1 and self._maybe(0.15) and not defines:
            found.pop()
        if len(found) == 1 and self._maybe(0.5):
            return found[0]
        return self._distinct(found)

    def _changed_fields(self, fields: list[Any]) -> list[Any]:
        found = []
        for field in fields:
            field["type"] = self._changed(field["type"])
            is_plain = isinstance(field["type"], str)
            if is_plain and self._maybe(0.15):
                continue
            if self._maybe(0.1):
                field |= {"aliases": [field["name"]], "name": f"{field['name']}new"}
            found.append(field)
        if self._maybe(0.3):
            kind, default = self._random.choice(DEFAULTS)
            found.append({"name": "added", "type": kind, "default": default})
        if self._maybe(0.05):
            found.append({"name": "needed", "type": "int"})
        return found

    def _with_new_names(self, schema: Any) -> Any:
        """Rename types, also where they are referred to; what comes first defines them."""
        known: set[str] = set()

        def walk(node: Any) -> Any:
            if isinstance(node, str):
                if node in self._named and node not in known:
                    return walk(copy.deepcopy(self._changed_of(node)))
                return self._renamed.get(node, node)
            if isinstance(node, list):
                return [walk(one) for one in node]
            if "name" in node:
                if node["name"] in known:
                    return self._renamed.get(node["name"], node["name"])
                known.add(node["name"])
                node = {**node, "name": self._renamed.get(node["name"], node["name"])}
            for key in ("items", "values"):
                if key in node:
                    node[key] = walk(node[key])
            if "fields" in node:
                node["fields"] = [{**one, "type": walk(one["type"])} for one in node["fields"]]
            return node

        self._collect(schema)
        return walk(schema)

    def _collect(self, node: Any) -> None:
        """Note the changed definitions: a reference may now come before its type."""
        if isinstance(node, list):
            for one in node:
                self._collect(one)
        elif isinstance(node, dict):
            if "name" in node:
                self._changed_types[node["name"]] = node
            for one in (
                *(f["type"] for f in node.get("fields", ())),
                node.get("items"),
                node.get("values"),
            ):
                self._collect(one)

    def _changed_of(self, name: str) -> Any:
        return self._changed_types.get(name, self._named[name])
