"""mqk config: what would be in force, and the page that lists what there is."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from adapter.cli import config
from adapter.host.settings.setting_rows import SETTINGS
from adapter.server.monitor.metrics import (
    EXPORTS,
    FEEDS,
    FIGURES,
    MOVERS,
    QUEUES,
    RECEIVER,
    SENDERS,
)
from tests.unit.cli.conftest import Mqk, Said

PAGE = Path(__file__).parents[3] / "docs" / "operations" / "configuration.md"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "qm1.toml"
    path.touch(0o600)
    path.write_text(
        'queue_manager = "QM1"\nlog_level = "debug"\n'
        "[kafka]\nbootstrap_servers = \"k:1\"\n[kafka.options]\nsasl.password = 'hush'\n"
    )
    return path


def said_lines(said: Said) -> list[dict[str, Any]]:
    return [json.loads(line) for line in said.out.splitlines()]


def test_check_shows_what_is_in_force_and_where_it_comes_from(
    mqk: Mqk, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MQK_HTTP_PORT", "9500")
    said = mqk("config", "check", file, "--listen", "127.0.0.1:1500", "-X", "client.id=b", "--json")
    assert (said.status, said.err) == (0, "")
    told = {
        one["key"]: (one["value"], one["from"])
        for one in map(json.loads, said.out.split("\n")[:-1])
    }
    assert told["queue_manager"] == ("QM1", str(file))
    assert told["http_port"] == (9500, "MQK_HTTP_PORT")
    assert told["listen"] == ("127.0.0.1:1500", "--listen")
    assert told["log_format"] == ("auto", "default")
    assert told["kafka.options.sasl.password"] == ("(not shown)", str(file))
    assert told["kafka.options.client.id"] == ("b", "-X")
    assert list(told)[: len(SETTINGS) - 1] == [key for key in SETTINGS if key != "kafka.options"]


def test_check_for_people(mqk: Mqk, file: Path) -> None:
    said = mqk("config", "check", "--config", file)
    assert said.status == 0
    assert ["log_level", "debug", str(file)] in [line.split() for line in said.out.splitlines()]
    assert "hush" not in said.out


def test_what_is_still_missing_is_a_note(mqk: Mqk, tmp_path: Path) -> None:
    (tmp_path / "empty.toml").write_text("")
    said = mqk("config", "check", tmp_path / "empty.toml")
    assert said.status == 0
    assert "note: queue_manager is not set" in said.err


def test_without_a_local_kafka_the_usual_address_is_the_default(mqk: Mqk, tmp_path: Path) -> None:
    assert ["kafka.bootstrap_servers", "localhost:9092", "default"] in _rows(mqk, tmp_path)


def test_a_local_kafka_is_found_by_its_data_folder(
    mqk: Mqk, tmp_path: Path, local_kafka: str
) -> None:
    assert ["kafka.bootstrap_servers", local_kafka, "mqk", "kafka", "start"] in _rows(mqk, tmp_path)


def _rows(mqk: Mqk, folder: Path) -> list[list[str]]:
    (folder / "empty.toml").write_text("")
    said = mqk("config", "check", folder / "empty.toml")
    assert said.status == 0
    return [line.split() for line in said.out.splitlines()]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("lisen = 'x'", "unknown setting lisen; did you mean listen?"),
        ("listen = '0.0.0.0:1'", "say remote_clients = with_password"),
        ("[kafka.options]\nno.such = 1", 'No such configuration property: "no.such"'),
    ],
)
def test_what_is_wrong_is_one_sentence(content: str, words: str, mqk: Mqk, tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(content)
    said = mqk("config", "check", path)
    assert said.status == 1
    assert words in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""


def test_a_file_twice_is_wrong_use(mqk: Mqk, file: Path) -> None:
    assert mqk("config", "check", file, "--config", file).status == 2


def test_the_page_of_the_documentation_is_what_the_table_says(mqk: Mqk) -> None:
    said = mqk("config", "reference")
    assert said.status == 0
    assert PAGE.read_text() == said.out, f"write it: mqk config reference > {PAGE.name}"


def test_the_example_of_the_documentation_is_a_file_that_works(mqk: Mqk, tmp_path: Path) -> None:
    path = tmp_path / "example.toml"
    path.write_text("\n".join(config.example()))
    said = mqk("config", "check", path, "--json")
    assert (said.status, said.err) == (0, "")
    told = {one["key"]: one["from"] for one in said_lines(said)}
    assert told["queue_manager"] == told["kafka.bootstrap_servers"] == str(path)
    assert told["kafka.options.security.protocol"] == str(path)
    path.write_text(path.read_text().replace("# ", ""))
    said = mqk("config", "check", path, "--json")
    assert "default" not in {one["from"] for one in said_lines(said)}


def test_the_unit_for_systemd_uses_commands_that_there_are(mqk: Mqk, tmp_path: Path) -> None:
    said = mqk("config", "unit")
    assert said.status == 0
    program = next(line for line in said.out.splitlines() if line.startswith("ExecStart="))
    mqk_path = Path(program.removeprefix("ExecStart=").split()[0])
    assert mqk_path.is_file(), "the command of this environment"
    lines = [line.partition(f"={mqk_path} ")[2] for line in said.out.splitlines()]
    commands = [line.split() for line in lines if line]
    assert [command[:2] for command in commands] == [["config", "check"], ["qmgr", "start"]]
    for command in commands:
        usage = mqk(*command[:2], "--help").out
        assert all(word in usage for word in command if word.startswith("--"))


def test_the_dashboard_asks_for_metrics_that_there_are(mqk: Mqk) -> None:
    dashboard = json.loads(mqk("config", "dashboard").out)
    known = {
        one.name
        for table in (EXPORTS, FEEDS, FIGURES, MOVERS, QUEUES, RECEIVER, SENDERS)
        for one in table.values()
    }
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    assert len(asked) > 8
    for expression in asked:
        names = set(re.findall(r"\b(?:mqk|process)_\w+", expression))
        assert names
        assert names <= known | {"process_resident_memory_bytes"}, expression
        assert expression.count("$instance") == len(names)


def test_alerts_ask_for_metrics_that_there_are(mqk: Mqk) -> None:
    said = mqk("config", "alerts")
    assert said.status == 0
    known = {
        one.name
        for table in (EXPORTS, FEEDS, FIGURES, MOVERS, QUEUES, RECEIVER, SENDERS)
        for one in table.values()
    }
    known |= {"mqk_owner_state"}
    alerts = said.out.split("- alert: ")[1:]
    assert len(alerts) > 8
    for alert in alerts:
        (expression,) = re.findall(r"\n +expr: (.+)", alert)
        assert set(re.findall(r"\bmqk_\w+", expression)) <= known
        assert re.search(r"labels: \{severity: (critical|warning)\}", alert)
        assert "summary: " in alert
        assert "description: " in alert
        assert alert.split("\n")[0] in (PAGE.parent / "monitoring.md").read_text()
