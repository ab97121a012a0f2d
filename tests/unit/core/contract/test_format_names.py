"""Names of queues of MSMQ, and what is no name of one."""

import pytest

from adapter.core.contract.format_names import NAMES_MAX, parse, parse_all
from adapter.core.contract.reasons import Reason, Refusal


@pytest.mark.parametrize(
    ("text", "computer", "queue"),
    [
        (".\\private$\\Orders", "HERE", "private$\\orders"),
        ("There\\PRIVATE$\\orders", "There", "private$\\orders"),
        ("There\\public", "There", "public"),
        ("DIRECT=OS:There\\private$\\a;Retry", "There", "private$\\a;retry"),
        ("FormatName:direct=tcp:10.0.0.1\\private$\\a", "10.0.0.1", "private$\\a"),
        (".\\private$\\a\\Journal$", "HERE", "private$\\a;journal"),
        (".\\private$\\a;JOURNAL", "HERE", "private$\\a;journal"),
        (".\\SYSTEM$;DEADXACT", "HERE", "system$;deadxact"),
        (".\\XactDeadLetter$", "HERE", "system$;deadxact"),
        (".\\DeadLetter$", "HERE", "system$;deadletter"),
        (".\\Journal$", "HERE", "system$;journal"),
        (".\\private$\\Größe", "HERE", "private$\\größe"),
    ],
)
def test_a_name_means_a_queue(text: str, computer: str, queue: str) -> None:
    name = parse(text, "HERE")
    assert (name.computer, name.queue) == (computer, queue)


@pytest.mark.parametrize(
    ("text", "of_mq"),
    [
        ("DIRECT=OS:.\\Shop.RESULTS", "Shop.RESULTS"),
        (".\\RESULTS", "RESULTS"),
        ("There\\private$\\RESULTS", ""),
        (".\\RESULTS;journal", ""),
        (".\\SYSTEM$;DEADXACT", ""),
        (".\\DeadLetter$", ""),
    ],
)
def test_a_name_without_private_may_be_of_a_queue_of_mq(text: str, of_mq: str) -> None:
    name = parse(text, "HERE")
    assert name.of_mq == of_mq
    assert not of_mq or parse(name.text, "ELSEWHERE") == name


@pytest.mark.parametrize(
    "text",
    [
        "",
        "orders",
        "\\private$\\orders",
        ".\\other$\\orders",
        ".\\private$\\",
        ".\\private$\\a;",
        ".\\private$\\a;b;c",
        ".\\private$\\a;" + "x" * 33,
        ".\\private$\\a+b",
        '.\\private$\\a"',
        ".\\private$\\a\\b",
        ".\\private$\\a\n",
        ".\\private$\\" + "x" * 125,
        ".\\private$\\" + "ö" * 60,
        "x" * 125 + "\\private$\\a",
        ".\\system$;other",
        "DIRECT=SPX:1\\a",
    ],
)
def test_what_is_no_name_is_refused(text: str) -> None:
    with pytest.raises(Refusal) as refused:
        parse(text, "HERE")
    assert refused.value.reason is Reason.ILLEGAL_QUEUE_PATH


@pytest.mark.parametrize(
    "text",
    [
        "PUBLIC=0a",
        "PRIVATE=0a\\1",
        "DL=0a",
        "MULTICAST=234.1.1.1:8001",
        "MACHINE=0a;JOURNAL",
        "DIRECT=HTTP://there/msmq/private$/a",
    ],
)
def test_other_format_names_are_not_supported(text: str) -> None:
    with pytest.raises(Refusal) as refused:
        parse(text, "HERE")
    assert refused.value.reason is Reason.UNSUPPORTED_FORMAT_NAME


def test_several_names_are_separated_by_commas() -> None:
    names = parse_all("DIRECT=OS:.\\private$\\a, DIRECT=OS:B\\private$\\b", "HERE")
    assert [name.text for name in names] == [
        "DIRECT=OS:HERE\\private$\\a",
        "DIRECT=OS:B\\private$\\b",
    ]
    with pytest.raises(Refusal):
        parse_all(",".join([".\\private$\\a"] * (NAMES_MAX + 1)), "HERE")
