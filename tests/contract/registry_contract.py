"""What every schema registry keeps to: one suite, for ours and for a real Apicurio Registry.

A subclass gives the fixture ``site``. Where the two differ, DIFFERENCES says why, and a test holds
each of them to its own; docs/schema-registry.md lists the same. The suite asks byte by byte; what
Confluent's API documents is what is expected, of everybody else too.
"""

from __future__ import annotations

import http.client
import json
import urllib.parse
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient, topic_subject_name_strategy
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from msgspec import Struct

from adapter.client.schemas import Schemas
from adapter.errors import (
    InvalidSchema,
    NotAvro,
    SchemaError,
    SchemaIncompatible,
    SchemaNotFound,
)
from adapter.registry.avro_schema import RULES
from adapter.registry.port import Level
from adapter.registry.rest import RestRegistry
from tests.contract.schema_changes import CHANGES, DEFAULT, FAR, INT, field, record

JSON = "application/vnd.schemaregistry.v1+json"

DIFFERENCES = {
    "default level": "Apicurio has no level until one is set, neither globally nor for a subject; "
    "Confluent and mqk have BACKWARD globally, and return 40408 for a subject without its own",
    "delete twice": "Apicurio answers a deletion that comes too early, or a second time, with "
    "status 409; Confluent and mqk with 404 and the same codes",
    "version text": 'Apicurio answers an invalid version number with "no such version"',
    "modes": "Apicurio stores a mode and does not apply it (Confluent and mqk refuse: 42205), "
    "and returns 42201 for an invalid mode (42204)",
    "all versions": "Apicurio compares a schema with all versions if the check names none; "
    "Confluent and mqk with those of the level",
    "ids": "Apicurio gives a permanently deleted schema its id again; mqk does not",
    "blanks": "Apicurio answers a lookup with the text as it was registered, including blanks",
    "deleted versions": "Apicurio lists versions that were deleted before when their subject "
    "is deleted",
    "no schema": "Apicurio fails with 500 at a request without a schema or with an unknown type",
    "not found": "given an invalid schema and a missing subject or version, Apicurio reports the "
    "missing one (40403, 40402); mqk reports the invalid one first (42201, 40401)",
}

A, AB, ABC = record(INT), record(INT, DEFAULT), record(INT, DEFAULT, field("int", "c", default=1))
STRING = record(field("string"))
REQUIRED = record(INT, field("int", "b"))

Answered = tuple[int, Any]
Olds = dict[tuple[str, str], str]
"""By site and change: the subject in which what is before the change has been registered."""


class Site(Struct, frozen=True):
    """A running registry. url: its base; ours: whether it is mqk's."""

    url: str
    ours: bool

    def call(self, method: str, path: str, body: Any = None) -> Answered:
        """Send a request; the status and the decoded body of the answer."""
        base = urllib.parse.urlsplit(self.url)
        connection = http.client.HTTPConnection(base.netloc, timeout=60)
        try:
            sent = None if body is None else json.dumps(body)
            headers = {"Content-Type": JSON, "Accept": f"{JSON}, application/json"}
            connection.request(method, base.path + path, sent, headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"null")
        finally:
            connection.close()

    def ok(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request that is to be answered well; its answer."""
        status, found = self.call(method, path, body)
        assert status == 200, (method, path, found)
        return found

    def refused(self, method: str, path: str, body: Any = None) -> tuple[int, int]:
        """Send a request that is to be refused; status and code."""
        status, found = self.call(method, path, body)
        assert status >= 400, (method, path, found)
        assert found["message"]
        return status, found["error_code"]

    def register(self, subject: str, schema: str) -> int:
        """Register a schema; its id."""
        found: int = self.ok("POST", f"/subjects/{subject}/versions", {"schema": schema})["id"]
        return found


class RegistryContract:
    @pytest.fixture
    def site(self) -> Site:
        raise AssertionError("a subclass gives it")

    @pytest.fixture
    def s(self, site: Site, unique_name: Callable[..., str]) -> str:
        """A subject that nobody has, in a registry whose level for all is BACKWARD."""
        site.ok("PUT", "/config", {"compatibility": "BACKWARD"})
        return unique_name("s")

    def test_a_schema_is_registered_once_and_has_one_id_everywhere(
        self, site: Site, s: str
    ) -> None:
        first, second = site.register(s, A), site.register(s, AB)
        assert first != second
        assert site.register(s, A) == first
        assert site.register(s, json.dumps(json.loads(A), indent=2)) == first
        assert site.register(f"{s}-other", A) == first
        assert site.ok("GET", f"/subjects/{s}/versions") == [1, 2]
        assert site.ok("GET", f"/subjects/{s}-other/versions") == [1]
        found = site.ok("GET", f"/schemas/ids/{first}/versions")
        mine = [one for one in found if one["subject"].startswith(s)]
        assert sorted((one["subject"], one["version"]) for one in mine) == [
            (s, 1),
            (f"{s}-other", 1),
        ]
        assert {s, f"{s}-other"} <= set(site.ok("GET", f"/schemas/ids/{first}/subjects"))

    def test_a_version_is_read_by_its_number_and_as_the_latest(self, site: Site, s: str) -> None:
        ids = [site.register(s, A), site.register(s, AB)]
        for name, number, text in (("1", 1, A), ("2", 2, AB), ("latest", 2, AB), ("-1", 2, AB)):
            found = site.ok("GET", f"/subjects/{s}/versions/{name}")
            assert (found["subject"], found["version"]) == (s, number)
            assert found["id"] == ids[number - 1]
            assert json.loads(found["schema"]) == json.loads(text)
            assert site.ok("GET", f"/subjects/{s}/versions/{name}/schema") == json.loads(text)
        assert site.ok("GET", f"/subjects/{s}/versions/1/referencedby") == []
        assert json.loads(site.ok("GET", f"/schemas/ids/{ids[0]}")["schema"]) == json.loads(A)
        assert site.ok("GET", f"/schemas/ids/{ids[0]}/schema") == json.loads(A)
        assert s in site.ok("GET", "/subjects")

    def test_a_schema_is_looked_up_in_its_subject(self, site: Site, s: str) -> None:
        first = site.register(s, A)
        site.register(s, AB)
        found = site.ok("POST", f"/subjects/{s}", {"schema": A})
        assert (found["subject"], found["version"], found["id"]) == (s, 1, first)
        assert site.refused("POST", f"/subjects/{s}", {"schema": STRING}) == (404, 40403)
        assert site.refused("POST", f"/subjects/{s}-none", {"schema": A}) == (404, 40401)

    @pytest.mark.parametrize(
        ("method", "path", "expected"),
        [
            ("GET", "/subjects/{s}-none/versions", (404, 40401)),
            ("GET", "/subjects/{s}-none/versions/1", (404, 40401)),
            ("GET", "/subjects/{s}-none/versions/latest", (404, 40401)),
            ("DELETE", "/subjects/{s}-none", (404, 40401)),
            ("DELETE", "/subjects/{s}-none/versions/1", (404, 40401)),
            ("GET", "/subjects/{s}/versions/99", (404, 40402)),
            ("DELETE", "/subjects/{s}/versions/99", (404, 40402)),
            ("GET", "/schemas/ids/99999", (404, 40403)),
            ("GET", "/schemas/ids/99999/versions", (404, 40403)),
        ],
    )
    def test_what_is_not_there_has_a_code(
        self, site: Site, s: str, method: str, path: str, expected: tuple[int, int]
    ) -> None:
        site.register(s, A)
        assert site.refused(method, path.format(s=s)) == expected

    @pytest.mark.parametrize(
        "text",
        ["{", "{}", '"nothing"', '{"type":"record","name":"R"}', record(field("int", default="x"))],
    )
    def test_what_is_no_schema_is_not_registered(self, site: Site, s: str, text: str) -> None:
        sent = {"schema": text}
        assert site.refused("POST", f"/subjects/{s}/versions", sent) == (422, 42201)
        assert site.refused("GET", f"/subjects/{s}/versions") == (404, 40401)

    def test_an_incompatible_schema_is_not_registered(self, site: Site, s: str) -> None:
        site.register(s, A)
        for text in (STRING, REQUIRED):
            sent = {"schema": text}
            assert site.refused("POST", f"/subjects/{s}/versions", sent) == (409, 409)
        assert site.ok("GET", f"/subjects/{s}/versions") == [1]

    @pytest.mark.parametrize("level", RULES)
    def test_a_level_judges_every_change(self, site: Site, s: str, olds: Olds, level: str) -> None:
        rule = RULES[level]
        for number, (name, change) in enumerate(CHANGES.items()):
            if (site.url, name) not in olds:
                site.register(f"{s}-{number}", change.old)
                olds[site.url, name] = f"{s}-{number}"
        site.ok("PUT", "/config", {"compatibility": level})
        for name, change in CHANGES.items():
            path = f"/compatibility/subjects/{olds[site.url, name]}/versions/latest"
            told = site.ok("POST", path, {"schema": change.new})["is_compatible"]
            read, be_read = change.backward, change.forward
            assert told == ((read or not rule.backward) and (be_read or not rule.forward)), name

    def test_registration_judges_as_the_check_does(self, site: Site, s: str) -> None:
        site.ok("PUT", "/config", {"compatibility": "FULL"})
        for number, (name, change) in enumerate(CHANGES.items()):
            site.register(f"{s}-{number}", change.old)
            sent = {"schema": change.new}
            status, _ = site.call("POST", f"/subjects/{s}-{number}/versions", sent)
            assert status == (200 if change.backward and change.forward else 409), name

    @pytest.mark.parametrize("level", RULES)
    def test_a_transitive_level_judges_by_every_version(
        self, site: Site, s: str, level: str
    ) -> None:
        site.ok("PUT", f"/config/{s}", {"compatibility": "NONE"})
        for text in FAR[:2]:
            site.register(s, text)
        site.ok("PUT", f"/config/{s}", {"compatibility": level})
        sent, expected = {"schema": FAR[2]}, not RULES[level].transitive
        told = site.ok("POST", f"/compatibility/subjects/{s}/versions", sent)["is_compatible"]
        assert DIFFERENCES["all versions"]
        assert told == (expected if site.ours else level == "NONE")
        status, _ = site.call("POST", f"/subjects/{s}/versions", sent)
        assert status == (200 if expected else 409)

    def test_a_schema_is_held_against_one_version(self, site: Site, s: str) -> None:
        site.ok("PUT", f"/config/{s}", {"compatibility": "NONE"})
        for text in (A, STRING):
            site.register(s, text)
        site.ok("PUT", f"/config/{s}", {"compatibility": "BACKWARD"})
        path = f"/compatibility/subjects/{s}/versions"
        for version, expected in (("1", True), ("2", False), ("latest", False)):
            found = site.ok("POST", f"{path}/{version}", {"schema": AB})
            assert found["is_compatible"] is expected
        assert site.ok("POST", f"/compatibility/subjects/{s}-none/versions/latest", {"schema": A})[
            "is_compatible"
        ]
        assert site.refused("POST", f"{path}/9", {"schema": AB}) == (404, 40402)
        assert site.refused("POST", f"{path}/latest", {"schema": "{"}) == (422, 42201)

    def test_levels_are_set_and_taken_away(self, site: Site, s: str) -> None:
        site.register(s, A)
        for level in RULES:
            answer = site.ok("PUT", f"/config/{s}", {"compatibility": level})
            assert answer["compatibility"] == level
            assert site.ok("GET", f"/config/{s}") == {"compatibilityLevel": level}
        assert site.ok("GET", "/config") == {"compatibilityLevel": "BACKWARD"}
        for path in ("/config", f"/config/{s}"):
            assert site.refused("PUT", path, {"compatibility": "NOPE"}) == (422, 42203)
        site.ok("DELETE", f"/config/{s}")
        asked = f"/config/{s}?defaultToGlobal=true"
        assert site.ok("GET", asked) == {"compatibilityLevel": "BACKWARD"}

    def test_modes_are_set_and_taken_away(self, site: Site, s: str) -> None:
        site.register(s, A)
        assert site.ok("GET", "/mode") == {"mode": "READWRITE"}
        assert site.ok("PUT", f"/mode/{s}", {"mode": "READONLY"}) == {"mode": "READONLY"}
        assert site.ok("GET", f"/mode/{s}") == {"mode": "READONLY"}
        site.ok("DELETE", f"/mode/{s}")
        assert site.ok("GET", f"/mode/{s}?defaultToGlobal=true") == {"mode": "READWRITE"}

    def test_a_deleted_version_is_hidden_and_can_still_be_read(self, site: Site, s: str) -> None:
        site.register(s, A)
        second = site.register(s, AB)
        assert site.ok("DELETE", f"/subjects/{s}/versions/2") == 2
        assert site.ok("GET", f"/subjects/{s}/versions") == [1]
        assert site.ok("GET", f"/subjects/{s}/versions?deleted=true") == [1, 2]
        assert site.refused("GET", f"/subjects/{s}/versions/2") == (404, 40402)
        assert site.ok("GET", f"/subjects/{s}/versions/2?deleted=true")["id"] == second
        assert json.loads(site.ok("GET", f"/schemas/ids/{second}")["schema"]) == json.loads(AB)
        assert site.refused("POST", f"/subjects/{s}", {"schema": AB}) == (404, 40403)
        assert site.ok("POST", f"/subjects/{s}?deleted=true", {"schema": AB})["version"] == 2

    def test_a_deleted_schema_that_comes_again_is_a_new_version(self, site: Site, s: str) -> None:
        site.register(s, A)
        second = site.register(s, AB)
        site.ok("DELETE", f"/subjects/{s}/versions/2")
        assert site.register(s, AB) == second
        assert site.ok("GET", f"/subjects/{s}/versions") == [1, 3]

    def test_a_version_is_deleted_for_good_once_it_is_deleted(self, site: Site, s: str) -> None:
        site.register(s, A)
        site.register(s, AB)
        site.ok("DELETE", f"/subjects/{s}/versions/2")
        assert site.ok("DELETE", f"/subjects/{s}/versions/2?permanent=true") == 2
        assert site.ok("GET", f"/subjects/{s}/versions?deleted=true") == [1]
        assert site.refused("GET", f"/subjects/{s}/versions/2?deleted=true") == (404, 40402)

    def test_the_latest_version_is_deleted_by_that_name(self, site: Site, s: str) -> None:
        site.register(s, A)
        site.register(s, AB)
        assert site.ok("DELETE", f"/subjects/{s}/versions/latest") == 2
        assert site.ok("GET", f"/subjects/{s}/versions/latest")["version"] == 1

    def test_a_subject_is_deleted_and_then_for_good(self, site: Site, s: str) -> None:
        site.register(s, A)
        site.register(s, AB)
        assert site.ok("DELETE", f"/subjects/{s}") == [1, 2]
        assert s not in site.ok("GET", "/subjects")
        assert s in site.ok("GET", "/subjects?deleted=true")
        assert site.refused("GET", f"/subjects/{s}/versions") == (404, 40401)
        assert site.refused("DELETE", f"/subjects/{s}") == (404, 40404)
        assert site.ok("DELETE", f"/subjects/{s}?permanent=true") == [1, 2]
        assert s not in site.ok("GET", "/subjects?deleted=true")
        site.register(s, STRING)
        assert site.ok("GET", f"/subjects/{s}/versions") == [1]

    @pytest.mark.parametrize(
        ("difference", "method", "path", "body", "ours", "apicurio"),
        [
            ("default level", "GET", "/config/{s}", None, (404, 40408), (200, "NONE")),
            ("delete twice", "DELETE", "/subjects/{s}?permanent=true", None,
             (404, 40405), (409, 40405)),
            ("delete twice", "DELETE", "/subjects/{s}/versions/1?permanent=true", None,
             (404, 40407), (409, 40407)),
            ("delete twice", "DELETE", "/subjects/{s}/versions/2", None,
             (404, 40406), (409, 40406)),
            ("version text", "GET", "/subjects/{s}/versions/x", None, (422, 42202), (404, 40402)),
            ("version text", "GET", "/subjects/{s}/versions/0", None, (422, 42202), (404, 40402)),
            ("modes", "PUT", "/mode/{s}", {"mode": "NOPE"}, (422, 42204), (422, 42201)),
            ("no schema", "POST", "/subjects/{s}/versions", {}, (422, 42201), (500, 0)),
            ("no schema", "POST", "/subjects/{s}/versions", {"schema": A, "schemaType": "X"},
             (422, 42201), (500, 0)),
            ("not found", "POST", "/subjects/{s}", {"schema": "{"}, (422, 42201), (404, 40403)),
            ("not found", "POST", "/compatibility/subjects/{s}-none/versions/1", {"schema": A},
             (404, 40401), (404, 40402)),
        ],
    )  # fmt: skip
    def test_where_they_differ_each_keeps_to_its_own(
        self, site: Site, s: str, difference: str, method: str, path: str, body: Any,
        ours: Answered, apicurio: Answered,
    ) -> None:  # fmt: skip
        assert difference in DIFFERENCES
        for text in (A, AB):
            site.register(s, text)
        site.ok("DELETE", f"/subjects/{s}/versions/2")
        status, found = site.call(method, path.format(s=s), body)
        told = found.get("error_code", found.get("compatibilityLevel"))
        assert (status, told) == (ours if site.ours else apicurio)

    def test_difference_modes(self, site: Site, s: str) -> None:
        assert DIFFERENCES["modes"]
        site.register(s, A)
        site.ok("PUT", f"/mode/{s}", {"mode": "READONLY"})
        status, found = site.call("POST", f"/subjects/{s}/versions", {"schema": AB})
        site.ok("PUT", f"/mode/{s}", {"mode": "READWRITE"})
        assert (status, found.get("error_code")) == ((422, 42205) if site.ours else (200, None))

    def test_difference_ids(self, site: Site, s: str) -> None:
        assert DIFFERENCES["ids"]
        mine = record(field("int", f"only_{s.replace('.', '_')}"))
        first = site.register(s, mine)
        for permanent in ("false", "true"):
            site.ok("DELETE", f"/subjects/{s}?permanent={permanent}")
        assert (site.register(s, mine) == first) is not site.ours

    def test_difference_blanks(self, site: Site, s: str) -> None:
        assert DIFFERENCES["blanks"]
        site.register(s, A)
        found = site.ok("POST", f"/subjects/{s}", {"schema": A})["schema"]
        assert (found == A) is not site.ours
        assert json.loads(found) == json.loads(A)

    def test_difference_deleted_versions(self, site: Site, s: str) -> None:
        assert DIFFERENCES["deleted versions"]
        site.register(s, A)
        site.register(s, AB)
        site.ok("DELETE", f"/subjects/{s}/versions/1")
        assert site.ok("DELETE", f"/subjects/{s}") == ([2] if site.ours else [1, 2])

    def test_the_port_asks_it(self, site: Site, s: str) -> None:
        registry = RestRegistry(site.url)
        first = registry.register(s, A)
        assert registry.register(s, AB) != first
        assert registry.lookup(s, A).version == 1
        assert json.loads(registry.schema(first)) == json.loads(A)
        assert registry.version(s).version == registry.version(s, 2).version == 2
        assert registry.versions(s) == [1, 2]
        assert s in registry.subjects()
        assert registry.check(s, ABC) == []
        assert registry.check(s, STRING)
        level: Level = "FULL_TRANSITIVE"
        registry.set_level(level, s)
        assert registry.level(s) == level
        with pytest.raises(SchemaIncompatible) as incompatible:
            registry.register(s, STRING)
        assert incompatible.value.code == 409
        with pytest.raises(InvalidSchema):
            registry.register(s, "{")
        with pytest.raises(SchemaNotFound):
            registry.version(f"{s}-none")
        registry.delete_version(s, 2)
        assert registry.version(s).version == 1
        registry.delete_subject(s)
        with pytest.raises(SchemaError):
            registry.versions(s)
        registry.delete_subject(s, permanent=True)
        registry.close()

    def test_a_subject_may_have_any_name(self, site: Site, s: str) -> None:
        name = f"{s}/a b?c#d%2Fé"
        registry = RestRegistry(site.url)
        registry.register(name, A)
        assert registry.versions(name) == [1]
        assert registry.version(name).subject == name
        registry.close()

    def test_official_serializers_and_ours_read_each_other(self, site: Site, s: str) -> None:
        context = SerializationContext(s, MessageField.VALUE)
        settings = {
            "auto.register.schemas": False,
            "subject.name.strategy": topic_subject_name_strategy,
        }
        strategy = {"subject.name.strategy": topic_subject_name_strategy}
        subject = f"{s}-value"
        site.register(subject, AB)
        value = {"a": 5, "b": -7}
        with SchemaRegistryClient({"url": site.url}) as official, Schemas(site.url) as schemas:
            write = AvroSerializer(official, AB, conf=settings)
            read = AvroDeserializer(official, conf=strategy)
            theirs = write(value, context)
            ours = schemas.encode(value, schema=json.loads(AB), subject=subject)
            assert theirs == ours
            assert read(ours, context) == schemas.decode(theirs) == value
            with pytest.raises(NotAvro):
                schemas.decode(ours[:-1])

    def test_three_versions_are_read_by_one_reader(self, site: Site, s: str) -> None:
        versions = [A, AB, record(field("int", "b", default=0))]
        values = [{"a": 1}, {"a": 2, "b": 3}, {"b": 4}]
        with Schemas(site.url) as schemas:
            bodies = [
                schemas.encode(value, schema=text, subject=s, register=True)
                for text, value in zip(versions, values, strict=True)
            ]
            assert [schemas.decode(one) for one in bodies] == values
            read = [schemas.decode(one, schema=(s, 3)) for one in bodies]
            assert read == [{"b": 0}, {"b": 3}, {"b": 4}]
