"""Options that several commands share, and how their values are read.

This module knows how values are written on a command line; it must not know what they are for.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from msgspec import Struct

from adapter.command import default_kafka, failures, streams
from adapter.host import texts
from adapter.host.allowed import AllowedPrograms
from adapter.host.settings import config

Command = TypeVar("Command", bound=Callable[..., Any])

DEFAULT_ADDRESS = "127.0.0.1:1414"
OF_JAVA_CLIENTS = {
    "sasl.jaas.config": "sasl.username and sasl.password",
    "ssl.truststore.location": "ssl.ca.location, with the certificates in PEM",
    "ssl.truststore.password": "ssl.ca.location, with the certificates in PEM",
    "ssl.truststore.type": "ssl.ca.location, with the certificates in PEM",
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.key": "ssl.key.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.type": "ssl.keystore.location, which takes PKCS#12",
}
"""Settings that a file for kafka-topics.sh may have, and what librdkafka has instead."""
PROPERTY_BLANKS = " \t\f"
ESCAPE = re.compile(r"\\.?")


def address(_context: click.Context, _option: click.Parameter, value: str) -> tuple[str, int]:
    """Read HOST:PORT; a host alone means port 1414."""
    try:
        return config.read_address(value)
    except ValueError as wrong:
        raise click.BadParameter(str(wrong)) from wrong


class RealRange(click.FloatRange):
    """A number of a range. Python reads nan as a number, which is beyond no bound."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read a number."""
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is no number.", param, ctx)
        return number


def settings(
    _context: click.Context, _option: click.Parameter, values: tuple[str, ...]
) -> dict[str, str]:
    """Read key=value, as Kafka's tools and kcat take it."""
    found = {}
    for value in values:
        key, equals, setting = value.partition("=")
        if not equals or not key.strip():
            raise click.BadParameter(f"{value!r} is not key=value, such as security.protocol=SSL")
        found[key.strip()] = setting.strip()
    return found


def queue_manager(command: Command) -> Command:
    """--qmgr: the address of a running queue manager, as text that adapter.connect takes."""
    option = click.option(
        "--qmgr", envvar="MQK_QMGR", default=DEFAULT_ADDRESS, show_default=True, show_envvar=True,
        metavar="ADDRESS", help="Where the queue manager listens: HOST:PORT[,...], unix:/PATH, or "
        "kafka://HOST:PORT[,...]/NAME to look it up in the directory on its Kafka.",
    )  # fmt: skip
    return option(command)


def json_output(command: Command) -> Command:
    """--json: output for programs."""
    return click.option(
        "--json", "as_json", is_flag=True, help="Print JSON, one object a line."
    )(command)  # fmt: skip


def allowed_programs(command: Command) -> Command:
    """--allow-directory and --run-as: which programs are started, as argument allowed."""

    @functools.wraps(command)
    def allowing(directories: tuple[Path, ...], run_as: str | None, **arguments: Any) -> Any:
        if run_as and not directories:
            raise click.UsageError("--run-as needs --allow-directory: where the programs are")
        allowed = AllowedPrograms(directories, run_as or "") if directories else None
        return command(allowed=allowed, **arguments)

    for option in (
        click.option(
            "--run-as", metavar="USER",
            help="The account that programs run as; needed where this command runs as root.",
        ),
        click.option(
            "--allow-directory", "directories", type=click.Path(path_type=Path), multiple=True,
            metavar="DIRECTORY",
            help="Start programs of this directory, and below it, alone, without a shell. May be "
            "repeated.",
        ),
    ):  # fmt: skip
        allowing = option(allowing)
    return allowing  # type: ignore[return-value]


def confirmation(question: str, if_given: str = "") -> Callable[[Command], Command]:
    """--yes: ask before something is destroyed, where a person sits at a terminal.

    question: with the command's arguments, as {queue}. if_given: the option that makes the command
    destructive; without it nothing is asked. A script, which has no terminal, is not asked.
    """

    def wrap(command: Command) -> Command:
        @functools.wraps(command)
        def asking(yes: bool, **arguments: Any) -> Any:
            wanted = not yes and arguments.get(if_given, True) and streams.is_terminal()
            if wanted and not click.confirm(question.format(**arguments), err=True):
                raise failures.Failed("nothing was done")
            return command(**arguments)

        return click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")(
            asking  # type: ignore[return-value]
        )

    return wrap


class KafkaClient(Struct, frozen=True):
    """How a command reaches Kafka, as its options say. servers: "" if they name none."""

    servers: str
    command_config: Path | None
    settings: dict[str, str]

    @property
    def options(self) -> dict[str, str]:
        """The settings of the Kafka client; see kafka_options()."""
        return kafka_options(self.command_config, self.settings)


def kafka_client(command: Command) -> Command:
    """--bootstrap-server, --command-config and -X: how Kafka is reached, as argument kafka."""
    return _kafka_client(command, default=default_kafka.servers, show_default=default_kafka.MEANING)


def kafka_client_if_wanted(command: Command) -> Command:
    """The same, for a command that also works without Kafka."""
    return _kafka_client(command)


def _kafka_client(command: Command, **more: Any) -> Command:
    options = (
        click.option(
            "--bootstrap-server", "bootstrap_servers", metavar="HOST:PORT[,...]",
            envvar="MQK_BOOTSTRAP_SERVER", show_envvar=True, help="Where Kafka is reached.", **more,
        ),
        click.option(
            "--command-config", type=click.Path(path_type=Path), metavar="FILE",
            help="A properties file with settings of the Kafka client (librdkafka's names).",
        ),
        click.option(
            "-X", "settings", callback=settings, multiple=True, metavar="key=value",
            help="One setting of the Kafka client; wins over the file's. May be repeated.",
        ),
    )  # fmt: skip

    @functools.wraps(command)
    def reaching(
        bootstrap_servers: str | None,
        command_config: Path | None,
        settings: dict[str, str],
        **arguments: Any,
    ) -> Any:
        kafka = KafkaClient(bootstrap_servers or "", command_config, settings)
        return command(kafka=kafka, **arguments)

    for option in reversed(options):
        reaching = option(reaching)
    return reaching  # type: ignore[return-value]


def not_both(name: str, value: object, other: str, other_value: object) -> None:
    """Refuse two options that contradict each other; None and False mean not given."""
    if value not in (None, False) and other_value not in (None, False):
        raise click.UsageError(f"{name} and {other} exclude each other: give one of them")


def kafka_options(command_config: Path | None, given: dict[str, str]) -> dict[str, str]:
    """The settings of the Kafka client, from the file and from -X, in librdkafka's names."""
    found = any_kafka_options(command_config, given)
    for name, value in found.items():
        if name in OF_JAVA_CLIENTS:
            instead = OF_JAVA_CLIENTS[name]
            raise click.UsageError(f"{name} is a setting of Kafka's Java clients: use {instead}")
        if why := config.why_no_option(name, value):
            raise click.UsageError(f"{name}: {why}")
    return found


def any_kafka_options(command_config: Path | None, given: dict[str, str]) -> dict[str, str]:
    """The same, also in the names of Kafka's Java client."""
    return ({} if command_config is None else read_properties(command_config)) | given


def read_properties(path: Path) -> dict[str, str]:
    """Read a properties file: key=value lines, # and ! begin comments.

    Of Java's format, `:` as separator, continued lines and escapes are refused, not misread, but
    for the escape of a backslash.
    """
    try:
        lines = re.split(r"\r?\n|\r", texts.read(path, config.FILE_BYTES_MAX))
    except texts.UnreadableTextError as problem:
        raise click.UsageError(f"--command-config {path} cannot be read: {problem}") from problem
    found = {}
    for number, line in enumerate((one.strip(PROPERTY_BLANKS) for one in lines), 1):
        if not line or line[0] in "#!":
            continue
        key, equals, value = line.partition("=")
        key = key.strip(PROPERTY_BLANKS)
        if not equals or not key or set(key) & set(f":{PROPERTY_BLANKS}"):
            raise click.UsageError(
                f"--command-config {path}, line {number}: not key=value; write each setting on one "
                "line, without `:`"
            )
        if set(ESCAPE.findall(line)) - {r"\\"}:
            raise click.UsageError(
                f"--command-config {path}, line {number}: a backslash with which Java escapes or "
                r"continues: write each setting on one line, \\ for a backslash, and other "
                "characters as they are"
            )
        found[key] = value.strip(PROPERTY_BLANKS).replace(r"\\", "\\")
    secret = next((key for key in found if config.SECRET.search(key)), "")
    if secret and (why := texts.why_not_private(path)):
        raise click.UsageError(f"--command-config {path} holds {secret}, and {why}")
    return found
