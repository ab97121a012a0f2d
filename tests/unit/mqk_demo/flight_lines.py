"""A small table of flights for the demo's tests, shaped like the real one."""

import io
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

from adapter.core.contract.message import MessageData
from adapter.core.contract.unit_records import Placed
from adapter.storage.format import descriptor
from mqk_demo import checker
from mqk_demo.flights import COLUMNS, TABLE, TABLE_ZIP, Flight, flight_of, result_of

UNIT_SIZE = 100


def line(number: int) -> str:
    """One line of the table; every 7th never departed, every 14th has no tail number."""
    minute = f"{number // 60 % 24:02}:{number % 60:02}"
    if number % 7 == 6:
        times, gain, air = "NA,800,NA,NA,900", "NA", "NA"
    else:
        delay = number % 13 * 14 - 20
        times, gain, air = f"755,800,{delay},855,900", str(delay // 2), "50"
    tail = "NA" if number % 14 == 13 else f"N{10000 + number}"
    return (
        f"2013,1,{1 + number // 1440},{times},{gain},UA,{number},{tail},EWR,IAH,{air},400,8,0,"
        f"2013-01-01T{minute}:00Z"
    )


def table(count: int) -> list[str]:
    """The first lines of the table."""
    return [line(number) for number in range(count)]


def make_archive(path: Path, lines: list[str]) -> Path:
    """An archive like the package's, with another table."""
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as table_zip:
        table_zip.writestr(TABLE, "\n".join([COLUMNS, *lines, ""]))
    with tarfile.open(path, "w:gz") as package:
        member = tarfile.TarInfo(TABLE_ZIP)
        member.size = len(inner.getvalue())
        package.addfile(member, io.BytesIO(inner.getvalue()))
    return path


class Topics:
    """The three queue topics, as a faultless run would leave them."""

    def __init__(self, lines: list[str]) -> None:
        self._decoder = checker.HeaderDecoder()
        self._seqs: dict[tuple[str, int], int] = {}
        self._units = 0
        self.records: list[checker.FoundRecord] = []
        flights = [flight_of(text) for text in lines]
        for unit in blocks(flights):
            self._unit("IN", [(flight.line, flight) for flight in unit])
        handled = [flight for flight in flights if flight.departed]
        for unit in blocks(sorted(handled, key=lambda flight: -flight.priority)):
            self._unit("DONE", [(result_of(flight.line), flight) for flight in unit])
        for flight in flights:
            if not flight.departed:
                self._unit("BACKOUT", [(flight.line, flight)])

    def _unit(self, queue: str, messages: list[tuple[str, Flight]]) -> None:
        self._units += 1
        for index, (body, flight) in enumerate(messages):
            place = (queue, flight.priority)
            self._seqs[place] = seq = self._seqs.get(place, 0) + 1
            message = MessageData(
                body=body.encode(),
                message_id=f"{queue}{seq}P{flight.priority}".encode().ljust(24, b"\0"),
                correlation_id=flight.correlation_id,
                group_id=bytes(24),
                priority=flight.priority,
                persistence=1,
                put_time_ms=1_700_000_000_000 + self._units,
            )
            placed = Placed(
                f"FLIGHTS.{queue}", flight.priority, seq, 0, index, index, len(messages), message
            )
            header = descriptor.encode(placed, self._units.to_bytes(24, "big"), len(messages))
            told = self._decoder.decode(header)
            self.records.append(
                checker.FoundRecord(queue, flight.priority, message.put_time_ms, message.body, told)
            )


def blocks(flights: list[Flight]) -> Iterable[list[Flight]]:
    """Cut into units."""
    for start in range(0, len(flights), UNIT_SIZE):
        yield flights[start : start + UNIT_SIZE]
