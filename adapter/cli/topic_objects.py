"""What `mqk feed` and `mqk export` share: options for attributes, pausing, resuming, what was done.

Options are made from core's one table of attributes. This module does not know which attributes
there are, nor what a topic is for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import adapter
from adapter.cli import output
from adapter.cli.connected import connect
from adapter.cli.queues import attribute_option
from adapter.core.attributes.objects import KINDS

Command = Callable[..., Any]
Settle = Callable[[adapter.Connection], None]
"""Waits until what was asked for is so."""
LOOK_S = 0.02


def attribute_options(kind: str, arguments: Sequence[str]) -> Callable[[Command], Command]:
    """An option for each attribute of a kind but those that are arguments."""

    def add(command: Command) -> Command:
        for row in reversed(KINDS[kind].values()):
            if row.name not in arguments:
                command = attribute_option(row)(command)
        return command

    return add


def set_state(
    kind: str,
    name: str,
    qmgr: str,
    *,
    is_running: bool,
    as_json: bool,
    settle: Settle = lambda _: None,
) -> None:
    """Let an object go on, or pause it, and report that once it is so."""
    with connect(qmgr, f"mqk {kind}") as qm:
        qm.alter_object(kind, name, state="RUNNING" if is_running else "PAUSED")
        settle(qm)
    report(kind, name, "resumed" if is_running else "paused", as_json)


def await_figures(
    qm: adapter.Connection,
    kind: str,
    name: str,
    are_so: Callable[[dict[str, Any]], bool],
    within_s: float,
) -> bool:
    """Wait until the figures of an object are as they must be; False if they are not in time.

    Not waited for: one that was deleted meanwhile, and figures that the client may not see.
    """
    until_s = time.monotonic() + within_s
    try:
        while (figures := qm.figures().get(f"{kind}s", {}).get(name)) and not are_so(figures):
            if time.monotonic() > until_s:
                return False
            time.sleep(LOOK_S)
    except adapter.NotAuthorized:  # who may alter an object need not see what becomes of it
        pass
    return True


def report(kind: str, name: str, what: str, as_json: bool, key: str = "") -> None:
    """Report what was done to an object. key: in JSON, if that is not what."""
    output.done(f"{kind} {name} {what}", as_json, **{kind: name, key or what: True})
