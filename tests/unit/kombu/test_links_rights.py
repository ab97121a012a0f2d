"""A worker with few rights: it has its queue, and the part of the topics that kombu uses."""

from collections.abc import Iterator
from pathlib import Path

import kombu
import pytest
from kombu.exceptions import ChannelError

from adapter import testing
from adapter.errors import NotAuthorized
from adapter.kombu import MqkTransport
from adapter.server.access import credentials
from adapter.testing import TestQueueManager
from tests.support.passwords import hash_cheaply

OTHER = {"direct": "topic", "topic": "fanout", "fanout": "direct"}


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[TestQueueManager]:
    users = tmp_path / "users"
    credentials.write(users, {name: hash_cheaply(name) for name in ("ann", "bob", "eve")})
    socket = tmp_path / "socket"
    with testing.queue_manager(
        "QM1", credentials_file=users, authorities=True, unix_path=socket
    ) as manager:
        with manager.connect() as operator:
            operator.define_queue("work")
            operator.define_object("topic", "KOMBU", topic_string="kombu")
            for role in ("app-put", "app-get"):
                operator.set_role(role, "work", users=["ann", "bob"])
            operator.set_authority("KOMBU", "topic", users=["ann", "bob"], add=["pub", "sub"])
            operator.set_authority("", "qmgr", users=["eve"], add=["connect", "inq"])
        yield manager


def url(manager: TestQueueManager, user: str) -> str:
    return f"{MqkTransport.driver_name}://{user}:{user}@{manager.address}"


def test_tasks_and_replies(guarded: TestQueueManager) -> None:
    work = kombu.Queue("work", kombu.Exchange("work"), "work")
    reply_to = kombu.Queue("reply-1", kombu.Exchange("replies"), "reply-1", auto_delete=True)
    with (
        kombu.Connection(url(guarded, "ann")) as worker,
        kombu.Connection(url(guarded, "ann")) as asker,
    ):
        replies = asker.SimpleQueue(reply_to)
        tasks = worker.SimpleQueue(work)
        asker.Producer().publish("task", exchange="work", routing_key="work", declare=[work])
        task = tasks.get(timeout=10)
        assert task.payload == "task"
        worker.Producer().publish("done", exchange="", routing_key="reply-1")
        worker.Producer().publish("again", exchange="replies", routing_key="reply-1")
        task.ack()
        for said in ("done", "again"):
            reply = replies.get(timeout=10)
            assert reply.payload == said
            reply.ack()


def test_who_may_not_put_hears_so(guarded: TestQueueManager) -> None:
    with (
        kombu.Connection(url(guarded, "eve")) as stranger,
        pytest.raises(NotAuthorized),
    ):
        stranger.Producer().publish("x", exchange="", routing_key="work")


@pytest.mark.parametrize("kind", ["direct", "topic", "fanout"])
def test_users_with_the_same_rights_declare_the_same(guarded: TestQueueManager, kind: str) -> None:
    work = kombu.Queue("work", kombu.Exchange("work", kind), "work")
    for _ in range(2):
        for user in ("ann", "bob"):
            with kombu.Connection(url(guarded, user)) as program:
                work(program.default_channel).declare()
                program.Producer().publish(user, exchange="work", routing_key="work")
    with kombu.Connection(url(guarded, "bob")) as worker:
        got = [work(worker.default_channel).get(no_ack=True).payload for _ in range(4)]
    assert got == ["ann", "bob"] * 2
    with kombu.Connection(url(guarded, "bob")) as other, pytest.raises(ChannelError, match="406"):
        kombu.Exchange("work", OTHER[kind])(other.default_channel).declare()
