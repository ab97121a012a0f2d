"""A running balance per account: bookings from a queue, balances in a compacted topic of Kafka.

    python balance.py book ACCOUNT AMOUNT ...     puts bookings on the queue
    python balance.py work                        adds them up, until none comes for two seconds
    python balance.py show                        prints the balances

Any number of workers may run. Each gets a booking, claims its account, reads the balance from its
table, and produces the new one: all of it in one unit. So a booking is counted exactly once, and no
balance is lost, wherever a worker is killed.
"""

import os
import sys
from decimal import Decimal

import adapter
from adapter.kafka import Table

BOOKINGS = os.environ.get("BOOKINGS", "SHOP.BOOKINGS")
BALANCES = os.environ.get("BALANCES", "shop.balances")
CLAIMS = f"{BOOKINGS}.CLAIMS"
ADDRESS = os.environ.get("MQK_QMGR", "127.0.0.1:1414")
WAIT_S = float(os.environ.get("WAIT_S", "2"))


def book(qm: adapter.Connection, account: str, amounts: list[str]) -> None:
    """Put a booking for each amount."""
    for amount in amounts:
        qm.put(BOOKINGS, amount, properties={"account": account})


def work(qm: adapter.Connection, balances: Table) -> None:
    """Add bookings to the balances of their accounts."""
    for unit in qm.queue(BOOKINGS).units(timeout=WAIT_S):
        with unit:
            for booking in unit.messages:
                account = str(booking.properties["account"])
                balance = balances.claim(unit, account) or Decimal(0)
                balance += Decimal(booking.text)
                unit.produce(BALANCES, str(balance), key=account)


def show(qm: adapter.Connection, balances: Table) -> None:
    """Print the balances: all that was committed before."""
    balances.sync(qm)
    for account, balance in sorted(balances.items()):
        print(f"{account} {balance}")


def main(arguments: list[str]) -> None:
    command, *rest = arguments
    with adapter.connect(ADDRESS) as qm:
        if command == "book":
            book(qm, rest[0], rest[1:])
            return
        with Table(
            BALANCES,
            bootstrap_servers=qm.bootstrap_servers,
            claims=CLAIMS,
            key_serializer=str.encode,
            key_deserializer=bytes.decode,
            value_deserializer=lambda value: Decimal(value.decode()),
        ) as balances:
            {"work": work, "show": show}[command](qm, balances)


if __name__ == "__main__":
    main(sys.argv[1:])
