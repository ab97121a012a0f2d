"""mqk broker list, inspect, end, queue, alerts and activate: Service Broker for operators.

What the statements mean is the queue manager's; here is how they are called and what is shown.
"""

from __future__ import annotations

import json
import os
import threading
import urllib.request
from operator import attrgetter
from uuid import UUID

import click

from adapter import servicebroker
from adapter.cli import output
from adapter.cli.trigger_monitor import environment, tell_all
from adapter.command import failures, options, signals
from adapter.core.attributes.broker import ROLLBACKS_MAX
from adapter.core.contract.broker import EVENTS, QUEUE_DISABLED
from adapter.host import launch
from adapter.host.allowed import AllowedPrograms
from adapter.servicebroker.activation import as_argument

WEBHOOK_TIMEOUT_S = 10.0
PROGRAM_TIMEOUT_S = 300.0
STOP_GRACE_S = 5.0


LISTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "queues": (
        "service_queues",
        ("name", "status", "message_count", "receiving", "rollback_count", "activation_procedure"),
    ),
    "services": ("services", ("name", "service_queue")),
    "contracts": (
        "service_contract_message_usages",
        ("service_contract", "message_type", "is_sent_by_initiator", "is_sent_by_target"),
    ),
    "message-types": ("service_message_types", ("name", "validation", "validation_desc")),
    "routes": ("routes", ("name", "remote_service_name", "address")),
    "priorities": (
        "conversation_priorities",
        ("name", "service_contract", "local_service", "remote_service_name", "priority"),
    ),
    "endpoints": (
        "conversation_endpoints",
        ("conversation_handle", "conversation_id", "state", "service_name", "far_service"),
    ),
    "transmission": (
        "transmission_queue",
        ("conversation_id", "to_service_name", "message_type_name", "transmission_status"),
    ),
}
"""What `mqk broker list` shows: the view, and which of its columns are in the table."""


def session(qmgr: str) -> servicebroker.ServiceBroker:
    """Open a session."""
    return servicebroker.connect(qmgr, application="mqk broker")


@click.group()
def broker() -> None:
    """Service Broker: look at conversations and queues, end what cannot go on, watch queues."""


@broker.command("list")
@click.argument("kind", metavar="KIND", type=click.Choice(list(LISTS), case_sensitive=False))
@options.json_output
@options.queue_manager
def show(kind: str, as_json: bool, qmgr: str) -> None:
    """List the objects of a KIND, conversations' endpoints, or messages in transmission.

    KIND is queues, services, contracts, message-types, routes, priorities, endpoints or
    transmission. With --json each line has all columns of the view. A contract has a row for each
    of its message types; transmission has, for each message, why it waits.
    """
    view, columns = LISTS[kind]
    with session(qmgr) as opened:
        rows = getattr(opened, view)()
    output.listing(rows, as_json, columns, attrgetter(*columns))


@broker.command()
@click.argument("queue")
@click.option("--conversation", required=True, type=click.UUID, help="The conversation's handle.")
@click.option("--timeout-ms", default=2000, show_default=True, type=click.IntRange(-1))
@click.option("--force", is_flag=True, help="Also if this turns the queue OFF.")
@options.queue_manager
def inspect(queue: str, conversation: UUID, timeout_ms: int, force: bool, qmgr: str) -> None:
    """Show the next message of a conversation, and leave it on QUEUE.

    The message is received in a transaction that is rolled back, which counts for the queue.
    """
    with session(qmgr) as opened:
        found = opened.inspect(queue, conversation, timeout_ms=timeout_ms, force=force)
    click.echo(found.text)
    failures.tell(f"queue {queue}: {found.rollback_count} of {ROLLBACKS_MAX} rollbacks in a row")


@broker.command()
@click.argument("handle", type=click.UUID)
@click.option("--error", type=click.IntRange(1), help="End with this error code.")
@click.option("--description", help="What the error says.")
@click.option("--cleanup", is_flag=True, help="Forget this side; the other side is not informed.")
@options.queue_manager
def end(handle: UUID, error: int | None, description: str | None, cleanup: bool, qmgr: str) -> None:
    """End the conversation HANDLE: its messages on this side's queue are gone.

    With an error the other side is told that the task has failed. Programs that keep state for the
    conversation are not told: remove that state yourself.
    """
    with session(qmgr) as opened:
        opened.end_conversation(handle, error=error, description=description, cleanup=cleanup)
    output.report(f"conversation {handle} ended")


@broker.command()
@click.argument("name")
@click.option("--on/--off", "status", default=None, help="Turn the queue ON, or OFF.")
@options.json_output
@options.queue_manager
def queue(name: str, status: bool | None, as_json: bool, qmgr: str) -> None:
    """Show the queue NAME, after turning it ON or OFF if that is asked for."""
    with session(qmgr) as opened:
        if status is not None:
            opened.alter_queue(name, status=status)
        shown = opened.queue(name)
    rows = {
        "queue": shown.name,
        "status": "ON" if shown.status else "OFF",
        "messages": shown.message_count,
        "rollback_count": shown.rollback_count,
        "receiving": shown.receiving,
        "retention": shown.retention,
        "poison_message_handling": shown.is_poison_message_handling_enabled,
        **_activation_rows(shown.activation),
    }
    if as_json:
        output.emit(rows)
    else:
        output.table(("attribute", "value"), rows.items())


def _activation_rows(activation: servicebroker.QueueActivation | None) -> dict[str, object]:
    if activation is None:
        return {"activation": "none"}
    return {
        "activation": "ON" if activation.status else "OFF",
        "procedure": activation.procedure,
        "max_queue_readers": activation.max_queue_readers,
    }


@broker.command()
@click.option("--run", "program", help="A program: it is given the event's name and the queue's.")
@click.option("--webhook", help="A URL that the event is posted to, as JSON.")
@click.option(
    "--event",
    default=QUEUE_DISABLED,
    show_default=True,
    type=click.Choice(EVENTS, case_sensitive=False),
)
@options.queue_manager
def alerts(program: str | None, webhook: str | None, event: str, qmgr: str) -> None:
    """Start a program, or call a webhook, for each event of a queue, until SIGTERM or Ctrl-C.

    A program is started with two arguments, the event and the queue, and has the event in its
    environment: MQK_EVENT is a JSON object with event, queue, time and details, as it is posted.
    """
    options.not_both("--run", program, "--webhook", webhook)
    if program is None and webhook is None:
        raise click.UsageError("Give --run or --webhook.")
    stop = threading.Event()

    def alert(one: servicebroker.QueueEvent) -> None:
        text = json.dumps(
            {
                "event": one.event,
                "queue": one.queue,
                "time": one.time.isoformat(),
                "details": one.details,
            }
        )
        failures.tell(f"{one.event}: queue {one.queue}")
        if program is not None:
            _run(program, one, text)
        if webhook is not None:
            _post(webhook, text)

    with session(qmgr) as opened, opened.subscribe(alert, event=event), signals.ending(stop.set):
        failures.tell(f"waiting for {event} of {opened.queue_manager}")
        stop.wait()
    failures.tell("the alerts have ended")


@broker.command()
@click.argument("queues", nargs=-1, metavar="[QUEUE]...")
@click.option(
    "--allow", multiple=True, required=True, metavar="PROCEDURE",
    help="A procedure that may be started, as the queue has it; give each one.",
)  # fmt: skip
@options.allowed_programs
@options.queue_manager
def activate(
    queues: tuple[str, ...], allow: tuple[str, ...], allowed: AllowedPrograms | None, qmgr: str
) -> None:
    """Start the activation procedures of QUEUEs as messages need readers, until SIGTERM or Ctrl-C.

    Without a QUEUE it starts those of every queue. A procedure is a program, which has the queue's
    name as its argument and in MQK_QUEUE, and the queue manager in MQK_QMGR, or a Python callable
    "module:function", which is called with a session and the queue's name. Every client may alter a
    queue's procedure: one that is not given with --allow is reported and not started. At most
    MAX_QUEUE_READERS of a queue run at once, as far as this command starts them: let it run once
    for a queue. After a reader that fails the next one is started later. A queue manager that
    restarts is waited for.

    Exit status: 0 after SIGTERM, 130 after Ctrl-C, 1 if a queue is missing or has no activation.
    """
    tell_all("adapter.servicebroker")
    with session(qmgr) as opened:
        service = servicebroker.ActivationService(
            opened, queues, allow=allow, environment=environment(qmgr), programs=allowed
        )
        with signals.ending(service.stop):
            service.start()
            which = (
                f"queue{'s' * (len(queues) > 1)} {', '.join(queues)}" if queues else "all queues"
            )
            failures.tell(f"activation of {which} of {opened.queue_manager}")
            service.run()
    failures.tell("activation has ended")


def _run(program: str, one: servicebroker.QueueEvent, text: str) -> None:
    """Start a program and wait for its end; what fails is said, and the alerts go on."""
    try:
        child = launch.start(
            [program, one.event, as_argument(one.queue)],
            output=None,
            environment=dict(os.environ) | {"MQK_EVENT": text},
        )
    except OSError as error:
        failures.tell(f"{program} was not started for queue {one.queue}: {error}")
        return
    status = child.wait(PROGRAM_TIMEOUT_S)
    if status is None:
        child.stop_group(STOP_GRACE_S)
        failures.tell(
            f"{program} was ended for queue {one.queue}: it ran {PROGRAM_TIMEOUT_S:.0f} s"
        )
    elif status:
        failures.tell(f"{program} ended with status {status} for queue {one.queue}")


def _post(url: str, text: str) -> None:
    """Post an event; what fails is said, and the alerts go on."""
    try:
        asked = urllib.request.Request(  # noqa: S310 -- an operator gives the URL
            url, text.encode(), {"Content-Type": "application/json"}, method="POST"
        )
        with urllib.request.urlopen(asked, timeout=WEBHOOK_TIMEOUT_S):  # noqa: S310
            pass
    except (OSError, ValueError) as error:
        failures.tell(f"the event was not posted to {url}: {error}")
