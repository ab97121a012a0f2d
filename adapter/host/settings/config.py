"""Settings of a queue manager's process: from flags, the environment and a TOML file.

What is given in several places counts in this order: flags, then the environment, then the file,
then the default; of kafka.options each setting for itself. An unknown setting, or one with an
invalid value, is refused by a sentence that names the place and the setting. This module does not
know what the settings do.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from adapter.core.attributes.table import NAME_LENGTH_MAX
from adapter.host import texts
from adapter.host.settings.setting_rows import (
    ADDRESSES,
    DEFAULT_HTTP_PORT,
    DEFAULT_PORT,
    DEFAULT_REGISTRY_PORT,
    DEFAULT_TLS_PORT,
    OPTION_PREFIX,
    OPTIONS,
    PORT_MAX,
    PREFIX,
    SETTINGS,
    WITH_PASSWORD,
    option_of,
)

FILE = "mqk.toml"
"""The file in the working directory that is read if no other is named."""
FILE_VARIABLE = "MQK_CONFIG"
CLIENT_CERTIFICATE = "MQK_TLS_CERT"
OTHER_VARIABLES: Mapping[str, str] = {
    FILE_VARIABLE: "adapter/host/settings/config.py",
    "MQK_QMGR": "adapter/command/options.py",
    "MQK_DEBUG": "adapter/command/failures.py",
    "MQK_CACHE_DIR": "adapter/localkafka/jars.py",
    "MQK_USER": "adapter/connection/channel/identity.py",
    "MQK_PASSWORD": "adapter/connection/channel/connecting.py",
    "MQK_TOKEN_FILE": "adapter/connection/channel/token_source.py",
    **dict.fromkeys(
        (
            *("MQK_TLS_CA", CLIENT_CERTIFICATE, "MQK_TLS_KEY"),
            *("MQK_TLS_KEY_PASSWORD", "MQK_TLS_KEY_PASSWORD_FILE"),
        ),
        "adapter/connection/channel/tls.py",
    ),
    "MQK_REGISTRY": "adapter/client/schemas.py",
    "MQK_EVENT": "adapter/cli/broker.py",
    "MQK_QUEUE": "adapter/servicebroker/activation.py",
    **dict.fromkeys(
        ("MQK_TAG", "MQK_PORT", "MQK_METRICS_PORT", "MQK_SPARK_QUEUE"), "docker/compose.yaml"
    ),
    **dict.fromkeys(("MQK_COMPILE", "MQK_PYTHON"), "docker/build"),
    "MQK_COMPOSE": "docker/test",
}
"""Variables that are no settings, and what reads each, or sets it for programs that it starts."""
OF_KUBERNETES = re.compile(r"MQK_(PORT|SERVICE|\w+_SERVICE|\w+_PORT)(_\w+)?")
"""What Kubernetes puts into the environment of every pod beside a service called mqk."""
SECRET = re.compile(r"password|passphrase|secret|token|\.pem$|sasl\.oauthbearer\.config|sasl\.jaas")
KEY_FILES = frozenset(
    {
        *("ssl.key.location", "ssl.keystore.location"),
        "sasl.oauthbearer.assertion.private.key.file",
    }
)
RUNS_CODE = frozenset(
    {
        *("plugin.library.paths", "ssl.engine.location", "ssl.providers"),
        *("sasl.kerberos.kinit.cmd", "sasl.kerberos.keytab", "sasl.kerberos.principal"),
        "sasl.kerberos.service.name",
    }
)
"""Options by which librdkafka loads libraries or runs commands: what it fills into kinit.cmd it
gives to a shell as it is.
"""
NO_TEXT = re.compile(r".*_cb|on_\w+|logger|default\.topic\.config")
"""Options of Kafka's client that a program sets, with a function or an object."""
FILE_BYTES_MAX = 1024 * 1024

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
            *("topic.blacklist", "test.mock.num.brokers"),
        ),
        "the queue manager sets it by itself; leave it out",
    ),
}


SectionT = TypeVar("SectionT", bound=Struct)


class ConfigError(Exception):
    """A setting is unknown, or its value is invalid; the text says where, which and why."""


class SettingValue(Struct):
    """What a setting is, and where it comes from."""

    key: str
    value: Any
    source: str

    @property
    def is_secret(self) -> bool:
        """Whether it is not for showing."""
        return self.key.startswith(f"{OPTIONS}.") and bool(SECRET.search(self.key))

    @property
    def has_secret(self) -> bool:
        """Whether it is one, or a URL with a login."""
        return self.is_secret or self.shown != self.value

    @property
    def shown(self) -> Any:
        """The value as people may see it."""
        if self.is_secret:
            return texts.NOT_SHOWN
        return texts.without_login(self.value) if isinstance(self.value, str) else self.value


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

    def section(self, kind: type[SectionT], prefix: str, **more: Any) -> SectionT:
        """Return the settings of a part of the process, a Struct of which each field is the setting
        of its name behind a prefix. more: fields that are not.
        """
        names = [name for name in kind.__struct_fields__ if name not in more]
        return kind(**{name: self[prefix + name] for name in names}, **more)

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


def _check_tls(config: Config) -> None:
    if config["listen_tls"]:
        _check_certificate(config, "listen_tls")
    if config["http_tls"] == "yes":
        _check_certificate(config, "http_tls", has_clients=bool(config["registry_listen"]))


IDENTITIES = ("tls_client_ca", "credentials_file", "ldap_server", "jwt_keys")
"""By each of these a client can prove who it is."""


def _check_certificate(config: Config, key: str, *, has_clients: bool = True) -> None:
    """Check what TLS needs. has_clients: who must say who they are."""
    source = f"{config.values[key].source}: {key} is {config[key]}"
    if not config["tls_certificate"]:
        raise ConfigError(f"{source}, and tls_certificate is not set: set it, and tls_key")
    if has_clients and not any(config[one] for one in IDENTITIES):
        raise ConfigError(
            f"{source}, and its clients could not say who they are: set one of "
            f"{', '.join(IDENTITIES)}"
        )


def _check_identities(config: Config) -> None:
    """Check what belongs together of tokens and of the directory."""
    if config["ldap_server"] and not config["ldap_user_dn"]:
        source = config.values["ldap_server"].source
        raise ConfigError(
            f"{source}: ldap_server is set, and ldap_user_dn not: it says which entry is a user's"
        )
    lacking = [one for one in ("jwt_issuer", "jwt_audience") if not config[one]]
    if config["jwt_keys"] and lacking:
        source = config.values["jwt_keys"].source
        raise ConfigError(
            f"{source}: jwt_keys is set, and {' and '.join(lacking)} not: without them a token for "
            "another service would be accepted"
        )


def _check_keys(config: Config) -> None:
    """Refuse a key for Kafka that other accounts may read."""
    for name in KEY_FILES & config.options.keys():
        one = config.options[name]
        if why := texts.why_not_private(Path(one.value)):
            raise ConfigError(
                f"{one.source}: {one.key} is {one.value}, which holds a key, and {why}"
            )


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
        setting = SETTINGS[key]
        try:
            meant = _yes_or_no(raw) if {"no", "yes"} <= set(setting.choices) else raw
            value = msgspec.convert(meant, setting.kind, strict=not as_text)
        except msgspec.ValidationError as error:
            said = texts.without_login(repr(raw))
            raise ConfigError(f"{source}: {key} is {said}; {_expectation(key, error)}") from None
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
        if why := OUR_OPTIONS.get(name) or why_no_option(name, str(raw)):
            raise ConfigError(f"{source}: {OPTIONS}: {name}: {why}")
        self.options[name] = SettingValue(f"{OPTIONS}.{name}", str(raw), source)


def _yes_or_no(raw: Any) -> Any:
    """Return yes or no for other words of a switch; anything else as it is."""
    switched = {"on": "yes", "off": "no", True: "yes", False: "no"}
    return switched.get(raw, raw) if isinstance(raw, str | bool) else raw


def why_no_option(name: str, value: str) -> str:
    """Say why Kafka's client does not take an option from settings; "" if it may take it."""
    if NO_TEXT.fullmatch(name):
        return "only a program can set it; leave it out"
    try:
        value.encode()
    except UnicodeEncodeError:
        return "its value is not text in UTF-8"
    return ""


def read_address(text: str, default_port: int = DEFAULT_PORT) -> tuple[str, int]:
    """Read HOST:PORT; a host alone means the usual port. ValueError if it is invalid."""
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        host, port = text, str(default_port)
    host = host.removeprefix("[").removesuffix("]")
    is_number = port.isdecimal() and len(port) <= len(str(PORT_MAX))
    if not host or not is_number or int(port) > PORT_MAX:
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
    if key == "ldap_server":
        return "it is ldaps://HOST[:PORT] (or ldap:// on this machine)"
    if key == "ldap_user_dn":
        return "it is a name with {}, such as uid={},ou=people,dc=example,dc=org"
    if key == "jwt_keys":
        return "it is a file, or a URL that begins with https (or with http on this machine)"
    return str(error).lower()


def _file_layer(path: Path, *, was_named: bool) -> Layer:
    """Read a settings' file. was_named: it was not only found in the working directory."""
    try:
        content = tomllib.loads(texts.read(path, FILE_BYTES_MAX))
    except texts.UnreadableTextError as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    except RecursionError as error:
        raise ConfigError(f"{path} has too many lists or tables in each other") from error
    except ValueError as error:  # TOMLDecodeError, and a number of thousands of digits
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
    secrets = [
        one.key for one in (*layer.values.values(), *layer.options.values()) if one.has_secret
    ]
    if secrets and (why := texts.why_not_private(path)):
        raise ConfigError(f"{path} holds {secrets[0]}, and {why}")
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
    if not environment.get(CLIENT_CERTIFICATE):  # else those of the client's key are meant
        by_variable |= {
            one.older: key
            for key, one in SETTINGS.items()
            if one.older and not environment.get(one.environment)
        }
    for variable, raw in sorted(environment.items()):
        if not variable.startswith(PREFIX) or not raw:
            continue
        if variable.startswith(OPTION_PREFIX):
            layer.set_option(option_of(variable), raw, variable)
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
    _check_tls(config)
    _check_keys(config)
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
    _check_identities(config)
    has_passwords = config["credentials_file"] or config["ldap_server"]
    if config["remote_clients"] == WITH_PASSWORD and not has_passwords:
        source = config.values["remote_clients"].source
        raise ConfigError(
            f"{source}: remote_clients is {WITH_PASSWORD}, and neither credentials_file nor "
            "ldap_server is set: there would be no password to check; write "
            "one with `mqk user add`"
        )
