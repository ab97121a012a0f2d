"""What `make failover` decides, without servers: what is wrong, how long a gap is, what is met."""

import pytest

from benchmarks.failover import Parts, Trials, rows_of, table
from benchmarks.numbered import Judgement, NumberedProgram, judge
from benchmarks.results import Row, is_met, percentile


@pytest.mark.parametrize(
    ("put", "found", "wrong"),
    [
        (3, [0, 1, 2], Judgement()),
        (0, [], Judgement()),
        (3, [0, 2], Judgement(lost=1)),
        (3, [], Judgement(lost=3)),
        (3, [0, 1, 1, 2], Judgement(doubled=1)),
        (3, [0, 1, 2, 3], Judgement(doubled=1)),
        (3, [0, 2, 1], Judgement(reordered=1)),
        (4, [0, 3, 3, 1], Judgement(lost=1, doubled=1, reordered=1)),
    ],
)
def test_every_message_that_is_wrong_is_counted(
    put: int, found: list[int], wrong: Judgement
) -> None:
    assert judge(put, found) == wrong


def test_units_that_nobody_knows_of_count() -> None:
    assert judge(1, [0], unknown=2) + Judgement(lost=1) == Judgement(lost=1, unknown=2)


def test_the_gap_is_the_longest_since_the_last_answer_before_a_fault() -> None:
    program = NumberedProgram.__new__(NumberedProgram)
    program._answered_s = [1.0, 5.0, 5.1, 5.9, 6.0, 6.5]
    assert program.gap_s(5.2) == pytest.approx(0.8)
    assert program.first_after(5.2) == 5.9
    assert program.first_after(5.95) == 6.0
    assert program.gap_s(5.95) == pytest.approx(0.5)


def test_a_percentile_is_a_value_that_so_many_do_not_exceed() -> None:
    values = [float(number) for number in range(100, 0, -1)]
    assert [percentile(values, of) for of in (1, 50, 99, 100)] == [1, 50, 99, 100]
    assert percentile([7.0], 99) == 7.0


def test_a_gap_is_judged_by_its_worst_and_wrong_messages_by_any() -> None:
    row = Row("gap", "s", runs=[0.1] * 98 + [0.9, 9.0], worst=1.0)
    assert is_met({"gap": row}, row)
    row.runs[0] = 9.0
    assert not is_met({"gap": row}, row)
    wrong = Row("wrong", "", runs=[0, 1, 0], none=True)
    assert not is_met({"wrong": wrong}, wrong)


def test_the_table_has_gaps_their_parts_and_what_was_wrong() -> None:
    found = Trials([0.4, 0.2, 0.3], [Parts(0.1, 0.05, 0.15)] * 3, Judgement(reordered=1), 2)
    line = table({"kill": "SIGKILL"}, {"kill": found}).splitlines()[-1]
    assert line == "| SIGKILL | 3 | 0.30, 0.40, 0.40 | 0.10, 0.05, 0.15 | 0, 0, 1, 0 | 2 |  |"
    rows = rows_of("kill", "SIGKILL", 1.0, found)
    assert rows["kill-wrong"].runs == [1]
    assert not is_met(rows, rows["kill-wrong"])
    assert rows["kill-failed"].runs == [2]
    brokers = table(
        {"leader": "leader"}, {"leader": Trials([3.0], plain_s=[1.0, 2.0])}
    ).splitlines()[-1]
    assert brokers == ("| leader | 1 | 3.00, 3.00, 3.00 |  | 0, 0, 0, 0 | 0 | 1.50, 2.00, 2.00 |")
