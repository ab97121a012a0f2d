"""Ledgers that former releases wrote are replayed by this one, to the state that they had."""

import json
from pathlib import Path

import pytest

from adapter.cli.verify import Verifier
from adapter.runtime.owner import replay
from adapter.storage.backup.contents import examine
from adapter.storage.backup.file import LedgerRecord, new, read, read_header
from adapter.storage.ledger.envelope import UnknownKey, decode, encode
from adapter.storage.ledger.memory import MemoryLedger, MemoryLog
from adapter.storage.ledger.port import LedgerMismatch
from adapter.storage.ledger.seals import SealKeys, id_of
from tests.golden.make import make
from tests.golden.state import state
from tests.golden.story import KEYS, LEDGER, MANAGER
from tests.support.backup_place import ledger_of

HERE = Path(__file__).parent
KEYS_NAMED = ", .* which has ".join(id_of(key).hex() for key in KEYS.keys)
"""The text that names the first key, which is missing, and then the second."""
LEDGERS = sorted(path.stem for path in HERE.glob("*.backup"))


def replayed(file: Path) -> object:
    """Let an owner take the ledger over, as it does when it starts."""
    log = MemoryLog(LEDGER)
    for raw in ledger_of(file):
        log.write(raw.value or b"")
    name = read_header(file).queue_manager
    ledger = MemoryLedger(log, keys=KEYS)
    try:
        return state(replay.take_over(name, b"o" * 16, "a test", ledger, None).qm)
    finally:
        ledger.close()


@pytest.mark.parametrize("name", LEDGERS)
def test_a_golden_ledger_is_replayed_to_its_state(name: str) -> None:
    wanted = json.loads((HERE / f"{name}.json").read_text())
    assert json.loads(json.dumps(replayed(HERE / f"{name}.backup"))) == wanted


@pytest.mark.parametrize("name", LEDGERS)
def test_a_golden_ledger_verifies(name: str) -> None:
    """The records that do not count are told, and nothing is wrong."""
    verifier = Verifier(MANAGER, keys=KEYS)
    found = [one for raw in ledger_of(HERE / f"{name}.backup") for one in verifier.take(raw)]
    first, *others = [(one.anomaly, one.text.split(":")[0]) for one in found]
    assert first == (False, "duplicate")
    void, forged = (False, "void"), (False, "forged")
    assert others in (
        [void] * 2,
        [void] * 3,  # since changes name whom
        [forged] * 3 + [void] * 2,  # since some are sealed
    )


@pytest.mark.parametrize("name", LEDGERS)
def test_a_golden_ledger_is_a_backup_that_can_be_restored(name: str) -> None:
    found = examine(HERE / f"{name}.backup", KEYS)
    assert found.records == len(ledger_of(HERE / f"{name}.backup"))


def test_a_sealed_golden_ledger_is_refused_without_its_keys() -> None:
    file = HERE / "0.1-seals.backup"
    with pytest.raises(LedgerMismatch, match="is sealed with key"):
        examine(file)
    verifier = Verifier(MANAGER, keys=SealKeys(KEYS.keys[1:]))
    with pytest.raises(UnknownKey, match=KEYS_NAMED):
        list(map(verifier.take, ledger_of(file)))


def test_a_ledger_that_says_otherwise_is_noticed(tmp_path: Path) -> None:
    """The comparison sees one entry less."""
    source = HERE / f"{LEDGERS[0]}.backup"
    frames = list(read(source))
    lost = next(
        one for one in frames if isinstance(one, LedgerRecord) and b"the last" in (one.value or b"")
    )
    envelope = decode(lost.value)
    lost.value = encode(envelope.kind, envelope.owner, envelope.n, b"\x01\x00")
    file = tmp_path / "less"
    with new(file, read_header(source)) as writer:
        for frame in frames:
            writer.write(frame)
    wanted = json.loads((HERE / f"{LEDGERS[0]}.json").read_text())
    assert json.loads(json.dumps(replayed(file))) != wanted


def test_golden_ledgers_are_made_by_a_script_that_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.golden.make.HERE", tmp_path)
    make("next")
    assert json.loads((tmp_path / "next.json").read_text()) == json.loads(
        json.dumps(replayed(tmp_path / "next.backup"))
    )
