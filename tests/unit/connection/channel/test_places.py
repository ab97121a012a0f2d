"""In which order the places of a queue manager are tried."""

import ssl
from collections.abc import Callable

import pytest

from adapter.aio.link import AddressDialer, TaskLookUpDialer
from adapter.connection.channel.addresses import Address
from adapter.connection.channel.link.lookup import LookUpDialer
from adapter.connection.channel.link.port import LinkLost, LinkSilent
from adapter.connection.channel.link.tcp import TcpDialer
from adapter.connection.channel.link.tls import dialer_of
from adapter.connection.channel.places import (
    LEARNED_MAX,
    NAMED_MAX,
    SUSPECT_S,
    ManagerPlace,
    ManagerPlaces,
)


class Spot:
    """A place that leads nowhere."""

    def __init__(self, place: str) -> None:
        self.place = place

    def toward(self, address: Address) -> "Spot":
        return Spot(str(address))


def places(*names: str) -> ManagerPlaces[Spot]:
    return ManagerPlaces([Spot(one) for one in names])


def order(found: ManagerPlaces[Spot], moved: dict[str, str] | None = None) -> list[str]:
    """Try every place in vain."""
    attempts, tried = found.attempts(), []
    while (spot := attempts.next()) is not None:
        tried.append(spot.place)
        problem = LinkLost("no")
        problem.moved_to = (moved or {}).get(spot.place, "")
        attempts.failed(spot, problem)
    assert len(attempts.problems) == len(tried)
    return tried


def moved(to: str) -> LinkLost:
    lost = LinkLost("moved")
    lost.moved_to = to
    return lost


def test_the_one_that_gave_a_link_comes_first_next_time() -> None:
    three = places("a:1", "b:2", "c:3")
    assert order(three) == ["a:1", "b:2", "c:3"]
    attempts = three.attempts()
    attempts.next()
    second = attempts.next()
    assert second is not None
    three.reached(second)
    assert order(three) == ["b:2", "a:1", "c:3"]


def test_a_place_that_fell_silent_comes_last_and_is_not_waited_for() -> None:
    two = places("a:1", "b:2")
    two.lost("a:1", LinkSilent("nothing came"))
    assert order(two) == ["b:2", "a:1"]
    assert two.limit_s("a:1", 5.0) == SUSPECT_S
    assert two.limit_s("b:2", 5.0) == 5.0
    two.reached(two.given[0])
    assert two.limit_s("a:1", 5.0) == 5.0


def test_the_only_place_is_waited_for_even_if_it_fell_silent() -> None:
    one = places("a:1")
    one.lost("a:1", LinkSilent("nothing came"))
    assert order(one) == ["a:1"]
    assert one.limit_s("a:1", 5.0) == 5.0


def test_one_that_is_looked_up_is_not_waited_for_where_it_fell_silent() -> None:
    """The directory may lead elsewhere by now."""
    looked_up = places("")
    looked_up.lost("a:1", LinkSilent("nothing came"))
    assert looked_up.limit_s("a:1", 5.0) == SUSPECT_S
    assert looked_up.limit_s("b:2", 5.0) == 5.0


def test_a_place_that_was_named_comes_first_once() -> None:
    two = places("a:1", "b:2")
    two.lost("a:1", moved("c:3, b:2"))
    assert order(two) == ["c:3", "b:2", "a:1"]
    two.lost("a:1", "another reason")
    assert order(two) == ["a:1", "b:2"]


def test_a_standby_that_names_the_owner_has_it_tried_at_once() -> None:
    assert order(places("a:1", "b:2"), {"a:1": "c:3"}) == ["a:1", "c:3", "b:2"]


def test_places_that_name_each_other_are_tried_once() -> None:
    assert order(places("a:1", "b:2"), {"a:1": "b:2", "b:2": "a:1"}) == ["a:1", "b:2"]


def test_a_standby_that_names_the_place_that_fell_silent_changes_nothing() -> None:
    three = places("a:1", "b:2", "c:3")
    three.lost("a:1", LinkSilent("nothing came"))
    assert order(three, {"b:2": "a:1"}) == ["b:2", "c:3", "a:1"]


def test_what_is_no_address_is_left_out() -> None:
    one = places("a:1")
    one.lost("a:1", moved("http://x y"))
    assert order(one) == ["a:1"]


def test_only_so_many_places_are_learned() -> None:
    one = places("a:1")
    for port in range(1, 10):
        one.reached(Spot(f"learned:{port}"))
    assert len(order(one)) == 1 + LEARNED_MAX
    assert "a:1" in order(one)
    one.lost("a:1", moved(",".join(f"named:{port}" for port in range(1, 10))))
    assert len([name for name in order(one) if name.startswith("named")]) == NAMED_MAX


def test_what_uses_a_socket_of_this_machine_is_not_led_over_a_network_in_the_clear() -> None:
    here = TcpDialer(Address("", 0, "/run/q.sock"))
    assert here.toward(Address("192.0.2.1", 1414)) is None
    loopback = here.toward(Address("127.0.0.1", 1414))
    assert loopback is not None
    assert loopback.place == "127.0.0.1:1414"
    there = TcpDialer(Address("192.0.2.1", 1414)).toward(Address("192.0.2.2", 1414))
    assert there is not None


def look_up(_timeout_s: float) -> str:
    return "h:1414"


def of_threads(by: Address | None, tls: ssl.SSLContext | None) -> ManagerPlace:
    return LookUpDialer(look_up, tls) if by is None else dialer_of(by, tls)


def of_tasks(by: Address | None, tls: ssl.SSLContext | None) -> ManagerPlace:
    return TaskLookUpDialer(look_up, tls) if by is None else AddressDialer(by, tls)


@pytest.mark.parametrize("with_tls", [False, True])
@pytest.mark.parametrize("by", [Address("h", 1414), Address("", 0, "/run/q.sock"), None])
@pytest.mark.parametrize("make", [of_threads, of_tasks])
def test_what_the_other_end_names_is_dialed_in_the_same_way_or_not_at_all(
    make: Callable[[Address | None, ssl.SSLContext | None], ManagerPlace],
    by: Address | None,
    with_tls: bool,
) -> None:
    """No address that it names is an error, least of all of the verb that waits."""
    if with_tls and by is not None and by.path:
        return  # which connect() refuses
    one = make(by, ssl.create_default_context() if with_tls else None)
    found = ManagerPlaces([one])
    found.lost("h:1414", moved("unix:/run/other.sock,h2:1414,127.0.0.1:1415"))
    attempts, tried = found.attempts(), []
    while (spot := attempts.next()) is not None and spot is not one:
        tried.append(spot.place)
        attempts.failed(spot, LinkLost("no"))
    expected = {"unix:/run/other.sock", "h2:1414", "127.0.0.1:1415"}
    if with_tls:
        expected.remove("unix:/run/other.sock")
    if by is not None and by.path:
        expected.remove("h2:1414")
    assert set(tried) == expected
