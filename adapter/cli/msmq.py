"""mqk msmq: servers for programs of MSMQ.

What they do is adapter.msmq's; here is how they are called and how they end.
"""

from __future__ import annotations

import click

from adapter.cli.trigger_monitor import tell_all
from adapter.command import failures, options, signals
from adapter.msmq import connect
from adapter.msmq.read_response import ReadResponseServer

LOGGER = "adapter.msmq"


@click.group()
def msmq() -> None:
    """Servers for programs of MSMQ."""


@msmq.command("read-response")
@click.argument("input_queue", metavar="INPUT_QUEUE")
@click.argument("request_queue", metavar="REQUEST_QUEUE")
@options.queue_manager
def read_response(input_queue: str, request_queue: str, qmgr: str) -> None:
    r"""Send messages of INPUT_QUEUE to the programs that ask for them, until SIGTERM or Ctrl-C.

    For each request on REQUEST_QUEUE one message of INPUT_QUEUE is sent to the response queue that
    the request names, in one transaction. Both are transactional queues of this queue manager, such
    as '.\private$\orders'.

    Exit status: 0 after SIGTERM, 130 after Ctrl-C, 1 if a queue is missing or not transactional.
    """
    tell_all(LOGGER)
    with connect(qmgr, application="mqk read-response") as host:
        server = ReadResponseServer(host, input_queue, request_queue)
        with signals.ending(server.stop):
            failures.tell(f"serving requests on {request_queue} of {host.queue_manager}")
            server.run()
    failures.tell("the read-response server has ended")
