"""Headers of records: the first of a name counts, and only text has a text."""

import hashlib

from adapter.format.record_headers import ident_of, name_headers, text_of


def test_the_first_header_of_a_name_counts() -> None:
    assert name_headers([("a", b"1"), ("b", None), ("a", b"2")]) == {"a": b"1", "b": None}
    assert text_of(name_headers([("a", None), ("a", b"2")]), "a") == ""


def test_text() -> None:
    headers = name_headers([("a", " é ".encode()), ("b", b"\xff"), ("c", b""), ("", b"x")])
    assert [text_of(headers, name) for name in ("a", "b", "c", "missing")] == ["é", "", "", ""]
    assert text_of(headers, "") == "", "no name is given"


def test_ids_of_keys() -> None:
    assert ident_of(b"") == bytes(24)
    assert ident_of(b"k") == b"k" + bytes(23)
    assert ident_of(b"x" * 24) == b"x" * 24
    assert ident_of(b"x" * 25) == hashlib.sha256(b"x" * 25).digest()[:24]
