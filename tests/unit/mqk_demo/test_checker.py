"""The checker is itself checked: it passes what is right and finds every single fault."""

import ast
import itertools
import json
import runpy
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from adapter.storage.format.descriptor import VERSION
from adapter.storage.format.schemas import Codec
from mqk_demo import checker, flights
from mqk_demo.checker import FoundRecord
from tests.unit.mqk_demo.flight_lines import Topics, make_archive, table

SCHEMAS = Path(__file__).parents[3] / "schemas"
LINES = table(730)
RIGHT = Topics(LINES).records
INDEPENDENT = {"confluent_kafka", "fastavro"}

Fault = Callable[[list[FoundRecord]], None]


def position(records: list[FoundRecord], queue: str, nth: int) -> int:
    """Where the nth record of a queue is."""
    return [at for at, found in enumerate(records) if found.queue == queue][nth]


def told(found: FoundRecord, **changes: object) -> FoundRecord:
    """The same record with another descriptor."""
    return found._replace(descriptor=found.descriptor | changes)


def test_passes_a_faultless_run() -> None:
    report = checker.check(LINES, RIGHT)
    assert report["ok"], report["examples"]
    assert report["rows"] == report["in"] == len(LINES)
    assert report["backout"] == sum(line.split(",")[3] == "NA" for line in LINES) == 104
    assert report["done"] == len(LINES) - 104
    assert report["examples"] == []


@pytest.mark.parametrize("queue", ["IN", "DONE", "BACKOUT"])
def test_finds_a_dropped_record(queue: str) -> None:
    records = list(RIGHT)
    del records[position(records, queue, 55)]
    report = checker.check(LINES, records)
    assert not report["ok"]
    assert report["lost"] == 1
    assert report["broken_numbering"] == 1
    assert report["duplicated"] == report["altered"] == 0


@pytest.mark.parametrize("queue", ["IN", "DONE", "BACKOUT"])
def test_finds_a_record_that_is_missing_at_the_very_end(queue: str) -> None:
    records = list(RIGHT)
    del records[position(records, queue, -1)]
    report = checker.check(LINES, records)
    assert not report["ok"]
    assert report["lost"] == 1


@pytest.mark.parametrize("queue", ["IN", "DONE", "BACKOUT"])
def test_finds_a_duplicate(queue: str) -> None:
    records = list(RIGHT)
    at = position(records, queue, 55)
    records.insert(at, records[at])
    report = checker.check(LINES, records)
    assert not report["ok"]
    assert report["duplicated"] == 1
    assert report["lost"] == 0


@pytest.mark.parametrize("queue", ["IN", "DONE", "BACKOUT"])
def test_finds_a_duplicate_under_new_numbers(queue: str) -> None:
    """Put again by another unit, all numbers in order: only the flight itself comes twice."""
    records = list(RIGHT)
    again = records[position(records, queue, 55)]
    last = max(f.descriptor["seq"] for f in RIGHT if f[:2] == again[:2])
    records.append(
        told(
            again,
            seq=last + 1,
            unit=b"u" * 24,
            message_id=b"m" * 24,
            unit_size=1,
            unit_index=0,
            queue_unit_size=1,
            queue_unit_index=0,
        )
    )
    report = checker.check(LINES, records)
    assert not report["ok"]
    assert report["duplicated"] == 1
    assert report["broken_numbering"] == 0


@pytest.mark.parametrize("queue", ["IN", "DONE"])
def test_finds_two_swapped_bodies(queue: str) -> None:
    """Everything but the texts stays where it was."""
    records = list(RIGHT)
    first, second = _neighbours(records, queue)
    one, other = records[first], records[second]
    records[first] = told(
        one._replace(body=other.body), correlation_id=other.descriptor["correlation_id"]
    )
    records[second] = told(
        other._replace(body=one.body), correlation_id=one.descriptor["correlation_id"]
    )
    report = checker.check(LINES, records)
    assert not report["ok"]
    assert report["out_of_order"] == 1
    assert report["broken_numbering"] == report["wrong_descriptor"] == 0


def _neighbours(records: list[FoundRecord], queue: str) -> tuple[int, int]:
    """Two records that follow each other in one lane and one unit."""
    at = [n for n, found in enumerate(records) if found[:2] == (queue, 0)]
    for first, second in itertools.pairwise(at[5:]):
        if records[first].descriptor["unit"] == records[second].descriptor["unit"]:
            return first, second
    raise AssertionError("no two records are neighbours")


@pytest.mark.parametrize("queue", ["IN", "DONE", "BACKOUT"])
def test_finds_two_swapped_records(queue: str) -> None:
    records = list(RIGHT)
    lane = [n for n, found in enumerate(records) if found[:2] == (queue, 0)]
    records[lane[10]], records[lane[11]] = records[lane[11]], records[lane[10]]
    report = checker.check(LINES, records)
    assert not report["ok"]
    assert report["broken_numbering"] > 0
    assert report["lost"] == report["duplicated"] == 0


@pytest.mark.parametrize("queue", ["IN", "DONE", "BACKOUT"])
@pytest.mark.parametrize("change", [b"", b"9", b"x"])
def test_finds_an_altered_body(queue: str, change: bytes) -> None:
    records = list(RIGHT)
    at = position(records, queue, 55)
    body = records[at].body
    records[at] = records[at]._replace(body=body[:-1] if not change else body + change)
    report = checker.check(LINES, records)
    assert not report["ok"]
    assert report["altered"] == 1


DESCRIPTOR_FAULTS: dict[str, tuple[str, str, Callable[[FoundRecord], FoundRecord]]] = {
    "priority told": ("IN", "wrong_priority", lambda f: told(f, priority=7)),
    "persistence": ("IN", "wrong_descriptor", lambda f: told(f, persistent=False)),
    "aircraft": ("DONE", "wrong_descriptor", lambda f: told(f, correlation_id=b"N" * 24)),
    "time": ("DONE", "wrong_descriptor", lambda f: f._replace(time_ms=f.time_ms + 1)),
    "no message id": ("IN", "wrong_descriptor", lambda f: told(f, message_id=bytes(24))),
    "seq": ("BACKOUT", "broken_numbering", lambda f: told(f, seq=f.descriptor["seq"] + 1)),
    "unit": ("IN", "broken_units", lambda f: told(f, unit=b"x" * 24)),
    "unit size": ("IN", "broken_units", lambda f: told(f, unit_size=99)),
    "share size": ("DONE", "broken_units", lambda f: told(f, queue_unit_size=99)),
    "unit index": ("DONE", "broken_units", lambda f: told(f, unit_index=0)),
    "share index": ("DONE", "broken_units", lambda f: told(f, queue_unit_index=0)),
}


@pytest.mark.parametrize("name", DESCRIPTOR_FAULTS)
def test_finds_a_wrong_descriptor(name: str) -> None:
    queue, kind, alter = DESCRIPTOR_FAULTS[name]
    records = list(RIGHT)
    at = position(records, queue, 55)
    records[at] = alter(records[at])
    report = checker.check(LINES, records)
    assert not report["ok"]
    assert report[kind] > 0


def test_finds_a_flight_on_the_wrong_queue() -> None:
    records = list(RIGHT)
    at = position(records, "BACKOUT", 3)
    records[at] = records[at]._replace(queue="DONE", body=records[at].body + b",NA")
    report = checker.check(LINES, records)
    assert not report["ok"]
    assert report["misplaced"] == 1


def test_finds_a_record_in_another_lane() -> None:
    records = list(RIGHT)
    at = position(records, "IN", 3)
    records[at] = records[at]._replace(lane=records[at].lane + 1)
    report = checker.check(LINES, records)
    assert report["wrong_priority"] == 1


def test_finds_a_unit_that_the_producer_did_not_put() -> None:
    """Two half units of the producer, each complete in itself, are none of its units."""
    records = list(RIGHT)
    for nth in range(100):
        at = position(records, "IN", nth)
        index = records[at].descriptor["unit_index"]
        records[at] = told(
            records[at], unit=bytes([index // 50 + 1]) * 24, unit_size=50, unit_index=index % 50,
            queue_unit_size=50, queue_unit_index=index % 50,
        )  # fmt: skip
    report = checker.check(LINES, records)
    assert not report["ok"]
    assert report["broken_units"] > 0
    assert report["lost"] == report["altered"] == 0


@pytest.mark.parametrize("size", ["unit_size", "queue_unit_size"])
def test_finds_a_unit_whose_last_message_is_missing(size: str) -> None:
    """Everything that came agrees that there was one more."""
    unit = RIGHT[position(RIGHT, "DONE", 150)].descriptor["unit"]
    records = [
        told(found, **{size: found.descriptor[size] + 1})
        if found.descriptor["unit"] == unit
        else found
        for found in RIGHT
    ]
    report = checker.check(LINES, records)
    assert report["broken_units"] == 1
    assert sum(report[kind] for kind in checker.KINDS) == 1


@pytest.mark.parametrize("number", [0, 1, 5, 6, 13])
def test_agrees_with_the_demo_on_what_a_flight_becomes(number: int) -> None:
    """Two people read the same line: their answers agree."""
    line = LINES[number]
    expected, flight = checker.expect(line), flights.flight_of(line)
    assert expected.priority == flight.priority
    assert expected.departed == flight.departed
    assert expected.correlation_id == flight.correlation_id
    if flight.departed:
        assert expected.result == flights.result_of(line).encode()


@pytest.mark.parametrize(
    ("delay", "priority"),
    [("NA", 0), ("-43", 0), ("0", 0), ("1", 1), ("15", 1), ("16", 2), ("120", 8), ("121", 9),
     ("135", 9), ("136", 9), ("1301", 9)],
)  # fmt: skip
def test_priority_is_a_level_for_every_quarter_of_an_hour(delay: str, priority: int) -> None:
    fields = LINES[0].split(",")
    fields[5] = delay
    assert checker.expect(",".join(fields)).priority == priority
    assert flights.priority_of(delay) == priority


def test_imports_only_kafka_avro_and_the_standard_library() -> None:
    tree = ast.parse(Path(checker.__file__).read_text())
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "no relative imports"
            imported.add((node.module or "").split(".")[0])
    foreign = imported - set(sys.stdlib_module_names)
    assert foreign == INDEPENDENT


def test_refuses_a_header_that_is_none() -> None:
    decoder = checker.HeaderDecoder()
    for header in (None, b"", b"\x02rest", b"\x01", b"\x01short"):
        with pytest.raises(checker.CannotCheckError, match="mqmd"):
            decoder.decode(header)


def test_says_where_it_looked_for_the_schema(tmp_path: Path) -> None:
    with pytest.raises(checker.CannotCheckError, match=r"no\.avsc"):
        checker.HeaderDecoder(tmp_path / "no.avsc")


@pytest.mark.parametrize("folder", ["schemas", "adapter/schemas"])
def test_finds_the_schema_in_a_checkout_and_as_installed(folder: str, tmp_path: Path) -> None:
    (copy := tmp_path / "mqk_demo" / "checker.py").parent.mkdir()
    shutil.copyfile(checker.__file__, copy)
    (schemas := tmp_path / folder).mkdir(parents=True)
    shutil.copy(SCHEMAS / "descriptor.avsc", schemas)
    decoder = runpy.run_path(str(copy))["HeaderDecoder"]()
    found = RIGHT[0]
    header = Codec("descriptor", VERSION).encode(found.descriptor)
    assert decoder.decode(header) == found.descriptor


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return make_archive(tmp_path / "small.tar.gz", LINES)


def test_reads_the_table_from_the_archive(archive: Path) -> None:
    assert checker.read_table(archive, None) == LINES
    assert checker.read_table(archive, 10) == LINES[:10]


def test_says_what_an_archive_lacks(tmp_path: Path) -> None:
    path = tmp_path / "empty.tar.gz"
    tarfile.open(path, "w:gz").close()
    with pytest.raises(checker.CannotCheckError, match=r"flights\.csv\.zip"):
        checker.read_table(path, None)


def test_report_for_people_names_every_figure() -> None:
    report = checker.check(LINES, RIGHT)
    text = checker.show(report)
    assert "everything is as it must be" in text
    for kind in checker.KINDS:
        assert kind.replace("_", " ") in text
    report["ok"] = False
    assert "SOMETHING IS WRONG" in checker.show(report)
    assert json.loads(json.dumps(report)) == report


def test_runs_by_itself_as_a_program(archive: Path) -> None:
    """A broker that is not there: status 2 and a sentence, no traceback; wrong use: usage."""
    program = [sys.executable, "-P", checker.__file__]
    used_wrongly = subprocess.run(program, capture_output=True, text=True, timeout=60, check=False)
    assert used_wrongly.returncode == 2
    assert "usage" in used_wrongly.stderr
    missing = subprocess.run(
        [*program, "--bootstrap-server", "127.0.0.1:1", "--archive", f"{archive}.no"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert missing.returncode == 2
    assert "the check is not possible" in missing.stderr
    assert "Traceback" not in missing.stderr
