"""The registry over HTTP: by the official client, and byte by byte where that would not ask so."""

import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest

from adapter.errors import RegistryNotAvailable, StartError
from adapter.registry import topic
from adapter.registry.http import RegistryServer
from adapter.registry.rest import RestRegistry
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


def test_only_json_is_taken(url: str, registry: TopicRegistry) -> None:
    text = json.dumps({"schema": '"int"'})
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        status, _ = call(url, "POST", "/subjects/s/versions", text, {"Content-Type": kind})
        assert status == 415
    assert registry.subjects() == []


@pytest.mark.parametrize("body", ["{", "[]", '{"schema": 5}', '{"schema": "\\"int\\"", "id": "x"}'])
def test_a_body_that_cannot_be_read_is_refused(url: str, body: str) -> None:
    status, answer = call(url, "POST", "/subjects/s/versions", body)
    assert (status, answer["error_code"]) == (422, 422)


def test_a_body_that_is_too_long_is_refused(url: str) -> None:
    status, _ = call(url, "POST", "/subjects/s/versions", b"x" * 3_000_000)
    assert status == 413


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
