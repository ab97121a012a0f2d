"""When a token is shown anew: by the times that it says, and what came of the attempts before."""

from collections.abc import Callable

import pytest

from adapter.connection.channel.conversation import Introduction
from adapter.connection.channel.renewal import AGAIN_S, LATE_S, LOOK_S, TokenSchedule, end_of
from adapter.connection.channel.token_source import Token, TokenSource
from adapter.connection.wire.frames import RenewToken
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done, Refused
from tests.support.tokens import Issuer

NOW_S = 1_700_000_000.0


@pytest.fixture
def clock() -> list[float]:
    return [NOW_S]


class Site:
    """A connection that has shown a token, and where the next ones come from."""

    def __init__(self, clock: list[float], lasts_s: float = 100.0) -> None:
        self.clock = clock
        self.issuer = Issuer()
        self.next: str = self.token(lasts_s)
        self.introduction = Introduction("QM1", "test", token=TokenSource(lambda: self.next))
        self.introduction.token = self.next
        self.renewal = TokenSchedule(self.introduction, lambda: clock[0])
        self.renewal.wait_s()

    def token(self, lasts_s: float) -> str:
        return self.issuer.token(lasts_s=lasts_s, now_s=self.clock[0])

    def shown(self, answer: Callable[[str], Done | Refused | None]) -> str | None:
        """Return the token that is shown now, if one is; answer it."""
        request = self.renewal.request()
        if request is None:
            return None
        assert isinstance(request.command, RenewToken)
        request.answer = answer(request.command.token)
        self.renewal.note(request)
        return request.command.token


def accepted(_: str) -> Done:
    return Done()


def refused(_: str) -> Refused:
    return Refused(Reason.NOT_AUTHORIZED, "ann", "the token is of bob")


def test_a_newer_token_is_shown_when_three_quarters_are_over(clock: list[float]) -> None:
    site = Site(clock)
    assert site.renewal.wait_s() == LOOK_S
    clock[0] += 70
    site.next = site.token(100)
    assert site.shown(accepted) is None, "it is not due"
    assert site.renewal.wait_s() == pytest.approx(5)
    clock[0] += 5
    assert site.renewal.wait_s() == 0
    assert site.shown(accepted) == site.next
    assert site.introduction.token == site.next
    clock[0] += 60
    site.next = site.token(100)
    assert site.shown(accepted) is None, "the newer one counts now"
    clock[0] += 15
    assert site.shown(accepted) == site.next


def test_it_is_asked_again_until_there_is_a_newer_one(clock: list[float]) -> None:
    site = Site(clock)
    clock[0] += 80
    for waits_s in (5.0, 3.75):
        assert site.shown(accepted) is None
        assert site.renewal.wait_s() == pytest.approx(waits_s)
        clock[0] += waits_s
    clock[0] = NOW_S + 99
    assert site.shown(accepted) is None
    assert site.renewal.wait_s() == pytest.approx(AGAIN_S)
    clock[0] += AGAIN_S + 1
    assert site.shown(accepted) is None
    assert site.renewal.wait_s() == LOOK_S
    clock[0] += LATE_S - 1
    site.next = site.token(100)
    assert site.shown(accepted) is None
    clock[0] += 1
    assert site.shown(accepted) == site.next


def test_a_token_that_is_refused_is_shown_once(
    clock: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    site = Site(clock)
    clock[0] += 80
    site.next = site.token(50)
    assert site.shown(refused) == site.next
    assert "the token is of bob" in caplog.text
    caplog.clear()
    clock[0] += 10
    assert site.shown(refused) is None
    site.next = site.token(100)
    clock[0] += 10
    assert site.shown(refused) == site.next
    assert caplog.text == "", "the same reason is said once"
    assert site.introduction.token != site.next


def test_tokens_that_all_end_at_once_are_not_shown_without_pause(clock: list[float]) -> None:
    site = Site(clock)
    ends_s, shown = NOW_S + 100, 0
    while clock[0] < ends_s:
        clock[0] += max(site.renewal.wait_s(), 0.01)
        site.next = site.issuer.token(lasts_s=ends_s - clock[0], now_s=clock[0], jti=clock[0])
        shown += site.shown(accepted) is not None
    assert 3 <= shown <= 10


def test_what_was_lost_with_its_connection_is_shown_again(clock: list[float]) -> None:
    site = Site(clock)
    clock[0] += 80
    site.next = site.token(100)
    assert site.shown(lambda _: None) == site.next
    assert site.shown(accepted) is None, "not at once"
    clock[0] += 5
    assert site.shown(accepted) == site.next


def test_a_function_that_fails_is_named_without_a_token(
    clock: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    site = Site(clock)
    del site.next
    clock[0] += 80
    assert site.shown(accepted) is None
    assert "the function raised AttributeError" in caplog.text
    assert site.introduction.token not in caplog.text


@pytest.mark.parametrize("source", ["text", None])
def test_without_a_source_nothing_is_asked(clock: list[float], source: Token | None) -> None:
    site = Site(clock)
    site.introduction.token_source = None if source is None else TokenSource(source)
    clock[0] += 99
    assert not site.renewal.is_possible
    assert site.renewal.wait_s() == LOOK_S
    assert site.shown(accepted) is None


def test_when_a_token_ends() -> None:
    issuer = Issuer()
    assert end_of(issuer.token(lasts_s=5, now_s=NOW_S)) == NOW_S + 5
    for claims in ({"exp": None}, {"exp": "soon"}, {"exp": [1]}):
        assert end_of(issuer.token(**claims)) == 0
    for text in ("", "opaque", "a.b", "a.W10.c", "a.MQ.c", "a.é.c", "..", "a.eyJleHAiOjFlOTk5fQ.c"):
        assert end_of(text) in (0, float("inf")), text
