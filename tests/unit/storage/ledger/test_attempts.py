"""Owner ids of ours are known for long, and the one in force for ever."""

from adapter.storage.ledger.attempts import OwnerAttempts
from tests.contract.ledger_contract import new_owner


def test_the_oldest_of_too_many_are_left_out() -> None:
    attempts = OwnerAttempts(kept=3)
    owners = [new_owner() for _ in range(5)]
    for owner in owners:
        attempts.add(owner)
    assert [owner in attempts for owner in owners] == [False, False, True, True, True]


def test_what_is_found_in_force_again_and_again_is_never_left_out() -> None:
    attempts = OwnerAttempts(kept=3)
    in_force = new_owner()
    for _ in range(20):
        attempts.add(in_force)
        attempts.add(new_owner())
    assert in_force in attempts
