"""Writes the golden ledger of this release: `python -m tests.golden.make NAME`, from the top.

Run it before a release that writes records of a new kind or shape, with a name that is new; the
ledgers of former releases stay, and every release replays them all.
"""

import json
import sys
import typing
from pathlib import Path

from adapter.cli.backups import versions
from adapter.cli.verify import Verifier
from adapter.core.contract.records import Record
from adapter.storage.backup.file import BackupHeader, new
from adapter.storage.backup.taking import take
from adapter.storage.format import entries
from adapter.storage.ledger.seals import Seals
from tests.golden.state import state
from tests.golden.story import KEYS, LEDGER, MANAGER, records, tell
from tests.support.backup_place import MemoryPlace
from tests.support.core import START_MS

HERE = Path(__file__).parent


def make(name: str) -> None:
    """Write NAME.backup and NAME.json."""
    told = {type(record) for entry in tell() for record in entries.decode(entry)}
    kinds = [kind for kind in typing.get_args(Record) if not kind.__name__.endswith("Restored")]
    missing = [kind.__name__ for kind in kinds if kind not in told]  # the rest is of snapshots
    assert not missing, f"the story does not tell of {missing}"
    ledger = records()
    place = MemoryPlace(MANAGER)
    place.values = [raw.value for raw in ledger]
    place.time_ms = START_MS
    place.seals = Seals(LEDGER, KEYS)
    header = BackupHeader(queue_manager=MANAGER, made_ms=START_MS, versions=versions())
    with new(HERE / f"{name}.backup", header) as file:
        take(place, file)
    verifier = Verifier(MANAGER, keys=KEYS)
    for raw in ledger:
        assert not any(one.anomaly for one in verifier.take(raw))
    text = json.dumps(state(verifier.qm), indent=1)
    (HERE / f"{name}.json").write_text(text + "\n")


if __name__ == "__main__":
    make(sys.argv[1])
