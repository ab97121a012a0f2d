"""Who a client is by its certificate: the whole subject, so that no two are one user."""

from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from adapter.errors import StartError
from adapter.server.listen.tls import ServerTls, name_text, user_of
from tests.support.certificates import Authority

KINDS = {
    NameOID.COMMON_NAME: "commonName",
    NameOID.ORGANIZATION_NAME: "organizationName",
    NameOID.ORGANIZATIONAL_UNIT_NAME: "organizationalUnitName",
    NameOID.LOCALITY_NAME: "localityName",
}
VALUES = st.text(
    st.sampled_from('aż=, +"\\<>;#\0') | st.characters(codec="utf-8"), min_size=1, max_size=8
)
PAIRS = st.tuples(st.sampled_from(list(KINDS)), VALUES)
NAMES = st.lists(
    st.lists(PAIRS, min_size=1, max_size=2, unique_by=lambda pair: pair[0]), min_size=1, max_size=3
)
Name = list[list[tuple[x509.ObjectIdentifier, str]]]


def as_python(name: Name) -> tuple[tuple[tuple[str, str], ...], ...]:
    return tuple(tuple((KINDS[kind], value) for kind, value in one) for one in name)


@given(NAMES)
def test_a_subject_is_read_again_as_what_it_was(name: Name) -> None:
    """By the parser of a library, which has its own short words for the same parts."""
    read = x509.Name.from_rfc4514_string(name_text(as_python(name)))
    found = [{(part.oid, part.value) for part in one} for one in read.rdns]
    assert found == [set(one) for one in name]


@given(NAMES, NAMES)
def test_two_subjects_are_two_users(one: Name, other: Name) -> None:
    texts = {name_text(as_python(name)) for name in (one, other)}
    assert len(texts) == (1 if one == other else 2)


@pytest.mark.parametrize(
    ("subject", "user"),
    [
        (((("commonName", "till 7,O=Shop"),),), r"CN=till 7\,O=Shop"),
        (((("commonName", " "),),), r"CN=\ "),
        (((("commonName", "  "),),), r"CN=\ \ "),
        (((("commonName", "#1"),),), r"CN=\#1"),
        (((("1.2.3", "x"),),), "1.2.3=x"),
        ((), ""),
    ],
)
def test_edges(subject: object, user: str) -> None:
    assert user_of({"subject": subject}, "subject") == user


def test_a_key_that_others_could_read_is_read_again_once_they_cannot(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    tls = ServerTls(authority.server())
    before = tls.context
    _certificate, key = authority.issue("server", "127.0.0.1")
    key.chmod(0o644)
    for _look in range(2):
        with pytest.raises(StartError, match="chmod 600"):
            tls.look()
    assert tls.context is before
    key.chmod(0o600)
    assert tls.look()
    assert tls.context is not before
    assert not tls.look()
