"""Files that people name are read up to a bound."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from adapter.host import texts
from adapter.host.texts import UnreadableTextError


def test_a_text_is_read_up_to_its_bound(tmp_path: Path) -> None:
    path = tmp_path / "text"
    for text in ("", "a", "ä" * 50):
        path.write_text(text, encoding="utf-8")
        assert texts.read(path, 100) == text
        assert texts.read_bytes(path, 100) == text.encode()
    path.write_text("a" * 101)
    with pytest.raises(UnreadableTextError, match="it has more than 100 bytes"):
        texts.read(path, 100)


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/urandom"])
def test_a_device_ends_here(path: str) -> None:
    with pytest.raises(UnreadableTextError, match="it has more than 1000000 bytes"):
        texts.read(Path(path), 1_000_000)


def test_what_cannot_be_read_has_a_reason(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff")
    for name, words in (
        ("none", "No such file"),
        ("", "Is a directory"),
        ("a\0b", "null byte"),
        ("bytes", "not text"),
    ):
        with pytest.raises(UnreadableTextError, match=words):
            texts.read(tmp_path / name, 100)


def test_the_login_of_a_url_is_left_out() -> None:
    said = "ask http://ann:p@ss@host:1/a@b or https://host/x@y"
    assert texts.without_login(said) == "ask http://(not shown)@host:1/a@b or https://host/x@y"
    assert texts.without_login("a@b.test") == "a@b.test"


def test_a_file_that_others_may_use_is_not_private(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert texts.why_not_private(path) == ""
    path.touch()
    for mode, is_private in ((0o600, True), (0o400, True), (0o640, False), (0o602, False)):
        path.chmod(mode)
        assert (texts.why_not_private(path) == "") is is_private


def test_a_file_that_is_replaced_within_one_tick_of_the_clock_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "users"
    changes = texts.Changes(path)
    seen = []
    for text in ("ann:1", "ann:1", "ann:2"):
        if not path.exists() or path.read_text() != text:
            texts.replace(path, text, 0o600)
            os.utime(path, (0, 0))
        with changes.reading() as has_changed:
            seen.append(has_changed)
    assert seen == [True, False, True]


def test_a_file_that_could_not_be_read_is_to_be_read_again(tmp_path: Path) -> None:
    changes = texts.Changes(tmp_path / "here", tmp_path / "there")
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), changes.reading() as has_changed:
            assert 1 // (not has_changed)
    for is_first in (True, False):
        with changes.reading() as has_changed:
            assert has_changed is is_first
    (tmp_path / "there").touch()
    with changes.reading() as has_changed:
        assert has_changed


def test_processes_that_change_a_file_at_once_do_not_undo_each_other(tmp_path: Path) -> None:
    """A lock is of an open file: threads are to each other what processes are."""
    path = tmp_path / "file"

    def add(number: int) -> None:
        with texts.changing(path, 0o600) as write:
            before = path.read_text() if path.exists() else ""
            if number % 3:  # else it is left as it is
                write(f"{before}{number}\n")

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(add, range(150)))
    added = sorted(map(int, path.read_text().split()))
    assert added == [number for number in range(150) if number % 3]
    assert [one.name for one in tmp_path.iterdir()] == ["file"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_change_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    (tmp_path / "file.new").write_text("of a process that was killed")
    with pytest.raises(ZeroDivisionError), texts.changing(path, 0o600):
        raise ZeroDivisionError
    assert path.read_text() == "old"
    (tmp_path / "file.new").write_text("of a process that was killed")
    texts.replace(path, "new", 0o600)
    assert path.read_text() == "new"


def test_the_wait_for_another_process_has_a_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "CHANGING_TIMEOUT_S", 0.0)
    with (
        texts.changing(tmp_path / "file", 0o600),
        pytest.raises(TimeoutError, match="another process is changing it"),
    ):
        texts.replace(tmp_path / "file", "x", 0o600)


def test_a_file_that_is_written_anew_keeps_its_permissions_and_is_no_other_for_a_link(
    tmp_path: Path,
) -> None:
    path, link = tmp_path / "file", tmp_path / "links" / "link"
    link.parent.mkdir()
    link.symlink_to("../file")
    texts.replace(link, "1", 0o600)
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("1", 0o600)
    path.chmod(0o644)
    texts.replace(link, "2", 0o600)
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("2", 0o644)
    assert link.is_symlink()
    assert sorted(one.name for one in tmp_path.rglob("*")) == ["file", "link", "links"]


def test_a_file_that_is_written_anew_keeps_its_owner_or_stays_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only root may give files away: another account's is stood for by what stat says."""
    path = tmp_path / "file"
    path.write_text("old")
    given: list[tuple[int, int]] = []
    state = path.stat()
    other = os.stat_result((*state[:4], state.st_uid + 1, state.st_gid + 2, *state[6:]))
    real = Path.stat

    def stat(self: Path, **options: bool) -> os.stat_result:
        return other if self == path else real(self, **options)

    monkeypatch.setattr(Path, "stat", stat)
    monkeypatch.setattr(os, "fchown", lambda _file, *owner: given.append(owner))
    texts.replace(path, "new", 0o600)
    assert given == [(state.st_uid + 1, state.st_gid + 2)]

    def refuse(*_: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "fchown", refuse)
    with pytest.raises(PermissionError, match="its owner and group cannot be kept"):
        texts.replace(path, "newer", 0o600)
    assert path.read_text() == "new"
    assert [one.name for one in tmp_path.iterdir()] == ["file"]
