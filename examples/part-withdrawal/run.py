"""A poison message and its removal: a withdrawal of a part that was retired meanwhile.

    python run.py [HOST:PORT] [--database FILE]

A workstation requests parts from a stock application by Service Broker; the stock is in an SQLite
database. One request is sent just before a change order retires its part: its update fails each
time, the transaction rolls back five times, and the queue is turned OFF. A detector recognizes the
request by what the database says of the part, ends its conversation with an error, and the good
requests go on. Without an address the queue manager is in the memory of this process.
"""

import argparse
import json
import re
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from sqlite3 import Connection, IntegrityError, connect
from uuid import UUID

from adapter import servicebroker as sb
from adapter import testing

STOCK, WORKSTATION = "//stock/Stock", "//stock/Workstation"
STOCK_QUEUE, WORKSTATION_QUEUE = "StockQueue", "WorkstationQueue"
CONTRACT = "//stock/Withdrawal"
OPEN, WITHDRAW, WITHDRAWN = "//stock/OpenPickList", "//stock/Withdraw", "//stock/Withdrawn"
ALREADY_THERE, QUEUE_IS_OFF = 2714, 9617
UNABLE, WHY = 127, "Unable to process message."
WAIT_MS = 200
LONGEST_WAIT_S = 60

TABLES = """
CREATE TABLE IF NOT EXISTS parts (
    name TEXT PRIMARY KEY, in_stock INTEGER CHECK (in_stock >= 0), retired INTEGER DEFAULT 0);
CREATE TRIGGER IF NOT EXISTS no_change_of_retired_parts BEFORE UPDATE OF in_stock ON parts
    WHEN OLD.retired BEGIN SELECT RAISE(ABORT, 'the part is retired'); END;
CREATE TABLE IF NOT EXISTS pick_lists (conversation TEXT PRIMARY KEY, workplace TEXT);
CREATE TABLE IF NOT EXISTS withdrawals (
    conversation TEXT, sequence INTEGER, part TEXT, quantity INTEGER,
    PRIMARY KEY (conversation, sequence));
"""
"""pick_lists is the state that the stock application keeps for a conversation. withdrawals also
says which messages have been processed: the key of a message is its conversation and sequence."""


def create_database(path: Path) -> None:
    """Create the tables, with ten of each part."""
    with closing(connect(path)) as database, database:
        database.executescript(TABLES)
        parts = [(name, 10) for name in ("bolt", "gear", "nut")]
        database.executemany("INSERT OR IGNORE INTO parts (name, in_stock) VALUES (?, ?)", parts)


def create_services(broker: sb.ServiceBroker) -> None:
    """Create what is in the catalog, unless it is there."""
    for name in (OPEN, WITHDRAW, WITHDRAWN):
        with _unless_there():
            broker.create_message_type(name)
    with _unless_there():
        types = {OPEN: "INITIATOR", WITHDRAW: "INITIATOR", WITHDRAWN: "TARGET"}
        broker.create_contract(CONTRACT, types)
    for queue in (STOCK_QUEUE, WORKSTATION_QUEUE):
        with _unless_there():
            broker.create_queue(queue)
    with _unless_there():
        broker.create_service(STOCK, STOCK_QUEUE, contracts=[CONTRACT])
    with _unless_there():
        broker.create_service(WORKSTATION, WORKSTATION_QUEUE)


@contextmanager
def _unless_there() -> Iterator[None]:
    try:
        yield
    except sb.ServiceBrokerError as error:
        if error.number != ALREADY_THERE:
            raise


# The workstation


def request(broker: sb.ServiceBroker, part: str, quantity: int) -> UUID:
    """Open a pick list and request a part, in one transaction; returns the handle."""
    with broker.transaction() as t:
        handle = t.begin_dialog(WORKSTATION, STOCK, contract=CONTRACT)
        t.send(handle, message_type=OPEN, body=json.dumps({"workplace": "W7"}))
        wanted = json.dumps({"part": part, "quantity": quantity})
        t.send(handle, message_type=WITHDRAW, body=wanted)
    print(f"The workstation requests {quantity} of part {part}.")
    return handle


def await_outcomes(broker: sb.ServiceBroker, requests: dict[UUID, str]) -> None:
    """Receive until each conversation has ended, and say how each request came out."""
    outcomes: dict[UUID, str] = {}
    for handle, part in requests.items():
        while handle not in outcomes:
            with broker.transaction() as t:
                rows = t.receive(
                    WORKSTATION_QUEUE,
                    conversation_handle=handle,
                    timeout_ms=LONGEST_WAIT_S * 1000,
                )
                if not rows:
                    raise TimeoutError(f"no answer to the request of part {part}")
                for row in rows:
                    if row.message_type_name == sb.ERROR:
                        outcomes[handle] = f"failed: {_error(row.text)}"
                    elif row.message_type_name == sb.END_DIALOG:
                        outcomes[handle] = "was fulfilled"
                if handle in outcomes:
                    t.end_conversation(handle)
    for handle, part in requests.items():
        print(f"The workstation learns that its request of part {part} {outcomes[handle]}.")


def _error(text: str) -> str:
    found = re.search("<Code>(.*)</Code><Description>(.*?)[.]?</Description>", text)
    return f"error {found[1]}, {found[2]}" if found else text


# The stock application


def handle_next(broker: sb.ServiceBroker, database: Connection) -> bool:
    """Process the next message; returns False if there is none.

    The database commits before the queue. A program that dies between the two receives the message
    again, and finds in the database that it has been processed: it only has to answer.
    """
    with broker.transaction() as t:
        rows = t.receive(STOCK_QUEUE, top=1, timeout_ms=WAIT_MS)
        if not rows:
            return False
        row = rows[0]
        with database:
            if row.message_type_name == OPEN:
                open_pick_list(database, row)
            elif row.message_type_name == WITHDRAW:
                withdraw(database, row)
        if row.message_type_name == WITHDRAW:
            t.send(row.conversation_handle, message_type=WITHDRAWN)
        if row.message_type_name != OPEN:
            t.end_conversation(row.conversation_handle)
    return True


def open_pick_list(database: Connection, row: sb.Row) -> None:
    """Note what the workstation has begun."""
    workplace = json.loads(row.text)["workplace"]
    values = (str(row.conversation_handle), workplace)
    database.execute("INSERT OR IGNORE INTO pick_lists VALUES (?, ?)", values)


def withdraw(database: Connection, row: sb.Row) -> None:
    """Take parts from the stock and close the pick list, once. Raises IntegrityError."""
    wanted = json.loads(row.text)
    part, quantity = wanted["part"], wanted["quantity"]
    handle, sequence = str(row.conversation_handle), row.message_sequence_number
    values = (handle, sequence, part, quantity)
    noted = database.execute("INSERT OR IGNORE INTO withdrawals VALUES (?, ?, ?, ?)", values)
    if noted.rowcount == 0:
        print(f"The stock application has withdrawn part {part} before: it answers again.")
        return
    take = "UPDATE parts SET in_stock = in_stock - ? WHERE name = ?"
    try:
        database.execute(take, (quantity, part))
    except IntegrityError as error:
        print(f"The update of part {part} fails: {error}. The transaction rolls back.")
        raise
    database.execute("DELETE FROM pick_lists WHERE conversation = ?", (handle,))
    print(f"The stock application withdraws {quantity} of part {part}.")


def run_stock_application(broker: sb.ServiceBroker, path: Path, stop: threading.Event) -> None:
    """Process messages until it is stopped. If an update fails, the transaction rolls back."""
    with closing(connect(path)) as database:
        while not stop.is_set():
            try:
                handle_next(broker, database)
            except IntegrityError:
                pass  # it was reported, and rolled back
            except sb.ServiceBrokerError as error:
                if error.number != QUEUE_IS_OFF:
                    raise
                stop.wait(WAIT_MS / 1000)


# The detector


def recover(broker: sb.ServiceBroker, path: Path) -> int:
    """Remove the requests that can never be processed; returns how many.

    The stock queue's messages look all alike: which one is poison, only the database knows.
    """
    with closing(connect(path)) as database:
        retired = {name for (name,) in database.execute("SELECT name FROM parts WHERE retired")}

        def clear_state(handle: UUID) -> None:
            with database:
                values = (str(handle),)
                database.execute("DELETE FROM pick_lists WHERE conversation = ?", values)

        poison = [
            row
            for row in broker.browse(STOCK_QUEUE)
            if row.message_type_name == WITHDRAW and json.loads(row.text)["part"] in retired
        ]
        for row in poison:
            print(f"The detector finds {row.text}: the part is retired.")
            print(f"The detector ends the conversation with error {UNABLE} and turns the queue ON.")
            broker.remove_poison(
                STOCK_QUEUE,
                row.conversation_handle,
                error=UNABLE,
                description=WHY,
                clear_state=clear_state,
            )
    if not poison:
        print("The detector finds no poison message: an operator has to look at the queue.")
    return len(poison)


def clear_leftovers(broker: sb.ServiceBroker, path: Path) -> None:
    """Clear the state of conversations that are over: a detector may die before it has done so.

    The state is read before the conversations, so that it is never that of a new one.
    """
    with closing(connect(path)) as database, database:
        kept = {handle for (handle,) in database.execute("SELECT conversation FROM pick_lists")}
        known = {str(one.conversation_handle) for one in broker.conversation_endpoints()}
        over = [(handle,) for handle in kept - known]
        database.executemany("DELETE FROM pick_lists WHERE conversation = ?", over)


# The story


def retire(path: Path, part: str) -> None:
    """Carry out a change order: the part is not used any more."""
    with closing(connect(path)) as database, database:
        database.execute("UPDATE parts SET retired = 1 WHERE name = ?", (part,))
    print(f"A change order retires part {part}.")


def tell(address: str, path: Path) -> None:
    """Run the story against a queue manager."""
    create_database(path)
    stop = threading.Event()
    with sb.connect(address) as workstation, sb.connect(address) as stock:
        create_services(workstation)
        requests = {
            request(workstation, part, quantity): part
            for part, quantity in (("bolt", 4), ("gear", 2), ("nut", 3))
        }
        retire(path, "gear")
        with sb.connect(address) as detector:

            def notice(event: sb.QueueEvent) -> None:
                print(f"The detector receives {event.event} of queue {event.queue}.")
                recover(detector, path)

            with detector.subscribe(notice):
                clear_leftovers(detector, path)
                if not detector.queue(STOCK_QUEUE).status:
                    recover(detector, path)  # it was turned OFF when no detector ran
                arguments = (stock, path, stop)
                application = threading.Thread(target=run_stock_application, args=arguments)
                application.start()
                try:
                    await_outcomes(workstation, requests)
                finally:
                    stop.set()
                    application.join()


def report(path: Path) -> None:
    """Say what is in the database."""
    with closing(connect(path)) as database:
        for part, number in database.execute("SELECT name, in_stock FROM parts ORDER BY name"):
            print(f"In stock: {number} of part {part}.")
        (left,) = database.execute("SELECT count(*) FROM pick_lists").fetchone()
        print(f"Open pick lists: {left}.")


def main() -> None:
    """Read the arguments and run the story."""
    parser = argparse.ArgumentParser(description="A poison message and what becomes of it.")
    parser.add_argument("address", nargs="?", help="of a queue manager; without it: in memory")
    parser.add_argument("--database", type=Path, help="an SQLite file; without it: a temporary one")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = given.database or Path(folder) / "stock.db"
        if given.address:
            tell(given.address, path)
        else:
            with testing.queue_manager() as manager:
                tell(manager.address, path)
        report(path)


if __name__ == "__main__":
    try:
        main()
    except sb.ServiceBrokerError as error:
        sys.exit(f"run.py: {error}")
