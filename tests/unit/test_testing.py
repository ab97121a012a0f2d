"""The front door of the package: parts that most programs do without are loaded on demand."""

import subprocess
import sys

from adapter import testing

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


IF_THERE = ("sitecustomize", "typing_extensions")
"""Python and msgspec load them in an environment that has them."""
CLIENT = """
import sys
import adapter
with adapter.connect(sys.argv[1]) as qm:
    qm.define_queue("Q")
    with qm.unit():
        qm.put("Q", "one", properties={"a": 1})
    queue = qm.queue("Q")
    assert queue.put_many(["two", "three"]) == 2
    assert [m.text for u in queue.units(timeout=0) for m in u.messages if u.commit() is None]
    fruit = qm.subscribe("fruit/#")
    qm.publish("fruit/apple", b"x")
    assert fruit.get().body == b"x" and qm.connections() and qm.queues()
loaded = {name.split(".")[0] for name in sys.modules} - sys.stdlib_module_names
print(*sorted(name for name in loaded if not name.startswith("_")))
"""


def test_a_client_loads_nothing_of_others_but_msgspec() -> None:
    with testing.queue_manager() as manager:
        done = subprocess.run(
            [sys.executable, "-c", CLIENT, manager.address],
            check=True,
            timeout=60,
            stdout=subprocess.PIPE,
            text=True,
        )
    assert set(done.stdout.split()) <= {"adapter", "msgspec", *IF_THERE}
