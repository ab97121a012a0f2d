"""What a queue manager has from its beginning, and the settings that it is given."""

import pytest

from adapter.core.attributes import system
from adapter.core.contract import commands as c
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.results import Descriptions, Objects
from tests.support.core import Core, client_on


def configured(core: Core, **settings: object) -> int:
    return len(core.configure(**settings).records)


def test_the_system_objects_are_there_once() -> None:
    core = client_on().core
    assert configured(core) == len(system.QUEUES) + len(system.OBJECTS)
    assert configured(core) == 0
    core.crash()
    assert configured(core) == 0
    assert set(system.QUEUES) < set(core.qm.queues)
    assert set(system.OBJECTS) == set(core.qm.objects)


def test_what_was_deleted_comes_back_and_what_was_altered_stays() -> None:
    client = client_on()
    configured(client.core)
    client.do(c.DeleteQueue("SYSTEM.DEAD.LETTER.QUEUE"))
    client.do(c.AlterObject("process", "SYSTEM.DEFAULT.PROCESS", {"appl_id": "mine"}))
    assert configured(client.core) == 1
    answer = client.do(c.InquireObjects("process", "SYSTEM.*"))
    assert isinstance(answer, Objects)
    assert answer.objects[0].attributes["appl_id"] == "mine"


def test_a_pattern_means_them_when_it_says_so() -> None:
    client = client_on()
    configured(client.core)

    def shown(pattern: str, system: bool = False) -> int:
        answer = client.do(c.Inquire(pattern, system))
        assert isinstance(answer, Descriptions)
        return len(answer.queues)

    assert (shown("*"), shown("*", True), shown("SYSTEM.*"), shown("S*")) == (1, 8, 7, 7)
    assert shown("SYSTEM.DEAD.LETTER.QUEUE") == 1


def test_settings_are_written_when_they_differ() -> None:
    core = client_on().core
    configured(core)
    assert configured(core, trigger_interval_ms=10, dead_letter_queue="DLQ") == 1
    assert configured(core, trigger_interval_ms=10) == 0
    assert core.replayed().attributes.trigger_interval_ms == 10
    with pytest.raises(Refusal) as refused:
        configured(core, trigger_interval_ms=-1)
    assert refused.value.reason is Reason.ATTRIBUTE_ERROR
