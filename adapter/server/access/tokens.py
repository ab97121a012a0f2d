"""What a token must be, and whom it names: the rules of JSON Web Tokens for one queue manager.

check() is the one rule. A token is signed by a key that is read elsewhere, names the issuer and
this queue manager as its audience, and says until when it holds; a claim of it is the user, another
one the groups. What is said of a token that is refused never contains the token. This module reads
no file, asks no clock, and does not know who gives a token.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import jwt
from jwt.types import Options

from adapter.core.contract.parties import ORIGIN_LENGTH_MAX, Principal, Proof
from adapter.server.access.token_keys import TokenKey
from adapter.server.access.token_settings import TokenSettings

GROUPS_MAX = 256
"""Of one token. More cost every look at its authorities, and are a mistake of the issuer."""
CLAIMED_S_MAX = 2**40
"""A later time than any; a number in a token may have any length."""
UNSIGNED = "none"
HERE_CHECKED: Options = {
    "require": ["exp", "iss", "aud"], "verify_exp": False, "verify_nbf": False, "verify_iat": False,
}  # fmt: skip
"""Times are checked here, where the clock is an argument."""


class TokenRefused(Exception):  # noqa: N818 -- an answer, which is a refusal
    """The token is of no use; the text says why, and what to do. told: what its client hears."""

    def __init__(self, text: str, told: str = "") -> None:
        super().__init__(text)
        self.told = told or text


class KeyUnknown(TokenRefused):
    """It may be signed by a key that is newer than those that were read."""


def check(token: str, keys: Sequence[TokenKey], settings: TokenSettings, now_s: float) -> Principal:
    """Return whom a token names. now_s: seconds since 1970. Raises TokenRefused, KeyUnknown."""
    header = _header(token)
    algorithm, ident = header.get("alg"), header.get("kid")
    if algorithm == UNSIGNED or not isinstance(algorithm, str):
        raise TokenRefused("the token is not signed")
    fitting = [one for one in keys if algorithm in one.algorithms and _is_named(one, ident)]
    if not fitting:
        named = f" {ident!r}" if ident else ""
        raise KeyUnknown(f"the token is signed by a key{named} with {algorithm}, not by one known")
    claims = _verify(token, fitting, algorithm, settings)
    until_s = _check_times(claims, settings, now_s)
    user = _claim(claims, settings.user_claim)
    if not isinstance(user, str) or not user or not user.isprintable():
        raise TokenRefused(f"the token names no user: its claim {settings.user_claim} is no text")
    if len(user) > ORIGIN_LENGTH_MAX:
        text = f"the token's claim {settings.user_claim}, the user, has more than "
        raise TokenRefused(f"{text}{ORIGIN_LENGTH_MAX} characters")
    return Principal(user, Proof.TOKEN, _groups(claims, settings), round(until_s * 1000))


def _header(token: str) -> Mapping[str, Any]:
    try:
        return jwt.get_unverified_header(token)
    except (jwt.PyJWTError, ValueError, TypeError, RecursionError) as error:
        raise TokenRefused("the token is no JSON Web Token") from error


def _is_named(key: TokenKey, ident: object) -> bool:
    """Whether a token that names a key may mean this one; a key without a name may be any."""
    return not ident or not key.ident or key.ident == ident


def _verify(
    token: str, keys: Sequence[TokenKey], algorithm: str, settings: TokenSettings
) -> Mapping[str, Any]:
    """Return the claims of a token that one of these keys has signed. Raises TokenRefused."""
    for one in keys:
        try:
            return jwt.decode(
                token,
                one.key,
                algorithms=[algorithm],  # of this key: see the caller
                audience=settings.audience,
                issuer=settings.issuer,
                options=HERE_CHECKED,
            )
        except jwt.InvalidSignatureError:
            continue
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError) as error:
            raise TokenRefused(_said_of(error, settings)) from error
    raise KeyUnknown("the signature of the token is of none of the keys that are known")


def _said_of(error: Exception, settings: TokenSettings) -> str:
    if isinstance(error, jwt.InvalidAudienceError):
        return f"the token is not for this queue manager: its audience is not {settings.audience}"
    if isinstance(error, jwt.InvalidIssuerError):
        return f"the token is of another issuer than {settings.issuer}"
    if isinstance(error, jwt.MissingRequiredClaimError):
        return f"the token has no claim {error.claim}"
    return "the token is no JSON Web Token with claims"


def _check_times(claims: Mapping[str, Any], settings: TokenSettings, now_s: float) -> float:
    """Return until when a token holds. Raises TokenRefused if it does not hold yet, or any more."""
    leeway_s = settings.leeway_s
    until_s = _time(claims, "exp") + leeway_s
    if now_s >= until_s:
        raise TokenRefused("the token has expired: get a new one")
    for claim in ("nbf", "iat"):
        if claim in claims and _time(claims, claim) - leeway_s > now_s:
            raise TokenRefused(
                f"the token holds from later on ({claim}): are the clocks of its issuer and of the "
                f"queue manager more than {leeway_s} s apart?"
            )
    return until_s


def _time(claims: Mapping[str, Any], claim: str) -> float:
    value = claims[claim]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or (isinstance(value, float) and not math.isfinite(value)):
        raise TokenRefused(f"the token's claim {claim} is no time")
    return float(max(min(value, CLAIMED_S_MAX), -CLAIMED_S_MAX))


def _claim(claims: Mapping[str, Any], name: str) -> object:
    """Return a claim by its name, or by the names that lead to it, with dots between them."""
    if name in claims:
        return claims[name]
    found: object = claims
    for part in name.split("."):
        if not isinstance(found, Mapping):
            return None
        found = found.get(part)
    return found


def _groups(claims: Mapping[str, Any], settings: TokenSettings) -> tuple[str, ...]:
    """Return the groups that a token names: a list, or a text with spaces between them."""
    name = settings.groups_claim
    named = _claim(claims, name) if name else None
    if named is None:
        return ()
    listed = named.split() if isinstance(named, str) else named
    if not isinstance(listed, list) or len(listed) > GROUPS_MAX:
        text = f"the token's claim {name}, the groups, is no list of {GROUPS_MAX} texts at most"
        raise TokenRefused(text)
    for one in listed:
        if not isinstance(one, str) or not 0 < len(one) <= ORIGIN_LENGTH_MAX:
            raise TokenRefused(
                f"the token's claim {name} has a group that is no text of 1 to "
                f"{ORIGIN_LENGTH_MAX} characters"
            )
    return tuple(dict.fromkeys(listed))
