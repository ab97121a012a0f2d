"""Settings of a queue manager's process: from flags, the environment and a TOML file.

SETTINGS is the one table: it drives all three and the documentation. What is given in several
places counts in this order: flags, then the environment, then the file, then the default; of
kafka.options each setting for itself. An unknown setting, or one with an invalid value, is
refused by a sentence that names the place and the setting. This module does not know what the
settings do.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import Meta, Struct

from adapter import texts
from adapter.core.attributes.table import NAME_LENGTH_MAX
from adapter.core.contract.limits import Limits

FILE = "mqk.toml"
"""The file in the working directory that is read if no other is named."""
FILE_VARIABLE = "MQK_CONFIG"
PREFIX = "MQK_"
OTHER_VARIABLES = frozenset(
    {
        *(FILE_VARIABLE, "MQK_QMGR", "MQK_DEBUG", "MQK_CACHE_DIR"),
        *("MQK_USER", "MQK_PASSWORD", "MQK_REGISTRY"),
        *("MQK_TLS_CA", "MQK_TLS_CERT", "MQK_TLS_KEY"),
        *("MQK_TAG", "MQK_PORT", "MQK_METRICS_PORT", "MQK_SPARK_QUEUE"),
    }
)
"""Read by other parts; those of the last line by docker/compose.yaml."""
OF_KUBERNETES = re.compile(r"MQK_(PORT|SERVICE|\w+_SERVICE|\w+_PORT)(_\w+)?")
"""What Kubernetes puts into the environment of every pod beside a service called mqk."""
OPTIONS = "kafka.options"
OPTION_PREFIX = "MQK_KAFKA_OPTION_"
SECRET = re.compile(r"password|secret|token|\.pem$|sasl\.oauthbearer\.config|sasl\.jaas")
RUNS_CODE = frozenset(
    {"plugin.library.paths", "ssl.engine.location", "ssl.providers", "sasl.kerberos.kinit.cmd"}
)
"""Options by which librdkafka loads libraries or runs commands."""
FILE_BYTES_MAX = 1024 * 1024
DAY_MS = 24 * 60 * 60 * 1000
INT_MAX = 2**31 - 1

# What the promises of a queue manager stand on, or what has a setting of its own.
OUR_OPTIONS: Mapping[str, str] = {
    **dict.fromkeys(("bootstrap.servers", "metadata.broker.list"), "use bootstrap_servers"),
    **dict.fromkeys(
        (
            *("acks", "request.required.acks", "enable.idempotence", "transactional.id"),
            *("max.in.flight.requests.per.connection", "max.in.flight", "isolation.level"),
            *("group.id", "auto.offset.reset", "enable.auto.commit", "enable.auto.offset.store"),
            *("enable.partition.eof", "check.crcs", "transaction.timeout.ms", "linger.ms"),
            *("message.max.bytes", "message.timeout.ms", "delivery.timeout.ms", "partitioner"),
            *("enable.gapless.guarantee", "delivery.report.only.error"),
        ),
        "the queue manager sets it by itself; leave it out",
    ),
}


class ConfigError(Exception):
    """A setting is unknown, or its value is invalid; the text says where, which and why."""


class Setting(Struct, frozen=True, kw_only=True):
    """One row. kind: the type that its values must have, bounds included."""

    key: str
    kind: Any
    default: Any
    meaning: str
    example: str = ""
    variable: str = ""
    """Its environment variable, if that is not the one that the key would give."""

    @property
    def name(self) -> str:
        """Its name for Python: the key without its table."""
        return self.key.rpartition(".")[2]

    @property
    def flag(self) -> str:
        """Its flag on the command line; the name of a queue manager is an argument."""
        if self.key == "queue_manager":
            return "NAME"
        if self.key == OPTIONS:
            return "-X"
        if self.key == "kafka.bootstrap_servers":
            return "--bootstrap-server"  # as Kafka's own tools call it
        return "--" + self.name.replace("_", "-")

    @property
    def environment(self) -> str:
        """Its environment variable."""
        return self.variable or PREFIX + self.key.upper().replace(".", "_")

    @property
    def choices(self) -> tuple[str, ...]:
        """The only values it takes, if they are few."""
        return get_args(self.kind) if getattr(self.kind, "__origin__", None) is Literal else ()

    @property
    def bounds(self) -> tuple[int, int] | None:
        """The least and the greatest number it takes, if it is one."""
        for meta in getattr(self.kind, "__metadata__", ()):
            if meta.ge is not None and meta.le is not None:
                return meta.ge, meta.le
        return None


def _number(low: int, high: int) -> Any:
    return Annotated[int, Meta(ge=low, le=high)]


def _text(least: int = 0) -> Any:
    return Annotated[str, Meta(min_length=least, max_length=4096)]


LIMITS = Limits()
NAME_PATTERN = rf"^[A-Za-z0-9._/%]{{1,{NAME_LENGTH_MAX}}}$"
ADDRESS_PATTERN = r"^(\[[0-9a-fA-F:.]+\]|[^:\s]+)(:[0-9]{1,5})?$"
SOCKET_PATTERN = r"^$|^auto$|^/[^,]+$"
ADDRESS_OR_NOT_PATTERN = f"^$|{ADDRESS_PATTERN}"
REGISTRY_PATTERN = r"^(topic|none|https?://\S+)$"
TOPIC_PATTERN = r"^[A-Za-z0-9._-]{1,249}$"
DEFAULT_PORT = 1414
DEFAULT_TLS_PORT = 1415
DEFAULT_HTTP_PORT = 9414
DEFAULT_REGISTRY_PORT = 8081
ADDRESSES = {
    "listen": DEFAULT_PORT,
    "listen_tls": DEFAULT_TLS_PORT,
    "http_listen": DEFAULT_HTTP_PORT,
    "registry_listen": DEFAULT_REGISTRY_PORT,
}
"""Settings that are HOST:PORT, and the port if only a host is given."""
WITH_PASSWORD = "with_password"  # noqa: S105 - a choice, no password
PORT_MAX = 65535

SETTINGS: Mapping[str, Setting] = {
    one.key: one
    for one in (
        Setting(
            key="queue_manager", kind=Annotated[str, Meta(pattern=NAME_PATTERN)], default="",
            meaning=f"Its name: 1 to {NAME_LENGTH_MAX} of A-Z a-z 0-9 . _ / %. Names its topics.",
            example='"QM1"',
        ),
        Setting(
            key="listen", kind=Annotated[str, Meta(pattern=ADDRESS_PATTERN)],
            default=f"127.0.0.1:{DEFAULT_PORT}",
            meaning="HOST:PORT where programs connect; loopback only, unless remote_clients allows "
            "more. Port 0: any free port.",
        ),
        Setting(
            key="listen_unix", kind=Annotated[str, Meta(pattern=SOCKET_PATTERN)], default="auto",
            meaning="Path of a Unix-domain socket where programs of this machine connect too, as "
            "unix:PATH. It starts with / and has no comma. auto: PORT.sock in /run/mqk or in "
            "$XDG_RUNTIME_DIR/mqk, if there is one of these folders; programs that connect to "
            "127.0.0.1:PORT use it by themselves. Empty: none.",
            example='"/run/mqk/QM1.sock"',
        ),
        Setting(
            key="listen_unix_mode", kind=Literal["600", "660", "666"], default="600",
            meaning="Who may connect to listen_unix: 600 the user of the queue manager, 660 its "
            "group too, 666 every user of this machine.",
        ),
        Setting(
            key="listen_tls", kind=Annotated[str, Meta(pattern=ADDRESS_OR_NOT_PATTERN)], default="",
            meaning="HOST:PORT where programs connect with TLS too; the host may be one that other "
            "machines reach. Their clients must show a certificate of tls_client_ca or give a "
            "valid password. Needs tls_certificate. Empty: none.",
            example='"0.0.0.0:1415"',
        ),
        Setting(
            key="tls_certificate", kind=_text(), default="",
            meaning="File of the queue manager's certificate, and those between it and its "
            "authority, PEM. It and the key are read again when they change: no restart is needed.",
            example='"/etc/mqk/tls/qm1.pem"',
        ),
        Setting(
            key="tls_key", kind=_text(), default="",
            meaning="File of its private key, PEM, which nobody but the queue manager's user may "
            "read. Empty: it is in tls_certificate.",
            example='"/etc/mqk/tls/qm1.key"',
        ),
        Setting(
            key="tls_client_ca", kind=_text(), default="",
            meaning="File of the authorities whose certificates clients may show, PEM: a client "
            "that shows one needs no password, and is the user that tls_user says. Empty: clients "
            "are asked for no certificate.",
            example='"/etc/mqk/tls/clients-ca.pem"',
        ),
        Setting(
            key="tls_user", kind=Literal["common_name", "dns", "email", "subject"],
            default="common_name",
            meaning="Which part of a client's certificate is its user: the common name, the first "
            "DNS name or e-mail address among the alternative names, or the whole subject.",
        ),
        Setting(
            key="tls_min_version", kind=Literal["1.2", "1.3"], default="1.3",
            meaning="The oldest version of TLS that clients may use.",
        ),
        Setting(
            key="credentials_file", kind=_text(), default="",
            meaning="File of users and hashes of their passwords, written by `mqk user`. With one "
            "every client must give a valid password, unless CHCKCLNT of the queue manager's "
            "CONNAUTH is OPTIONAL or NONE. Empty: clients of this machine need no password.",
            example='"/etc/mqk/users"',
        ),
        Setting(
            key="remote_clients", kind=Literal["no", "with_password"], default="no",
            meaning="with_password: listen may be an address that other machines reach. Their "
            "clients must give a valid password, whatever CHCKCLNT is, so credentials_file must "
            "be set. Traffic is not encrypted, including passwords: use trusted networks only.",
        ),
        Setting(
            key="http_listen", kind=Annotated[str, Meta(pattern=ADDRESS_OR_NOT_PATTERN)],
            default="",
            meaning="HOST:PORT for /metrics, /live and /ready, which change nothing and ask for no "
            "password; the host may be one that other machines reach. Empty: 127.0.0.1 and "
            "http_port.",
        ),
        Setting(
            key="http_port", kind=_number(0, PORT_MAX), default=DEFAULT_HTTP_PORT,
            meaning="Port for the same pages on 127.0.0.1, if http_listen is empty; 0: no pages. "
            "If neither is set and the default port is in use, the log reports that there are no "
            "pages.",
        ),
        Setting(
            key="registry_listen", kind=Annotated[str, Meta(pattern=ADDRESS_OR_NOT_PATTERN)],
            default="",
            meaning="HOST:PORT of its own for the schema registry's API; loopback only, as it asks "
            "for no password. Empty: /registry of http_listen, if that is loopback; else none.",
        ),
        Setting(
            key="log_level", kind=Literal["debug", "info", "warning", "error"], default="info",
            meaning="Minimum log level.",
        ),
        Setting(
            key="log_format", kind=Literal["auto", "json", "text"], default="auto",
            meaning="How a line of the log looks; auto: text on a terminal, JSON elsewhere.",
        ),
        Setting(
            key="max_uncommitted_messages", kind=_number(1, 1_000_000),
            default=LIMITS.unit_messages,
            meaning="Messages that one unit of work may put and get.",
        ),
        Setting(
            key="max_handles", kind=_number(1, 100_000), default=LIMITS.handles_per_connection,
            meaning="Queues that one connection may have open at a time.",
        ),
        Setting(
            key="max_queues", kind=_number(1, 100_000), default=LIMITS.queues,
            meaning="Queues of the queue manager; each is a topic of ten partitions.",
        ),
        Setting(
            key="max_sessions", kind=_number(1, 10_000_000), default=LIMITS.sessions,
            meaning="Client sessions whose outcomes are kept; the longest detached goes first.",
        ),
        Setting(
            key="uncopied_bytes", kind=_number(1_048_576, INT_MAX),
            default=LIMITS.uncopied_bytes,
            meaning="Bytes of persistent messages that may wait for movers that lag or hold. "
            "Further puts are refused with QueueParked until half of it is copied.",
        ),
        Setting(
            key="session_expiry_ms", kind=_number(1000, INT_MAX),
            default=LIMITS.session_expiry_ms,
            meaning="How long a disconnected client can resume its session.",
        ),
        Setting(
            key="trigger_interval_ms", kind=_number(0, 999_999_999), default=999_999_999,
            meaning="Milliseconds after a trigger message for a first message before another "
            "arrival may cause one. This, the other settings of triggers, dead_letter_queue and "
            "statistics_interval_s are altered by ALTER QMGR too: what is not set here stays as it "
            "was altered.",
        ),
        Setting(
            key="depth_trigger_disables", kind=Literal["no", "yes"], default="no",
            meaning="Whether a trigger message for a depth turns triggering off, as on IBM MQ.",
        ),
        Setting(
            key="every_triggers_on_backout", kind=Literal["no", "yes"], default="no",
            meaning="Whether a put that was backed out makes a trigger message (TRIGTYPE(EVERY)).",
        ),
        Setting(
            key="dead_letter_queue", kind=_text(), default="",
            meaning="Where messages go that cannot be put; a local queue.",
            example='"SYSTEM.DEAD.LETTER.QUEUE"',
        ),
        Setting(
            key="statistics_interval_s", kind=_number(0, 604_800), default=60,
            meaning="Seconds between two events with the statistics of a queue; 0: no such events. "
            "An idle queue has fewer.",
        ),
        Setting(
            key="mover_interval_ms", kind=_number(0, 60_000), default=50,
            meaning="While messages trickle in, how long they are collected for one transaction "
            "to their topics; under load up to 250 ms, unless it is 0. More costs readers time, "
            "less costs Kafka transactions.",
        ),
        Setting(
            key="network", kind=Literal["no", "yes"], default="yes",
            meaning="Whether it sends messages to the other queue managers of its Kafka and "
            "receives theirs, and what Kafka clients write to its inbound topic.",
        ),
        Setting(
            key="quiesce_ms", kind=_number(0, 600_000), default=4000,
            meaning="How long a stop gives units of work to end before it backs them out. The "
            "rest of a stop takes less than 6 s.",
        ),
        Setting(
            key="heartbeat_ms", kind=_number(100, 600_000), default=5000,
            meaning="How often an idle queue manager writes a sign of life to its ledger. A start "
            "refuses while another owner's last record is younger than three times this.",
        ),
        Setting(
            key="schema_registry", kind=Annotated[str, Meta(pattern=REGISTRY_PATTERN)],
            default="topic",
            meaning="Where the schemas of its own topics are registered: topic, a registry of its "
            "own, which is also served over HTTP (registry_listen); none; or the URL of another.",
            example='"http://registry:8081"',
        ),
        Setting(
            key="schema_topic", kind=Annotated[str, Meta(pattern=TOPIC_PATTERN)],
            default="_schemas",
            meaning="With schema_registry = topic: which. Queue managers on one Kafka share it.",
        ),
        Setting(
            key="kafka.bootstrap_servers", kind=_text(1), default="",
            variable="MQK_BOOTSTRAP_SERVER",
            meaning="HOST:PORT[,...] where Kafka is reached; empty: the Kafka that `mqk kafka "
            "start` runs, else localhost:9092.",
            example='"kafka-1:9092,kafka-2:9092"',
        ),
        Setting(
            key="kafka.replication", kind=_number(0, 100), default=0,
            meaning="Copies of each topic; 0: as many as there are brokers, three at most.",
        ),
        Setting(
            key="kafka.min_insync_replicas", kind=_number(0, 100), default=0,
            meaning="Copies that must be there for a write to succeed; 0: all but one.",
        ),
        Setting(
            key="kafka.consumed_retention_ms", kind=_number(-1, 3650 * DAY_MS), default=DAY_MS,
            meaning="How long consumed messages stay readable on their queues' topics, at least. "
            "0: not longer than needed. -1: without end.",
        ),
        Setting(
            key="kafka.events_retention_ms", kind=_number(60_000, 3650 * DAY_MS),
            default=7 * DAY_MS, meaning="How long events stay readable on their topic.",
        ),
        Setting(
            key=OPTIONS, kind=dict[str, str], default={}, variable=OPTION_PREFIX + "...",
            meaning="Settings of the Kafka client by librdkafka's names: security above all.",
            example='{ "security.protocol" = "SSL" }',
        ),
    )
}  # fmt: skip


class SettingValue(Struct):
    """What a setting is, and where it comes from."""

    key: str
    value: Any
    source: str

    @property
    def is_secret(self) -> bool:
        """Whether it is not for showing."""
        return self.key.startswith(f"{OPTIONS}.") and bool(SECRET.search(self.key))


class Config(Struct):
    """The effective settings. file: the one that was read, if any."""

    values: dict[str, SettingValue]
    options: dict[str, SettingValue]
    file: Path | None = None

    def __getitem__(self, key: str) -> Any:
        return self.values[key].value

    def is_default(self, key: str) -> bool:
        """Whether no source sets it."""
        return self.values[key].source == "default"

    @property
    def kafka_options(self) -> dict[str, str]:
        """kafka.options without their sources."""
        return {name: one.value for name, one in self.options.items()}

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens."""
        return read_address(self["listen"])

    @property
    def tls_address(self) -> tuple[str, int] | None:
        """Where it listens with TLS; None: nowhere."""
        text = self["listen_tls"]
        return read_address(text, DEFAULT_TLS_PORT) if text else None

    @property
    def http_address(self) -> tuple[str, int] | None:
        """Where it is monitored; None: nowhere."""
        if self["http_listen"]:
            return read_address(self["http_listen"], DEFAULT_HTTP_PORT)
        return ("127.0.0.1", self["http_port"]) if self["http_port"] else None

    @property
    def registry_address(self) -> tuple[str, int] | None:
        """The schema registry's own address; None: it has none."""
        text = self["registry_listen"]
        return read_address(text, DEFAULT_REGISTRY_PORT) if text else None

    def all(self) -> Iterator[SettingValue]:
        """Give every setting, in the order of the table, the options of Kafka's client last."""
        yield from self.values.values()
        yield from self.options.values()


def load(
    flags: Mapping[str, Any],
    environment: Mapping[str, str],
    path: Path | None = None,
    options: Mapping[str, Mapping[str, str]] | None = None,
) -> Config:
    """Put settings together; ConfigError says what is wrong.

    flags: by key, None for those not given. path: --config. options: by flag, what that says of
    kafka.options; a later flag wins.
    """
    layers: list[Layer] = []
    named = path or (Path(environment[FILE_VARIABLE]) if environment.get(FILE_VARIABLE) else None)
    found = named or (Path(FILE) if Path(FILE).is_file() else None)
    if found is not None:
        layers.append(_file_layer(found, was_named=named is not None))
    layers.append(_environment_layer(environment))
    layers.append(_flag_layer(flags, options or {}))
    config = Config({}, {}, found)
    for key, setting in SETTINGS.items():
        if key != OPTIONS:
            config.values[key] = SettingValue(key, setting.default, "default")
    for layer in layers:
        config.values |= layer.values
        config.options |= layer.options
    config.values = {key: config.values[key] for key in SETTINGS if key != OPTIONS}
    _check_together(config)
    return config


def missing(config: Config) -> list[str]:
    """Say what a queue manager cannot start without."""
    return [
        f"{key} is not set: use {one.flag}, {one.environment}, or {key} in {FILE}"
        for key in ("queue_manager",)
        if not config[(one := SETTINGS[key]).key]
    ]


class Layer(Struct):
    """What one place says."""

    values: dict[str, SettingValue] = {}
    options: dict[str, SettingValue] = {}

    def set(self, key: str, raw: Any, source: str, *, as_text: bool) -> None:
        """Take a value; as_text: numbers are written as text there."""
        kind = SETTINGS[key].kind
        try:
            value = msgspec.convert(raw, kind, strict=not as_text)
        except msgspec.ValidationError as error:
            raise ConfigError(f"{source}: {key} is {raw!r}; {_expectation(key, error)}") from error
        if key in ADDRESSES and value:
            try:
                port = read_address(value, ADDRESSES[key])[1]
            except ValueError as error:
                raise ConfigError(f"{source}: {key}: {error}") from error
            if not port and key != "listen":
                raise ConfigError(
                    f"{source}: {key} is {value!r}; choose a port from 1 to {PORT_MAX}"
                )
        self.values[key] = SettingValue(key, value, source)

    def set_option(self, name: str, raw: Any, source: str) -> None:
        """Take one setting of Kafka's client."""
        if isinstance(raw, bool):
            raw = "true" if raw else "false"
        if not isinstance(raw, str | int | float):
            kind = type(raw).__name__
            raise ConfigError(f"{source}: {OPTIONS}: {name} is a {kind}; text is wanted")
        if name in OUR_OPTIONS:
            raise ConfigError(f"{source}: {OPTIONS}: {name}: {OUR_OPTIONS[name]}")
        self.options[name] = SettingValue(f"{OPTIONS}.{name}", str(raw), source)


def read_address(text: str, default_port: int = DEFAULT_PORT) -> tuple[str, int]:
    """Read HOST:PORT; a host alone means the usual port. ValueError if it is invalid."""
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        host, port = text, str(default_port)
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdecimal() or int(port) > PORT_MAX:
        raise ValueError(f"{text!r} is not HOST:PORT, such as 127.0.0.1:{default_port}")
    return host, int(port)


def _expectation(key: str, error: msgspec.ValidationError) -> str:
    """Say what a value has to be, in words of the setting rather than of its type."""
    setting = SETTINGS[key]
    if setting.choices:
        return f"it is one of {', '.join(setting.choices)}"
    if setting.bounds:
        low, high = setting.bounds
        return f"it is a number from {low} to {high}"
    if key == "queue_manager":
        return f"a name has 1 to {NAME_LENGTH_MAX} of A-Z a-z 0-9 . _ / %"
    if key in ADDRESSES:
        return f"it is HOST:PORT, such as 127.0.0.1:{ADDRESSES[key]}"
    if key == "listen_unix":
        return "it is auto, or a path that starts with / and has no comma: /run/mqk/QM1.sock"
    return str(error).lower()


def _file_layer(path: Path, *, was_named: bool) -> Layer:
    """Read a settings' file. was_named: it was not only found in the working directory."""
    try:
        content = tomllib.loads(texts.read(path, FILE_BYTES_MAX))
    except texts.UnreadableTextError as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not TOML: {error}") from error
    layer = Layer()
    for key, raw in _keys(content, str(path)):
        if key.removeprefix(f"{OPTIONS}.") in RUNS_CODE and not was_named:
            raise ConfigError(
                f"{path}: {key} runs programs or loads libraries: a file that is only found in the "
                f"working directory may not do that; name it, --config {path}"
            )
        if key.startswith(f"{OPTIONS}."):
            layer.set_option(key.removeprefix(f"{OPTIONS}."), raw, str(path))
        elif key in SETTINGS:
            layer.set(key, raw, str(path), as_text=False)
        else:
            raise ConfigError(f"{path}: unknown setting {key}{_nearest(key)}")
    return layer


def _keys(table: Mapping[str, Any], source: str, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Give dotted keys and their values; tables end where nothing of ours lies below."""
    for name, value in table.items():
        key = prefix + name
        if isinstance(value, dict) and _is_table(key):
            yield from _keys(value, source, f"{key}.")
        elif key == OPTIONS or (_is_table(key) and not key.startswith(f"{OPTIONS}.")):
            raise ConfigError(f"{source}: {key} is a table: write [{key}] and its settings below")
        else:
            yield key, value


def _is_table(key: str) -> bool:
    below = any(one.startswith(f"{key}.") for one in SETTINGS)
    return below or key == OPTIONS or key.startswith(f"{OPTIONS}.")


def _environment_layer(environment: Mapping[str, str]) -> Layer:
    layer = Layer()
    by_variable = {one.environment: key for key, one in SETTINGS.items() if key != OPTIONS}
    for variable, raw in sorted(environment.items()):
        if not variable.startswith(PREFIX) or not raw:
            continue
        if variable.startswith(OPTION_PREFIX):
            name = variable.removeprefix(OPTION_PREFIX).lower()
            name = name.replace("__", "\0").replace("_", ".").replace("\0", "_")
            layer.set_option(name, raw, variable)
        elif variable in by_variable:
            layer.set(by_variable[variable], raw, variable, as_text=True)
        elif variable not in OTHER_VARIABLES and not OF_KUBERNETES.fullmatch(variable):
            near = difflib.get_close_matches(variable, by_variable, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ConfigError(f"unknown setting: environment variable {variable}{hint}")
    return layer


def _flag_layer(flags: Mapping[str, Any], options: Mapping[str, Mapping[str, str]]) -> Layer:
    layer = Layer()
    for key, raw in flags.items():
        if raw is not None:
            layer.set(key, raw, SETTINGS[key].flag, as_text=True)
    for flag, given in options.items():
        for name, raw in given.items():
            layer.set_option(name, raw, flag)
    return layer


def _nearest(key: str) -> str:
    near = difflib.get_close_matches(key, SETTINGS, 1)
    return f"; did you mean {near[0]}?" if near else ""


def _check_together(config: Config) -> None:
    copies, in_sync = config["kafka.replication"], config["kafka.min_insync_replicas"]
    if copies and in_sync > copies:
        source = config.values["kafka.min_insync_replicas"].source
        raise ConfigError(
            f"{source}: kafka.min_insync_replicas is {in_sync}, more than kafka.replication, "
            f"which is {copies}: nothing could be written"
        )
    if in_sync and not copies:
        source = config.values["kafka.min_insync_replicas"].source
        raise ConfigError(
            f"{source}: kafka.min_insync_replicas is {in_sync}, and kafka.replication is not set: "
            "set both, or neither"
        )
    if config["listen_tls"] and not config["tls_certificate"]:
        source = config.values["listen_tls"].source
        raise ConfigError(
            f"{source}: listen_tls is {config['listen_tls']}, and tls_certificate is not set: set "
            "it, and tls_key"
        )
    if config["registry_listen"] and config["schema_registry"] != "topic":
        source = config.values["registry_listen"].source
        raise ConfigError(
            f"{source}: registry_listen is {config['registry_listen']}, but no registry is "
            "served: set schema_registry to topic, or leave registry_listen empty"
        )
    if config["http_listen"] and not config.is_default("http_port"):
        source = config.values["http_listen"].source
        other = config.values["http_port"].source
        raise ConfigError(
            f"{source}: http_listen is {config['http_listen']}, and http_port is set by {other}: "
            "set http_listen alone"
        )
    if config["remote_clients"] == WITH_PASSWORD and not config["credentials_file"]:
        source = config.values["remote_clients"].source
        raise ConfigError(
            f"{source}: remote_clients is {WITH_PASSWORD}, and credentials_file is not set: there "
            "would be no password to check; write one with `mqk user add`"
        )
