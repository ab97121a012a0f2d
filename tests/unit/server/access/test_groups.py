"""The file of groups: who is in which, read again when it changes, and what is no such file."""

import asyncio
import os
from pathlib import Path

import pytest

import adapter
import adapter.testing
from adapter.errors import StartError
from adapter.server.access import credentials, groups
from adapter.server.access.groups import GroupsByUser, UserGroups
from tests.support.passwords import hash_cheaply


def file_of(folder: Path, text: str) -> Path:
    path = folder / "groups"
    path.write_text(text)
    path.chmod(0o644)
    return path


def test_a_line_is_a_group_and_a_user(tmp_path: Path) -> None:
    path = file_of(
        tmp_path, "# of the shop\n\nstaff:ann\ntills:ann\nstaff:CN=a b,O=C:D\nstaff:ann\n"
    )
    assert groups.read(path) == {"staff": ["ann", "CN=a b,O=C:D"], "tills": ["ann"]}
    assert UserGroups(path).groups == {"ann": ("staff", "tills"), "CN=a b,O=C:D": ("staff",)}


def test_what_is_written_is_read_and_others_may_not_write_it(tmp_path: Path) -> None:
    members = {"staff": ["bob", "ann"], "tills": ["ann"], "empty": []}
    groups.write(tmp_path / "groups", members)
    assert groups.read(tmp_path / "groups") == {"staff": ["bob", "ann"], "tills": ["ann"]}
    assert (tmp_path / "groups").stat().st_mode & 0o027 == 0


@pytest.mark.parametrize(
    "line", ["staff", "staff:", ":ann", "staff: ann", "staff:" + "a" * 65, "everyone:ann"]
)
def test_what_is_no_line(tmp_path: Path, line: str) -> None:
    path = file_of(tmp_path, f"staff:ann\n{line}\n")
    with pytest.raises(StartError, match="line 2: GROUP:USER was expected"):
        UserGroups(path)


def test_a_file_that_others_may_write_is_refused(tmp_path: Path) -> None:
    path = file_of(tmp_path, "staff:ann\n")
    path.chmod(0o664)
    with pytest.raises(StartError, match="may be written by other accounts: chmod go-w"):
        UserGroups(path)
    with pytest.raises(StartError, match="cannot be read"):
        UserGroups(tmp_path / "none")


def test_a_change_is_noticed_and_a_broken_file_changes_nothing(tmp_path: Path) -> None:
    path = file_of(tmp_path, "staff:ann\n")
    known = UserGroups(path)
    assert not known.has_changed()
    path.write_text("staff:ann\nstaff:bob\n")
    assert known.has_changed()
    assert known.groups == {"ann": ("staff",), "bob": ("staff",)}
    path.write_text("fish\n")
    assert not known.has_changed()
    path.unlink()
    assert not known.has_changed()
    assert known.groups == {"ann": ("staff",), "bob": ("staff",)}
    file_of(tmp_path, "staff:bob\n")
    assert known.has_changed()
    os.utime(path, (1, 1))
    assert not known.has_changed(), "it says the same"
    path.write_text("staff:eve\n")
    path.chmod(0o664)
    assert not known.has_changed(), "others may write it"
    path.chmod(0o644)
    assert known.has_changed(), "what was to be done has been done"
    assert not UserGroups(None).has_changed()


def test_who_watches_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "LOOK_S", 0.01)
    path = file_of(tmp_path, "staff:ann\n")
    broken: list[str] = []

    async def told() -> GroupsByUser:
        found: asyncio.Queue[GroupsByUser] = asyncio.Queue()
        known = UserGroups(path)
        known.watch(found.put_nowait, broken.append)
        path.write_text("staff:ann\nstaff:bob\n")
        try:
            return await asyncio.wait_for(found.get(), 10)
        finally:
            known.stop()

    assert asyncio.run(told()) == {"ann": ("staff",), "bob": ("staff",)}
    assert broken == []


def test_a_user_with_a_password_has_what_its_groups_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after a restart; what is open when it leaves the group stays open."""
    monkeypatch.setattr(groups, "LOOK_S", 0.01)
    users = tmp_path / "users"
    credentials.write(users, {"ann": hash_cheaply("secret")})
    path = file_of(tmp_path, "staff:ann\n")
    with adapter.testing.queue_manager(
        credentials_file=users, groups_file=path, authorities=True
    ) as qm:
        qm.mqsc(
            "DEFINE QLOCAL(Q)\n"
            "SET AUTHREC OBJTYPE(QMGR) GROUP('staff') AUTHADD(CONNECT)\n"
            "SET AUTHREC PROFILE(Q) OBJTYPE(QUEUE) GROUP('staff') AUTHADD(PUT)"
        )
        for _ in range(2):
            with adapter.connect(qm.address, user="ann", password="secret") as ann:
                ann.put("Q", "by a group")
                with pytest.raises(adapter.NotAuthorized):
                    ann.get("Q")
            qm.restart()
        path.write_text("tills:ann\n")

        def refused() -> bool:
            try:
                adapter.connect(qm.address, user="ann", password="secret").close()
            except adapter.NotAuthorized:
                return True
            return False

        assert any(refused() for _ in range(1000))
