"""Seed 0, S0.23-S0.27: triggers, rules, conditions and actions."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapter.msmq import Message
from adapter.msmq.triggers import (
    BodyContains,
    Call,
    LabelContains,
    LabelDoesNotContain,
    MessageProperty,
    PriorityEquals,
    Processing,
    Rule,
    Run,
    Trigger,
    TriggerId,
    TriggerName,
    TriggerService,
)
from tests.support.msmq_site import (
    IDLE_S,
    MsmqSite,
    activated,
    msmq_site,
    path,
    running,
    send,
    trigger,
)


@pytest.fixture
def at() -> Iterator[MsmqSite]:
    with msmq_site() as site:
        yield site


def test_s0_23_a_trigger_has_a_name_a_queue_and_rules(at: MsmqSite) -> None:
    """S0.23: a trigger has a name (PrivateTrigger), is associated with one queue given by its path,
    and has several rules attached (MyRule1, MyRule2): the object model round-trips these."""
    at.create("MyQueue")
    action = Run("mspaint.exe", (MessageProperty.LABEL,))
    rules = [
        Rule("MyRule1", conditions=[LabelContains("marketing")], action=action),
        Rule("MyRule2", conditions=[PriorityEquals(7)], action=action),
    ]
    service = TriggerService(at.home)
    service.add(Trigger("PrivateTrigger", path("MyQueue"), rules=rules))
    (found,) = service.triggers
    assert (found.name, found.queue) == ("PrivateTrigger", path("MyQueue"))
    assert [rule.name for rule in found.rules] == ["MyRule1", "MyRule2"]
    assert found.rules[0].conditions == (LabelContains("marketing"),)
    assert found.rules[0].action == action
    assert (found.serialized, found.processing, found.enabled) == (False, Processing.PEEKING, True)
    with pytest.raises(AttributeError):
        found.queue = path("other")  # type: ignore[misc]
    service.remove("PrivateTrigger")
    assert service.triggers == []


def test_s0_24_the_program_gets_the_label_as_its_argument(at: MsmqSite, tmp_path: Path) -> None:
    """S0.24: a rule is a condition ("Message label contains marketing") and an action taken when it
    is true (a program, with the parameter Message label): the program that is invoked receives this
    message's label as its argument."""
    queue = at.create()
    output = tmp_path / "arguments"
    program = ("-c", 'printf "%s|" "$@" >> "$0"', str(output))
    parameters = (*program, MessageProperty.LABEL, TriggerName, "literal", 3)
    rule = Rule("1", conditions=[LabelContains("marketing")], action=Run("sh", parameters))
    watched = Trigger("PrivateTrigger", queue, rules=[rule], serialized=True)
    send(queue, "for marketing: $HOME 'ü'", "for sales")
    with running(at.home, watched) as service:
        activated(service)
        assert [one.error for one in service.activations] == [None, None]
    assert output.read_text() == "for marketing: $HOME 'ü'|PrivateTrigger|literal|3|"


def test_s0_24_a_function_gets_its_parameters(at: MsmqSite) -> None:
    """S0.24: a component, here a function, gets its parameters in order."""
    queue = at.create()
    calls: list[tuple[object, ...]] = []
    parameters = (MessageProperty.BODY, MessageProperty.PRIORITY, TriggerId, "x")
    rule = Rule("1", action=Call(lambda *values: calls.append(values), parameters))
    watched = Trigger("PrivateTrigger", queue, rules=[rule], id="42")
    with running(at.home, watched) as service:
        queue.send(Message("the body", priority=5))
        activated(service)
    assert calls == [("the body", 5, "42", "x")]


def test_s0_25_the_service_is_notified_of_an_arrival(at: MsmqSite) -> None:
    """S0.25: on arrival at the queue the service is notified: by the queue manager, on which its
    peek waits; it polls nothing."""
    queue = at.create()
    came = threading.Event()
    with running(at.home, trigger(queue, lambda label: came.set())) as service:
        assert activated(service) == []
        assert at.waiting_reads() == 1
        assert len(service.peeks) == 1
        assert not came.is_set()
        send(queue, "1")
        assert came.wait(IDLE_S)
        assert activated(service) == ["1"]
        assert len(service.peeks) == 2  # the one that was answered, and the one that waits


def test_s0_26_the_rules_are_applied_in_their_order(at: MsmqSite) -> None:
    """S0.26: next, the rules attached to the trigger of that queue are applied: both are evaluated,
    in attached order; those of another queue's trigger are not."""
    queue, other = at.create(), at.create("other")
    calls: list[str] = []
    first = Rule("MyRule1", action=Call(lambda: calls.append("MyRule1")))
    second = Rule("MyRule2", action=Call(lambda: calls.append("MyRule2")))
    elsewhere = Rule("MyRule3", action=Call(lambda: calls.append("MyRule3")))
    triggers = [
        Trigger("PrivateTrigger", queue, rules=[first, second]),
        Trigger("OtherTrigger", other, rules=[elsewhere]),
    ]
    with running(at.home, *triggers) as service:
        send(queue, "1")
        activated(service)
        (activation,) = service.activations
    assert calls == ["MyRule1", "MyRule2"]
    assert activation.rules_acted == ("MyRule1", "MyRule2")


def test_s0_27_an_action_runs_if_all_conditions_of_its_rule_hold(at: MsmqSite) -> None:
    """S0.27: last, the action runs if all the conditions are satisfied: any false condition, no
    action. Each rule acts by itself: one rule true, one false: only the first acts."""
    queue = at.create()
    calls: list[str] = []
    call = Call(calls.append, (MessageProperty.LABEL,))
    both = [LabelContains("marketing"), PriorityEquals(5)]
    watched = Trigger(
        "PrivateTrigger",
        queue,
        rules=[
            Rule("MyRule1", conditions=both, action=call),
            Rule("MyRule2", conditions=[LabelContains("sales")], action=call),
        ],
    )
    with running(at.home, watched) as service:
        send(queue, "marketing a", priority=5)
        send(queue, "marketing b", priority=4)
        send(queue, "neither", priority=5)
        activated(service)
        found = {one.label: one for one in service.activations}
    assert calls == ["marketing a"]
    assert found["marketing a"].rules_acted == ("MyRule1",)
    assert found["marketing a"].rules_not_acted == ("MyRule2",)
    for label in ("marketing b", "neither"):
        assert found[label].rules_acted == ()
        assert found[label].rules_not_acted == ("MyRule1", "MyRule2")


def test_s0_27_case_counts_and_only_strings_have_text(at: MsmqSite) -> None:
    """S0.27: a condition about the label counts case; one about the body is false for a body that
    is not a string, also the one that says that it does not contain a text."""
    queue = at.create()
    calls: list[str] = []
    rules = [
        Rule(name, conditions=[condition], action=Call(lambda name=name: calls.append(name)))
        for name, condition in [
            ("label", LabelContains("Sale")),
            ("no label", LabelDoesNotContain("Sale")),
            ("body", BodyContains("sale")),
        ]
    ]
    with running(at.home, Trigger("PrivateTrigger", queue, rules=rules)) as service:
        queue.send("for sale", label="Sales")
        queue.send(b"for sale", label="sales")
        activated(service)
    assert calls == ["label", "body", "no label"]
