"""The rows of a local queue and of a model: what MQ's programs rely on."""

from adapter.core.attributes.objects import KINDS
from adapter.core.attributes.queue import QUEUE_ATTRIBUTES


def test_a_model_has_what_its_queues_have() -> None:
    assert list(KINDS["model"]) == list(QUEUE_ATTRIBUTES)
    assert KINDS["model"]["definition_type"].choices == ("PERMDYN", "TEMPDYN")
    assert QUEUE_ATTRIBUTES["definition_type"].attribute.fixed


def test_mqset_may_change_inhibitions_and_triggers() -> None:
    by_set = {name for name, row in QUEUE_ATTRIBUTES.items() if row.attribute.by_set}
    assert by_set == {
        "inhibit_get",
        "inhibit_put",
        "trigger_control",
        "trigger_type",
        "trigger_depth",
        "trigger_msg_priority",
        "trigger_data",
    }


def test_two_defaults_differ_from_mqs_and_lose_nothing_by_surprise() -> None:
    assert QUEUE_ATTRIBUTES["def_persistence"].default is True
    assert QUEUE_ATTRIBUTES["max_depth"].default == 999_999_999
