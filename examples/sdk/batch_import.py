"""Put every row of a CSV file on a queue, as JSON, a thousand messages a unit of work.

Each unit is committed as a whole; the next one is filled while the last one becomes durable.
"""

import argparse
import csv
import json
import os
from collections.abc import Iterator
from pathlib import Path

import adapter


def rows(path: Path) -> Iterator[adapter.Message]:
    """The file's rows as messages; none is read before it is needed."""
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            yield adapter.Message(json.dumps(row).encode(), properties={"file": path.name})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, help="a CSV file whose first line names the columns")
    parser.add_argument("queue")
    given = parser.parse_args()
    with adapter.connect(os.environ.get("MQK_QMGR", "127.0.0.1:1414")) as qm:
        count = qm.queue(given.queue).put_many(rows(given.file), unit_size=1000)
    print(f"{count} messages put on {given.queue}")


if __name__ == "__main__":
    main()
