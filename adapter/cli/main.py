"""The mqk command's front: which commands there are, and how every failure ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import partial

import click

from adapter.cli.lazy import LazyCommand, LazyGroup
from adapter.command import failures
from adapter.host import release

COMMANDS = {
    "demo": LazyCommand(
        "mqk_demo.command:demo", "Send real flights through queues, with a kill -9 half way."
    ),
    "kafka": LazyCommand("adapter.cli.kafka:kafka", "A local Kafka: start, stop, status."),
    "qmgr": LazyCommand("adapter.cli.qmgr:qmgr", "Queue managers: start, stop, status, list."),
    "config": LazyCommand("adapter.cli.config:config", "Settings of a queue manager: check, list."),
    "top": LazyCommand("adapter.cli.top:top", "Show depths and rates of queues as they change."),
    "put": LazyCommand("adapter.cli.put:put", "Put messages on a queue."),
    "get": LazyCommand("adapter.cli.get:get", "Get messages from a queue."),
    "browse": LazyCommand(
        "adapter.cli.browse:browse", "Show the messages on a queue; none is removed."
    ),
    "move": LazyCommand("adapter.cli.move:move", "Move messages from one queue to another."),
    "queue": LazyCommand("adapter.cli.queues:queue", "Queues: define, alter, show, delete, purge."),
    "mqsc": LazyCommand("adapter.cli.mqsc:mqsc", "Execute MQSC commands."),
    "consumer": LazyCommand(
        "adapter.cli.consumers:consumer", "Durable consumers, such as Spark jobs: list, delete."
    ),
    "export": LazyCommand(
        "adapter.cli.exports:export",
        "Exports to Kafka topics: define, show, pause, resume, delete.",
    ),
    "feed": LazyCommand(
        "adapter.cli.feeds:feed",
        "Feeds of Kafka topics: define, show, pause, resume, seek, delete.",
    ),
    "connection": LazyCommand(
        "adapter.cli.connections:connection", "Connections and their units of work: list, end."
    ),
    "worker": LazyCommand(
        "adapter.cli.worker:worker", "Call a function with each message of a queue."
    ),
    "trigger-monitor": LazyCommand(
        "adapter.cli.trigger_monitor:trigger_monitor",
        "Start programs when trigger messages arrive.",
    ),
    "dlq-handler": LazyCommand(
        "adapter.cli.dlq_handler:dlq_handler", "Process a dead-letter queue by rules."
    ),
    "triggers": LazyCommand(
        "adapter.cli.triggers:triggers", "Message Queuing Triggers: run, check."
    ),
    "broker": LazyCommand(
        "adapter.cli.broker:broker", "Service Broker: inspect, end, queue, alerts, activate."
    ),
    "msmq": LazyCommand("adapter.cli.msmq:msmq", "Servers for programs of MSMQ: read-response."),
    "registry": LazyCommand(
        "adapter.cli.registry:registry", "Avro schemas: serve, list, show, check, register, diff."
    ),
    "acl": LazyCommand("adapter.cli.acls:acl", "Rights on Kafka: list those that a role needs."),
    "user": LazyCommand("adapter.cli.users:user", "Users and their passwords: add, remove, list."),
    "audit": LazyCommand("adapter.cli.audit:audit", "Show who did what, and what was refused."),
    "group": LazyCommand("adapter.cli.groups:group", "Groups of users: add, remove, list."),
    "auth": LazyCommand(
        "adapter.cli.auth:auth", "Authorities: grant, revoke, list, explain who may do what."
    ),
    "install-pymqi": LazyCommand(
        "adapter.cli.install_pymqi:install_pymqi", "Install pymqi without IBM's client."
    ),
    "spark": LazyCommand("adapter.cli.spark:spark", "Jobs on queues with Apache Spark."),
    "ledger": LazyCommand(
        "adapter.cli.ledger:ledger", "The ledger: show, verify, backup, restore."
    ),
    "doctor": LazyCommand(
        "adapter.cli.doctor:doctor", "Check this machine, Kafka and a queue manager."
    ),
}


def show_version(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    """Print the release and end."""
    if wanted and not context.resilient_parsing:
        click.echo(f"mqk {release.find_installed()}")
        context.exit()


def connect_with(
    variable: str, context: click.Context, _option: click.Parameter, value: str | None
) -> None:
    """Let the connections of this command have what an option says of TLS or of a token."""
    if value is not None:
        os.environ[variable] = value
        context.meta[variable] = value


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    invoke_without_command=True,
    context_settings=dict(failures.CONTEXT),
)
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=show_version,
    help="Print the version and end.",
)  # fmt: skip
@click.option(
    "--tls-ca",
    metavar="FILE",
    expose_value=False,
    callback=partial(connect_with, "MQK_TLS_CA"),
    help="Connect with TLS to queue managers whose certificates are of the authorities in this "
    "file; `system`: of those that the system trusts. As MQK_TLS_CA.",
)
@click.option(
    "--tls-cert",
    metavar="FILE",
    expose_value=False,
    callback=partial(connect_with, "MQK_TLS_CERT"),
    help="The certificate to show to them. As MQK_TLS_CERT.",
)
@click.option(
    "--tls-key", metavar="FILE", expose_value=False, callback=partial(connect_with, "MQK_TLS_KEY"),
    help="Its private key, if it is not in the same file. As MQK_TLS_KEY.",
)  # fmt: skip
@click.option(
    "--tls-key-password-file",
    metavar="FILE",
    expose_value=False,
    callback=partial(connect_with, "MQK_TLS_KEY_PASSWORD_FILE"),
    help="The file whose first line is the password of that key, or of a certificate in PKCS#12. "
    "As MQK_TLS_KEY_PASSWORD_FILE; MQK_TLS_KEY_PASSWORD is the password itself.",
)
@click.option(
    "--token-file",
    metavar="FILE",
    expose_value=False,
    callback=partial(connect_with, "MQK_TOKEN_FILE"),
    help="Connect as the user of the JSON Web Token in this file. As MQK_TOKEN_FILE.",
)
@click.pass_context
def mqk(context: click.Context) -> None:
    """A queue manager on Apache Kafka: message queue semantics, ordinary Kafka topics.

    Begin with `mqk demo`, or with `mqk kafka start` and `mqk qmgr start QM1`.

    Exit status: 0; 1 if the work failed, with the reason as MQRC_NAME where there is one; 2 if the
    command was used wrongly; 130 after Ctrl-C. MQK_DEBUG=1 shows tracebacks.
    """
    of_key = {"MQK_TLS_KEY", "MQK_TLS_KEY_PASSWORD_FILE"} & context.meta.keys()
    if of_key and not os.environ.get("MQK_TLS_CERT"):
        raise click.UsageError(
            "--tls-key and --tls-key-password-file are of the certificate that this command shows: "
            "give --tls-cert too. Those of a queue manager stand behind `qmgr start`"
        )
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit status; raises nothing."""
    return failures.run(mqk, "mqk", arguments)


def main() -> None:
    """The entry point of the installed script."""
    sys.exit(run(sys.argv[1:]))
