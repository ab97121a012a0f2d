"""The order of checks, and the pauses after wrong passwords."""

import pytest

from adapter.server.access import guesses
from adapter.server.access.guesses import Attempt, GuessBounds, Guesses, network_of


def of(address: str, user: str = "ada", what: str = "") -> Attempt[str]:
    return Attempt(address, user, what)


def wrong(kept: Guesses[str], count: int, now_s: float, address: str = "a", user: str = "") -> None:
    """Note wrong passwords: of one user, or of another one each time."""
    for number in range(count):
        kept.wrong(of(address, user or f"user {number}"), now_s)


def test_addresses_take_turns() -> None:
    kept: Guesses[str] = Guesses()
    for number in range(30):
        assert not kept.add(of("guesser", f"user {number}"), 0)
    kept.add(of("good", "bob"), 0)
    kept.add(of("good", "eve"), 0)
    taken = [kept.take(0) for _turn in range(4)]
    assert [one and one.address for one in taken] == ["guesser", "good", "guesser", "good"]


def test_one_address_fills_no_place_of_another() -> None:
    refused: list[str] = []
    kept: Guesses[str] = Guesses(
        GuessBounds(waiting=10), lambda one, why: refused.append(f"{one.user}: {why}")
    )
    for number in range(10):
        assert not kept.add(of("crowd", f"user {number}"), 0)
    assert "10 passwords are being checked" in kept.add(of("crowd", "user 10"), 0)
    for number in range(4):
        assert not kept.add(of(f"good {number}"), 0)
    assert [one.partition(":")[0] for one in refused] == [f"user {n}" for n in (9, 8, 7, 6)]
    assert kept.waiting == 10
    for number in range(2):
        assert not kept.add(of("good 0", f"more {number}"), 0)
    assert kept.waiting == 10
    assert "are being checked" in kept.add(of("good 0", "one more"), 0)


def test_an_address_that_guesses_has_few_places_also_between_its_pauses() -> None:
    kept: Guesses[str] = Guesses()
    wrong(kept, guesses.FREE_OF_ADDRESS, 0)
    taken = [not kept.add(of("a", f"user {number}"), 100) for number in range(30)]
    assert sum(taken) == guesses.WAITING_OF_ADDRESS_MAX
    late = guesses.FORGET_S + 1
    assert not kept.add(of("a", "another"), late)


def test_of_one_address_users_without_wrong_passwords_come_first() -> None:
    kept: Guesses[str] = Guesses()
    wrong(kept, 2, 0, user="ada")
    for user in ("ada", "ada", "bob", "eve"):
        kept.add(of("a", user), 0)
    taken = [kept.take(0) for _turn in range(5)]
    assert [one and one.user for one in taken] == ["bob", "eve", "ada", "ada", None]


def test_pauses_grow_to_a_bound_and_are_forgotten() -> None:
    kept: Guesses[str] = Guesses()
    now_s, waits = 0.0, []
    for _guess in range(12):
        kept.add(of("a"), now_s)
        due_s = kept.next_s()
        assert due_s is not None
        waits.append(max(0.0, due_s - now_s))
        now_s = max(now_s, due_s)
        assert kept.take(now_s - 0.01) is None or not waits[-1]
        kept.take(now_s)
        kept.wrong(of("a"), now_s)
    assert waits == [0, 0, 0, 0.5, 1, 2, 4, 8, 16, 30, 30, 30]
    kept.wrong(of("a"), now_s + guesses.FORGET_S + 1)
    kept.add(of("a"), now_s + guesses.FORGET_S + 1)
    assert kept.take(now_s + guesses.FORGET_S + 1)


def test_a_right_password_ends_the_pauses_of_that_user_and_address() -> None:
    kept: Guesses[str] = Guesses()
    wrong(kept, 10, 0, user="ada")
    kept.add(of("a"), 0)
    assert kept.take(0) is None
    kept.right(of("a"))
    assert kept.take(0)


def test_wrong_passwords_of_another_address_cost_nothing() -> None:
    kept: Guesses[str] = Guesses()
    wrong(kept, 50, 0, "guesser", "ada")
    kept.add(of("good", "ada"), 0)
    assert kept.take(0)


def test_guesses_at_many_users_pause_their_address_but_let_others_of_it_in_soon() -> None:
    kept: Guesses[str] = Guesses()
    wrong(kept, 100, 0)
    for number in range(1000):
        kept.add(of("a", f"other {number}"), 0)
    assert kept.waiting == guesses.WAITING_OF_ADDRESS_MAX
    assert kept.next_s() == guesses.PAUSE_OF_ADDRESS_MAX_S
    assert guesses.WAITING_OF_ADDRESS_MAX * guesses.PAUSE_OF_ADDRESS_MAX_S < 5
    assert "too many wrong passwords came from a: try again in 1 s" in kept.add(of("a", "x"), 0)
    assert not kept.add(of("b", "x"), 0)


def test_what_waits_of_one_user_is_bounded_while_it_pauses() -> None:
    kept: Guesses[str] = Guesses()
    wrong(kept, 8, 0, user="ada")
    told = [kept.add(of("a"), 0) for _attempt in range(20)]
    assert told.count("") == guesses.WAITING_OF_USER_MAX
    assert told[-1] == "too many wrong passwords for this user came from a: try again in 16 s"
    assert not kept.add(of("a", "bob"), 0)


def test_all_that_waits_and_all_that_is_remembered_is_bounded() -> None:
    kept: Guesses[str] = Guesses(GuessBounds(waiting=3, remembered=5))
    told = [kept.add(of(str(number)), 0) for number in range(4)]
    assert told == ["", "", "", "3 passwords are being checked: try again"]
    wrong(kept, 100, 0)
    assert len(kept._wrong) == 5


def test_clients_that_have_gone_leave_their_room() -> None:
    kept: Guesses[str] = Guesses()
    wrong(kept, 8, 0, user="ada")
    there = [True]
    for _attempt in range(guesses.WAITING_OF_USER_MAX):
        kept.add(Attempt("a", "ada", "", lambda: there[0]), 0)
    assert kept.add(of("a"), 0)
    there[0] = False
    assert not kept.add(of("a", what="mine"), 0)
    taken = kept.take(1000)
    assert taken is not None
    assert taken.what == "mine"
    assert kept.take(1000) is None
    assert kept.next_s() is None


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("10.1.2.3", "10.1.2.3"),
        ("::ffff:10.1.2.3", "10.1.2.3"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("no address", "no address"),
    ],
)
def test_an_ipv6_address_counts_as_its_network(address: str, network: str) -> None:
    assert network_of(address) == network


def test_an_attempt_whose_client_has_gone_is_refused_and_not_forgotten() -> None:
    refused: list[str] = []
    kept: Guesses[str] = Guesses(refuse=lambda one, why: refused.append(f"{one.user}: {why}"))
    gone = Attempt("a", "bob", "", lambda: False)
    kept.add(gone, 0)
    assert kept.take(0) is None
    kept.add(gone, 0)
    kept.add(of("a"), 0)
    assert kept.waiting == 1
    assert refused == ["bob: the client has gone"] * 2
