"""Settings of Kafka's clients in the names of each; what needs no Spark and no Kafka."""

from pathlib import Path

import pytest
from confluent_kafka import Consumer

from spark_jobs.errors import SparkJobError
from spark_jobs.kafka_clients import for_java, for_librdkafka
from spark_jobs.options import SourceOptions

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
SASL = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}
LOGIN = {"sasl.username": "me", "sasl.password": 'a"b\\c d'}
JAAS = {"sasl.jaas.config": f'{PLAIN} required username="me" password="a\\"b\\\\c d";'}
CA = {"ssl.ca.location": "/ca.pem"}
TRUST = {"ssl.truststore.type": "PEM", "ssl.truststore.location": "/ca.pem"}
PEMS = {"ssl.ca.pem": "CA", "ssl.certificate.pem": "CERT", "ssl.key.pem": "KEY"}
STORES = {
    "ssl.truststore.type": "PEM",
    "ssl.truststore.certificates": "CA",
    "ssl.keystore.type": "PEM",
    "ssl.keystore.certificate.chain": "CERT",
    "ssl.keystore.key": "KEY",
}
NO_HOST = {"ssl.endpoint.identification.algorithm": ""}
NO_HOST_TOO = {"ssl.endpoint.identification.algorithm": "none"}


@pytest.mark.parametrize(
    ("librdkafka", "java"),
    [
        (SASL | LOGIN | CA, SASL | JAAS | TRUST),
        (PEMS | {"ssl.key.password": "p"}, STORES | {"ssl.key.password": "p"}),
        (NO_HOST_TOO, NO_HOST),
        ({"client.id": "me"}, {"client.id": "me"}),
    ],
)
def test_finding_spark_n1_settings_are_translated_in_both_directions(
    librdkafka: dict[str, str], java: dict[str, str]
) -> None:
    assert for_java(librdkafka) == java
    assert for_librdkafka(java) == librdkafka
    assert for_java(java) == java
    assert for_librdkafka(librdkafka) == librdkafka
    assert for_java(librdkafka | java) == java
    assert for_librdkafka(librdkafka | java) == librdkafka


def test_finding_spark_n1_other_spellings() -> None:
    scram = {"sasl.mechanisms": "SCRAM-SHA-512", "sasl.username": "u", "sasl.password": "p"}
    assert for_java(scram | {"security.protocol": "sasl_ssl"}) == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": f'{SCRAM} required username="u" password="p";',
    }
    login = for_librdkafka({"kafka.sasl.jaas.config": f"{SCRAM} required username=u password='p';"})
    assert login == {"sasl.username": "u", "sasl.password": "p"}
    store = {"ssl.keystore.location": "/both.pem", "ssl.keystore.type": "PEM"}
    both = {"ssl.certificate.location": "/both.pem", "ssl.key.location": "/both.pem"}
    assert for_librdkafka(store) == both
    packed = {"ssl.keystore.location": "/me.p12", "ssl.keystore.password": "p"}
    assert for_librdkafka(packed | {"ssl.keystore.type": "PKCS12"}) == packed
    assert for_librdkafka({"max.poll.records": "5"}) == {}
    assert for_java(None) == for_librdkafka(None) == {}


def test_finding_spark_n1_files_of_keys_are_read_for_java(tmp_path: Path) -> None:
    key = tmp_path / "key.pem"
    key.write_text("-----BEGIN PRIVATE KEY-----\n")
    named = {"ssl.key.location": str(key), "ssl.certificate.pem": "CERT"}
    assert for_java(named) == {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": "CERT",
        "ssl.keystore.key": key.read_text(),
    }
    key.write_text("-----BEGIN RSA PRIVATE KEY-----\n")
    with pytest.raises(SparkJobError, match="openssl pkcs8 -topk8"):
        for_java(named)
    key.unlink()
    with pytest.raises(SparkJobError, match=r"ssl\.key\.location, .*key\.pem, cannot be read"):
        for_java(named)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (LOGIN, r"sasl\.username cannot be used here: sasl\.mechanism is one of PLAIN"),
        ({"enable.ssl.certificate.verification": "false"}, "give ssl.ca.location"),
        ({"ssl.ca.location": "/"}, "a file in PEM, and no folder"),
    ],
)
def test_finding_spark_n1_what_java_cannot_do_is_refused(
    given: dict[str, str], sentence: str
) -> None:
    with pytest.raises(SparkJobError, match=sentence):
        for_java(given)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"sasl.jaas.config": "com.sun.Krb5LoginModule required;"}, "give these too"),
        ({"ssl.truststore.location": "/ca.jks"}, "give ssl.ca.location too"),
        ({"ssl.keystore.location": "/a", "ssl.keystore.type": "JKS"}, "PKCS12 and PEM, not JKS"),
    ],
)
def test_finding_spark_n1_what_librdkafka_cannot_do_is_refused(
    given: dict[str, str], sentence: str
) -> None:
    with pytest.raises(SparkJobError, match=sentence):
        for_librdkafka(given)
    with pytest.raises(SparkJobError, match='format\\("mq"\\): Kafka\'s setting'):
        SourceOptions.read({"queue": "Q"} | {f"kafka.{key}": text for key, text in given.items()})


def test_finding_spark_n1_librdkafka_takes_what_is_made() -> None:
    """A client is made of the settings; it need not reach anybody."""
    made = for_librdkafka(SASL | JAAS | {"max.poll.records": "5"})
    Consumer({"bootstrap.servers": "127.0.0.1:1", "group.id": "g", **made}).close()
