"""How far the exports of a topic have come: what each had to write then is written, or gone."""

from typing import Any

from adapter.core.contract import commands as c
from adapter.core.contract.exports import has_written
from adapter.core.contract.results import Exported, ExportPlaces
from tests.support.core import Client, client_on

TOPIC = "results"


def export(client: Client, name: str, queue: str, **more: Any) -> None:
    client.do(c.DefineObject("export", name, {"topic": TOPIC, "queue": queue, **more}))


def asked(client: Client, topic: str = TOPIC) -> dict[str, ExportPlaces]:
    answer = client.do(c.AskExports(topic))
    assert isinstance(answer, Exported)
    return {one.name: one for one in answer.exports}


def is_written(client: Client, then: dict[str, ExportPlaces], name: str = "E") -> bool:
    return has_written(then[name], asked(client).get(name))


def test_a_topic_without_an_export() -> None:
    client = client_on("Q")
    export(client, "E", "Q")
    assert asked(client, "another") == {}
    assert list(asked(client)) == ["E"]


def test_a_queue_that_is_empty_has_nothing_to_write() -> None:
    client = client_on("Q")
    export(client, "E", "Q")
    assert is_written(client, asked(client))


def test_what_was_put_before_counts_and_what_comes_later_does_not() -> None:
    client = client_on("Q")
    export(client, "E", "Q")
    client.put("1", persistence=1)
    client.put("2", persistence=1)
    then = asked(client)
    client.put("3", persistence=1)
    found = []
    for _ in range(3):
        found.append(is_written(client, then))
        client.get()
    assert found == [False, False, True]


def test_every_lane_counts() -> None:
    client = client_on("Q")
    export(client, "E", "Q")
    client.put("low", persistence=1, priority=0)
    client.put("high", persistence=1, priority=9)
    then = asked(client)
    client.put("higher", persistence=1, priority=9)
    assert [client.get(), client.get()] == [["high"], ["higher"]]
    assert not is_written(client, then)
    assert client.get() == ["low"]
    assert is_written(client, then)


def test_messages_that_are_not_persistent_count() -> None:
    client = client_on("Q")
    export(client, "E", "Q")
    client.put("1", persistence=0)
    then = asked(client)
    client.put("2", persistence=0)
    assert not is_written(client, then)
    client.get()
    assert is_written(client, then)


def test_what_a_unit_has_got_is_not_written_until_it_is_committed() -> None:
    client = client_on("Q")
    export(client, "E", "Q")
    for persistence in (0, 1):
        client.put("1", persistence=persistence)
        unit = client.begin()
        client.take(unit)
        then = asked(client)
        assert not is_written(client, then), persistence
        client.do(c.Commit(unit))
        assert is_written(client, then), persistence


def test_what_is_put_in_an_open_unit_does_not_count() -> None:
    client = client_on("Q")
    export(client, "E", "Q")
    unit = client.begin()
    client.put("1", unit=unit, persistence=1)
    then = asked(client)
    client.do(c.Commit(unit))
    assert is_written(client, then)
    assert not is_written(client, asked(client))


def test_several_exports_of_a_topic() -> None:
    client = client_on("Q", "R")
    export(client, "E", "Q")
    export(client, "F", "R", state="PAUSED")
    client.put("1", persistence=1, handle=2)
    then = asked(client)
    assert (then["E"].is_paused, then["F"].is_paused) == (False, True)
    assert (is_written(client, then, "E"), is_written(client, then, "F")) == (True, False)


def test_what_was_taken_from_an_export_is_not_waited_for() -> None:
    client = client_on("Q", "R")
    export(client, "E", "Q")
    client.put("1", persistence=1)
    then = asked(client)
    client.do(c.AlterObject("export", "E", {"queue": "R"}))
    assert is_written(client, then)
    client.do(c.AlterObject("export", "E", {"queue": "Q"}))
    assert not is_written(client, then)
    client.do(c.DeleteObject("export", "E"))
    assert is_written(client, then)
    export(client, "E", "Q")
    client.do(c.PurgeQueue("Q"))
    assert is_written(client, then)


def test_an_export_of_a_queue_that_is_not_there() -> None:
    client = client_on()
    export(client, "E", "LATER")
    then = asked(client)
    assert (then["E"].lowest, then["E"].ends) == ([], [])
    assert is_written(client, then)
    client.do(c.DefineQueue("LATER", {}))
    assert is_written(client, then)
