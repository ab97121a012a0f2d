"""The registry over HTTP: by the official client, and byte by byte where that would not ask so."""

import http.client
import json
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from adapter.errors import (
    InvalidSchema,
    RegistryNotAvailable,
    SchemaError,
    SchemaNotFound,
    StartError,
)
from adapter.registry import api, codes, compatibility, topic
from adapter.registry import http as module
from adapter.registry.http import RegistryServer
from adapter.registry.rest import RestRegistry
from adapter.registry.rules import RegistryDecision
from adapter.registry.state import SchemaKept
from adapter.registry.topic import TopicRegistry

JSON = {"Content-Type": "application/json"}


@pytest.fixture
def registry() -> TopicRegistry:
    return topic.in_memory()


@pytest.fixture
def url(registry: TopicRegistry) -> Iterator[str]:
    with RegistryServer(registry) as server:
        yield server.start(port=0)


def call(
    url: str, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
) -> tuple[int, Any]:
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=30)
    try:
        data = body if body is None or isinstance(body, bytes | str) else json.dumps(body)
        connection.request(method, path, data, headers or JSON)
        answer = connection.getresponse()
        assert answer.headers.get_content_type() == "application/vnd.schemaregistry.v1+json"
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def test_a_subjects_name_may_have_any_characters(url: str) -> None:
    with_slash = "a/b c?d#é%2F"
    registry = RestRegistry(url)
    registry.register(with_slash, '"int"')
    assert registry.subjects() == [with_slash]
    assert registry.version(with_slash).subject == with_slash
    registry.close()


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/nothing", 404), ("PUT", "/subjects", 405), ("GET", "/schemas/ids/x", 404)],
)
def test_what_is_not_there_is_answered_in_the_apis_words(
    url: str, method: str, path: str, status: int
) -> None:
    answered, body = call(url, method, path)
    assert (answered, body["error_code"]) == (status, status)
    assert str(status) in body["message"]


def test_schemas_are_listed_up_to_a_number(
    url: str, registry: TopicRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "SCHEMAS_LISTED_MAX", 3)
    for number in range(5):
        registry.register(f"s{number}", '"int"')

    def listed(query: str) -> list[str]:
        return [one["subject"] for one in call(url, "GET", f"/schemas{query}")[1]]

    assert listed("") == listed("?limit=-1") == listed("?limit=9") == ["s0", "s1", "s2"]
    assert listed("?limit=2") == ["s0", "s1"]
    assert listed("?offset=3") == listed("?offset=3&limit=9") == ["s3", "s4"]
    assert listed("?offset=9") == listed("?limit=0") == []


@pytest.mark.parametrize("count", [0, 1, 2, 7, 40])
def test_a_long_list_is_sent_in_parts_and_is_the_same(
    url: str, registry: TopicRegistry, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PART_BYTES", 200)
    texts = [json.dumps({"type": "fixed", "name": f"F{n}", "size": 1}) for n in range(count)]
    for number, text in enumerate(texts):
        registry.register(f"s{number:02}", text)
    _, found = call(url, "GET", "/schemas")
    assert [json.loads(one["schema"]) for one in found] == [json.loads(one) for one in texts]
    assert call(url, "GET", "/subjects")[1] == [f"s{number:02}" for number in range(count)]


def test_answers_that_are_not_read_take_no_memory(url: str, registry: TopicRegistry) -> None:
    """Whatever all of it would take: only what a socket holds is written."""
    text = json.dumps({"type": "fixed", "name": "F", "size": 1, "more": "x" * 400_000})
    for number in range(20):
        one = SchemaKept(f"s{number}", 1, 1, text)
        registry.change(lambda _known, one=one: RegistryDecision(0, (one,)))  # type: ignore[misc]
    made: list[int] = []
    parts_of = module.parts_of

    def count(values: list[Any]) -> Iterator[bytes]:
        for part in parts_of(values):
            made.append(len(part))
            yield part

    host, _, port = url.removeprefix("http://").partition(":")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "parts_of", count)
        clients = [socket.create_connection((host, int(port)), 30) for _ in range(4)]
        for client in clients:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
            client.sendall(b"GET /schemas HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        for client in clients:
            assert client.recv(10)
        assert registry.subjects()
        assert len(made) < 20 * len(clients), "not all of it"
        for client in clients:
            client.close()


def test_only_json_is_taken(url: str, registry: TopicRegistry) -> None:
    text = json.dumps({"schema": '"int"'})
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        status, _ = call(url, "POST", "/subjects/s/versions", text, {"Content-Type": kind})
        assert status == 415
    assert registry.subjects() == []


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("{", 400),
        (b"{\xa0}", 400),
        ("[]", 422),
        ('{"schema": 5}', 422),
        ('{"schema": "\\"int\\"", "id": "x"}', 422),
    ],
)
def test_a_body_that_cannot_be_read_is_refused(url: str, body: str | bytes, code: int) -> None:
    status, answer = call(url, "POST", "/subjects/s/versions", body)
    assert (status, answer["error_code"]) == (code, code)


def test_a_body_that_is_not_encoded_as_it_says_is_refused_and_logged_as_no_error_of_ours(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    headers = JSON | {"Content-Encoding": "gzip"}
    status, answer = call(url, "POST", "/subjects/s/versions", "no gzip", headers)
    assert (status, answer["error_code"]) == (400, 400)
    assert not [one for one in caplog.records if one.exc_info]


@pytest.mark.parametrize(
    "more",
    [
        {"metadata": {"properties": {"owner": "me"}}},
        {"ruleSet": {"domainRules": [{"name": "encrypt"}]}},
        {"references": [{"name": "x", "subject": "x", "version": 1}]},
        {"schemaTagsToAdd": [{"tags": ["PII"]}]},
        {"unknown": 1},
    ],
)
def test_what_would_not_be_kept_of_a_schema_is_refused(
    url: str, registry: TopicRegistry, more: dict[str, Any]
) -> None:
    """A client that registers rules for encryption relies on them."""
    for path in ("/subjects/s/versions", "/subjects/s", "/compatibility/subjects/s/versions"):
        status, answer = call(url, "POST", path, {"schema": '"int"'} | more)
        assert status == 422, path
        assert next(iter(more)) in answer["message"]
    assert registry.subjects() == []


@pytest.mark.parametrize(
    "more",
    [{"compatibilityGroup": "v"}, {"defaultRuleSet": {"domainRules": [1]}}, {"alias": "x"},
     {"overrideMetadata": {"a": 1}}, {"unknown": None}],
)  # fmt: skip
def test_what_would_not_be_kept_of_a_level_is_refused(url: str, more: dict[str, Any]) -> None:
    for path in ("/config", "/config/s"):
        status, answer = call(url, "PUT", path, {"compatibility": "FULL"} | more)
        assert status == 422
        assert next(iter(more)) in answer["message"]
    assert call(url, "GET", "/config")[1] == {"compatibilityLevel": "BACKWARD"}


def test_what_is_sent_empty_is_taken(url: str) -> None:
    """As clients send it that know of more than is kept here."""
    nothing: dict[str, Any] = {
        "references": [],
        "metadata": None,
        "ruleSet": None,
        "schemaType": "AVRO",
    }
    assert call(url, "POST", "/subjects/s/versions", {"schema": '"int"'} | nothing)[0] == 200
    level = {"compatibility": "FULL", "normalize": False, "compatibilityGroup": None}
    assert call(url, "PUT", "/config/s", level)[0] == 200


def test_there_is_one_context(url: str, registry: TopicRegistry) -> None:
    assert call(url, "GET", "/contexts") == (200, ["."])
    for path in ("/subjects/:.ctx:s/versions", "/subjects/:.ctx:s"):
        status, answer = call(url, "POST", path, {"schema": '"int"'})
        assert status == 422
        assert "contexts are not kept here" in answer["message"]
    assert call(url, "POST", "/subjects/:.:s/versions", {"schema": '"int"'})[0] == 200
    assert registry.subjects() == ["s"]
    for prefix in ("", ":*:", ":.:", ":*:s", "s"):
        assert call(url, "GET", f"/subjects?subjectPrefix={prefix}") == (200, ["s"])
    assert call(url, "GET", "/subjects?subjectPrefix=:*:x") == (200, [])


def test_the_smaller_questions_of_the_api(url: str) -> None:
    for text in ('"int"', '"long"'):
        call(url, "POST", "/subjects/s/versions", {"schema": text})
    assert call(url, "GET", "/schemas/ids/1?fetchMaxId=true")[1] == {"schema": '"int"', "maxId": 2}
    call(url, "DELETE", "/subjects/s/versions/1")
    assert call(url, "GET", "/subjects/s/versions?deletedOnly=true") == (200, [1])
    assert call(url, "GET", "/subjects/s/versions") == (200, [2])
    assert call(url, "GET", "/v1/metadata/id")[1]["id"] == ""


def test_finding_spark_rest_a_schema_that_is_too_long_is_refused(url: str) -> None:
    long = {"schema": json.dumps({"type": "string", "x": "y" * 1_000_000})}
    assert call(url, "POST", "/subjects/s/versions", long)[0] == 422
    status, answer = call(url, "POST", "/subjects/s/versions", b"x" * 3_000_000)
    assert answer["error_code"] == 42209
    assert status == 422


def test_finding_spark_n5_a_subjects_name_may_have_braces(url: str) -> None:
    for name in ("x%7B", "%7D", "a%7Bb%7Dc"):
        assert call(url, "POST", f"/subjects/{name}/versions", {"schema": '"int"'})[0] == 200
        assert call(url, "GET", f"/subjects/{name}/versions") == (200, [1])
        assert call(url, "PUT", f"/config/{name}", {"compatibility": "FULL"})[0] == 200
    assert call(url, "GET", "/subjects")[1] == ["a{b}c", "x{", "}"]
    assert call(url, "GET", "/subjects/a/b/versions")[0] == 404


def test_finding_spark_n6_the_name_of_a_primitive_type_means_nothing(url: str) -> None:
    named = {"schema": '{"type":"int","name":"x"}'}
    assert call(url, "POST", "/subjects/s/versions", named) == (200, {"id": 1})
    for text in ('{"type":"int"}', '"int"', '{"type":"int","doc":"d","aliases":["y"]}'):
        assert call(url, "POST", "/subjects/s", {"schema": text})[1]["schema"] == '"int"'
    logical = '{"type":"int","name":"x","logicalType":"date"}'
    call(url, "POST", "/subjects/d/versions", {"schema": logical})
    found = call(url, "GET", "/subjects/d/versions/1")[1]["schema"]
    assert found == '{"type":"int","logicalType":"date"}'
    field = '{"type":"record","name":"R","fields":[{"name":"type","type":"int","doc":"d"}]}'
    call(url, "POST", "/subjects/r/versions", {"schema": field})
    assert call(url, "GET", "/subjects/r/versions/1")[1]["schema"] == field


def test_finding_spark_n7_texts_that_confluents_clients_look_for(url: str) -> None:
    call(url, "POST", "/subjects/s/versions", {"schema": '"int"'})

    def deleting(path: str) -> str:
        text: str = call(url, "DELETE", f"/subjects/s{path}")[1]["message"]
        return text

    not_first = "was not deleted first before being permanently deleted"
    assert deleting("?permanent=true") == f"Subject 's' {not_first}"
    assert deleting("/versions/1?permanent=true") == f"Subject 's' Version 1 {not_first}"
    call(url, "DELETE", "/subjects/s")
    soft = "was soft deleted.Set permanent=true to delete permanently"
    assert deleting("") == f"Subject 's' {soft}"
    assert deleting("/versions/1") == f"Subject 's' Version 1 {soft}"


def test_finding_spark_rest_answers_are_json_or_none(url: str) -> None:
    for taken in ("*/*", "application/*;q=0.1", "text/html, */*;q=0.8", "application/json"):
        assert call(url, "GET", "/subjects", headers={"Accept": taken})[0] == 200
    assert call(url, "GET", "/subjects", headers={"Accept": "text/html"})[0] == 406


def test_finding_spark_rest_options_are_answered(url: str) -> None:
    assert call(url, "OPTIONS", "/subjects/s/versions") == (200, {})
    assert call(url, "OPTIONS", "/nothing")[0] == 404


def test_finding_spark_rest_normalize_is_taken_with_a_level(url: str) -> None:
    full = {"compatibility": "FULL", "normalize": True}
    assert call(url, "PUT", "/config", full) == (200, full)
    assert call(url, "PUT", "/config", {"normalize": True}) == (200, {"normalize": True})
    assert call(url, "GET", "/config") == (200, {"compatibilityLevel": "FULL"})


def test_finding_spark_rest_a_level_is_taken_away_once(url: str) -> None:
    call(url, "PUT", "/config/s", {"compatibility": "FULL"})
    assert call(url, "DELETE", "/config/s") == (200, {"compatibilityLevel": "FULL"})
    status, answer = call(url, "DELETE", "/config/s")
    assert (status, answer["error_code"]) == (404, 40401)
    assert call(url, "GET", "/config/s")[1]["error_code"] == 40408


class Broken(TopicRegistry):
    """Fails in a way that nobody foresaw, or as when Kafka is away."""

    error: Exception = ZeroDivisionError("a bug")

    def ask(self, *_: Any, **__: Any) -> Any:
        raise self.error


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ZeroDivisionError("a bug"), 50001),
        (RegistryNotAvailable("Kafka is away", code=50001), 50001),
    ],
)
def test_a_failure_is_an_answer_and_never_a_silence(error: Exception, code: int) -> None:
    from adapter.registry.log import MemorySchemaLog

    broken = Broken(MemorySchemaLog())
    broken.error = error
    with RegistryServer(broken) as server:
        status, answer = call(server.start(port=0), "GET", "/subjects")
    assert (status, answer["error_code"]) == (500, code)
    assert "a bug" not in answer["message"]


def test_it_listens_on_loopback_only(registry: TopicRegistry) -> None:
    for host in ("0.0.0.0", "no such host"):
        with RegistryServer(registry) as server, pytest.raises(StartError):
            server.start(host, 0)


def test_a_port_that_is_taken_is_said(url: str, registry: TopicRegistry) -> None:
    with RegistryServer(registry) as server, pytest.raises(StartError, match="--listen"):
        server.start(port=int(url.rpartition(":")[2]))


def test_lists_can_be_asked_for_in_parts(url: str, registry: TopicRegistry) -> None:
    for name in ("a1", "a2", "b1", "b2"):
        registry.register(name, '"int"')
    registry.register("a1", '"long"')
    registry.delete_subject("b2")
    assert call(url, "GET", "/subjects?subjectPrefix=a") == (200, ["a1", "a2"])
    assert call(url, "GET", "/subjects?offset=1&limit=1") == (200, ["a2"])
    assert call(url, "GET", "/subjects?deleted=true")[1] == ["a1", "a2", "b1", "b2"]
    assert call(url, "GET", "/subjects?deletedOnly=true")[1] == ["b2"]
    assert [one["version"] for one in call(url, "GET", "/schemas?latestOnly=true")[1]] == [2, 1, 1]
    assert len(call(url, "GET", "/schemas?subjectPrefix=a")[1]) == 3
    assert call(url, "GET", "/subjects?limit=x")[0] == 422


def test_what_looks_only_whether_somebody_is_there_is_answered(url: str) -> None:
    assert call(url, "GET", "/") == (200, {})
    assert call(url, "GET", "/contexts") == (200, ["."])
    assert call(url, "GET", "/schemas/types") == (200, ["AVRO"])
    assert "version" in call(url, "GET", "/v1/metadata/version")[1]


def test_every_answer_that_refuses_has_a_code_of_the_api(
    url: str, registry: TopicRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever layer refuses it."""
    registry.register("s", '"int"')
    registry.set_level("FULL_TRANSITIVE", "s")
    monkeypatch.setattr(compatibility, "STEPS_OF_ALL_MAX", 0)
    texts = ('"long"', '"string"', "{", "[" * 5_000, "", '{"type": "record"}')
    paths = ("/subjects/s/versions", "/subjects/s", "/subjects/t", "/subjects/%0a/versions")
    checks = tuple(f"/compatibility/subjects/{one}" for one in ("s/versions", "s/versions/latest"))
    for text in texts:
        for path in (*paths, *checks, "/compatibility/subjects/s/versions/7"):
            status, body = call(url, "POST", path, {"schema": text})
            if status >= 400:
                assert body["error_code"] in codes.ERRORS
                assert codes.status_of(body["error_code"]) == status
    rest = RestRegistry(url)
    for asked in (registry, rest):
        with pytest.raises(InvalidSchema) as caught:
            asked.register("s", '"long"')
        assert caught.value.code == codes.INVALID_SCHEMA
    rest.close()


def test_no_cache_answers_for_the_registry(url: str, registry: TopicRegistry) -> None:
    """What another program has deleted is not there, and is registered again."""
    rest = RestRegistry(url)
    text = '"int"'
    for permanent in (False, True):
        first = rest.register("s", text)
        assert rest.lookup("s", text).version == rest.version("s", rest.versions("s")[0]).version
        number = rest.version("s").version
        assert rest.schema(first) == text
        registry.delete_subject("s")
        if permanent:
            registry.delete_subject("s", permanent=True)
        asks: tuple[Callable[[], Any], ...] = (
            lambda: rest.lookup("s", text),
            lambda number=number: rest.version("s", number),  # type: ignore[misc]
            lambda: rest.version("s"),
            *([lambda first=first: rest.schema(first)] if permanent else []),
        )
        for ask in asks:
            with pytest.raises(SchemaNotFound):
                ask()
        assert rest.register("s", text)
        assert registry.subjects() == ["s"]
    rest.close()


@pytest.mark.parametrize("subject", [".", ".."])
def test_a_subject_that_a_url_shortens_is_refused(
    url: str, registry: TopicRegistry, subject: str
) -> None:
    rest = RestRegistry(url)
    registry.register("versions", '"int"')
    asks: tuple[Callable[[], Any], ...] = (
        lambda: rest.register(subject, '"int"'),
        lambda: rest.lookup(subject, '"int"'),
        lambda: rest.version(subject),
        lambda: rest.set_level("NONE", subject),
        lambda: rest.delete_subject(subject),
        lambda: registry.register(subject, '"int"'),
    )
    for ask in asks:
        with pytest.raises(SchemaError) as caught:
            ask()
        assert caught.value.code == codes.UNPROCESSABLE
    assert registry.subjects() == ["versions"]
    rest.close()
