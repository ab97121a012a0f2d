"""Settings: one precedence, one table, and a sentence for whatever is wrong."""

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from adapter.host.settings import config
from adapter.host.settings.config import Config, ConfigError, SettingValue, load, missing
from adapter.host.settings.setting_rows import OPTIONS, SETTINGS
from tests.support import librdkafka

FLAG = {
    "listen_unix": "/flag", "listen_unix_mode": "600",
    "queue_manager": "FLAG", "credentials_file": "flag", "groups_file": "flag",
    "ledger_key_file": "flag",
    "jwt_keys": "https://flag/keys",
    "ldap_server": "ldaps://flag", "ldap_ca": "flag",
    "ldap_user_dn": "cn={},o=flag", "ldap_group_base": "flag",
    "ldap_group_filter": "(flag)", "ldap_group_attribute": "flag", "jwt_ca": "flag",
    "jwt_issuer": "flag", "jwt_audience": "flag",
    "jwt_user_claim": "flag", "jwt_groups_claim": "flag", "jwt_leeway_s": "1",
    "authorities": "yes", "audit": "yes",
    "remote_clients": "with_password",
    "listen_tls": "0.0.0.0:1", "tls_certificate": "flag", "tls_key": "flag",
    "tls_key_password_file": "flag",
    "tls_client_ca": "flag", "tls_user": "dns", "tls_min_version": "1.2", "http_tls": "yes",
    "listen": "127.0.0.1:1", "http_port": "1", "http_listen": "0.0.0.0:1",
    "registry_listen": "127.0.0.1:1", "log_level": "error",
    "log_format": "json", "max_uncommitted_messages": "1", "max_handles": "1", "max_queues": "1",
    "max_sessions": "1", "session_expiry_ms": "1001", "mover_interval_ms": "1",
    "uncopied_bytes": "1048577",
    "network": "no", "standby": "yes", "standby_priority": "1", "quiesce_ms": "1",
    "heartbeat_ms": "101", "client_heartbeat_ms": "1",
    "schema_registry": "http://flag", "schema_topic": "flag",
    "trigger_interval_ms": "1", "depth_trigger_disables": "yes",
    "every_triggers_on_backout": "yes", "dead_letter_queue": "FLAG",
    "statistics_interval_s": "1",
    "kafka.bootstrap_servers": "flag:1", "kafka.replication": "4",
    "kafka.min_insync_replicas": "4", "kafka.events_retention_ms": "60001",
    "kafka.consumed_retention_ms": "1",
}  # fmt: skip
VARIABLE = {
    "listen_unix": "/env", "listen_unix_mode": "660",
    "queue_manager": "ENV", "credentials_file": "env", "groups_file": "env",
    "ledger_key_file": "env",
    "jwt_keys": "https://env/keys",
    "ldap_server": "ldaps://env", "ldap_ca": "env",
    "ldap_user_dn": "cn={},o=env", "ldap_group_base": "env",
    "ldap_group_filter": "(env)", "ldap_group_attribute": "env", "jwt_ca": "env",
    "jwt_issuer": "env", "jwt_audience": "env",
    "jwt_user_claim": "env", "jwt_groups_claim": "env", "jwt_leeway_s": "2",
    "authorities": "no", "audit": "no",
    "remote_clients": "no",
    "listen_tls": "0.0.0.0:2", "tls_certificate": "env", "tls_key": "env",
    "tls_key_password_file": "env",
    "tls_client_ca": "env", "tls_user": "email", "tls_min_version": "1.3", "http_tls": "no",
    "listen": "127.0.0.1:2", "http_port": "2", "http_listen": "0.0.0.0:2",
    "registry_listen": "127.0.0.1:2", "log_level": "warning",
    "log_format": "text", "max_uncommitted_messages": "2", "max_handles": "2", "max_queues": "2",
    "max_sessions": "2", "session_expiry_ms": "1002", "mover_interval_ms": "2",
    "uncopied_bytes": "1048578",
    "network": "yes", "standby": "no", "standby_priority": "2", "quiesce_ms": "2",
    "heartbeat_ms": "102", "client_heartbeat_ms": "2",
    "schema_registry": "none", "schema_topic": "env",
    "trigger_interval_ms": "2", "depth_trigger_disables": "no",
    "every_triggers_on_backout": "no", "dead_letter_queue": "ENV",
    "statistics_interval_s": "2",
    "kafka.bootstrap_servers": "env:2", "kafka.replication": "5",
    "kafka.min_insync_replicas": "2", "kafka.events_retention_ms": "60002",
    "kafka.consumed_retention_ms": "2",
}  # fmt: skip
IN_FILE: dict[str, Any] = {
    "listen_unix": "/file", "listen_unix_mode": "666",
    "queue_manager": "FILE", "credentials_file": "file", "groups_file": "file",
    "ledger_key_file": "file",
    "jwt_keys": "https://file/keys",
    "ldap_server": "ldaps://file", "ldap_ca": "file",
    "ldap_user_dn": "cn={},o=file", "ldap_group_base": "file",
    "ldap_group_filter": "(file)", "ldap_group_attribute": "file", "jwt_ca": "file",
    "jwt_issuer": "file", "jwt_audience": "file",
    "jwt_user_claim": "file", "jwt_groups_claim": "file", "jwt_leeway_s": 3,
    "authorities": "yes",
    "audit": "with_authorities",
    "remote_clients": "with_password",
    "listen_tls": "0.0.0.0:3", "tls_certificate": "file", "tls_key": "file",
    "tls_key_password_file": "file",
    "tls_client_ca": "file", "tls_user": "subject", "tls_min_version": "1.2", "http_tls": "yes",
    "listen": "127.0.0.1:3", "http_port": 3, "http_listen": "[::]:3",
    "registry_listen": "localhost:3", "log_level": "debug",
    "log_format": "json", "max_uncommitted_messages": 3, "max_handles": 3, "max_queues": 3,
    "max_sessions": 3, "session_expiry_ms": 1003, "mover_interval_ms": 3,
    "uncopied_bytes": 1048579,
    "network": "no", "standby": "yes", "standby_priority": 3, "quiesce_ms": 3,
    "heartbeat_ms": 103, "client_heartbeat_ms": 3,
    "schema_registry": "http://file", "schema_topic": "file",
    "trigger_interval_ms": 3, "depth_trigger_disables": "yes",
    "every_triggers_on_backout": "yes", "dead_letter_queue": "FILE",
    "statistics_interval_s": 3,
    "kafka.bootstrap_servers": "file:3", "kafka.replication": 6,
    "kafka.min_insync_replicas": 3, "kafka.events_retention_ms": 60003,
    "kafka.consumed_retention_ms": 3,
}  # fmt: skip
KEYS = [key for key in SETTINGS if key != OPTIONS]
BESIDE: dict[str, dict[str, Any]] = {
    "kafka.min_insync_replicas": {"kafka.replication": 7},
    "remote_clients": {"credentials_file": "users"},
    "listen_tls": {"tls_certificate": "qm1.pem", "tls_client_ca": "ca.pem"},
    "http_tls": {"tls_certificate": "qm1.pem"},
    "ldap_server": {"ldap_user_dn": "uid={},o=x"},
    "jwt_keys": {"jwt_issuer": "https://issuer", "jwt_audience": "qm1"},
}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working directory without a settings' file."""
    monkeypatch.chdir(tmp_path)


def toml(path: Path, values: dict[str, Any]) -> Path:
    """Write a settings' file."""
    lines = [f"{key} = {value!r}" for key, value in values.items()]
    path.write_text("\n".join(lines))
    return path


def environment(values: dict[str, str]) -> dict[str, str]:
    return {SETTINGS[key].environment: value for key, value in values.items()}


def said(found: Config) -> dict[str, tuple[Any, str]]:
    return {key: (one.value, one.source) for key, one in found.values.items()}


def test_the_samples_name_every_setting() -> None:
    assert set(FLAG) == set(VARIABLE) == set(IN_FILE) == set(KEYS)


def test_nothing_given_is_the_defaults() -> None:
    assert said(load({}, {})) == {key: (SETTINGS[key].default, "default") for key in KEYS}
    assert load({}, {}).file is None


@pytest.mark.parametrize("key", KEYS)
def test_flags_win_over_the_environment_over_the_file(key: str, tmp_path: Path) -> None:
    beside = BESIDE.get(key, {})
    path = toml(tmp_path / "a.toml", {key: IN_FILE[key]} | beside)
    in_environment = environment({key: VARIABLE[key]})
    flags = {key: FLAG[key]}
    setting = SETTINGS[key]
    number = isinstance(setting.default, int)
    for found, value, source in (
        (load(flags, in_environment, path), FLAG[key], setting.flag),
        (load({key: None}, in_environment, path), VARIABLE[key], setting.environment),
        (load({}, {}, path), IN_FILE[key], str(path)),
    ):
        assert said(found)[key] == (int(value) if number else value, source)


SWITCHES = [key for key in KEYS if {"no", "yes"} <= set(SETTINGS[key].choices)]


@pytest.mark.parametrize("key", SWITCHES)
@pytest.mark.parametrize(("word", "meant"), [("on", "yes"), ("off", "no")])
def test_a_switch_has_other_words(key: str, word: str, meant: str, tmp_path: Path) -> None:
    beside = BESIDE.get(key, {})
    assert load({}, {}, toml(tmp_path / "a.toml", {key: word} | beside))[key] == meant
    assert load({key: word} | beside, {})[key] == meant
    assert load(beside, environment({key: word}))[key] == meant
    as_value = "true" if meant == "yes" else "false"
    path = toml(tmp_path / "b.toml", beside)
    path.write_text(f"{key} = {as_value}\n{path.read_text()}")
    assert load({}, {}, path)[key] == meant


@pytest.mark.parametrize("word", ["1", "'ON'", "''", "[true]"])
def test_no_other_words_are_switches(word: str, tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text(f"authorities = {word}")
    with pytest.raises(ConfigError, match=r"authorities is .*; it is one of no, yes"):
        load({}, {}, path)


def test_options_of_kafka_are_put_together_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.touch(0o600)
    path.write_text(
        "[kafka.options]\n"
        '"security.protocol" = "SASL_SSL"\n'
        'sasl.mechanism = "PLAIN"\n'
        "socket.keepalive.enable = true\n"
        "log_level = 5\n"
        'sasl.username = "file"\n'
        'sasl.password = "file"\n'
    )
    in_environment = {
        "MQK_KAFKA_OPTION_SASL_PASSWORD": "env",
        "MQK_KAFKA_OPTION_SASL_USERNAME": "env",
        "MQK_KAFKA_OPTION_LOG__LEVEL": "6",
    }
    told = {"--command-config x": {"sasl.username": "told", "a": "told"}, "-X": {"a": "X"}}
    found = load({}, in_environment, path, told)
    assert found.kafka_options == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "socket.keepalive.enable": "true",
        "log_level": "6",
        "sasl.username": "told",
        "sasl.password": "env",
        "a": "X",
    }
    sources = {name: one.source for name, one in found.options.items()}
    assert sources["sasl.password"] == "MQK_KAFKA_OPTION_SASL_PASSWORD"
    assert sources["sasl.username"] == "--command-config x"
    assert sources["a"] == "-X"
    hidden = {name for name, one in found.options.items() if one.is_secret}
    assert hidden == {"sasl.password"}


def test_the_file_is_the_flags_then_the_environments_then_the_one_that_is_there(
    tmp_path: Path,
) -> None:
    flag = toml(tmp_path / "flag.toml", {"queue_manager": "FLAG"})
    variable = toml(tmp_path / "variable.toml", {"queue_manager": "VARIABLE"})
    toml(tmp_path / config.FILE, {"queue_manager": "HERE"})
    named = {"MQK_CONFIG": str(variable)}
    assert load({}, named, flag)["queue_manager"] == "FLAG"
    assert load({}, named)["queue_manager"] == "VARIABLE"
    assert load({}, {})["queue_manager"] == "HERE"


def test_an_empty_variable_counts_as_not_set() -> None:
    assert load({}, {"MQK_LISTEN": ""}).is_default("listen")


@pytest.mark.parametrize(
    "name", ["PATH", "MQK_QMGR", "MQK_DEBUG", "MQK_CACHE_DIR", "MQK_PORT", "MQK_SERVICE_HOST",
             "MQK_PORT_1414_TCP_ADDR", "MQK_HEADLESS_SERVICE_PORT"],
)  # fmt: skip
def test_variables_of_others_are_let_be(name: str) -> None:
    assert said(load({}, {name: "x"})) == said(load({}, {}))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("queue_manger = 'Q'", "unknown setting queue_manger; did you mean queue_manager?"),
        ("[kafka]\nbootstrap = 'x'", "unknown setting kafka.bootstrap"),
        ("[kafka]\nbootstrap_server = 'x'", "did you mean kafka.bootstrap_servers?"),
        ("[other]\na = 1", "unknown setting other"),
        ("kafka = 1", "kafka is a table: write [kafka]"),
        ("kafka.options = 'x'", "kafka.options is a table: write [kafka.options]"),
        ("listen = {}", "listen is {}; it is HOST:PORT, such as 127.0.0.1:1414"),
        ("listen = 1414", "listen is 1414; it is HOST:PORT"),
        ("listen = '127.0.0.1:70000'", "listen: '127.0.0.1:70000' is not HOST:PORT"),
        ("listen = 'a:b:c'", "listen is 'a:b:c'; it is HOST:PORT"),
        ("http_listen = 'a:b'", "http_listen is 'a:b'; it is HOST:PORT, such as 127.0.0.1:9414"),
        ("http_listen = 'a:0'", "http_listen is 'a:0'; choose a port from 1 to 65535"),
        ("registry_listen = 'a:99999'", "is not HOST:PORT, such as 127.0.0.1:8081"),
        (
            "http_listen = 'a:1'\nhttp_port = 2",
            "http_listen is a:1, and http_port is set by",
        ),
        (
            "registry_listen = 'a:1'\nschema_registry = 'none'",
            "registry_listen is a:1, but no registry is served",
        ),
        ("http_port = '9414'", "http_port is '9414'; it is a number from 0 to 65535"),
        ("http_port = -1", "http_port is -1; it is a number from 0 to 65535"),
        ("http_port = true", "http_port is True; it is a number from 0 to 65535"),
        ("log_level = 'loud'", "log_level is 'loud'; it is one of debug, info, warning, error"),
        ("queue_manager = 'no name'", "queue_manager is 'no name'; a name has 1 to 48 of"),
        ("queue_manager = ''", "queue_manager is ''; a name has 1 to 48 of"),
        ("max_handles = 0", "max_handles is 0; it is a number from 1 to 100000"),
        ("[kafka.options]\nacks = '1'", "kafka.options: acks: the queue manager sets it by itself"),
        ("[kafka.options]\nbootstrap.servers = 'x'", "use bootstrap_servers"),
        ("[kafka.options]\nx = [1]", "kafka.options: x is a list; text is wanted"),
        ("[kafka]\nreplication = 2\nmin_insync_replicas = 3", "nothing could be written"),
        ("[kafka]\nmin_insync_replicas = 1", "set both, or neither"),
        (
            "listen_unix = 'QM1.sock'",
            "'QM1.sock'; it is auto, or a path that starts with /",
        ),
        ("listen_unix_mode = '644'", "it is one of 600, 660, 666"),
        ("remote_clients = 'with_password'", "there would be no password to check"),
        ("ldap_server = 'ldap://ldap.example.org'", "it is ldaps://HOST[:PORT]"),
        ("ldap_server = 'ldaps://h'", "ldap_server is set, and ldap_user_dn not"),
        ("ldap_user_dn = '{}@example.org'", "it is a name with {}, such as uid={}"),
        ("jwt_keys = 'k'", "jwt_keys is set, and jwt_issuer and jwt_audience not"),
        ("jwt_keys = 'k'\njwt_issuer = 'i'", "jwt_keys is set, and jwt_audience not"),
        ("jwt_keys = 'http://keys.example.org/k'", "it is a file, or a URL that begins with https"),
        ("a = ", "is not TOML: "),
        ("a = " + "[" * 20_000 + "]" * 20_000, "has too many lists or tables in each other"),
        ("a = " + "9" * 5_000, "is not TOML: "),
        ('listen = "localhost:' + "9" * 5_000 + '"', "it is HOST:PORT"),
        *(
            (f'{key} = "{value}\\n"', f"{key} is '{value}")
            for key, value in {
                "queue_manager": "QM1",
                "listen": "localhost",
                "http_listen": "localhost:1",
                "listen_unix": "auto",
                "schema_topic": "_schemas",
                "schema_registry": "topic",
                "ldap_server": "ldaps://h",
                "ldap_user_dn": "uid={},o=x",
                "jwt_keys": "file",
            }.items()
        ),
    ],
)
def test_what_is_wrong_in_the_file_is_named(content: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(content)
    with pytest.raises(ConfigError) as problem:
        load({}, {}, path)
    assert str(problem.value).startswith(str(path))
    assert words in str(problem.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone\.toml cannot be read: No such file"):
        load({}, {"MQK_CONFIG": "gone.toml"})
    (tmp_path / "bytes.toml").write_bytes(b"\xff")
    with pytest.raises(ConfigError, match=r"bytes\.toml cannot be read: it is not text"):
        load({}, {}, Path("bytes.toml"))


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("MQK_HTTP_PORT", "many", "MQK_HTTP_PORT: http_port is 'many'; it is a number from 0"),
        ("MQK_HTTP_PRT", "1", "environment variable MQK_HTTP_PRT; did you mean MQK_HTTP_PORT?"),
        ("MQK_LOG_LEVEL", "INFO", "MQK_LOG_LEVEL: log_level is 'INFO'; it is one of"),
        ("MQK_KAFKA_OPTION_ACKS", "0", "MQK_KAFKA_OPTION_ACKS: kafka.options: acks: the queue"),
    ],
)
def test_what_is_wrong_in_the_environment_is_named(variable: str, value: str, words: str) -> None:
    with pytest.raises(ConfigError) as problem:
        load({}, {variable: value})
    assert words in str(problem.value)


def test_what_is_wrong_in_a_flag_is_named() -> None:
    with pytest.raises(ConfigError, match="--http-port: http_port is 'x'; it is a number"):
        load({"http_port": "x"}, {})
    with pytest.raises(ConfigError, match=r"-X: kafka\.options: group\.id: the queue manager sets"):
        load({}, {}, None, {"-X": {"group.id": "x"}})


def test_what_a_start_cannot_do_without() -> None:
    (text,) = missing(load({}, {}))
    assert "NAME, MQK_QUEUE_MANAGER, or queue_manager in mqk.toml" in text
    assert missing(load({"queue_manager": "Q"}, {})) == []


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:1", ("127.0.0.1", 1)),
        ("localhost", ("localhost", 1414)),
        ("[::1]:2", ("::1", 2)),
        ("[::1]", ("::1", 1414)),
    ],
)
def test_where_it_listens(text: str, address: tuple[str, int]) -> None:
    assert load({"listen": text}, {}).address == address


def test_names_are_unique() -> None:
    for names in (
        [one.name for one in SETTINGS.values()],
        [one.flag for one in SETTINGS.values()],
        [one.environment for one in SETTINGS.values()],
    ):
        assert len(set(names)) == len(names)


def test_a_variable_has_one_meaning() -> None:
    """A process of a queue manager may have a client's certificate in its environment."""
    assert not {one.environment for one in SETTINGS.values()} & set(config.OTHER_VARIABLES)


CLIENT = {"MQK_TLS_CA": "ca", "MQK_TLS_CERT": "ann.pem"}


@pytest.mark.parametrize(
    ("key", "older"),
    [("tls_key", "MQK_TLS_KEY"), ("tls_key_password_file", "MQK_TLS_KEY_PASSWORD_FILE")],
)
def test_the_key_of_a_client_is_not_that_of_the_queue_manager(key: str, older: str) -> None:
    variable = SETTINGS[key].environment
    assert load({}, {**CLIENT, older: "ann"})[key] == ""
    assert load({}, {**CLIENT, older: "ann", variable: "qm1"})[key] == "qm1"
    assert said(load({}, {older: "qm1"}))[key] == ("qm1", older)
    assert said(load({}, {older: "ann", variable: "qm1"}))[key] == ("qm1", variable)


def test_every_variable_that_there_is_is_known() -> None:
    """Who has set one for another part of mqk goes on starting queue managers in the same shell."""
    top = Path(__file__).parents[4]
    settings = {one.environment for one in SETTINGS.values()}
    named: set[str] = set()
    for folder in ("adapter", "spark_jobs", "mqk_demo", "native", "docker", "docs", "examples"):
        for path in (top / folder).rglob("*"):
            if path.is_file() and path.suffix not in (".pyc", ".so", ".jar"):
                named |= set(re.findall(r"\bMQK_[A-Z][A-Z_]*\b", path.read_text(errors="replace")))
    assert {"MQK_TOKEN_FILE", "MQK_EVENT"} <= named
    named = {one for one in named if not one.startswith("MQK_KAFKA_OPTION_")}
    assert named - settings == set(config.OTHER_VARIABLES)
    load({}, dict.fromkeys(named - settings - {config.FILE_VARIABLE}, "x"))
    for variable, reader in config.OTHER_VARIABLES.items():
        assert variable in (top / reader).read_text(), reader


def test_the_environment_of_this_run_is_understood() -> None:
    """Nobody who runs the tests has to clean their environment for the command."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("MQK_TEST_")}
    load({}, ours)


def test_variables_of_the_compose_file_are_no_mistakes() -> None:
    """Who has set them for `docker compose` goes on using `mqk` in the same shell."""
    text = (Path(__file__).parents[4] / "docker" / "compose.yaml").read_text()
    named = set(re.findall(r"\$\{(MQK_\w+)", text))
    assert {"MQK_TAG", "MQK_SPARK_QUEUE"} <= named
    known = {one.environment for one in SETTINGS.values()}
    load({}, dict.fromkeys(named - known, "x"))


def test_the_settings_of_two_hosts_are_settings() -> None:
    path = Path(__file__).parents[4] / "examples" / "two-hosts" / "qm1.toml"
    found = load({}, {}, path)
    assert (found["queue_manager"], found["heartbeat_ms"]) == ("QM1", 1000)
    assert found.tls_address == ("host-1", 1415)
    assert found["kafka.min_insync_replicas"] == 2


def test_a_settings_file_has_a_bound() -> None:
    with pytest.raises(ConfigError, match=r"/dev/zero cannot be read: it has more than"):
        load({}, {}, Path("/dev/zero"))


@pytest.mark.parametrize("name", sorted(config.RUNS_CODE))
def test_a_file_that_is_only_found_loads_no_code(name: str, tmp_path: Path) -> None:
    """Whoever can write into the folder where `mqk` is typed would run programs as its user."""
    path = tmp_path / config.FILE
    path.write_text(f'[kafka.options]\n"{name}" = "x"\n')
    words = r"may not do that; name it, --config mqk\.toml"
    with pytest.raises(ConfigError, match=words) as problem:
        load({}, {})
    assert name in str(problem.value)
    assert load({}, {}, path).kafka_options == {name: "x"}
    assert load({}, {"MQK_CONFIG": str(path)}).kafka_options == {name: "x"}


@pytest.mark.parametrize(
    ("content", "holds"),
    [
        ("[kafka.options]\nsasl.password = 'PLANTED'\n", "kafka.options.sasl.password"),
        ('schema_registry = "http://ann:PLANTED@registry:8081"\n', "schema_registry"),
    ],
)
def test_a_file_with_a_secret_is_its_owners_alone(tmp_path: Path, content: str, holds: str) -> None:
    path = tmp_path / "a.toml"
    path.write_text(content)
    path.chmod(0o640)
    with pytest.raises(ConfigError) as refused:
        load({}, {}, path)
    assert str(refused.value) == (
        f"{path} holds {holds}, and others may read or write it: chmod 600 {path}"
    )
    path.chmod(0o600)
    shown = {one.key: one.shown for one in load({}, {}, path).all()}
    assert "PLANTED" not in str(shown)
    assert "(not shown)" in str(shown[holds])


def test_what_librdkafka_does_not_log_is_not_shown_and_a_key_is_its_owners() -> None:
    redacted = librdkafka.redacted()
    assert {"sasl.password", "sasl.oauthbearer.assertion.private.key.passphrase"} <= redacted
    public = {"sasl.username", *config.KEY_FILES}
    shown = {one for one in redacted if not SettingValue(f"{OPTIONS}.{one}", "x", "").is_secret}
    assert shown <= public


def test_an_option_that_only_a_program_sets_is_refused() -> None:
    """Kafka's client raises an error of its own for each other one that it does not take."""
    for name in (*librdkafka.properties(), "logger", "oauth_cb", "default.topic.config"):
        with suppress(ConfigError):
            options = load({}, {}, None, {"-X": {name: "x"}}).kafka_options
            with suppress(KafkaException):
                AdminClient({"bootstrap.servers": "127.0.0.1:1", "log_level": 0, **options})
    for name in ("logger", "error_cb", "on_commit", "default.topic.config"):
        with pytest.raises(ConfigError, match=f"-X: kafka.options: {name}: only a program can"):
            load({}, {}, None, {"-X": {name: "x"}})
    with pytest.raises(ConfigError, match=r"client\.id: its value is not text in UTF-8"):
        load({}, {}, None, {"-X": {"client.id": "\udcff"}})


@pytest.mark.parametrize(
    ("url", "is_taken"),
    [
        ("http://localhost/keys", True),
        ("http://127.0.0.1:8080/keys", True),
        ("http://[::1]:8080/keys", True),
        ("http://localhost:x@evil.example/keys", False),
        ("http://localhost:80@evil.example/keys", False),
        ("http://localhost.evil.example/keys", False),
        ("http://localhost@evil.example/keys", False),
    ],
)
def test_keys_come_in_the_clear_from_this_machine_alone(url: str, is_taken: bool) -> None:
    flags = {"jwt_keys": url, "jwt_issuer": "a", "jwt_audience": "b"}
    if is_taken:
        assert load(flags, {})["jwt_keys"] == url
    else:
        with pytest.raises(ConfigError, match="or with http on this machine"):
            load(flags, {})


def test_a_url_that_is_refused_is_quoted_without_its_login() -> None:
    with pytest.raises(ConfigError) as refused:
        load({}, {"MQK_SCHEMA_REGISTRY": "ftp://ann:PLANTED@registry"})
    assert "'ftp://(not shown)@registry'" in str(refused.value)
    assert "PLANTED" not in str(refused.value)


@pytest.mark.parametrize("name", sorted(config.KEY_FILES))
def test_a_key_for_kafka_is_its_owners_alone(tmp_path: Path, name: str) -> None:
    key = tmp_path / "qm1.key"
    key.touch()
    key.chmod(0o640)
    with pytest.raises(ConfigError) as refused:
        load({}, {}, None, {"-X": {name: str(key)}})
    assert str(refused.value) == (
        f"-X: kafka.options.{name} is {key}, which holds a key, and others may read or write it: "
        f"chmod 600 {key}"
    )
    key.chmod(0o600)
    assert load({}, {}, None, {"-X": {name: str(key)}}).kafka_options == {name: str(key)}


class Section(msgspec.Struct):
    """The settings of a part."""

    level: str
    format: str
    place: str = ""


def test_a_section_has_the_settings_behind_its_prefix() -> None:
    found = load({"log_level": "debug"}, {}).section(Section, "log_", place="here")
    assert (found.level, found.place) == ("debug", "here")
    with pytest.raises(KeyError):
        load({}, {}).section(Section, "log_")
