"""A Kafka that is encrypted and wants a password: jobs and sources reach it."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from adapter import testing
from adapter.cli.main import run
from spark_jobs import sources
from tests.support.locked_kafka import certificate, locked_kafka, options
from tests.support.spark_site import wait_copied

LARGE = b"x" * (4 * 1024 * 1024 + 1)


@pytest.mark.timeout(600)
def test_finding_spark_n1_and_n1b_a_locked_kafka_is_read_with_either_clients_names(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key, trusted = certificate(tmp_path)
    with locked_kafka(key | {"super.users": "User:ANONYMOUS;User:qm1"}) as kafka:
        with testing.queue_manager("QM1", bootstrap_servers=kafka.bootstrap_servers) as manager:
            with manager.connect() as qm:
                qm.define_queue("Q", max_message_length=len(LARGE))
                for body in (b"a", LARGE, b"b"):
                    qm.put("Q", body)
            wait_copied(kafka.bootstrap_servers, "mq.QM1.q.Q", 4)
        servers = kafka.proxied_bootstrap_servers
        login = options("qm1", trusted)
        file = tmp_path / "client.properties"
        file.touch(0o600)
        audit = ["spark", "audit", "Q", "--bootstrap-server", servers, "--json"]
        audit += ["--command-config", str(file)]

        def audited(settings: dict[str, str]) -> tuple[int, str, str]:
            file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
            capsys.readouterr()
            status = run(audit)
            return status, *capsys.readouterr()

        status, said, _ = audited(login)
        assert (status, json.loads(said)["messages"]) == (0, 3)
        of_java = {
            "security.protocol": "SASL_SSL",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(trusted),
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required "
            f'username="qm1" password="{login["sasl.password"]}";',
        }
        rows = sources.queue_batch(
            spark, "Q", bootstrap_servers=servers, kafka_options=of_java, large_messages=True
        ).collect()
        assert sorted(bytes(row["body"]) for row in rows) == [b"a", b"b", LARGE]
        status, _, complaint = audited(of_java | {"ssl.truststore.location": "/no/such.pem"})
        assert status == 1
        assert "Failed to create new KafkaAdminClient: " in complaint
        assert "/no/such.pem" in complaint
        assert "Invalid username or password" in audited(login | {"sasl.password": "wrong"})[2]
