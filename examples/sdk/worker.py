"""Make an invoice of each order: the order's get and the invoice's put are one unit of work.

An order that is no number of widgets fails. Its unit is backed out, and it is tried again, until
the queue's backout threshold is reached; then units() moves it to the queue's backout queue.
"""

import argparse
import os

import adapter

PRICE = 3


def invoice(order: bytes) -> str:
    """Read an order, such as b"42 widgets"; ValueError if it is none."""
    number = int(order.split()[0])
    return f"{number} widgets: {number * PRICE} EUR"


def work(qm: adapter.Connection, orders: str, invoices: str, timeout: float | None) -> None:
    """Work until no order comes for timeout seconds; None: until the program is ended."""
    for unit in qm.queue(orders).units(timeout=timeout):
        with unit:
            for order in unit.messages:
                qm.put(invoices, invoice(order.body))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("orders", help="the queue to get from")
    parser.add_argument("invoices", help="the queue to put to")
    parser.add_argument("--timeout", type=float, help="end after so many seconds without an order")
    given = parser.parse_args()
    with adapter.connect(os.environ.get("MQK_QMGR", "127.0.0.1:1414")) as qm:
        work(qm, given.orders, given.invoices, given.timeout)


if __name__ == "__main__":
    main()
