"""TriggerService: retrieval, failures, several triggers of a queue, and lost connections."""

import os
import pwd
import threading
from pathlib import Path

import pytest

from adapter.errors import InvalidValue
from adapter.host.allowed import AllowedPrograms
from adapter.msmq import (
    InvalidOperationError,
    Message,
    MessageQueueException,
    MessageQueueTransactionType,
    QueueAccessMode,
    transaction_scope,
)
from adapter.msmq.triggers import (
    Call,
    LabelContains,
    MessageProperty,
    Processing,
    Rule,
    Run,
    Trigger,
    TriggerService,
    current_host,
)
from adapter.msmq.triggers import monitor as monitor_module
from adapter.msmq.triggers import service as service_module
from tests.support.backlog import until
from tests.support.msmq_site import (
    IDLE_S,
    MsmqSite,
    activated,
    labels,
    path,
    running,
    send,
    send_together,
    trigger,
)

AUTOMATIC = MessageQueueTransactionType.AUTOMATIC


def failing(label: str) -> None:
    """Fail for labels that say so."""
    if "bad" in label:
        raise RuntimeError("the part is not in stock")


@pytest.mark.parametrize("serialized", [True, False])
def test_retrieval_removes_what_a_rule_has_acted_on(at: MsmqSite, serialized: bool) -> None:
    queue = at.create()
    send(queue, "urgent 1", "other", "urgent bad", "urgent 2")
    rule = Rule(
        "1",
        conditions=[LabelContains("urgent")],
        action=Call(failing, (MessageProperty.LABEL,)),
    )
    watched = Trigger(
        "T", queue, rules=[rule], processing=Processing.RETRIEVAL, serialized=serialized
    )
    with running(at.home, watched) as service:
        assert activated(service) == ["urgent 1", "other", "urgent bad", "urgent 2"]
        errors = [one.error for one in service.activations]
    assert labels(queue) == ["other", "urgent bad"]
    assert errors == [None, None, "the part is not in stock", None]


def test_transactional_retrieval_commits_with_the_work_of_the_action(at: MsmqSite) -> None:
    queue = at.create(transactional=True)
    done = at.create("done", transactional=True)
    send_together(at.home, queue, "1", "bad", "2")

    def work(label: str) -> None:
        done.send("x", label=label, transaction=AUTOMATIC)
        failing(label)

    watched = trigger(queue, work, processing=Processing.TRANSACTIONAL_RETRIEVAL, serialized=True)
    with running(at.home, watched) as service:
        assert activated(service) == ["1", "bad", "2"]
    assert [(one.label, one.abort_count) for one in queue] == [("bad", 1)]
    assert labels(done) == ["1", "2"]


def test_a_message_that_another_program_takes_is_not_retrieved(at: MsmqSite) -> None:
    queue = at.create()
    send(queue, "1", "2")
    thief = at.open_home()
    watched = trigger(
        queue,
        lambda label: thief.receive(0) if label == "1" else None,
        processing=Processing.RETRIEVAL,
        serialized=True,
    )
    with running(at.home, watched) as service:
        assert activated(service) == ["1", "2"]
        assert "not on queue" in (service.activations[0].error or "")
    assert labels(queue) == []


def test_a_program_that_fails(at: MsmqSite) -> None:
    queue = at.create()
    send(queue, "1")
    rules = [Rule("1", action=Run("sh", ("-c", "exit 3")))]
    missing = [Rule("2", action=Run("/no/such/program"))]
    with running(at.home, Trigger("T", queue, rules=rules, serialized=True)) as service:
        activated(service)
        assert service.activations[0].error == "sh ended with status 3"
    with running(at.home, Trigger("U", queue, rules=missing, serialized=True)) as service:
        activated(service)
        assert "127" in (service.activations[0].error or "")
        assert service.statistics()["failures"] == 1


def test_programs_of_other_directories_are_not_started(at: MsmqSite, tmp_path: Path) -> None:
    queue = at.create()
    send(queue, "1")
    folder = tmp_path / "programs"
    folder.mkdir(mode=0o755)
    script = folder / "worker"
    script.write_text("#!/bin/sh\nexit 3\n")
    script.chmod(0o755)
    allowed = AllowedPrograms([folder], pwd.getpwuid(os.geteuid()).pw_name)
    rules = [Rule("1", action=Run("worker")), Rule("2", action=Run("sh", ("-c", "exit 4")))]
    watched = Trigger("T", queue, rules=rules, serialized=True)
    with running(at.home, watched, allowed=allowed) as service:
        activated(service)
        (error,) = [one.error for one in service.activations]
    assert error == (
        f"worker ended with status 3; sh is not started: it is no program in {folder}, where "
        "programs have to be"
    )


def test_programs_run_beside_a_trigger_that_is_not_serialized(at: MsmqSite, tmp_path: Path) -> None:
    queue = at.create()
    send(queue, "1", "2")
    program = Run("sh", ("-c", 'sleep 60 & echo $! >> "$0"; wait', str(tmp_path / "pids")))
    with running(at.home, Trigger("T", queue, rules=[Rule("1", action=program)])) as service:
        assert activated(service) == ["1", "2"]  # no program was waited for


def test_several_triggers_of_a_queue(at: MsmqSite) -> None:
    queue = at.create()
    send(queue, "1", "2")
    calls: list[str] = []
    triggers = [
        Trigger(
            name,
            queue,
            rules=[Rule("r", action=Call(lambda label, n=name: calls.append(n + label), LABEL))],
            serialized=True,
        )
        for name in ("A", "B")
    ]
    with running(at.home, *triggers) as service:
        activated(service)
        assert calls == ["A1", "B1", "A2", "B2"]
        service.remove("A")
        send(queue, "3")
        activated(service)
        assert calls[4:] == ["B3"]


LABEL = (MessageProperty.LABEL,)


def test_triggers_that_do_not_go_together(at: MsmqSite) -> None:
    queue = at.create()
    service = TriggerService(at.home)
    service.add(Trigger("A", queue))
    for wrong in (
        Trigger("A", queue),
        Trigger("B", queue, serialized=True),
        Trigger("B", queue, processing=Processing.RETRIEVAL),
    ):
        with pytest.raises(InvalidOperationError):
            service.add(wrong)
    with pytest.raises(InvalidOperationError):
        service.remove("B")
    with pytest.raises(InvalidOperationError):
        service.pending_peeks("B")


def test_a_missing_queue_is_refused_at_the_start(at: MsmqSite) -> None:
    service = TriggerService(at.home)
    service.add(Trigger("A", path("nowhere")))
    with pytest.raises(MessageQueueException, match="nowhere"):
        service.start()
    queue = at.create()
    service.remove("A")
    service.add(Trigger("B", queue))
    service.start()
    with pytest.raises(MessageQueueException):
        service.add(Trigger("A", path("nowhere")))
    with pytest.raises(InvalidOperationError):
        service.start()
    assert [one.name for one in service.triggers] == ["B"]
    service.stop()
    service.stop()


def test_a_disabled_trigger_does_nothing(at: MsmqSite) -> None:
    queue = at.create()
    send(queue, "1")
    with running(at.home, trigger(queue, enabled=False)) as service:
        assert activated(service) == []
        assert at.waiting_reads() == 0


def test_a_trigger_is_enabled_and_disabled_in_a_service_that_runs(at: MsmqSite) -> None:
    queue = at.create()
    first, other = trigger(queue, enabled=False), trigger(queue)
    other._name = "Other"
    with running(at.home, first, other) as service:
        send(queue, "1")
        assert activated(service) == ["1"]
        first.enabled = True
        send(queue, "2")
        assert activated(service) == ["1", "2", "2"]
        first.enabled = False
        other.enabled = False
        send(queue, "3")
        assert activated(service) == ["1", "2", "2"]
        until(lambda: at.waiting_reads() == 0)
        first.enabled = True
        assert activated(service)[3:] == ["1", "2", "3"]  # from the head, as when started
        service.remove(first.name)
        first.enabled = False
        first.enabled = True
        until(lambda: at.waiting_reads() == 0)
    assert (first._watchers, len(other._watchers)) == ([], 1)


def test_a_trigger_whose_queue_cannot_be_opened_stays_disabled(at: MsmqSite) -> None:
    lost = Trigger("lost", path("nowhere"), enabled=False)
    with running(at.home, lost):
        with pytest.raises(MessageQueueException):
            lost.enabled = True
        assert not lost.enabled
        at.create("nowhere")
        lost.enabled = True
        assert lost.enabled


def test_a_service_goes_on_after_a_restart_of_the_queue_manager(at: MsmqSite) -> None:
    queue = at.create()
    send(queue, "1", "2")
    with running(at.home, trigger(queue)) as service:
        assert activated(service) == ["1", "2"]
        at.manager.crash()
        at.manager.start()
        send(queue, "3")
        came = threading.Event()
        while not came.wait(0.01):
            if [one.label for one in service.activations][-1] == "3":
                came.set()
        assert activated(service) == ["1", "2", "1", "2", "3"]  # from the head, as when started


def test_a_deleted_queue_ends_its_triggers_and_no_others(at: MsmqSite) -> None:
    queue, other = at.create(), at.create("other")
    triggers = [
        Trigger(name, one, rules=[Rule("r", action=Call(lambda: None))])
        for name, one in (("A", queue), ("B", other))
    ]
    with running(at.home, *triggers) as service:
        activated(service)
        at.home.delete(queue.path)
        send(other, "1")
        assert activated(service) == ["1"]


def test_run_ends_with_stop(at: MsmqSite) -> None:
    queue = at.create()
    service = TriggerService(at.home)
    came = threading.Event()
    service.add(trigger(queue, lambda label: came.set()))
    thread = threading.Thread(target=service.run)
    thread.start()
    send(queue, "1")
    assert came.wait(IDLE_S)
    service.stop()
    thread.join(IDLE_S)
    assert not thread.is_alive()
    assert at.waiting_reads() == 0


def test_wait_idle_says_when_it_is_not(at: MsmqSite) -> None:
    queue = at.create()
    send(queue, "1")
    goes_on, entered = threading.Event(), threading.Event()

    def wait(_: str) -> None:
        entered.set()
        goes_on.wait(IDLE_S)

    with running(at.home, trigger(queue, wait)) as service:
        assert entered.wait(IDLE_S)
        assert not service.wait_idle(0.05)
        goes_on.set()
        assert service.wait_idle(IDLE_S)


def test_a_message_that_cannot_be_read_by_a_condition_is_a_failure(at: MsmqSite) -> None:
    queue = at.create()
    queue.send(Message(b"\xff\xfe"))
    rule = Rule("1", action=Call(lambda body: None, (MessageProperty.BODY,)))
    with running(at.home, Trigger("T", queue, rules=[rule])) as service:
        activated(service)
        assert service.activations[0].error is None


def test_actions_that_are_wrong() -> None:
    for wrong in ("", "module", ":f", "os:nothing", "os:path"):
        with pytest.raises(InvalidValue):
            Call(wrong)
    with pytest.raises(TypeError):
        Call(print, "label")  # type: ignore[arg-type]
    with pytest.raises(InvalidValue):
        Run("")


@pytest.mark.parametrize("name", [r".\private$\orders", r"DIRECT=OS:home\PRIVATE$\Orders"])
def test_finding_msmq_d7_one_queue_under_two_names(at: MsmqSite, name: str) -> None:
    at.create()
    service = TriggerService(at.home)
    service.add(Trigger("A", path("orders")))
    for wrong in (Trigger("B", name, serialized=True), Trigger("C", name, processing=RETRIEVAL)):
        with pytest.raises(InvalidOperationError, match="of several triggers on queue"):
            service.add(wrong)
    service.add(Trigger("D", name))
    service.start()
    assert service.statistics()["queues"] == 1
    service.stop()


RETRIEVAL = Processing.RETRIEVAL


def record(label: str) -> None:
    """Send the label on, in the transaction of the trigger, as a function of a file does."""
    done = current_host().open(path("done"))
    done.send("x", label=label, transaction=AUTOMATIC)
    failing(label)


@pytest.mark.parametrize("serialized", [True, False])
def test_finding_msmq_d1_a_function_of_a_file_joins_the_transaction(
    at: MsmqSite, serialized: bool
) -> None:
    queue = at.create(transactional=True)
    done = at.create("done", transactional=True)
    send_together(at.home, queue, "good", "bad")
    rule = Rule("1", action=Call(f"{__name__}:record", LABEL))
    watched = Trigger(
        "T",
        queue,
        rules=[rule],
        processing=Processing.TRANSACTIONAL_RETRIEVAL,
        serialized=serialized,
    )
    with running(at.home, watched, max_repeats=1) as service:
        activated(service)
    assert (labels(queue), labels(done)) == (["bad"], ["good"])
    with pytest.raises(InvalidOperationError, match="no trigger service is calling"):
        current_host()


def test_finding_msmq_d1_a_scope_of_another_host_is_warned_of(
    at: MsmqSite, caplog: pytest.LogCaptureFixture
) -> None:
    at.create("done", transactional=True)
    done = at.open_away("done")
    with transaction_scope(at.home):
        done.send("x", transaction=AUTOMATIC)
    assert "takes part in no transaction" in caplog.text
    assert "current_host()" in caplog.text


@pytest.mark.parametrize("action", [Call(failing, ("bad",)), Run("false")])
@pytest.mark.parametrize("serialized", [True, False])
@pytest.mark.parametrize("processing", list(Processing))
def test_finding_msmq_d5_each_rule_acts_by_itself(
    at: MsmqSite, action: Call | Run, serialized: bool, processing: Processing
) -> None:
    queue = at.create(transactional=True)
    send_together(at.home, queue, "1")
    calls: list[str] = []
    rules = [Rule("a", action=action), Rule("b", action=Call(calls.append, LABEL))]
    watched = Trigger("T", queue, rules=rules, serialized=serialized, processing=processing)
    with running(at.home, watched, max_repeats=1) as service:
        activated(service)
        (found,) = service.activations
    waited = isinstance(action, Call) or serialized or processing is not Processing.PEEKING
    in_transaction = processing is Processing.TRANSACTIONAL_RETRIEVAL
    assert calls == ([] if in_transaction else ["1"])  # what would be undone is not begun
    assert found.rules_failed == (("a",) if waited else ())
    assert ("b" in found.rules_acted) == (not in_transaction)
    assert (found.error is not None) == waited
    assert labels(queue) == ["1"]


def test_finding_msmq_d12_repeats_for_one_message_become_seldom(
    at: MsmqSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses = [service_module.pause_before(count) for count in range(1, 80)]
    assert pauses[:59] == [0.0] * 59
    assert pauses[59:] == sorted(pauses[59:])
    assert (pauses[59], pauses[-1]) == (0.01, 1.0)
    monkeypatch.setattr(service_module, "PAUSE_S_MAX", 600.0)
    monkeypatch.setattr(service_module, "PAUSE_S", 600.0)
    queue = at.create(transactional=True)
    send_together(at.home, queue, "1")
    calls = threading.Semaphore(0)

    def fail(label: str) -> None:
        calls.release()
        raise RuntimeError(label)

    watched = trigger(queue, fail, processing=Processing.TRANSACTIONAL_RETRIEVAL)
    with running(at.home, watched) as service:
        for _ in range(service_module.REPEATS_AT_ONCE - 1):
            assert calls.acquire(timeout=IDLE_S)
    assert len(service.activations) == service_module.REPEATS_AT_ONCE - 1  # stop() ends the pause


def test_a_stop_that_comes_before_the_first_run_ends_it(at: MsmqSite) -> None:
    service = TriggerService(at.home)
    service.add(trigger(at.create()))
    service.stop()
    running = threading.Thread(target=service.run, daemon=True)
    running.start()
    running.join(IDLE_S)
    assert not running.is_alive()
    assert service.statistics()["queues"] == 0
    service.start()
    try:
        assert service.wait_idle(IDLE_S), "another start is not ended by it"
    finally:
        service.stop()


@pytest.mark.parametrize("waits", [True, False])
def test_a_queue_that_is_created_again_is_monitored_for_triggers_that_are_added_then(
    at: MsmqSite, waits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the monitor has not seen yet that its queue is gone."""
    monkeypatch.setattr(monitor_module, "PAUSE_S", 0.01)
    queue = at.create()
    with running(at.home, trigger(queue)) as service:
        assert activated(service) == []
        at.home.delete(queue.path)
        if waits:
            until(lambda: service.statistics()["queues"] == 0)
        again = at.create()
        send(again, "1")
        rules = [Rule("all", action=Call(failing, (MessageProperty.LABEL,)))]
        service.add(Trigger("another", queue, rules=rules))
        until(lambda: {one.trigger for one in service.activations} == {"PrivateTrigger", "another"})
        assert set(activated(service)) == {"1"}
        assert service.statistics()["queues"] == 1
        at.home.delete(queue.path)
        until(lambda: service.statistics()["queues"] == 0)
        assert service.wait_idle(IDLE_S)


def test_repeats_are_counted_for_a_message_and_not_for_its_place(at: MsmqSite) -> None:
    queue = at.create()
    send(queue, "1")
    watched = trigger(queue)
    with running(at.home, watched, max_repeats=1) as service:
        assert activated(service) == ["1"]
        watched.enabled = False
        at.home.delete(queue.path)
        send(at.create(), "2")
        watched.enabled = True
        assert activated(service) == ["1", "2"]
        assert service.statistics()["repeats_stopped"] == 0


def test_copies_of_one_send_are_no_repeats(at: MsmqSite) -> None:
    queue = at.create()
    with running(at.home, trigger(queue), max_repeats=1) as service:
        both = at.home.open(f"{queue.path},{queue.path}", access=QueueAccessMode.SEND)
        send(both, "1")
        assert activated(service) == ["1", "1"]


def test_a_walk_that_begins_again_counts_anew(
    at: MsmqSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(monitor_module, "PAUSE_S", 0.01)
    queue = at.create(transactional=True)
    send_together(at.home, queue, "bad")
    with running(at.home, trigger(queue, failing), max_repeats=1) as service:
        assert activated(service) == ["bad"]
        at.manager.restart()
        until(lambda: len(service.activations) == 2)
        assert activated(service) == ["bad", "bad"]


def test_all_names_of_this_machine_are_one_queue(at: MsmqSite) -> None:
    queue = at.create()
    names = (queue.path, r".\private$\orders", r"localhost\private$\orders")
    rules = [Rule("all", action=Call(failing, (MessageProperty.LABEL,)))]
    many = [Trigger(f"T{at}", name, rules=rules) for at, name in enumerate(names)]
    with running(at.home, *many) as service:
        assert service.statistics()["queues"] == 1


def test_a_trigger_is_added_while_another_thread_waits_until_all_are_idle(at: MsmqSite) -> None:
    queue = at.create()
    with running(at.home, trigger(queue)) as service:
        rules = [Rule("all", action=Call(failing, (MessageProperty.LABEL,)))]
        adding = threading.Thread(target=service.add, args=(Trigger("T", queue, rules=rules),))
        with service._changed:  # as wait_idle() has it when it asks whether all are idle
            adding.start()
            adding.join(IDLE_S)
            assert not adding.is_alive()
