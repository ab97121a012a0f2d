"""mqk doctor: what is there, what is missing, and a status for scripts."""

import importlib.metadata
import json
import socket
from pathlib import Path

import pytest

from adapter.cli import cluster, doctor
from adapter.cli.cluster import Cluster, NotReachedError
from adapter.host import compiled
from adapter.localkafka import detached
from adapter.localkafka.detached import Status
from adapter.testing import TestQueueManager
from tests.unit.cli.conftest import Mqk, Said


def findings(said: Said) -> dict[str, dict[str, str]]:
    told = [json.loads(line) for line in said.out.splitlines()]
    return {one["subject"]: one for one in told}


def test_a_sound_machine_is_status_zero(mqk: Mqk) -> None:
    said = mqk("doctor", "--json")
    found = findings(said)
    assert said.status == 0, said.out
    assert {"Python", "mqk", "Java", "Kafka's jars", "import adapter"} <= set(found)
    assert "confluent-kafka 2." in found["mqk"]["text"]
    assert f", {compiled.text(compiled.count())}, " in found["mqk"]["text"]
    assert "finding" in mqk("doctor").out


def test_pure_python_is_noted_with_the_way_to_compiled_modules(
    mqk: Mqk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled, "count", lambda: 0)
    said = mqk("doctor", "--json")
    found = findings(said)["compiled modules"]
    assert found["level"] == "note"
    assert "`make compiled`, then PYTHONPATH=" in found["text"]
    monkeypatch.setattr(compiled, "count", lambda: 80)
    assert "compiled modules" not in findings(mqk("doctor", "--json"))


def test_a_checkout_and_an_installation_are_compiled_differently(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    package = tmp_path / "adapter/__init__.py"
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    assert "`MQK_COMPILE=1 pip install .` in a checkout" in doctor.how_to_compile(package)
    assert "gcc" not in doctor.how_to_compile(package)
    (tmp_path / "native").mkdir()
    (tmp_path / "native/modules.py").touch()
    assert f"PYTHONPATH={tmp_path}/build/compiled" in doctor.how_to_compile(package)
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert "once a C compiler is installed (Debian: gcc)" in doctor.how_to_compile(package)


def test_missing_java_is_a_problem(
    mqk: Mqk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    said = mqk("doctor", "--json")
    assert said.status == 1
    assert findings(said)["Java"]["level"] == "problem"
    assert "install Java" in findings(said)["Java"]["text"]


def test_missing_maven_matters_until_the_jars_are_there(
    mqk: Mqk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MQK_CACHE_DIR", str(tmp_path))
    assert findings(mqk("doctor", "--json"))["Kafka's jars"]["level"] in ("note", "problem")
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)
    assert findings(mqk("doctor", "--json"))["Kafka's jars"]["level"] == "problem"


def test_another_adapter_in_the_folder_is_a_problem(
    mqk: Mqk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "adapter.py").write_text("")
    monkeypatch.chdir(tmp_path)
    said = mqk("doctor", "--json")
    assert said.status == 1
    found = findings(said)["import adapter"]
    assert found["level"] == "problem"
    assert str(tmp_path / "adapter.py") in found["text"]


def test_another_distribution_with_an_adapter_is_a_problem(
    mqk: Mqk, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = {"adapter": ["mqk", "other"]}
    monkeypatch.setattr(importlib.metadata, "packages_distributions", lambda: both)
    said = mqk("doctor")
    assert said.status == 1
    assert "the distribution other also installs" in said.out


def test_a_taken_port_is_a_note(mqk: Mqk, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr(doctor, "DEFAULT_PORT", port)
        said = mqk("doctor", "--json")
        assert findings(said)[f"port {port}"]["level"] == "note"
        assert said.status == 0


def test_a_queue_manager_is_asked(mqk: Mqk, manager: TestQueueManager) -> None:
    said = mqk("doctor", "--json", "--qmgr", manager.address)
    assert findings(said)["queue manager"]["text"] == (
        f"QM1 at {manager.address}, {compiled.text(compiled.count())}"
    )
    said = mqk("doctor", "--json", "--qmgr", "127.0.0.1:1")
    assert said.status == 1
    assert findings(said)["queue manager"]["level"] == "problem"


def test_a_kafka_is_examined(mqk: Mqk, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def found(*told: object) -> Cluster:
        asked.extend(told)
        return Cluster(1, {}, [])

    monkeypatch.setattr(cluster, "examine", found)
    said = mqk("doctor", "--json", "--bootstrap-server", "k:9092", "-X", "client.id=me")
    assert asked == ["k:9092", {"client.id": "me"}]
    assert said.status == 1
    assert "single broker, no redundancy" in findings(said)["data-loss risk"]["text"]


def test_a_kafka_that_does_not_answer_is_a_problem(
    mqk: Mqk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object) -> Cluster:
        raise NotReachedError("Kafka at k:9092 did not answer")

    monkeypatch.setattr(cluster, "examine", gone)
    said = mqk("doctor", "--bootstrap-server", "k:9092")
    assert said.status == 1
    assert "k:9092 did not answer" in said.out


@pytest.mark.parametrize("arguments", [["extra"], ["--qmgr"], ["-X", "nonsense"]])
def test_wrong_use(arguments: list[str], mqk: Mqk) -> None:
    assert mqk("doctor", *arguments).status == 2


def test_finding_users_9_what_a_queue_manager_says_of_itself_is_found() -> None:
    figures = {
        "ledger_waits_s": 7.2,
        "movers_hold": "Kafka does not answer",
        "movers_parked": {"mq.QM1.q.A": "it has 1 partitions and needs 10"},
        "undone": {"the ledger was not trimmed": "Kafka denies Delete on topic T"},
    }
    assert [(one.level, one.subject) for one in doctor.troubles(figures)] == [
        ("problem", "ledger"),
        ("problem", "copying stalled"),
        ("problem", "topic parked"),
        ("problem", "the ledger was not trimmed"),
    ]
    waits = {"network": {"receiver": {"later": {"mq.QMB.in.QMA": "offset 7: version 9"}}}}
    (found,) = doctor.troubles(waits)
    assert found.text == "mq.QMB.in.QMA, offset 7: version 9: upgrade this queue manager"
    well = {"ledger_waits_s": 0.1, "movers_hold": "", "movers_parked": {}, "undone": {}}
    assert not list(doctor.troubles(well))


def test_finding_users_9_the_queue_manager_at_the_usual_port_is_asked(
    mqk: Mqk, manager: TestQueueManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = int(manager.address.rpartition(":")[2])
    monkeypatch.setattr(doctor, "DEFAULT_PORT", port)
    found = findings(mqk("doctor", "--json"))
    assert found[f"port {port}"]["text"] == "in use by a queue manager"
    assert found["queue manager"]["text"].startswith(f"QM1 at {manager.address}")


def test_finding_users_9_the_kafka_that_runs_here_is_asked(
    mqk: Mqk, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Status(True, "127.0.0.1:9999", "4", "/data", 1, {1: 7})
    monkeypatch.setattr(detached, "status", lambda *_: runs)
    monkeypatch.setattr(cluster, "examine", lambda servers, _: Cluster(3, None, []))
    found = findings(mqk("doctor", "--json"))
    assert found["Kafka"]["text"].startswith("127.0.0.1:9999: brokers: 3")


def test_finding_reliability_section_4_no_right_on_the_cluster_is_needed() -> None:
    assert cluster.dangers(Cluster(3, None, [])) == []
