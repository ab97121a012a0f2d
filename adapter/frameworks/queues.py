"""Queues of frameworks at the queue manager: whether one exists, and how one comes to exist.

A worker may be a user that gets and puts, and neither defines nor inquires: an administrator has
defined its queues, perhaps as aliases of others. This module does not know how a framework names
its queues.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Literal

import adapter
from adapter.errors import NotAuthorized, ObjectExists, QueueExists, QueueNotFound

_MODES: tuple[Literal["input", "output"], ...] = ("output", "input")


def exists(qm: adapter.Connection, name: str) -> bool:
    """Whether there is a queue, or an alias of one, that the user may put to or get from.

    Raises NotAuthorized if the user may do neither.
    """
    refused: NotAuthorized | None = None
    for mode in _MODES:
        try:
            qm.queue(name, open_for=mode).close()
        except QueueNotFound:
            return False
        except NotAuthorized as error:
            refused = error
        else:
            return True
    assert refused is not None
    raise refused


def define(qm: adapter.Connection, name: str, **attributes: Any) -> None:
    """Define a queue, if it does not exist. One that exists keeps its attributes."""
    with suppress(NotAuthorized):  # perhaps the user may define it
        if exists(qm, name):
            return
    with suppress(QueueExists, ObjectExists):
        qm.define_queue(name, **attributes)


def local_name(qm: adapter.Connection, name: str) -> str:
    """Return the local queue that a name leads to, as of an alias; the name itself if it leads to
    none that the user may see.
    """
    with suppress(NotAuthorized):
        if not qm.queues(name):
            return _alias_target(qm, name) or name
    return name


def backout_queue(qm: adapter.Connection, name: str) -> str:
    """Return the backout queue of a queue, or of that which an alias leads to; "" if it has none.

    Raises NotAuthorized if the user may not see it.
    """
    local = next(iter(qm.queues(name)), None)
    if local is None and (target := _alias_target(qm, name)):
        local = next(iter(qm.queues(target)), None)
    return "" if local is None else str(local.attributes["backout_requeue_queue"])


def _alias_target(qm: adapter.Connection, name: str) -> str:
    alias = next(iter(qm.objects("alias", name)), None)
    return "" if alias is None else str(alias.attributes["target"])
