"""Settings of Kafka's clients, in the names of librdkafka and in those of Kafka's Java client.

Spark reads Kafka with the Java client; tasks that read in Python use librdkafka. A user gives one
set of settings, in the names of either. This module knows how the two say the same; it must not
know what is read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from spark_jobs.errors import SparkJobError

Settings = dict[str, str]

LOGIN_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
USER, PASSWORD, JAAS = "sasl.username", "sasl.password", "sasl.jaas.config"
MECHANISM = "sasl.mechanism"
HOST_CHECK = "ssl.endpoint.identification.algorithm"
CHECK = "enable.ssl.certificate.verification"
PEM = "PEM"
IN_PEM = {
    "ssl.ca.pem": ("ssl.truststore", "certificates"),
    "ssl.certificate.pem": ("ssl.keystore", "certificate.chain"),
    "ssl.key.pem": ("ssl.keystore", "key"),
}
"""Text in PEM: librdkafka's name, and the store of Java's client with what follows its name."""
IN_FILES = {"ssl.certificate.location": "ssl.certificate.pem", "ssl.key.location": "ssl.key.pem"}
"""Files whose text may be given in their place."""
OF_LIBRDKAFKA = frozenset(
    {USER, PASSWORD, CHECK, "ssl.ca.location", *IN_PEM, *IN_FILES, "sasl.mechanisms"}
)
OF_JAVA = frozenset({
    JAAS, "ssl.truststore.type", "ssl.truststore.location", "ssl.truststore.certificates",
    "ssl.truststore.password", "ssl.keystore.type", "ssl.keystore.certificate.chain",
    "ssl.keystore.key", "default.api.timeout.ms", "max.poll.records", "receive.buffer.bytes",
    "send.buffer.bytes", "fetch.max.wait.ms",
})  # fmt: skip
"""What librdkafka does not know, and refuses; the last five only tune Java's client."""
QUOTED = r'\s*=\s*(?:"((?:[^"\\]|\\.)*)"|\'((?:[^\'\\]|\\.)*)\'|([^\s";]+))'


def plain_names(given: Mapping[str, str] | None) -> Settings:
    """The settings without Spark's prefix `kafka.`, which they may have."""
    return {str(key).removeprefix("kafka."): str(value) for key, value in (given or {}).items()}


def for_java(given: Mapping[str, str] | None) -> Settings:
    """The settings in the names of Kafka's Java client; SparkJobError for what it cannot do.

    What is given in its names wins over a translation. Contents of files of keys are read here.
    """
    settings = plain_names(given)
    found = {name: value for name, value in settings.items() if name not in OF_LIBRDKAFKA}
    if "security.protocol" in found:
        found["security.protocol"] = found["security.protocol"].upper()
    if found.get(HOST_CHECK) == "none":
        found[HOST_CHECK] = ""
    if settings.get(CHECK, "true").lower() == "false":
        raise _impossible(CHECK, "Java's client always checks certificates: give ssl.ca.location")
    mechanism = settings.get(MECHANISM) or settings.get("sasl.mechanisms")
    if mechanism:
        found[MECHANISM] = mechanism
    if USER in settings:
        found.setdefault(JAAS, _jaas(settings, mechanism or ""))
    return _java_stores(settings) | found


def _jaas(settings: Settings, mechanism: str) -> str:
    module = LOGIN_MODULES.get(mechanism)
    if module is None:
        raise _impossible(USER, f"sasl.mechanism is one of {', '.join(LOGIN_MODULES)}")
    user, password = (
        re.sub(r'(["\\])', r"\\\1", settings.get(name, "")) for name in (USER, PASSWORD)
    )
    return f'{module} required username="{user}" password="{password}";'


def _java_stores(settings: Settings) -> Settings:
    """What Java's client calls trust store and key store, of librdkafka's files and texts."""
    found: Settings = {}
    place = settings.get("ssl.ca.location", "")
    if place and place != "probe":
        if Path(place).is_dir():
            raise _impossible("ssl.ca.location", "Java's client takes a file in PEM, and no folder")
        found |= {"ssl.truststore.type": PEM, "ssl.truststore.location": place}
    texts = {IN_FILES[name]: _read(name, settings[name]) for name in IN_FILES if name in settings}
    for name, (store, part) in IN_PEM.items():
        text = settings.get(name) or texts.get(name)
        if text:
            found |= {f"{store}.type": PEM, f"{store}.{part}": text}
    if re.search("BEGIN (RSA|EC|DSA) PRIVATE KEY", found.get("ssl.keystore.key", "")):
        raise _impossible(
            "ssl.key.location",
            "Java's client takes keys that begin with BEGIN PRIVATE KEY or BEGIN ENCRYPTED PRIVATE "
            "KEY: convert it with openssl pkcs8 -topk8",
        )
    return found


def _read(name: str, place: str) -> str:
    try:
        return Path(place).read_text()
    except (OSError, UnicodeDecodeError) as problem:
        raise SparkJobError(f"the file of {name}, {place}, cannot be read: {problem}") from None


def for_librdkafka(given: Mapping[str, str] | None) -> Settings:
    """The settings in librdkafka's names; SparkJobError for what it cannot do.

    What is given in its names wins over a translation.
    """
    settings = plain_names(given)
    found = {name: value for name, value in settings.items() if name not in OF_JAVA}
    if found.get(HOST_CHECK) == "":
        found[HOST_CHECK] = "none"
    if JAAS in settings and USER not in settings:
        found |= _login(settings[JAAS])
    if "ssl.ca.location" not in found and "ssl.ca.pem" not in found:
        found |= _with_trust(settings)
    if "ssl.certificate.location" not in found and "ssl.certificate.pem" not in found:
        found |= _key(settings)
    if settings.get("ssl.keystore.type", "").upper() == PEM:
        found.pop("ssl.keystore.location", None)  # it is PKCS#12 there
    return found


def _login(jaas: str) -> Settings:
    """User and password of a login module; others than PLAIN and SCRAM have none."""
    values = {name: _value(jaas, name) for name in ("username", "password")}
    known = any(module in jaas for module in LOGIN_MODULES.values())
    if not known or None in values.values():
        raise _impossible(JAAS, "librdkafka takes sasl.username and sasl.password: give these too")
    return {f"sasl.{name}": value for name, value in values.items() if value is not None}


def _value(jaas: str, name: str) -> str | None:
    match = re.search(rf"\b{name}{QUOTED}", jaas)
    if match is None:
        return None
    return re.sub(r"\\(.)", r"\1", next(text for text in match.groups() if text is not None))


def _with_trust(settings: Settings) -> Settings:
    if "ssl.truststore.certificates" in settings:
        return {"ssl.ca.pem": settings["ssl.truststore.certificates"]}
    if "ssl.truststore.location" not in settings:
        return {}
    if settings.get("ssl.truststore.type", "").upper() != PEM:
        raise _impossible(
            "ssl.truststore.location",
            "librdkafka takes the certificates in PEM: give ssl.ca.location too",
        )
    return {"ssl.ca.location": settings["ssl.truststore.location"]}


def _key(settings: Settings) -> Settings:
    """Keys in PEM; PKCS#12 has the same names in both clients."""
    kind = settings.get("ssl.keystore.type", "PKCS12").upper()
    if kind not in (PEM, "PKCS12"):
        raise _impossible(
            "ssl.keystore.location",
            f"librdkafka takes PKCS12 and PEM, not {kind}: give ssl.certificate.location and "
            "ssl.key.location too",
        )
    found = {
        name: settings[f"{store}.{part}"]
        for name, (store, part) in IN_PEM.items()
        if store == "ssl.keystore" and f"{store}.{part}" in settings
    }
    place = settings.get("ssl.keystore.location")
    if kind == PEM and place is not None:
        found |= dict.fromkeys(IN_FILES, place)  # one file has both
    return found


def _impossible(name: str, why: str) -> SparkJobError:
    return SparkJobError(f"Kafka's setting {name} cannot be used here: {why}")
