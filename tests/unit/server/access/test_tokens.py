"""Which tokens are accepted, and why others are not."""

import base64
import hashlib
import hmac
import json
from typing import Any

import hypothesis
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
from hypothesis import given
from hypothesis import strategies as st

from adapter.core.contract.parties import Principal, Proof
from adapter.server.access import token_keys, tokens
from adapter.server.access.token_keys import KeyUnusable
from adapter.server.access.tokens import KeyUnknown, TokenRefused
from tests.support.examples import examples
from tests.support.tokens import AUDIENCE, ISSUER, Issuer, settings

NOW_S = 1_700_000_000.0
OF_NO_KEYS = settings("keys")


@pytest.fixture(scope="module")
def issuer() -> Issuer:
    return Issuer()


def check(issuer: Issuer, token: str, **others: Any) -> Principal:
    keys = token_keys.parse(json.dumps({"keys": [issuer.entry]}).encode())
    return tokens.check(token, keys, settings("keys", **others), NOW_S)


def why_not(issuer: Issuer, token: str, **others: Any) -> str:
    with pytest.raises(TokenRefused) as refused:
        check(issuer, token, **others)
    assert len(token) < 100 or token not in str(refused.value)
    return str(refused.value)


def test_a_token_names_user_groups_and_until_when(issuer: Issuer) -> None:
    token = issuer.token(now_s=NOW_S, lasts_s=60, groups=["a", "b", "a"])
    until_ms = int((NOW_S + 60) * 1000)
    assert check(issuer, token) == Principal("ann", Proof.TOKEN, ("a", "b"), until_ms)
    assert check(issuer, token, leeway_s=30).expires_ms == until_ms + 30_000


def test_claims_have_other_names_and_places(issuer: Issuer) -> None:
    claims: dict[str, Any] = {
        "realm": {"roles": "x y"},
        "https://e.test/user": "bob",
        "groups": ["no"],
    }
    token = issuer.token(now_s=NOW_S, **claims)
    names = {"user_claim": "https://e.test/user", "groups_claim": "realm.roles"}
    found = check(issuer, token, **names)
    assert (found.user, found.groups) == ("bob", ("x", "y"))
    assert check(issuer, token, groups_claim="").groups == ()
    assert check(issuer, token, groups_claim="realm.none.deep").groups == ()


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        ({"iss": "https://other.test"}, "another issuer"),
        ({"iss": None}, "no claim iss"),
        ({"aud": "other"}, "audience is not qm1"),
        ({"aud": None}, "no claim aud"),
        ({"exp": None}, "no claim exp"),
        ({"exp": NOW_S}, "has expired"),
        ({"exp": "later"}, "claim exp is no time"),
        ({"exp": True}, "claim exp is no time"),
        ({"exp": float("inf")}, "claim exp is no time"),
        ({"exp": -(10**400)}, "has expired"),
        ({"nbf": NOW_S + 1}, "holds from later on (nbf)"),
        ({"iat": NOW_S + 1}, "holds from later on (iat)"),
        ({"nbf": [1]}, "claim nbf is no time"),
        ({"sub": None}, "names no user"),
        ({"sub": ""}, "names no user"),
        ({"sub": "a\nb"}, "names no user"),
        ({"sub": "u" * 65}, "more than 64 characters"),
        ({"groups": {"a": 1}}, "is no list"),
        ({"groups": ["g"] * 257}, "is no list of 256"),
        ({"groups": ["g" * 65]}, "1 to 64 characters"),
        ({"groups": [1]}, "1 to 64 characters"),
    ],
)
def test_what_is_wrong_is_said(issuer: Issuer, claims: dict[str, Any], said: str) -> None:
    assert said in why_not(issuer, issuer.token(now_s=NOW_S, **claims))


def test_the_clocks_may_differ_by_the_leeway_and_no_more(issuer: Issuer) -> None:
    for claims in ({"exp": NOW_S - 29}, {"nbf": NOW_S + 29}, {"iat": NOW_S + 30}):
        assert check(issuer, issuer.token(now_s=NOW_S, **claims), leeway_s=30).user == "ann"
    for claims in ({"exp": NOW_S - 30}, {"nbf": NOW_S + 31}, {"iat": NOW_S + 31}):
        why_not(issuer, issuer.token(now_s=NOW_S, **claims), leeway_s=30)


def claims() -> dict[str, Any]:
    return {"iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "exp": NOW_S + 60}


def part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def test_a_token_without_a_signature_is_none(issuer: Issuer) -> None:
    for name in ("none", "None", "NONE", None, 1):
        token = f"{part({'alg': name, 'typ': 'JWT'})}.{part(claims())}."
        assert any(one in why_not(issuer, token) for one in ("not signed", "not by one known"))
    signed = issuer.token(now_s=NOW_S)
    head, body, _ = signed.split(".")
    assert "none of the keys" in why_not(issuer, f"{head}.{body}.")
    assert "none of the keys" in why_not(issuer, f"{head}.{part(claims() | {'sub': 'x'})}.AAAA")


def test_a_public_key_is_no_secret_of_an_hmac() -> None:
    """The text of the key is known to all: who takes it for a secret lets all of them in."""
    key = rsa.generate_private_key(65537, 2048)
    issuer = Issuer()
    issuer.key = key  # type: ignore[assignment]
    keys = token_keys.parse(issuer.pem)
    assert tokens.check(jwt.encode(claims(), key, "RS256"), keys, OF_NO_KEYS, NOW_S).user == "ann"
    for secret in (issuer.pem, issuer.pem.strip()):
        signing = f"{part({'alg': 'HS256', 'typ': 'JWT'})}.{part(claims())}"
        digest = hmac.digest(secret, signing.encode(), hashlib.sha256)
        sign = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        with pytest.raises(KeyUnknown, match="HS256"):
            tokens.check(f"{signing}.{sign}", keys, OF_NO_KEYS, NOW_S)
    other = token_keys.TokenKey("", keys[0].key, ("ES256",))
    with pytest.raises(KeyUnknown):
        tokens.check(jwt.encode(claims(), key, "RS256"), [other], OF_NO_KEYS, NOW_S)


def test_a_key_that_the_token_brings_along_is_not_used(issuer: Issuer) -> None:
    own = Issuer("k1")
    for header in ({"jwk": own.entry}, {"jku": "http://127.0.0.1/keys"}, {"x5c": ["AAAA"]}):
        assert "none of the keys" in why_not(issuer, own.sign(claims(), **header))
    extended = issuer.sign(claims(), crit=["b64"], b64=True)
    assert "no JSON Web Token" in why_not(issuer, extended)


def test_keys_are_chosen_by_name_and_a_key_without_one_may_be_any() -> None:
    one, two = Issuer("k1"), Issuer("k2")
    keys = token_keys.parse(one.pem + two.pem)
    for issuer in (one, two):
        assert tokens.check(issuer.token(now_s=NOW_S), keys, OF_NO_KEYS, NOW_S).user == "ann"
    named = token_keys.parse(json.dumps({"keys": [one.entry | {"kid": "k2"}]}).encode())
    with pytest.raises(KeyUnknown, match="'k1'"):
        tokens.check(one.token(now_s=NOW_S), named, OF_NO_KEYS, NOW_S)


def test_every_kind_of_key_verifies_its_own_algorithms() -> None:
    edwards = ed25519.Ed25519PrivateKey.generate()
    entry = json.loads(jwt.algorithms.OKPAlgorithm.to_jwk(edwards.public_key()))
    keys = token_keys.parse(json.dumps(entry).encode())
    assert tokens.check(jwt.encode(claims(), edwards, "EdDSA"), keys, OF_NO_KEYS, NOW_S).user
    big = rsa.generate_private_key(65537, 2048)
    entry = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(big.public_key()))
    for algorithm in ("PS256", "RS512"):
        token = jwt.encode(claims(), big, algorithm)
        pinned = token_keys.parse(json.dumps({"keys": [entry | {"alg": algorithm}]}).encode())
        assert tokens.check(token, pinned, OF_NO_KEYS, NOW_S).user == "ann"
        other = token_keys.parse(json.dumps({"keys": [entry | {"alg": "RS384"}]}).encode())
        with pytest.raises(KeyUnknown):
            tokens.check(token, other, OF_NO_KEYS, NOW_S)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no public key"),
        (b"{}", "kind None"),
        (b'{"keys": 1}', "not a list"),
        (b"{" * 100_000, "no JSON"),
        (b'{"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}', "kind 'oct'"),
        (b'{"keys": [3]}', "no key"),
        (b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----", "cannot be read"),
        (b"-----BEGIN EC PRIVATE KEY-----\nA\n-----END EC PRIVATE KEY-----", "private key"),
    ],
)
def test_what_is_no_key_is_refused(content: bytes, said: str) -> None:
    with pytest.raises(KeyUnusable, match=said):
        token_keys.parse(content)


def test_keys_for_other_purposes_are_left_out_of_a_set(issuer: Issuer) -> None:
    weak = rsa.generate_private_key(65537, 1024).public_key()
    others = [
        issuer.entry | {"use": "enc"},
        issuer.entry | {"key_ops": ["sign"]},
        issuer.entry | {"key_ops": None},
        issuer.entry | {"key_ops": 5},
        issuer.entry | {"d": "AAAA"},
        json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(weak)),
    ]
    kept = token_keys.parse(json.dumps({"keys": [*others, issuer.entry]}).encode())
    assert [one.ident for one in kept] == ["k1"]
    with pytest.raises(KeyUnusable, match="not for signatures"):
        token_keys.parse(json.dumps({"keys": others}).encode())


@hypothesis.settings(max_examples=examples(100))
@given(st.data())
def test_whatever_a_token_is_it_is_refused_in_words(issuer: Issuer, data: st.DataObject) -> None:
    """No text makes it fail in another way, and a mutated token never counts."""
    good = issuer.token(now_s=NOW_S)
    at = data.draw(st.integers(0, len(good) - 2))
    put = data.draw(st.text(min_size=1, max_size=3))
    text = data.draw(st.one_of(st.text(max_size=50), st.just(good[:at] + put + good[at + 1 :])))
    nested = part("[" * data.draw(st.sampled_from([1, 5_000])))
    for token in (text, f"{nested}.{nested}.x", f"{part({'alg': text})}.{nested}."):
        if token != good:
            why_not(issuer, token or ".")
