"""The settings of one server, as its process reads them. This module does not use them."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from adapter.core.contract.limits import Limits
from adapter.host.logs import LogSettings
from adapter.registry.log import SCHEMAS
from adapter.runtime.owner.owner import QUIESCE_S
from adapter.runtime.owner.parts import HEARTBEAT_S
from adapter.server.access.ldap_settings import LdapSettings
from adapter.server.access.token_settings import TokenSettings
from adapter.server.listen.bounds import BOUNDS, ConnectionBounds
from adapter.server.listen.tls import TlsSettings
from adapter.server.services.kafka_wiring import KafkaSettings
from adapter.server.services.own_schemas import NO_REGISTRY


class ServerSettings(Struct, kw_only=True):
    """What a server needs to know.

    unix_path: of a Unix-domain socket to listen at too, listener.AUTO, or "" for none.
    unix_mode: its permissions.
    http_host, http_port: for monitoring, port 0 for none. http_if_free: no configuration sets that
    port, so that the server goes on without one if it is taken. registry_host, registry_port: of
    the schema registry's API; port 0 for none but /registry of a monitoring on loopback. http_tls:
    both with TLS, and that API for users only.
    quiesce_ms: how long a stop gives units in flight.
    heartbeat_ms: how often an idle owner writes. take_over: start even if another owner is alive.
    standby: follow another owner, and take over when it is gone. standby_priority: the highest of
    several standbys goes first.
    registry, registry_topic: schema_registry and schema_topic of the configuration.
    remote_clients: host may be one that other machines reach. bounds: of clients' connections;
    configuration sets their heartbeats only.
    network: other queue managers of the same Kafka are reached. authorities: authority records are
    checked. audit: what the audit notes is on record, as events.
    """

    queue_manager: str
    kafka: KafkaSettings
    host: str = "127.0.0.1"
    port: int = 1414
    unix_path: str = ""
    unix_mode: int = 0o600
    http_host: str = "127.0.0.1"
    http_port: int = 0
    http_if_free: bool = False
    log: LogSettings = LogSettings()
    limits: Limits = Limits()
    attributes: dict[str, Any] = {}
    quiesce_ms: int = round(QUIESCE_S * 1000)
    heartbeat_ms: int = round(HEARTBEAT_S * 1000)
    take_over: bool = False
    standby: bool = False
    standby_priority: int = 0
    credentials_file: str = ""
    groups_file: str = ""
    authorities: bool = False
    audit: bool = False
    registry: str = NO_REGISTRY
    registry_topic: str = SCHEMAS
    registry_host: str = ""
    registry_port: int = 0
    http_tls: bool = False
    remote_clients: bool = False
    tls: TlsSettings = TlsSettings()
    tokens: TokenSettings = TokenSettings()
    ldap: LdapSettings = LdapSettings()
    network: bool = True
    bounds: ConnectionBounds = BOUNDS
