"""Which record counts: profiles, their order, and what is kept of answers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.core.contract.authorities import (
    APPLICABLE,
    CREATE,
    GET,
    PUT,
    AuthorityRecord,
    bits_of,
    problem_with_bits,
    problem_with_profile,
    words_of,
)
from adapter.core.contract.parties import Principal, Proof
from adapter.core.model.authorities import KEPT_MAX, Authorities, pattern_of, rank_of
from tests.simulation import authorities_model as plain

ADA = Principal("ada", Proof.PASSWORD, ("staff",))
PART = st.text("AB", min_size=1, max_size=3)
NAME = st.lists(PART, min_size=1, max_size=4).map(".".join)
PROFILE = st.lists(
    st.one_of(st.text("AB*?", min_size=1, max_size=3).filter(lambda one: "**" not in one)),
    min_size=1,
    max_size=4,
)


def of(*records: tuple[str, int], entity: str = "ada", is_group: bool = False) -> Authorities:
    found = Authorities()
    for profile, bits in records:
        found.set(AuthorityRecord(profile, "queue", entity, is_group, bits))
    return found


@pytest.mark.parametrize(
    ("profile", "fitting", "others"),
    [
        ("A.B", ("A.B",), ("A.BC", "A", "A.B.C")),
        ("A.?", ("A.B",), ("A.", "A.BC", "A..")),
        ("A.*", ("A.B", "A.BC", "A."), ("A", "A.B.C")),
        ("*", ("A", "AB"), ("A.B",)),
        ("A*.B", ("A.B", "AX.B"), ("A.X.B",)),
        ("**", ("A", "A.B.C", "private$\\x"), ()),
        ("A.**", ("A", "A.B", "A.B.C"), ("AB", "B.A")),
        ("**.C", ("C", "A.C", "A.B.C"), ("A.CC", "C.A")),
        ("A.**.C", ("A.C", "A.B.C", "A.B.B.C"), ("AC", "A.BC", "A.C.B")),
        ("A+.[B]", ("A+.[B]",), ("AA.B",)),
    ],
)
def test_a_profile_means(profile: str, fitting: tuple[str, ...], others: tuple[str, ...]) -> None:
    pattern = pattern_of(profile)
    assert all(pattern.fullmatch(name) for name in fitting)
    assert not any(pattern.fullmatch(name) for name in others)


@given(PROFILE, st.integers(0, 4), NAME)
def test_profiles_fit_as_one_reads_them_letter_by_letter(
    parts: list[str], at: int, name: str
) -> None:
    for profile in (".".join(parts), ".".join([*parts[:at], "**", *parts[at:]])):
        assert bool(pattern_of(profile).fullmatch(name)) == plain.fits(profile, name), profile


@given(PROFILE, PROFILE, NAME)
def test_the_order_of_profiles_is_that_of_their_first_difference(
    one: list[str], other: list[str], name: str
) -> None:
    first, second = ".".join(one), ".".join(other)
    both = plain.fits(first, name) and plain.fits(second, name)
    if first != second and both and name not in (first, second):
        assert (rank_of(first) < rank_of(second)) == plain.is_more_specific(first, second)


def test_only_the_most_specific_profile_of_an_entity_counts() -> None:
    known = of(("**", PUT), ("A.*", GET), ("A.B", 0))
    assert known.bits(ADA, "queue", "X.Y.Z") == PUT
    assert known.bits(ADA, "queue", "A.C") == GET
    assert known.bits(ADA, "queue", "A.B") == 0
    assert known.bits(ADA, "topic", "A.B") == 0


def test_the_user_and_its_groups_are_added_up() -> None:
    known = of(("A.B", 0))
    known.set(AuthorityRecord("**", "queue", "staff", True, PUT))
    known.set(AuthorityRecord("A.*", "queue", "everyone", True, GET))
    known.set(AuthorityRecord("A.*", "queue", "chiefs", True, CREATE))
    assert known.bits(ADA, "queue", "A.B") == PUT | GET
    assert known.bits(Principal(), "queue", "A.B") == GET
    assert known.bits(Principal("staff"), "queue", "X") == 0, "a user is no group of this name"


def test_who_may_create_objects_of_a_type_may_whatever_their_names() -> None:
    known = of(("@CLASS", CREATE | PUT))
    assert known.bits(ADA, "queue", "NEW") == CREATE
    assert of(("**", CREATE), ("NEW", 0)).bits(ADA, "queue", "NEW") == 0


def test_what_is_kept_is_forgotten_when_a_record_changes() -> None:
    known = of(("A.*", PUT))
    assert known.bits(ADA, "queue", "A.B") == PUT
    known.set(AuthorityRecord("A.*", "queue", "ada", False, GET))
    assert known.bits(ADA, "queue", "A.B") == GET
    known.remove("A.*", "queue", "ada", False)
    assert known.bits(ADA, "queue", "A.B") == 0
    for number in range(KEPT_MAX + 5):
        known.bits(ADA, "queue", f"Q{number}")
    assert len(known._kept) <= KEPT_MAX


def test_records_are_counted_and_forgotten_with_their_object() -> None:
    known = of(("A", PUT), ("A", GET), ("A.*", PUT))
    known.set(AuthorityRecord("A", "queue", "staff", True, GET))
    known.set(AuthorityRecord("A", "topic", "ada", False, GET))
    assert known.count == 4
    known.forget("queue", "A")
    assert known.count == 2
    assert {(one.object_type, one.profile) for one in known.every()} == {
        ("queue", "A.*"),
        ("topic", "A"),
    }
    known.remove("GONE", "queue", "ada", False)
    assert known.count == 2


def test_words() -> None:
    assert words_of(bits_of("queue", ["all"])) == words_of(APPLICABLE["queue"])
    assert bits_of("queue", ["NONE"]) == 0
    assert bits_of("qmgr", ["allmqi"]) & ~APPLICABLE["qmgr"] == 0
    with pytest.raises(ValueError, match="unknown authority 'fly'"):
        bits_of("queue", ["fly"])
    assert "no authority connect" in problem_with_bits("queue", bits_of("queue", ["connect"]))
    assert "no authority 0x80000000" in problem_with_bits("queue", 1 << 31)


@pytest.mark.parametrize("profile", ["", "A**", "**.A.**", "A.**B", "A\n", "x" * 513])
def test_no_profile(profile: str) -> None:
    assert problem_with_profile("queue", profile)
    assert problem_with_profile("qmgr", profile)


def test_profiles_of_the_queue_manager() -> None:
    assert "SELF" in problem_with_profile("qmgr", "**")
    assert not problem_with_profile("qmgr", "SELF")
    assert not problem_with_profile("queue", "private$\\a b")


def spelled(name: str) -> st.SearchStrategy[str]:
    """A name in any case of its letters."""
    letters = [st.sampled_from((one.lower(), one.upper())) for one in name]
    return st.tuples(*letters).map("".join)


PATH = "direct=os:other\\private$\\x"


@given(spelled(PATH), spelled(PATH), st.sampled_from(("", "*", "?")))
def test_all_spellings_of_a_format_name_mean_one_queue(
    written: str, name: str, wildcard: str
) -> None:
    profile = written[:-1] + wildcard if wildcard else written
    records = of((profile, PUT), ("**", GET))
    assert records.bits(ADA, "queue", name) == PUT
    assert records.bits(ADA, "queue", name + "y") == (PUT if wildcard == "*" else GET)
    assert {one.profile for one in records.every()} == {profile, "**"}
    records.remove(profile, "queue", "ada", False)
    assert records.bits(ADA, "queue", name) == GET


def test_of_two_spellings_that_have_records_each_counts_for_itself() -> None:
    one, other = "DIRECT=OS:OTHER\\private$\\x", "DIRECT=OS:other\\private$\\x"
    records = of((one, PUT), (other, GET))
    assert records.bits(ADA, "queue", one) == PUT
    assert records.bits(ADA, "queue", other) == GET
    records.remove(other, "queue", "ada", False)
    assert records.bits(ADA, "queue", other) == PUT


def test_the_case_of_a_queue_of_mq_on_another_computer_counts() -> None:
    records = of(("DIRECT=OS:OTHER\\Results", PUT))
    assert records.bits(ADA, "queue", "DIRECT=OS:other\\Results") == PUT
    assert records.bits(ADA, "queue", "DIRECT=OS:OTHER\\RESULTS") == 0
    assert of(("orders", PUT)).bits(ADA, "queue", "ORDERS") == 0
