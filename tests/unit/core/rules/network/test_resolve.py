"""Opening by other names: aliases, models and their dynamic queues, remotes."""

import re

import pytest

from adapter.core import inputs
from adapter.core.attributes import broker as kinds
from adapter.core.contract import broker as b
from adapter.core.contract import commands as c
from adapter.core.contract.message import MessageData
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done, Opened, Refused, Statuses
from tests.support.core import IN_OUT, Client, client_on


def with_alias(**attributes: object) -> Client:
    client = client_on()
    client.do(c.DefineObject("alias", "A", {"target": "Q", **attributes}))
    assert client.do(c.Open(2, "A", IN_OUT)) == Opened("Q")
    return client


def with_model(kind: str = "TEMPDYN", **attributes: object) -> Client:
    client = client_on()
    given = {"definition_type": kind, **attributes}
    client.do(c.DefineObject("model", "M", given))
    return client


def made(client: Client, handle: int = 2, name: str = "REPLY.*") -> str:
    answer = client.do(c.Open(handle, "M", IN_OUT, name))
    assert isinstance(answer, Opened), answer
    return answer.queue


def depth(client: Client, name: str) -> int:
    answer = client.do(c.AskStatus(name))
    assert isinstance(answer, Statuses)
    return answer.queues[0].current_depth


def test_an_alias_leads_to_its_queue() -> None:
    client = with_alias()
    client.put("by the alias", handle=2)
    assert client.get(handle=1) == ["by the alias"]


def test_an_alias_has_defaults_and_inhibitions_of_its_own() -> None:
    client = with_alias(def_priority=7, def_persistence=False)
    client.put("by the alias", handle=2)
    delivered = client.take(handle=1)[0]
    assert (delivered.message.priority, delivered.message.persistence) == (7, 0)
    client.do(c.AlterObject("alias", "A", {"inhibit_put": True, "inhibit_get": True}))
    assert client.refused(c.Put(2, [MessageData()])) is Reason.PUT_INHIBITED
    assert client.refused(c.Get(2)) is Reason.GET_INHIBITED
    assert client.refused(c.Browse(2)) is Reason.GET_INHIBITED
    client.put("by its own name")
    assert client.get() == ["by its own name"]


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("NONE", Reason.UNKNOWN_ALIAS_BASE),
        ("", Reason.UNKNOWN_ALIAS_BASE),
        ("M", Reason.ALIAS_BASE_TYPE_ERROR),
        ("A", Reason.ALIAS_BASE_TYPE_ERROR),
    ],
)
def test_an_alias_that_leads_nowhere(target: str, reason: Reason) -> None:
    client = with_model()
    client.do(c.DefineObject("alias", "A", {"target": target}))
    assert client.refused(c.Open(2, "A", c.OUTPUT)) is reason


def test_a_remote_queue_is_refused_with_its_reason() -> None:
    client = client_on()
    client.do(c.DefineObject("remote", "R", {"remote_name": "X", "remote_queue_manager": "QM2"}))
    assert client.refused(c.Open(2, "R", c.OUTPUT)) is Reason.UNKNOWN_REMOTE_QUEUE_MANAGER


def test_a_model_makes_queues_of_its_attributes_and_unique_names() -> None:
    client = with_model(max_depth=1)
    first, second = made(client), made(client, 3)
    assert re.fullmatch(r"REPLY\.[0-9A-F]{16}", first)
    assert first != second
    client.put("one", handle=2)
    assert client.refused(c.Put(2, [MessageData()])) is Reason.QUEUE_FULL
    assert client.get(handle=2) == ["one"]
    assert len(made(client, 4, "A" * 48 + "*")) == 48
    assert made(client, 5, "A.WHOLE.NAME") == "A.WHOLE.NAME"
    assert made(client, 6, "").startswith("MQK.")


def ended(client: Client) -> str:
    """Let a permanent dynamic queue come and go; its name."""
    name = made(client)
    client.do(c.Close(2, c.PURGE))
    return name


def test_a_generated_name_can_be_forgotten_for_none_is_generated_twice() -> None:
    client = with_model(definition_type="PERMDYN")
    qm = client.core.qm
    gone, living = ended(client), made(client, 3)
    assert (qm.numbers.incarnations[gone], qm.numbers.incarnations[living]) == (1, 1)
    client.core.give(inputs.NamesForgotten([gone, living, "NEVER"]))
    assert gone not in qm.numbers.incarnations
    assert qm.numbers.incarnations[living] == 1
    client.core.crash()
    assert made(client.core.connect()) not in (gone, living)


@pytest.mark.parametrize("forgets", [True, False])
def test_a_program_that_gives_such_a_name_gets_another_incarnation(forgets: bool) -> None:
    client = with_model(definition_type="PERMDYN")
    qm = client.core.qm
    name = ended(client)
    if forgets:
        client.core.give(inputs.NamesForgotten([name]))
    client.do(c.DefineQueue(name))
    assert qm.queues[name].incarnation == 1
    client.do(c.DeleteQueue(name))
    client.core.give(inputs.NamesForgotten([name]))
    made(client, 2, name)
    assert qm.queues[name].incarnation == 2


def test_names_that_programs_gave_are_never_forgotten() -> None:
    client = client_on("Q")
    client.do(c.Close(1))
    client.do(c.DeleteQueue("Q"))
    client.core.give(inputs.NamesForgotten(["Q"]))
    assert client.core.qm.numbers.incarnations["Q"] == 1


@pytest.mark.parametrize("name", ["no name*", "A*B", "*A", "A" * 49, " "])
def test_what_is_no_name_for_a_dynamic_queue(name: str) -> None:
    client = with_model()
    assert client.refused(c.Open(2, "M", IN_OUT, name)) is Reason.DYNAMIC_NAME_ERROR


def test_a_dynamic_queue_takes_no_name_that_is_taken() -> None:
    client = with_model()
    assert client.refused(c.Open(2, "M", IN_OUT, "Q")) is Reason.OBJECT_EXISTS


def test_a_temporary_queue_is_soft() -> None:
    client = with_model()
    written = len(client.core.entries)
    name = made(client)
    client.put("soft", handle=2)
    assert client.take(handle=2)[0].message.persistence == 0
    hard = c.Put(2, [MessageData(persistence=1)])
    assert client.refused(hard) is Reason.PERSISTENT_NOT_ALLOWED
    assert len(client.core.entries) == written, "nothing of it is written"
    client.core.snapshot()
    client.core.crash()
    assert name not in client.core.qm.queues


def test_a_temporary_queue_goes_with_the_handle_that_made_it() -> None:
    client = with_model()
    name = made(client)
    other = client.core.connect()
    assert other.do(c.Open(1, name, IN_OUT)) == Opened(name, incarnation=1)
    waiting = other.send(c.Get(1, wait_ms=-1))
    held = client.begin()
    client.put("never seen", unit=held, handle=2)
    other_unit = None
    client.do(c.Close(2))
    assert other_unit is None
    answer = other.answer(waiting)
    assert answer is not None
    assert answer.reason == Reason.QUEUE_DELETED  # type: ignore[union-attr]
    assert other.refused(c.Get(1)) is Reason.QUEUE_DELETED
    assert other.refused(c.Open(2, name, IN_OUT)) is Reason.QUEUE_NOT_FOUND
    assert client.do(c.Commit(held)) == Done()
    assert client.core.qm.held.total == 0
    assert other.do(c.Close(1)) == Done()


def test_a_temporary_queue_goes_with_its_connection() -> None:
    client = with_model()
    name = made(client)
    client.put("x", handle=2)
    other = client.core.connect()
    other.open(name)
    waiting = other.send(c.Get(1, wait_ms=-1, message_id=b"?" * 24))
    client.lose()
    assert name not in client.core.qm.queues
    assert other.answer(waiting) is not None


def test_names_of_another_owner_are_others() -> None:
    client = with_model()
    name = made(client)
    client.core.crash()
    back = client.core.connect()
    assert made(back) != name


def test_a_name_that_is_used_again_has_nothing_of_what_was_there_before() -> None:
    client = with_model()
    made(client, 2, "AGAIN")
    client.put("old", handle=2, expiry_ms=5_000)
    client.do(c.Close(2))
    made(client, 2, "AGAIN")
    client.put("new", handle=2)
    client.core.advance(10)
    assert client.get(handle=2) == ["new"]


def test_a_permanent_queue_stays_until_it_is_deleted() -> None:
    client = with_model("PERMDYN")
    name = made(client)
    client.put("kept", handle=2)
    client.do(c.Close(2))
    assert depth(client, name) == 1
    client.core.crash()
    back = client.core.connect()
    back.open(name)
    assert back.refused(c.Close(1, c.DELETE)) is Reason.QUEUE_NOT_EMPTY
    assert back.do(c.Close(1, c.PURGE)) == Done()
    assert name not in client.core.qm.queues
    assert name not in client.core.replayed().queues


def test_only_a_dynamic_queue_goes_with_its_close() -> None:
    client = with_model("PERMDYN")
    assert client.refused(c.Close(1, c.DELETE)) is Reason.OPTIONS_ERROR
    name = made(client)
    assert client.refused(c.Close(2, 7)) is Reason.OPTIONS_ERROR
    client.open(name, handle=3)
    assert client.refused(c.Close(2, c.DELETE)) is Reason.QUEUE_IN_USE


def test_finding_spark_n2_programs_of_mq_only_browse_queues_of_service_broker() -> None:
    client = client_on()
    client.do(b.BrokerCreate(kinds.QUEUE, "orders"))
    name = "broker$\\orders"
    why = "it is a queue of Service Broker; use adapter.servicebroker"
    for refused in (
        c.Open(2, name, c.INPUT),
        c.Open(2, name, c.OUTPUT),
        c.OpenConsumer(2, name, "JOB", 60_000),
        c.PurgeQueue(name),
        c.DeleteQueue(name),
        c.AlterQueue(name, {"max_depth": 1}),
    ):
        answer = client.do(refused)
        assert isinstance(answer, Refused), refused
        assert (answer.reason, answer.detail) == (Reason.OBJECT_TYPE_ERROR, why), refused
    assert not isinstance(client.do(c.Open(2, name, c.BROWSE)), Refused)
    assert client.refused(c.Get(2, wait_ms=0)) is Reason.NOT_OPEN_FOR_INPUT
    assert depth(client, name) == 0


def test_one_put_alone_makes_no_queue_of_a_model() -> None:
    client = with_model()
    client.do(c.DefineObject("alias", "A", {"target": "Q"}))
    before = set(client.core.qm.queues)
    answer = client.do(c.Open(2, "M", c.OUTPUT, existing=True))
    assert isinstance(answer, Refused)
    assert answer.reason is Reason.OPTION_NOT_VALID_FOR_TYPE
    assert answer.detail == "it is a model queue: open it, then put"
    assert set(client.core.qm.queues) == before
    for handle, name in ((3, "Q"), (4, "A")):
        assert not isinstance(client.do(c.Open(handle, name, c.OUTPUT, existing=True)), Refused)
