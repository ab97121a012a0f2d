"""Names of queues for the tab key: asked of the queue manager, and none if it does not answer."""

from __future__ import annotations

import threading

import click
from click.shell_completion import CompletionItem

import adapter
from adapter.command import options
from adapter.errors import Error

ANSWER_S = 1.0
"""A person waits at the prompt."""


def queues(
    context: click.Context, _argument: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the queues whose names begin so; without an answer in time, none."""
    address = context.params.get("qmgr") or options.DEFAULT_ADDRESS
    found: list[str] = []
    asking = threading.Thread(target=ask, args=(address, incomplete, found), daemon=True)
    asking.start()
    asking.join(ANSWER_S)
    return [CompletionItem(name) for name in list(found)]


def ask(address: str, beginning: str, found: list[str]) -> None:
    """Add the names of the queues that begin so."""
    try:
        with adapter.connect(
            address, connect_timeout_s=ANSWER_S, reconnect_timeout_s=0.0, application="mqk"
        ) as qm:
            found += [one.name for one in qm.queues(f"{beginning}*")]
    except Error:  # nothing may be written between the words of a command line
        pass
