"""The file of a ledger's keys, which a queue manager seals its ledger with.

A line for each key, 64 hexadecimal digits. The first key seals, and all of them are known, so that
one can follow the other. A first line `unsealed` ends the sealing: then no key seals. Lines that
begin with # are comments. This module does not know what seals are.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from adapter.host import texts
from adapter.storage.ledger.seals import KEY_BYTES, NO_KEYS, SealKeys, id_of, keys_of

UNSEALED = "unsealed"
FILE_BYTES_MAX = 64 * 1024
KEY = re.compile(rf"[0-9a-fA-F]{{{2 * KEY_BYTES}}}")


class LedgerKeysError(Exception):
    """A file of keys cannot be used; the text says why, and shows no key."""


def read(path: str | Path) -> SealKeys:
    """Return the keys in a file, and no key without a file (""). Raises LedgerKeysError."""
    if not str(path):
        return NO_KEYS
    lines = _lines(Path(path))
    seals = not lines or lines[0][1] != UNSEALED
    keys = []
    for number, line in lines if seals else lines[1:]:
        if not KEY.fullmatch(line):
            raise LedgerKeysError(
                f"{path}, line {number}: a key of {2 * KEY_BYTES} hexadecimal digits was expected, "
                "as `mqk ledger key add` writes it"
            )
        keys.append(bytes.fromhex(line))
    try:
        return keys_of(keys, seals=seals)
    except ValueError as wrong:
        raise LedgerKeysError(
            f"{path}, the file of the ledger's keys, is of no use: {wrong}"
        ) from wrong


def add(path: Path) -> str:
    """Write a new key behind those of a file, which is made if it is missing; return its id.

    Raises LedgerKeysError, OSError.
    """
    key = os.urandom(KEY_BYTES)
    key_id = id_of(key).hex()
    with texts.changing(path, 0o600) as write:
        text = ""
        if path.exists():
            read(path)
            text = _text(path)
            text += "" if text.endswith("\n") else "\n"
        write(f"{text}# key {key_id}\n{key.hex()}\n")
    return key_id


def _lines(path: Path) -> list[tuple[int, str]]:
    """Return the lines that say something, with their numbers."""
    stripped = ((n, line.strip()) for n, line in enumerate(_text(path).splitlines(), 1))
    return [(number, line) for number, line in stripped if line and not line.startswith("#")]


def _text(path: Path) -> str:
    if why := texts.why_not_private(path):
        raise LedgerKeysError(f"{path}, the file of the ledger's keys, holds secrets, and {why}")
    try:
        return texts.read(path, FILE_BYTES_MAX)
    except texts.UnreadableTextError as error:
        raise LedgerKeysError(
            f"{path}, the file of the ledger's keys, cannot be read: {error}"
        ) from error
