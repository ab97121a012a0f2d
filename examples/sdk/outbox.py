"""Outbox and inbox: an order in one database becomes a message, and that a parcel in another one.

The shop stores the order and a note of the message in one transaction of its database. The relay
puts the notes to their queues, and learns after a crash what became of its unit. The warehouse
stores the parcel and the message's id in one transaction of its own database. Each of these
programs may be killed at any line and started again: an order becomes one message and one parcel.
"""

import argparse
import os
import sqlite3
from contextlib import closing

import adapter

AT_ONCE = 100
SHOP = """
CREATE TABLE IF NOT EXISTS orders (number INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT);
CREATE TABLE IF NOT EXISTS outbox (
    number INTEGER PRIMARY KEY AUTOINCREMENT, queue TEXT, body TEXT, unit_id BLOB
);
"""
WAREHOUSE = """
CREATE TABLE IF NOT EXISTS inbox (message_id BLOB PRIMARY KEY);
CREATE TABLE IF NOT EXISTS parcels (number INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT);
"""


def place(shop: sqlite3.Connection, queue: str, order: str) -> None:
    """Store an order, and the note of a message: both, or neither."""
    with shop:
        shop.execute("INSERT INTO orders (text) VALUES (?)", [order])
        shop.execute("INSERT INTO outbox (queue, body) VALUES (?, ?)", [queue, order])


def relay(qm: adapter.Connection, shop: sqlite3.Connection) -> int:
    """Put the messages of up to a hundred notes in one unit; return how many."""
    settle(qm, shop)
    new = "SELECT number, queue, body FROM outbox WHERE unit_id IS NULL ORDER BY number LIMIT ?"
    notes = shop.execute(new, [AT_ONCE]).fetchall()
    if not notes:
        return 0
    with qm.unit() as unit:
        for number, queue, body in notes:
            qm.put(queue, body, message_id=f"shop-{number}")
        if not claim(shop, [note[0] for note in notes], unit.id):
            unit.backout()  # another relay was quicker
            return 0
    forget(shop, unit.id)
    return len(notes)


def claim(shop: sqlite3.Connection, numbers: list[int], unit_id: bytes) -> bool:
    """Write a unit's id beside its notes, before it is committed; False if they have another."""
    mine = "UPDATE outbox SET unit_id = ? WHERE number = ? AND unit_id IS NULL"
    with shop:
        count = shop.executemany(mine, [(unit_id, number) for number in numbers]).rowcount
        if count < len(numbers):
            shop.rollback()
    return count == len(numbers)


def settle(qm: adapter.Connection, shop: sqlite3.Connection) -> None:
    """Learn what became of the units of relays that were interrupted."""
    claimed = "SELECT DISTINCT unit_id FROM outbox WHERE unit_id IS NOT NULL"
    for (unit_id,) in shop.execute(claimed).fetchall():
        outcome = qm.outcome(unit_id)
        if outcome == "committed":
            forget(shop, unit_id)
        elif outcome != "in flight":  # "backed out", or after an hour "unknown"
            with shop:
                shop.execute("UPDATE outbox SET unit_id = NULL WHERE unit_id = ?", [unit_id])


def forget(shop: sqlite3.Connection, unit_id: bytes) -> None:
    """Remove the notes whose messages are on their queues."""
    with shop:
        shop.execute("DELETE FROM outbox WHERE unit_id = ?", [unit_id])


def receive(qm: adapter.Connection, warehouse: sqlite3.Connection, queue: str) -> int:
    """Store a parcel for each message, once; return how many are new."""
    count = 0
    for unit in qm.queue(queue).units(timeout=0):
        with unit:
            for message in unit.messages:
                count += store(warehouse, message)
    return count


def store(warehouse: sqlite3.Connection, message: adapter.Message) -> bool:
    """Store a parcel and the id of its message: both, or neither; False if they are there."""
    with warehouse:
        new = "INSERT OR IGNORE INTO inbox VALUES (?)"
        if not warehouse.execute(new, [message.message_id]).rowcount:
            return False
        warehouse.execute("INSERT INTO parcels (text) VALUES (?)", [message.text])
    return True


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    roles = parser.add_subparsers(dest="role", required=True)
    order = roles.add_parser("order", help="store an order, and a note of its message")
    send = roles.add_parser("relay", help="put what was noted")
    store_all = roles.add_parser("receive", help="store a parcel for each message")
    for role in (order, send, store_all):
        role.add_argument("database", help="its file")
    for role in (order, store_all):
        role.add_argument("queue")
    order.add_argument("text")
    given = parser.parse_args(arguments)
    address = os.environ.get("MQK_QMGR", "127.0.0.1:1414")
    with closing(sqlite3.connect(given.database)) as database:
        database.executescript(WAREHOUSE if given.role == "receive" else SHOP)
        if given.role == "order":
            place(database, given.queue, given.text)
            return
        with adapter.connect(address) as qm:
            if given.role == "relay":
                print(f"{relay(qm, database)} put")
            else:
                print(f"{receive(qm, database, given.queue)} stored")


if __name__ == "__main__":
    main()
