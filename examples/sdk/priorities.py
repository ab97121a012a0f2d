"""Put parcels with priorities and properties; get the heavy ones only, the most urgent first."""

import argparse
import os

import adapter

PARCELS = (("a letter", 4, 1), ("a piano", 4, 300), ("a heart", 9, 2), ("a boiler", 7, 80))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("queue")
    given = parser.parse_args()
    with adapter.connect(os.environ.get("MQK_QMGR", "127.0.0.1:1414")) as qm:
        for body, priority, weight in PARCELS:
            qm.put(given.queue, body, priority=priority, properties={"weight": weight})
        with qm.queue(given.queue, selection="weight > 50") as heavy:
            while message := heavy.get():
                print(f"priority {message.priority}: {message.body.decode()}")
        print(f"left: {qm.queue(given.queue).depth()}")


if __name__ == "__main__":
    main()
