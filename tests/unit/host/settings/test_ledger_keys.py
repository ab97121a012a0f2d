"""The file of a ledger's keys: what it says, and what is wrong with others."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapter.host.settings import ledger_keys
from adapter.host.settings.ledger_keys import LedgerKeysError
from adapter.storage.ledger.seals import NO_KEYS, SealKeys, Seals, id_of

K, L = "0f" * 32, "AB" * 32


def written(folder: Path, text: str, mode: int = 0o600) -> Path:
    file = folder / "keys"
    file.write_text(text)
    file.chmod(mode)
    return file


def test_the_first_key_seals_and_all_are_known(tmp_path: Path) -> None:
    found = ledger_keys.read(written(tmp_path, f"# ours\n\n{K}\n  {L}  \n"))
    assert found == SealKeys((bytes.fromhex(K), bytes.fromhex(L)))
    assert Seals("L", found).begins_with == id_of(bytes.fromhex(K))


def test_unsealed_ends_the_sealing_and_the_keys_are_known(tmp_path: Path) -> None:
    found = ledger_keys.read(written(tmp_path, f"unsealed\n{K}\n"))
    assert (found.seals, found.keys) == (False, (bytes.fromhex(K),))
    assert Seals("L", found).begins_with == b""


def test_no_file_has_no_keys() -> None:
    assert ledger_keys.read("") == NO_KEYS


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it has no key"),
        ("# only a comment\n", "it has no key"),
        ("unsealed\n", "it has no key"),
        (f"{K}\n{K}\n", "it has a key twice"),
        (f"{K}\n\n{K[:-1]}\n", "line 3: a key of 64 hexadecimal digits was expected"),
        (f"{K}\nunsealed\n", "line 2: a key of 64 hexadecimal digits was expected"),
        (f"{K} {L}\n", "line 1: a key"),
        (f"{K}0\n", "line 1: a key"),
        ("\N{ARABIC-INDIC DIGIT ONE}" * 64, "line 1: a key"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_and_no_key_shown(
    tmp_path: Path, text: str, why: str
) -> None:
    with pytest.raises(LedgerKeysError, match=why) as refused:
        ledger_keys.read(written(tmp_path, text))
    assert K[:32] not in str(refused.value)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_file_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    file = written(tmp_path, K, mode)
    with pytest.raises(LedgerKeysError, match=f"holds secrets, and .*chmod 600 {file}"):
        ledger_keys.read(file)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for name in ("missing", "."):
        with pytest.raises(LedgerKeysError, match="the file of the ledger's keys, cannot be read"):
            ledger_keys.read(tmp_path / name) if name != "." else ledger_keys.read("/dev/null/x")
    file = tmp_path / "binary"
    file.write_bytes(b"\xff\xfe")
    file.chmod(0o600)
    with pytest.raises(LedgerKeysError, match="it is not text"):
        ledger_keys.read(file)


def test_keys_are_added_behind_those_that_are_there(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    first = ledger_keys.add(file)
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_text(file.read_text().rstrip("\n"))  # as some editors leave it
    second = ledger_keys.add(file)
    found = ledger_keys.read(file)
    assert [id_of(key).hex() for key in found.keys] == [first, second]
    assert found.seals


def test_no_key_is_added_to_a_file_of_something_else(tmp_path: Path) -> None:
    file = written(tmp_path, "ann:$argon2id$...\n")
    with pytest.raises(LedgerKeysError, match="line 1"):
        ledger_keys.add(file)
    assert file.read_text() == "ann:$argon2id$...\n"
