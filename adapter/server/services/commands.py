"""The command server of a queue manager's process, started when it is first needed.

Most queue managers in tests, and many others, are never asked anything by messages. It is needed
as soon as a program opens the command queue to put to it, or a message is there that came another
way: from another queue manager, or as a publication. All methods are called on the event loop's
thread. This module does not know what a command is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import structlog

from adapter.core.attributes.objects import KINDS, QUEUE_MANAGER
from adapter.core.contract.parties import Principal
from adapter.host import watched
from adapter.runtime.owner.owner import Owner
from adapter.server.process.parts import AcceptOwn, Part

if TYPE_CHECKING:
    from adapter.administration.pcf.command_server import CommandServer

AGAIN_S = 5.0
"""When a start that has failed is tried again."""
log = structlog.get_logger("mqk.commands")

COMMAND_QUEUE: str = KINDS[QUEUE_MANAGER]["command_queue"].default


class CommandService(Part):
    """Starts the command server once, and ends it."""

    def __init__(self, owner: Owner, accept: Callable[[Principal], asyncio.Protocol]) -> None:
        """accept: makes the server's end of a connection for a principal, on this event loop."""
        self._owner = owner
        self._accept = accept
        self._served: CommandServer | None = None
        self._starting: asyncio.Future[None] | None = None
        self._ended = False

    async def start(self, accept: AcceptOwn) -> None:  # noqa: ARG002 -- its clients are others
        """Serve the command queue if messages wait on it."""
        waiting = {one.name for one in self._owner.queue_statuses() if one.current_depth}
        if COMMAND_QUEUE in waiting:
            self.need()

    def need(self) -> None:
        """Let the command queue be served by a client in this process."""
        if self._starting is not None or self._ended:
            return
        loop = asyncio.get_running_loop()

        def started(future: asyncio.Future[None]) -> None:
            if future.exception() is None:
                return
            log.error(
                "the command server does not start; it is tried again",
                reason=str(future.exception()),
                exc_info=future.exception(),
            )
            self._starting = None
            loop.call_later(AGAIN_S, self.need)

        work = partial(self._serve, loop)
        name = "the start of the command server"
        self._starting = watched.in_thread(name, work, started, log.error)

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        # A client in the server's process: what does without it does not load it.
        from adapter.administration.pcf.command_server import CommandServer  # noqa: PLC0415

        served = CommandServer(self._owner.name, loop, self._accept)
        served.start()
        self._served = served

    async def stop(self) -> None:
        """End it, if it was started."""
        self._ended = True
        if self._starting is not None:
            await asyncio.wait({self._starting})
        if self._served is not None:
            await asyncio.get_running_loop().run_in_executor(None, self._served.stop)

    def figures(self) -> dict[str, Any]:
        """Return its figures; none if it was not needed."""
        return {"commands": {} if self._served is None else self._served.statistics()}
