"""Objects that are no local queues: their life, what refuses them, that they outlast crashes."""

import pytest

from adapter.core.attributes.objects import KINDS, SUBSCRIPTION
from adapter.core.contract import commands as c
from adapter.core.contract.limits import Limits
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done, Messages, Objects, Refused
from adapter.core.rules.objects.definitions import DEFINED
from tests.support.attribute_samples import needed
from tests.support.core import Client, client_on


def asked(client: Client, kind: str, pattern: str = "*") -> dict[str, dict[str, object]]:
    answer = client.do(c.InquireObjects(kind, pattern))
    assert isinstance(answer, Objects)
    assert {one.kind for one in answer.objects} <= {kind}
    return {one.name: one.attributes for one in answer.objects}


@pytest.mark.parametrize("kind", [kind for kind in DEFINED if kind != SUBSCRIPTION])
def test_an_object_is_defined_altered_and_deleted(kind: str) -> None:
    client = client_on()
    given = needed(kind)
    assert client.do(c.DefineObject(kind, "A.NAME", given | {"description": "first"})) == Done()
    defaults = {row.name: row.default for row in KINDS[kind].values()} | given
    assert asked(client, kind) == {"A.NAME": defaults | {"description": "first"}}
    client.do(c.AlterObject(kind, "A.NAME", {"description": "second"}))
    assert asked(client, kind)["A.NAME"]["description"] == "second"
    client.do(c.DefineObject(kind, "A.NAME", {"description": "third"}, True))
    assert asked(client, kind)["A.NAME"]["description"] == "third"
    client.do(c.DeleteObject(kind, "A.NAME"))
    assert asked(client, kind) == {}
    assert client.refused(c.DeleteObject(kind, "A.NAME")) is Reason.OBJECT_NOT_FOUND
    assert client.refused(c.AlterObject(kind, "A.NAME", {})) is Reason.OBJECT_NOT_FOUND


@pytest.mark.parametrize("with_snapshot", [False, True])
def test_objects_outlast_crashes(with_snapshot: bool) -> None:
    client = client_on()
    client.do(c.DefineObject("process", "P", {"appl_id": "run"}))
    client.do(c.AlterObject("process", "P", {"env_data": "&"}))
    client.do(c.AlterObject("queue_manager", "QM1", {"trigger_interval_ms": 5}))
    before = asked(client, "process"), asked(client, "queue_manager")
    core = client.core
    if with_snapshot:
        core.snapshot()
    core.crash()
    back = core.connect()
    assert (asked(back, "process"), asked(back, "queue_manager")) == before


def test_queues_aliases_remotes_and_models_share_their_names() -> None:
    client = client_on()
    client.do(c.DefineObject("alias", "OTHER", {"target": "Q"}))
    for kind in ("alias", "remote", "model"):
        assert client.refused(c.DefineObject(kind, "Q")) is Reason.OBJECT_EXISTS
    assert client.refused(c.DefineObject("model", "OTHER")) is Reason.OBJECT_EXISTS
    assert client.refused(c.DefineQueue("OTHER")) is Reason.OBJECT_EXISTS
    assert client.do(c.DefineObject("process", "OTHER")) == Done()


def test_what_is_no_kind_or_no_name_or_no_attribute() -> None:
    client = client_on()
    for kind in ("queue", "queue_manager", "table"):
        assert client.refused(c.DefineObject(kind, "X")) is Reason.OBJECT_TYPE_ERROR
    assert client.refused(c.InquireObjects("queue", "*")) is Reason.OBJECT_TYPE_ERROR
    assert client.refused(c.DefineObject("alias", "no name")) is Reason.NAME_ERROR
    assert client.refused(c.DefineObject("alias", "X", {"max_depth": 1})) is Reason.ATTRIBUTE_ERROR
    altered = c.AlterObject("queue_manager", "QM1", {"max_priority": 5})
    assert client.refused(altered) is Reason.ATTRIBUTE_ERROR
    assert client.refused(c.AlterObject("queue_manager", "QM2", {})) is Reason.OBJECT_NOT_FOUND


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("alias", {"target": "T", "target_type": "TOPIC"}),
        ("remote", {"remote_name": "R", "remote_queue_manager": "QM2"}),
        ("model", {}),
    ],
)
def test_a_dead_letter_queue_is_local(kind: str, given: dict[str, str]) -> None:
    """As MQ says it of DEADQ. Of a name that is not there yet it cannot be said."""
    client = client_on("Q")
    client.do(c.AlterObject("queue_manager", "QM1", {"dead_letter_queue": "DEAD"}))
    assert client.refused(c.DefineObject(kind, "DEAD", given)) is Reason.ATTRIBUTE_ERROR
    client.do(c.DefineObject(kind, "OTHER", given))
    altered = c.AlterObject("queue_manager", "QM1", {"dead_letter_queue": "OTHER"})
    assert client.refused(altered) is Reason.ATTRIBUTE_ERROR
    client.do(c.AlterObject("queue_manager", "QM1", {"dead_letter_queue": "Q"}))
    client.do(c.DefineObject(kind, "DEAD", given))


def test_objects_have_a_bound() -> None:
    client = client_on(limits=Limits(objects=1))
    client.do(c.DefineObject("process", "P1"))
    assert client.refused(c.DefineObject("process", "P2")) is Reason.LIMIT_REACHED


@pytest.mark.parametrize("waiting", [c.Get(2, wait_ms=60_000), c.Browse(2, wait_ms=60_000)])
def test_who_waits_by_an_alias_that_is_inhibited_is_refused(waiting: c.Get | c.Browse) -> None:
    client = client_on()
    client.do(c.DefineObject("alias", "A", {"target": "Q"}))
    client.open("A", handle=2)
    waits, other = client.send(waiting), client.send(c.Get(1, wait_ms=60_000))
    client.do(c.AlterObject("alias", "A", {"description": "x"}))
    assert client.answer(waits) is None
    client.do(c.AlterObject("alias", "A", {"inhibit_get": True}))
    assert client.answer(waits) == Refused(Reason.GET_INHIBITED, "Q")
    client.put("x")
    assert isinstance(client.answer(other), Messages), "it waits by the queue itself"
