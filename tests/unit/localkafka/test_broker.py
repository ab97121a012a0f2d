"""A broker on disk: its id, its command line, its last words."""

from pathlib import Path

import pytest

from adapter.localkafka import LocalKafkaError, broker
from adapter.localkafka.plan import plan_cluster
from adapter.localkafka.settings import BrokerPlan


@pytest.fixture
def plan(tmp_path: Path) -> BrokerPlan:
    (one,) = plan_cluster(tmp_path, 1, None, {})
    one.data.mkdir(parents=True)
    return one


def test_a_new_folder_has_no_cluster_id(plan: BrokerPlan) -> None:
    assert broker.cluster_id_of(plan) is None


def test_a_formatted_folder_tells_its_cluster_id(plan: BrokerPlan) -> None:
    (plan.data / "meta.properties").write_text("#\nnode.id=1\ncluster.id=abc=\nversion=1\n")
    assert broker.cluster_id_of(plan) == "abc="


def test_cluster_ids_are_random_and_never_look_like_an_option() -> None:
    ids = {broker.new_cluster_id() for _ in range(1000)}
    assert len(ids) == 1000
    assert {len(one) for one in ids} == {22}
    assert not any(one.startswith("-") for one in ids)


def test_folders_of_different_clusters_are_refused(tmp_path: Path) -> None:
    plans = plan_cluster(tmp_path, 3, None, {})
    for number, one in enumerate(plans):
        one.data.mkdir(parents=True)
        (one.data / "meta.properties").write_text(f"cluster.id=c{number % 2}\n")
    with pytest.raises(LocalKafkaError, match=r"different clusters \(c0, c1\)"):
        broker.prepare(broker.Machine("java", tmp_path), plans, {})


def test_folders_are_formatted_without_a_java_once_kafkas_records_are_kept(tmp_path: Path) -> None:
    machine = broker.Machine("no java", tmp_path)
    machine.first_records.write_bytes(b"records")
    plans = plan_cluster(tmp_path / "cluster", 3, None, {})
    broker.prepare(machine, plans, {})
    assert len({broker.cluster_id_of(one) for one in plans} - {None}) == 1
    made = [(one.data / "meta.properties").read_text().splitlines() for one in plans]
    assert [lines[2:] for lines in made] == [[f"node.id={n}", "version=1"] for n in (1, 2, 3)]
    assert len({lines[1] for lines in made}) == 3, "each directory has an id of its own"
    assert {(one.data / "bootstrap.checkpoint").read_bytes() for one in plans} == {b"records"}


def test_a_folder_that_cannot_be_written_is_named(plan: BrokerPlan, tmp_path: Path) -> None:
    machine = broker.Machine("no java", tmp_path)
    machine.first_records.write_bytes(b"records")
    (plan.data / "bootstrap.checkpoint").mkdir()
    with pytest.raises(LocalKafkaError, match="could not be formatted"):
        broker.prepare(machine, [plan], {})
    assert broker.cluster_id_of(plan) is None


def test_the_command_runs_kafka_on_the_brokers_settings(plan: BrokerPlan) -> None:
    command = broker.run_command(broker.Machine("/j/java", Path("/jars")), plan)
    assert command[0] == "/j/java"
    assert command[-2:] == ["kafka.Kafka", str(plan.properties_file)]
    assert command[command.index("-cp") + 1] == "/jars/*"
    assert f"-Dmqk.broker.log={plan.log_file}" in command


def test_an_archive_of_classes_is_used_if_there_is_one(plan: BrokerPlan) -> None:
    archived = broker.Machine("java", Path("/jars"), Path("/jars/classes.jsa"))
    assert "-XX:SharedArchiveFile=/jars/classes.jsa" in broker.run_command(archived, plan)
    bare = broker.Machine("java", Path("/jars"))
    assert not any("Archive" in one for one in broker.run_command(bare, plan))


def test_a_broker_has_one_collector_of_garbage(plan: BrokerPlan) -> None:
    for collector in (broker.SERIAL, broker.CONCURRENT):
        machine = broker.Machine("java", Path("/jars"), collector=collector)
        command = broker.run_command(machine, plan)
        assert [one for one in command if one.endswith("GC")] == [collector]


def test_last_words_are_the_errors_if_there_are_any(plan: BrokerPlan) -> None:
    plan.log_file.write_text(
        "t WARN a: fine\nt ERROR b: bad\nCaused by: c\n\tat d\nt ERROR e: end\n"
    )
    assert broker.last_words(plan).splitlines() == [
        "t ERROR b: bad",
        "Caused by: c",
        "t ERROR e: end",
    ]


def test_last_words_are_the_last_lines_otherwise(plan: BrokerPlan) -> None:
    plan.output_file.write_text("".join(f"line {n}\n" for n in range(100)))
    assert broker.last_words(plan).splitlines() == [f"line {n}" for n in range(92, 100)]


def test_a_silent_broker_is_said_to_be_silent(plan: BrokerPlan) -> None:
    broker.require_running(plan, None)
    with pytest.raises(LocalKafkaError) as caught:
        broker.require_running(plan, 1)
    assert "broker 1 ended with status 1" in str(caught.value)
    assert "(it logged nothing)" in str(caught.value)
    assert str(plan.log_file) in str(caught.value)
