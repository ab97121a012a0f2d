"""The server's process: `python -m adapter.server.main`, settings as JSON on standard input.

It prints one line of JSON when it serves, logs to standard error, and ends with status 0 when it
was told to stop, 1 otherwise. `mqk qmgr start` runs the same code in its own process.
"""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
from typing import TextIO

import msgspec
import structlog
import uvloop
from msgspec import Struct

from adapter.errors import StartError
from adapter.owner.clock import SystemClock
from adapter.owner.replay import LedgerUnreadableError
from adapter.server import kafka_wiring
from adapter.server.kafka_wiring import KafkaSettings, LedgerError, TopicError
from adapter.server.listener import NotLoopbackError
from adapter.server.server import Server

SWITCH_INTERVAL_S = 0.0001
"""How long a busy thread keeps the interpreter from the loop. With Python's 5 ms the median of a
commit beside a busy thread was up to 12 ms, with 0.1 ms about 2 ms."""
GC_THRESHOLD = 100_000
"""Messages make no cycles: looking for some every 700 allocations costs more than it frees."""
START_ERRORS = (LedgerError, LedgerUnreadableError, NotLoopbackError, TopicError)


class ServerSettings(Struct, kw_only=True):
    """What a server needs to know."""

    queue_manager: str
    kafka: KafkaSettings
    host: str = "127.0.0.1"
    port: int = 1414


class Ready(Struct):
    """The line that is printed when the server serves."""

    queue_manager: str
    host: str
    port: int


def run(settings: ServerSettings, out: TextIO = sys.stdout) -> None:
    """Serve until told to stop (SIGTERM, SIGINT or a client's Stop); StartError says why not."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    gc.set_threshold(GC_THRESHOLD)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(settings, out))


async def _serve(settings: ServerSettings, out: TextIO) -> None:
    loop = asyncio.get_running_loop()
    name = settings.queue_manager
    try:
        wired = await loop.run_in_executor(None, kafka_wiring.wire, name, settings.kafka)
        movers = wired.movers()
        storage = wired.storage(movers)
        server = Server(name, wired.ledger(), SystemClock(), movers, storage=storage)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, server.stopping.set)
        host, port = await server.start(settings.host, settings.port)
    except START_ERRORS as error:
        raise StartError(str(error), name) from error
    except OSError as error:
        raise StartError(
            f"{settings.host}:{settings.port} cannot be listened on: {error.strerror or error}; "
            "choose another port with --listen",
            name,
        ) from error
    print(msgspec.json.encode(Ready(name, host, port)).decode(), file=out, flush=True)
    failure = await server.run()
    await server.stop()
    if failure:
        raise StartError(failure, name)


def configure_logging() -> None:
    """Log to standard error, one line an event, as key=value pairs."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.KeyValueRenderer(key_order=["timestamp", "level", "event"]),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


def main() -> int:
    """Read settings from standard input and serve."""
    configure_logging()
    try:
        run(msgspec.json.decode(sys.stdin.buffer.read(), type=ServerSettings))
    except (StartError, msgspec.DecodeError) as error:
        print(f"mqk: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
