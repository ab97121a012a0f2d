"""Publish a price, or print the prices of all fruit.

A subscription with a name is durable: what is published while nobody has it open is kept for it.
"""

import argparse
import os

import adapter


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    roles = parser.add_subparsers(dest="role", required=True)
    publish = roles.add_parser("publish", help="publish a price")
    publish.add_argument("fruit")
    publish.add_argument("price")
    subscribe = roles.add_parser("subscribe", help="print prices until none comes any more")
    subscribe.add_argument("name", help="of the subscription; it is made if it is new")
    subscribe.add_argument("--timeout", type=float, default=0.0, help="seconds to wait")
    given = parser.parse_args()
    with adapter.connect(os.environ.get("MQK_QMGR", "127.0.0.1:1414")) as qm:
        if given.role == "publish":
            qm.publish(f"fruit/{given.fruit}", given.price, retain=True)
            return
        with qm.subscribe("fruit/+", name=given.name, durable=True) as prices:
            while message := prices.get(timeout=given.timeout):
                topic = (message.properties or {})["MQTopicString"]
                print(f"{topic!s}: {message.body.decode()}")


if __name__ == "__main__":
    main()
