"""Files that people name are read up to a bound."""

from pathlib import Path

import pytest

from adapter import texts
from adapter.texts import UnreadableTextError


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
