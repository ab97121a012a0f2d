"""The settings of a queue manager's process: one row each.

The table drives flags, the environment, the file and the documentation. This module does not know
where values come from, nor what they do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from msgspec import Meta, Struct

from adapter.core.attributes.table import NAME_LENGTH_MAX
from adapter.core.contract.limits import Limits

PREFIX = "MQK_"
OPTIONS = "kafka.options"
OPTION_PREFIX = "MQK_KAFKA_OPTION_"
DAY_MS = 24 * 60 * 60 * 1000
INT_MAX = 2**31 - 1


class Setting(Struct, frozen=True, kw_only=True):
    """One row. kind: the type that its values must have, bounds included."""

    key: str
    kind: Any
    default: Any
    meaning: str
    example: str = ""
    variable: str = ""
    """Its environment variable, if that is not the one that the key would give."""
    older: str = ""
    """Another one, which is also that of a client's key: it counts where no client's certificate
    is set.
    """

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


def option_of(variable: str) -> str:
    """Return the setting of librdkafka that a variable of the environment sets: _ stands for a dot,
    __ for _.
    """
    name = variable.removeprefix(OPTION_PREFIX).lower()
    return name.replace("__", "\0").replace("_", ".").replace("\0", "_")


def _number(low: int, high: int) -> Any:
    return Annotated[int, Meta(ge=low, le=high)]


def _text(least: int = 0) -> Any:
    return Annotated[str, Meta(min_length=least, max_length=4096)]


LIMITS = Limits()
# \Z is the end; $ would let a line feed stand before it.
NAME_PATTERN = rf"^[A-Za-z0-9._/%]{{1,{NAME_LENGTH_MAX}}}\Z"
ADDRESS_PATTERN = r"^(\[[0-9a-fA-F:.]+\]|[^:\s]+)(:[0-9]{1,5})?\Z"
SOCKET_PATTERN = r"^\Z|^auto\Z|^/[^,]+\Z"
ADDRESS_OR_NOT_PATTERN = rf"^\Z|{ADDRESS_PATTERN}"
LOOPBACK_PATTERN = r"(127\.0\.0\.1|localhost|\[::1\])"
KEYS_PATTERN = rf"^\Z|^https://\S+\Z|^http://{LOOPBACK_PATTERN}(:[0-9]+)?(/\S*)?\Z|^(?!https?:).+\Z"
DIRECTORY_PATTERN = rf"^\Z|^ldaps://[^\s/]+\Z|^ldap://{LOOPBACK_PATTERN}(:[0-9]+)?\Z"
REGISTRY_PATTERN = r"^(topic|none|https?://\S+)\Z"
TOPIC_PATTERN = r"^[A-Za-z0-9._-]{1,249}\Z"
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
AS_AUTHORITIES = "with_authorities"
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
            "authority, PEM; or of PKCS#12, with the key. It and the key are read again when they "
            "change: no restart is needed.",
            example='"/etc/mqk/tls/qm1.pem"',
        ),
        Setting(
            key="tls_key", kind=_text(), default="",
            variable="MQK_SERVER_TLS_KEY", older="MQK_TLS_KEY",
            meaning="File of its private key, PEM, which only the user of the queue manager may "
            "read. Empty: it is in tls_certificate.",
            example='"/etc/mqk/tls/qm1.key"',
        ),
        Setting(
            key="tls_key_password_file", kind=_text(), default="",
            variable="MQK_SERVER_TLS_KEY_PASSWORD_FILE", older="MQK_TLS_KEY_PASSWORD_FILE",
            meaning="File whose first line is the password of the private key, or of PKCS#12, "
            "which only the user of the queue manager may read. Empty: the key is not encrypted.",
            example='"/etc/mqk/tls/qm1.password"',
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
            key="groups_file", kind=_text(), default="",
            meaning="File of groups of users, for authorities: a line GROUP:USER for each, written "
            "by `mqk group`, and read again when it changes. A user is named as the queue manager "
            "knows it, by a password, a certificate or the Unix-domain socket. Empty: users have "
            "no groups but those of the operating system, at that socket.",
            example='"/etc/mqk/groups"',
        ),
        Setting(
            key="jwt_keys", kind=Annotated[str, Meta(pattern=KEYS_PATTERN)], default="",
            meaning="Public keys of an issuer of JSON Web Tokens: a file (PEM or a JSON Web Key "
            "Set), or the https URL of such a set. With them clients may give a token in place of "
            "user and password; they are read again when they change. Needs jwt_issuer, "
            "jwt_audience and the extra mqk[jwt]. Empty: no token is accepted.",
            example='"https://login.example.org/keys"',
        ),
        Setting(
            key="jwt_ca", kind=_text(), default="",
            meaning="File of the authorities of the URL of jwt_keys, PEM. Empty: those that the "
            "system trusts.",
            example='"/etc/mqk/tls/ca.pem"',
        ),
        Setting(
            key="jwt_issuer", kind=_text(), default="",
            meaning="What a token must name as its issuer (`iss`).",
            example='"https://login.example.org"',
        ),
        Setting(
            key="jwt_audience", kind=_text(), default="",
            meaning="What a token must name as its audience (`aud`): this queue manager. A token "
            "for another service is refused.",
            example='"mqk"',
        ),
        Setting(
            key="jwt_user_claim", kind=_text(1), default="sub",
            meaning="Which claim of a token is the user. A dot leads into a claim: `person.name`.",
        ),
        Setting(
            key="jwt_groups_claim", kind=_text(), default="groups",
            meaning="Which claim of a token is the user's groups, as authority records name them: "
            "a list, or a text with spaces. Empty: none.",
        ),
        Setting(
            key="jwt_leeway_s", kind=_number(0, 300), default=30,
            meaning="Seconds by which the clocks of issuer and queue manager may differ.",
        ),
        Setting(
            key="ldap_server", kind=Annotated[str, Meta(pattern=DIRECTORY_PATTERN)], default="",
            meaning="URL of a directory (LDAP) whose users clients may be, with the passwords "
            "there: ldaps://HOST[:PORT]. With it every client must give a valid password, as with "
            "credentials_file, which comes first. Needs ldap_user_dn and the extra mqk[ldap]. "
            "Empty: none.",
            example='"ldaps://ldap.example.org"',
        ),
        Setting(
            key="ldap_ca", kind=_text(), default="",
            meaning="File of the authorities of the directory, PEM. Empty: those that the system "
            "trusts.",
            example='"/etc/mqk/tls/ca.pem"',
        ),
        Setting(
            key="ldap_user_dn", kind=Annotated[str, Meta(pattern=r"^\Z|^[A-Za-z0-9-]+=\{\},.+\Z")],
            default="",
            meaning="Name of a user's entry in the directory, with {} in place of the user.",
            example='"uid={},ou=people,dc=example,dc=org"',
        ),
        Setting(
            key="ldap_group_base", kind=_text(), default="",
            meaning="Below which entry the groups of users are searched. Empty: users have no "
            "groups.",
            example='"ou=groups,dc=example,dc=org"',
        ),
        Setting(
            key="ldap_group_filter", kind=_text(1), default="(member={dn})",
            meaning="Which groups a user is in: a filter, with {dn} in place of the name of the "
            "user's entry and {user} in place of the user.",
        ),
        Setting(
            key="ldap_group_attribute", kind=_text(1), default="cn",
            meaning="Which attribute of a group is its name, as authority records name it.",
        ),
        Setting(
            key="authorities", kind=Literal["no", "yes"], default="no",
            meaning="yes: clients may do only what authority records grant their users and groups "
            "(`mqk auth`). A client counts as a user only if it has proved that by a certificate, "
            "a password or the Unix-domain socket; root and the account of the queue manager, at "
            "that socket, may do everything. no: every client may do everything.",
        ),
        Setting(
            key="audit", kind=Literal["with_authorities", "no", "yes"], default=AS_AUTHORITIES,
            meaning="yes: what the audit notes is on record as events (`mqk audit`): clients that "
            "are refused, authorities that are missing, administrative commands with what they "
            "change, administrators that browse messages, take-overs. with_authorities: as "
            "authorities says. The log has most of it in any case.",
        ),
        Setting(
            key="ledger_key_file", kind=_text(), default="",
            meaning="File of the keys that the ledger is sealed with, written by `mqk ledger key "
            "add`, which only the user of the queue manager may read: records of the ledger that "
            "another program has written are void then, and reported. It is read at the start. "
            "Standbys need the same file, and all that reads a sealed ledger. Empty: the next "
            "owner seals nothing, and a ledger that is sealed is refused.",
            example='"/etc/mqk/ledger-keys"',
        ),
        Setting(
            key="remote_clients", kind=Literal["no", "with_password"], default="no",
            meaning="with_password: listen may be an address that other machines reach. Their "
            "clients must give a valid password, whatever CHCKCLNT is, so credentials_file must "
            "be set. What goes through listen is not encrypted, nor are passwords: use trusted "
            "networks only, or listen_tls.",
        ),
        Setting(
            key="http_listen", kind=Annotated[str, Meta(pattern=ADDRESS_OR_NOT_PATTERN)],
            default="",
            meaning="HOST:PORT for /metrics, /live and /ready, which change nothing. If other "
            "machines reach the host, their programs need a login, but for the status of /live and "
            "/ready. Empty: 127.0.0.1 and http_port.",
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
            "for no password, unless http_tls is yes. Empty: /registry of http_listen, if that is "
            "loopback; else none.",
        ),
        Setting(
            key="http_tls", kind=Literal["no", "yes"], default="no",
            meaning="yes: what is served over HTTP is served with TLS (https), by tls_certificate, "
            "and registry_listen may be an address that other machines reach: its clients must "
            "show a certificate of tls_client_ca or give a valid password (HTTP Basic).",
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
            key="standby", kind=Literal["no", "yes"], default="no",
            meaning="yes: the process follows the owner of the queue manager, and takes over when "
            "the owner has ended or is silent; without an owner it serves at once. So two machines "
            "may have the same service, and the one that starts second stands by.",
        ),
        Setting(
            key="standby_priority", kind=_number(0, 9), default=0,
            meaning="Of several standbys the one with the highest priority takes over; of equal "
            "ones, the one that has been there the longest.",
        ),
        Setting(
            key="client_heartbeat_ms", kind=_number(0, 3_600_000), default=1000,
            meaning="How often client and queue manager say something to each other at least. "
            "The connection of a client that says nothing for three times this is ended, and "
            "its units are backed out. A client may ask for longer. 0: no heartbeats.",
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
