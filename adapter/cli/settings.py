"""The settings of a queue manager's process as options of a command: made from the one table."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from adapter.command import default_kafka, options
from adapter.command.grouped import Groups
from adapter.host.settings import config
from adapter.host.settings.config import Config, SettingValue
from adapter.host.settings.setting_rows import ADDRESSES, OPTIONS, SETTINGS, Setting

Command = Callable[..., Any]

GROUPS: Groups = {
    "Addresses and users": (
        "listen", "listen_unix", "listen_unix_mode", "credentials_file", "groups_file",
        "authorities", "audit", "ledger_key_file", "remote_clients",
        "http_listen", "http_port", "registry_listen",
    ),
    "Kafka": (
        "bootstrap_servers", "replication", "min_insync_replicas", "consumed_retention_ms",
        "events_retention_ms", "command_config", "kafka_settings",
    ),
    "Limits": (
        "max_uncommitted_messages", "max_handles", "max_queues", "max_sessions", "uncopied_bytes",
        "session_expiry_ms",
    ),
    "TLS": (
        "listen_tls", "tls_certificate", "tls_key", "tls_key_password_file", "tls_client_ca",
        "tls_user", "tls_min_version", "http_tls",
    ),
    "Tokens": (
        "jwt_keys", "jwt_ca", "jwt_issuer", "jwt_audience", "jwt_user_claim", "jwt_groups_claim",
        "jwt_leeway_s",
    ),
    "Directory of users": (
        "ldap_server", "ldap_ca", "ldap_user_dn", "ldap_group_base", "ldap_group_filter",
        "ldap_group_attribute",
    ),
    "Triggers": ("trigger_interval_ms", "depth_trigger_disables", "every_triggers_on_backout"),
    "Messages and other queue managers": ("dead_letter_queue", "mover_interval_ms", "network"),
    "Schemas": ("schema_registry", "schema_topic"),
    "Log and statistics": ("log_level", "log_format", "statistics_interval_s"),
    "Start and stop": (
        "take_over", "standby", "standby_priority", "yes", "in_background", "log", "quiesce_ms",
        "heartbeat_ms", "client_heartbeat_ms",
    ),
}  # fmt: skip
"""What flags() and `mqk qmgr start` have, by subject."""


def flags(command: Command) -> Command:
    """--config, a flag for each setting, --command-config and -X."""
    made: list[Callable[[Command], Command]] = [
        click.option(
            "--config", "config_file", type=click.Path(dir_okay=False, path_type=Path),
            metavar="FILE",
            help=f"The settings' file.  [default: {config.FILE_VARIABLE}, else {config.FILE} in "
            "the working directory if it is there]",
        ),
        *(_flag(one) for one in SETTINGS.values() if one.flag.startswith("--")),
        click.option(
            "--command-config", type=click.Path(path_type=Path), metavar="FILE",
            help="A properties file with settings of the Kafka client (librdkafka's names).",
        ),
        click.option(
            "-X", "kafka_settings", callback=options.settings, multiple=True, metavar="key=value",
            help="One setting of the Kafka client; wins over the files'. May be repeated.",
        ),
    ]  # fmt: skip
    for option in reversed(made):
        command = option(command)
    return command


def _flag(setting: Setting) -> Callable[[Command], Command]:
    shown = f"  [{setting.environment}; default: {setting.default}]"
    if setting.default == "":
        shown = f"  [{setting.environment}]"
    if setting.key == STANDBY:
        return click.option(
            f"{setting.flag}/--no-standby", setting.name, default=None, callback=_yes_or_no,
            help=setting.meaning + shown,
        )  # fmt: skip
    return click.option(
        setting.flag, setting.name, metavar=metavar(setting), help=setting.meaning + shown
    )


def _yes_or_no(_context: click.Context, _option: click.Parameter, flag: bool | None) -> str | None:
    """Return a setting's value, None if the flag was not given."""
    return None if flag is None else ("yes" if flag else "no")


STANDBY = "standby"
KAFKA = "kafka.bootstrap_servers"
METAVARS = {**dict.fromkeys(ADDRESSES, "HOST:PORT"), KAFKA: "HOST:PORT[,...]"}


def metavar(setting: Setting) -> str:
    """What a value looks like, in a word."""
    if setting.choices:
        return "|".join(setting.choices)
    if setting.bounds:
        return "N"
    return METAVARS.get(setting.key, "TEXT")


def load(name: str | None, given: dict[str, Any]) -> Config:
    """Put the settings together; ConfigError says what is wrong. given: what flags() made."""
    wanted = {one.key: given[one.name] for one in SETTINGS.values() if one.name in given}
    told: Path | None = given["command_config"]
    of_file = {} if told is None else options.read_properties(told)
    layers = {f"--command-config {told}": of_file, "-X": given["kafka_settings"]}
    wanted.pop(OPTIONS, None)
    wanted["queue_manager"] = name
    found = config.load(wanted, os.environ, given["config_file"], layers)
    if not found[KAFKA]:
        found.values[KAFKA] = SettingValue(KAFKA, *default_kafka.choose())
    return found
