"""The file of users: what is in it, whose password is right, and what it must look like."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from adapter.errors import StartError
from adapter.server.access import credentials
from adapter.server.access.credentials import Credentials
from tests.support.passwords import hash_cheaply


@pytest.fixture
def path(tmp_path: Path) -> Path:
    users = tmp_path / "users"
    credentials.write(users, {"ada": hash_cheaply("secret"), "bob": hash_cheaply("ä")})
    return users


def test_a_password_is_right_for_its_user_only(path: Path) -> None:
    known = Credentials(path)
    assert known.is_right("ada", "secret")
    assert known.is_right("bob", "ä")
    for user, password in (("ada", "ä"), ("bob", "secret"), ("ada", ""), ("carl", "secret")):
        assert not known.is_right(user, password)
    assert not known.is_right("ada", "x" * (credentials.PASSWORD_BYTES_MAX + 1))


def test_the_file_keeps_hashes_and_is_its_owners_alone(path: Path) -> None:
    assert "secret" not in path.read_text()
    assert path.stat().st_mode & 0o077 == 0
    assert list(credentials.read(path)) == ["ada", "bob"]


def test_a_change_counts_at_once(path: Path) -> None:
    known = Credentials(path)
    users = credentials.read(path)
    del users["ada"]
    users["carl"] = credentials.hash_password("new")  # as the command does
    credentials.write(path, users)
    assert not known.is_right("ada", "secret")
    assert known.is_right("carl", "new")


def test_a_file_that_has_gone_lets_nobody_in(path: Path) -> None:
    known = Credentials(path)
    path.unlink()
    with pytest.raises(StartError, match="cannot be read"):
        known.is_right("ada", "secret")


def test_comments_and_empty_lines_are_left_out(path: Path) -> None:
    path.write_text("# users\n\n" + path.read_text())
    assert Credentials(path).is_right("ada", "secret")


@pytest.mark.parametrize("line", ["ada", "ada:plain", "a da:$argon2id$x", ":$argon2id$x"])
def test_a_line_that_is_none_is_named(path: Path, line: str) -> None:
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(StartError, match=r"users, line 3: NAME:HASH was expected"):
        Credentials(path)


def test_no_file_and_one_that_is_too_long(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="cannot be read"):
        Credentials(tmp_path / "none")
    long = tmp_path / "long"
    long.touch(0o600)
    with long.open("wb") as file:
        os.truncate(file.fileno(), credentials.FILE_BYTES_MAX + 1)
    with pytest.raises(StartError, match="it has more than"):
        Credentials(long)


def test_a_damaged_hash_is_nobodys(tmp_path: Path) -> None:
    users = tmp_path / "users"
    users.touch(0o600)
    users.write_text("ada:$argon2id$damaged\n")
    assert not Credentials(users).is_right("ada", "secret")


def test_a_file_of_users_that_others_may_read_is_refused(tmp_path: Path) -> None:
    users = tmp_path / "users"
    credentials.write(users, {"ada": hash_cheaply("secret")})
    Credentials(users)
    users.chmod(0o640)
    with pytest.raises(StartError, match=r"holds hashes of passwords, and .* chmod 600 .*users"):
        Credentials(users)


def test_users_that_are_added_and_removed_at_once(tmp_path: Path) -> None:
    path = tmp_path / "users"
    credentials.write(path, {f"old{number}": hash_cheaply("x") for number in range(20)})
    hashed = hash_cheaply("y")

    def change(number: int) -> None:
        with credentials.changing(path) as users:
            users[f"new{number}"] = hashed
            del users[f"old{number}"]

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(change, range(20)))
    assert sorted(credentials.read(path)) == sorted(f"new{number}" for number in range(20))
