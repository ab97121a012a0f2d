"""Publishers and subscribers on a core that has what every queue manager has."""

from typing import Any

from adapter.core.contract import commands as c
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import MessageData
from adapter.core.contract.results import PutDone, Subscribed
from tests.support.core import Client, Core

MANAGED = c.CREATE | c.MANAGED
DURABLE = c.CREATE | c.MANAGED | c.DURABLE
PUBLISHER = 50
"""The handle by which publish() does."""


def core_with_topics(limits: Limits | None = None) -> Core:
    """A core with SYSTEM objects."""
    core = Core(limits)
    core.configure()
    return core


def publish(
    client: Client,
    topic: str,
    *bodies: str,
    unit: bytes = b"",
    options: int = 0,
    level: int = 9,
    **fields: Any,
) -> PutDone:
    """Publish by a handle that is opened for it."""
    client.do(c.OpenTopic(PUBLISHER, topic))
    messages = [MessageData(body=body.encode(), **fields) for body in bodies]
    done = client.do(c.Put(PUBLISHER, messages, unit, options, level))
    client.do(c.Close(PUBLISHER))
    assert isinstance(done, PutDone), done
    return done


def subscribe(
    client: Client, topic: str, options: int = MANAGED, *, handle: int = 10, **fields: Any
) -> Subscribed:
    """Subscribe; the queue is opened by the handle one higher."""
    command = c.Subscribe(handle, topic, "", options=options, queue_handle=handle + 1, **fields)
    done = client.do(command)
    assert isinstance(done, Subscribed), done
    return done
