"""A verb that is written once: what it is on an object of threads, and on one of tasks."""

import inspect

import pytest

import adapter
from adapter import aio
from adapter.client.admin import Administration
from adapter.client.administered import AdministeredQueue
from adapter.client.consumer import ConsumerVerbs
from adapter.client.verb import Verb

VERBS = [
    (kind, name, threads, tasks)
    for kind, threads, tasks in (
        (Administration, adapter.Connection, aio.Connection),
        (AdministeredQueue, adapter.Queue, aio.Queue),
        (ConsumerVerbs, adapter.Consumer, aio.Consumer),
    )
    for name, member in vars(kind).items()
    if isinstance(member, Verb)
]


@pytest.mark.parametrize(
    ("kind", "name", "threads", "tasks"), VERBS, ids=[name for _, name, *_ in VERBS]
)
def test_both_faces_show_what_it_takes_and_returns(
    kind: type, name: str, threads: type, tasks: type
) -> None:
    called, awaited = getattr(threads, name), getattr(tasks, name)
    assert inspect.isfunction(called)
    assert not inspect.iscoroutinefunction(called)
    assert inspect.iscoroutinefunction(awaited)
    assert called.__doc__ == awaited.__doc__ == vars(kind)[name].__doc__
    assert called.__doc__
    assert inspect.signature(called) == inspect.signature(awaited)
    assert "Steps" not in str(inspect.signature(called).return_annotation)


def test_it_is_a_method(qm: adapter.Connection) -> None:
    assert [queue.name for queue in qm.queues()] == ["Q"]
    assert list(inspect.signature(qm.delete_queue).parameters) == ["name", "purge"]
    with pytest.raises(TypeError):
        qm.delete_queue()  # type: ignore[call-arg]
