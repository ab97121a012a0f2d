"""Put a value by an Avro schema and get it again, read by a newer version of the schema."""

import argparse
import os
from typing import Any

import adapter

ORDER: dict[str, Any] = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "number", "type": "int"}],
}
NEWER = ORDER | {
    "fields": [*ORDER["fields"], {"name": "note", "type": "string", "default": "none"}]
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("queue")
    parser.add_argument(
        "--registry",
        default=os.environ.get("MQK_REGISTRY", "http://127.0.0.1:9414/registry"),
        help="its URL (%(default)s: the one of the queue manager)",
    )
    given = parser.parse_args()
    address = os.environ.get("MQK_QMGR", "127.0.0.1:1414")
    with adapter.connect(address, registry=given.registry) as qm, qm.queue(given.queue) as queue:
        queue.put_value({"number": 42}, schema=ORDER, register=True)
        message = queue.get()
        assert message is not None
        print(message.decode())
        print(message.decode(NEWER))


if __name__ == "__main__":
    main()
