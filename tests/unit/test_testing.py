"""The front door of the package: parts that most programs do without are loaded on demand."""

import subprocess
import sys

PROGRAM = """
import sys
import adapter
loaded = set(sys.modules)
assert not loaded & {"confluent_kafka", "uvloop", "aiohttp", "fastavro", "structlog"}, loaded
for name in ("kafka", "mqi", "testing"):
    assert f"adapter.{name}" not in loaded
with adapter.testing.queue_manager() as manager, manager.connect() as qm:
    assert qm.queues() == []
assert adapter.mqi.TriggerMessage and adapter.kafka.Decoder
try:
    adapter.nothing
except AttributeError as error:
    assert "'nothing'" in str(error)
else:
    raise AssertionError("adapter has everything")
"""


def test_parts_are_loaded_when_they_are_first_used() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=60)
