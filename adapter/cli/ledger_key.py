"""mqk ledger key: the file of a ledger's keys; and the option of commands that read a ledger."""

from __future__ import annotations

from pathlib import Path

import click

from adapter.cli import output
from adapter.command import failures, options
from adapter.host.settings import ledger_keys
from adapter.host.settings.ledger_keys import LedgerKeysError
from adapter.storage.ledger.seals import SealKeys, id_of


def _read(_context: object, _parameter: object, path: Path | None) -> SealKeys:
    with failures.expect(LedgerKeysError):
        return ledger_keys.read(path or "")


keys_option = click.option(
    "--ledger-key-file", "keys", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    envvar="MQK_LEDGER_KEY_FILE", show_envvar=True, callback=_read,
    help="The file of the ledger's keys, if it is sealed: the queue manager's setting "
    "ledger_key_file.",
)  # fmt: skip
in_file = click.argument("path", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False))


@click.group()
def key() -> None:
    """Keys that a ledger is sealed with, in a file: the setting ledger_key_file."""


@key.command()
@in_file
@options.json_output
def add(path: Path, as_json: bool) -> None:
    """Make a key, and write it behind those of FILE, which is made if it does not exist.

    The first key of a file seals. To have another one seal, move its line to the top in the files
    of all that read the ledger, and start the queue manager again.
    """
    with failures.expect(LedgerKeysError, OSError):
        key_id = ledger_keys.add(path)
        keys = ledger_keys.read(path)
    seals = id_of(keys.keys[0]).hex() == key_id and keys.seals
    text = f"key {key_id} added to {path}" + (": it seals" if seals else "")
    output.done(text, as_json, key=key_id, seals=seals)


@key.command("list")
@in_file
@options.json_output
def list_keys(path: Path, as_json: bool) -> None:
    """Show the ids of the keys in FILE, and which one seals; no key is shown."""
    with failures.expect(LedgerKeysError):
        keys = ledger_keys.read(path)
    for number, one in enumerate(keys.keys):
        key_id, seals = id_of(one).hex(), keys.seals and not number
        if as_json:
            output.emit({"key": key_id, "seals": seals})
        else:
            click.echo(f"{key_id}{'  seals' if seals else ''}")
