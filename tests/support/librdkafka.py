"""What the librdkafka that is installed says of its own options."""

import ctypes
import logging
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from confluent_kafka import KafkaException, Producer, cimpl

REDACTED = " = [redacted]"


def properties() -> list[str]:
    """Return the names of all options."""
    of_kafka, of_c = ctypes.CDLL(cimpl.__file__), ctypes.CDLL(None)
    of_c.fopen.restype = ctypes.c_void_p
    with TemporaryDirectory() as folder:
        path = Path(folder) / "properties"
        file = ctypes.c_void_p(of_c.fopen(bytes(path), b"w"))
        of_kafka.rd_kafka_conf_properties_show(file)
        of_c.fclose(file)
        rows = [line.split("|") for line in path.read_text().splitlines()]
    names = {row[0].strip() for row in rows if len(row) > 4}
    return sorted(one for one in names if one and one != "Property" and not one.startswith("-"))


def redacted() -> set[str]:
    """Return the options whose values it leaves out where it logs them."""
    found: set[str] = set()
    for name in properties():
        with suppress(KafkaException, TypeError, ValueError):
            lines = _configuration_of(name)
            found |= {line[: -len(REDACTED)].split()[-1] for line in lines if REDACTED in line}
    return found


def _configuration_of(name: str) -> list[str]:
    """Return what a client with this option logs of its configuration."""
    lines: list[str] = []

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())

    log = logging.getLogger(f"librdkafka of {name}")
    log.setLevel(logging.DEBUG)
    log.propagate = False
    log.addHandler(Lines())
    told = {"bootstrap.servers": "127.0.0.1:1", "debug": "conf", name: "x"}
    Producer(told, logger=log).poll(0)
    return lines
