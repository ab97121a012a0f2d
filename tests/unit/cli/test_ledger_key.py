"""mqk ledger key: keys are made and listed, and never shown."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from tests.unit.cli.conftest import Mqk


def listed(mqk: Mqk, file: Path) -> list[dict[str, object]]:
    said = mqk("ledger", "key", "list", file, "--json")
    return [json.loads(line) for line in said.out.splitlines()]


def test_keys_are_made_and_listed(mqk: Mqk, tmp_path: Path) -> None:
    file = tmp_path / "keys"
    first = mqk("ledger", "key", "add", file)
    assert first.status == 0
    assert first.out.endswith(f"added to {file}: it seals\n")
    second = mqk("ledger", "key", "add", file, "--json")
    key_id = json.loads(second.out)["key"]
    assert json.loads(second.out) == {"key": key_id, "seals": False}
    listed = mqk("ledger", "key", "list", file).out
    assert listed == f"{first.out.split()[1]}  seals\n{key_id}\n"
    keys = [line for line in file.read_text().splitlines() if not line.startswith("#")]
    said = first.out + second.out + listed
    assert not any(key in said for key in keys)


def test_the_order_of_the_lines_says_which_key_seals(mqk: Mqk, tmp_path: Path) -> None:
    file = tmp_path / "keys"
    mqk("ledger", "key", "add", file)
    mqk("ledger", "key", "add", file)
    before = listed(mqk, file)
    file.write_text("\n".join(reversed(file.read_text().splitlines())))
    after = listed(mqk, file)
    assert [one["key"] for one in after] == [one["key"] for one in reversed(before)]
    assert [one["seals"] for one in after] == [True, False]
    file.write_text("unsealed\n" + file.read_text())
    assert "seals" not in mqk("ledger", "key", "list", file).out


def test_what_is_wrong_is_a_sentence(mqk: Mqk, tmp_path: Path) -> None:
    file = tmp_path / "keys"
    assert "cannot be read" in mqk("ledger", "key", "list", file).err
    file.write_text("0" * 64)
    file.chmod(0o644)
    for command in ("list", "add"):
        said = mqk("ledger", "key", command, file)
        assert said.status == 1
        assert "chmod 600" in said.err
    missing = mqk("ledger", "key", "add", tmp_path / "no such folder" / "keys")
    assert missing.status == 1
    assert "No such file" in missing.err
    said = mqk("ledger", "verify", "QM1", "--ledger-key-file", file)
    assert said.status == 1
    assert "chmod 600" in said.err


def test_the_commands_of_the_page(mqk: Mqk, tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs/operations/security.md").read_text()
    lines = [line for line in page.splitlines() if line.startswith("mqk ledger key ")]
    assert len(lines) == 2
    for line in lines:
        words = shlex.split(line.replace("/etc/mqk", str(tmp_path)), comments=True)
        said = mqk(*words[1:])
        assert said.status == 0, said.err
