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
from adapter.format import names
from adapter.ledger.kafka import KafkaLedger
from adapter.ledger.port import LedgerUnavailable
from adapter.movers.process import MoverProcess, MoverSettings
from adapter.owner.clock import SystemClock
from adapter.owner.replay import LedgerUnreadableError
from adapter.server.listener import NotLoopbackError
from adapter.server.server import Server
from adapter.topics import TopicSettings, ensure_ledger_topic

SWITCH_INTERVAL_S = 0.0001
"""How long a busy thread keeps the interpreter from the loop. With Python's 5 ms the median of a
commit beside a busy thread was up to 12 ms, with 0.1 ms about 2 ms."""
GC_THRESHOLD = 100_000
"""Messages make no cycles: looking for some every 700 allocations costs more than it frees."""

log = structlog.get_logger("mqk.server")


class ServerSettings(Struct, kw_only=True):
    """What a server needs to know."""

    queue_manager: str
    bootstrap_servers: str
    host: str = "127.0.0.1"
    port: int = 1414
    kafka_options: dict[str, str] = {}
    topics: TopicSettings = TopicSettings()
    movers: bool = True


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
    server = _wire(settings)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, server.stopping.set)
    try:
        host, port = await server.start(settings.host, settings.port)
    except (LedgerUnavailable, LedgerUnreadableError, NotLoopbackError) as error:
        raise StartError(str(error), settings.queue_manager) from error
    except OSError as error:
        raise StartError(
            f"{settings.host}:{settings.port} cannot be listened on: {error.strerror or error}; "
            "choose another port with --listen",
            settings.queue_manager,
        ) from error
    ready = Ready(settings.queue_manager, host, port)
    print(msgspec.json.encode(ready).decode(), file=out, flush=True)
    failure = await server.run()
    await server.stop()
    if failure:
        raise StartError(failure, settings.queue_manager)


def _wire(settings: ServerSettings) -> Server:
    topic = names.ledger_topic(settings.queue_manager)
    ensure_ledger_topic(settings.bootstrap_servers, topic, settings.topics, settings.kafka_options)
    ledger = KafkaLedger(settings.bootstrap_servers, topic, settings.kafka_options)
    movers = MoverProcess(
        MoverSettings(
            queue_manager=settings.queue_manager,
            bootstrap_servers=settings.bootstrap_servers,
            kafka_options=settings.kafka_options,
            topics=settings.topics,
        )
    )
    return Server(settings.queue_manager, ledger, SystemClock(), movers)


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
