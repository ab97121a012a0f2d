"""Every transcript, on a bare core and on a queue manager in this process behind its TCP port.

`pytest tests/scenarios --rewrite` writes the outcomes again; then look at the difference.
"""

from pathlib import Path
from random import Random

import pytest

from adapter import testing
from tests.scenarios.drivers import OnCore, OnServer
from tests.scenarios.language import TranscriptError, call_of, parse, render
from tests.scenarios.transcripts import TRANSCRIPTS, limits_of, name_of, played
from tests.scenarios.world import COMMANDS, MANAGE
from tests.support import purity
from tests.support.examples import examples
from tests.support.extremes import Extremes
from tests.support.runs import Recorder

EXTREMES = 5
"""Values at the ends of their types that are tried in each transcript."""


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=name_of)
def test_on_the_core(
    path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is refused changes nothing meanwhile, a replay of what was logged makes the same core in
    the end, and the same inputs cause the same once more. What core accepts of values at the ends
    of their types can be written.
    """
    text = path.read_text()
    transcript = parse(text)
    purity.watch(monkeypatch)
    recorder = Recorder(monkeypatch)
    driver = OnCore(**limits_of(transcript))
    outcome = render(played(transcript, driver))
    driver.check()
    monkeypatch.undo()
    for run in recorder.stop():
        run.replay(Extremes(run, Random(path.name), examples(EXTREMES)))
    if request.config.getoption("--rewrite", default=False):
        path.write_text(outcome)
    else:
        assert outcome == text


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=name_of)
def test_in_process(path: Path) -> None:
    text = path.read_text()
    transcript = parse(text)
    with testing.queue_manager(clock="manual", **limits_of(transcript)) as manager:
        driver = OnServer(manager)
        try:
            assert render(played(transcript, driver)) == text
        finally:
            driver.close()


def test_every_verb_is_used() -> None:
    used = {call_of(s.command).verb for path in TRANSCRIPTS for s in parse(path.read_text()).steps}
    assert used == set(COMMANDS) | set(MANAGE)


def test_every_verb_is_explained() -> None:
    text = (Path(__file__).parent / "README.md").read_text()
    for verb in [*COMMANDS, *MANAGE]:
        assert f"\n| `{verb}" in text or f" `{verb}" in text, verb


def test_a_wrong_outcome_is_found() -> None:
    text = "define Q\n    refused QUEUE_EXISTS Q\n"
    assert render(played(parse(text), OnCore())) == "define Q\n    ok\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("frobnicate Q\n", "no verb 'frobnicate'"),
        ("define Q\n   ok\n", "indented by 4"),
        ("    ok\n", "without a command"),
        ('put Q "a\n', "No closing quotation"),
        ("advance soon\n", "is no duration"),
        ("define Q\nopen Q output\nput Q a colour=red\n", "does not take colour"),
    ],
)
def test_a_transcript_that_is_wrong_is_told(text: str, words: str) -> None:
    with pytest.raises(TranscriptError, match=words):
        played(parse(text), OnCore())


def test_what_is_rendered_is_read_again() -> None:
    text = "# a\n\ndefine Q\n    ok\n\n# b\nbob: get Q\n    one\n    two\n# end\n"
    assert render(parse(text)) == text
