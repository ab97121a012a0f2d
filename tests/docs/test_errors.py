"""docs/errors.md says of every error what happened and what to do; the glossary has every word."""

import re
from importlib import import_module
from pathlib import Path

from adapter.core.contract.reasons import Reason
from adapter.core.rules import broker
from adapter.errors import Error
from adapter.errors.refusals import REFUSALS
from adapter.host.settings.setting_rows import SETTINGS
from tests.docs.sdk_reference import tree
from tests.support.each import each

DOCS = Path(__file__).parents[2] / "docs"
ROWS = [
    [cell.strip() for cell in line.strip().strip("|").split("|")]
    for line in (DOCS / "errors.md").read_text().splitlines()
    if line.startswith("| `")
]
SAID = {row[0].strip("`"): row[1:] for row in ROWS}


def test_nothing_is_said_twice() -> None:
    assert len(SAID) == len(ROWS)


@each(tree(Error), lambda kind: kind.__name__)
def test_every_error_is_there(kind: type[Error]) -> None:
    number, happened, to_do = SAID[kind.__name__]
    assert number == f"{kind.reason_name} {kind.reason}"
    assert len(happened) > 15
    assert len(to_do) > 15


@each(Reason, lambda reason: reason.name)
def test_every_reason_is_there(reason: Reason) -> None:
    error, happened, to_do = SAID[reason.name]
    case = REFUSALS[reason]
    assert error == case.error.__name__
    assert happened == re.sub(r"\{name(!r)?\}", "*name*", case.happened)
    assert len(to_do) >= 10


def test_every_code_of_an_error_message_of_service_broker_is_there() -> None:
    folder = Path(broker.__file__).parent
    given = {
        value
        for one in folder.glob("*.py")
        for value in vars(import_module(f"{broker.__name__}.{one.stem}")).values()
        if type(value) is int and value < -8_000
    }
    page = (DOCS / "from-service-broker.md").read_text()
    said = re.search(
        r"An Error message of the system has a negative code: (.*?)\n\n", page, re.DOTALL
    )
    assert said is not None
    assert {int(one) for one in re.findall(r"-\d{4}", said[1])} == given


def test_the_glossary_has_the_words_of_the_architecture() -> None:
    """One word, one meaning: both lists have the same words."""
    glossary = (DOCS / "glossary.md").read_text()
    words = re.search(
        r"## Words\n(.*?)\n\*\*Hard", (DOCS.parent / "ARCHITECTURE.md").read_text(), re.DOTALL
    )
    assert words is not None
    for word in re.findall(r"^\| ([a-z ]+) \|", words[1], re.MULTILINE):
        if word != "word":
            assert f"**{word}**" in glossary, word


def test_settings_that_the_page_names_are_there() -> None:
    named = re.findall(r"setting `([\w.]+)`", (DOCS / "errors.md").read_text())
    assert "max_uncommitted_messages" in named
    assert set(named) <= set(SETTINGS)
