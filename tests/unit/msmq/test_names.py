"""Names are text, without the prefix of System.Messaging."""

import pytest

from adapter.msmq.names import absolute, as_queue_name


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (r".\private$\q", r".\private$\q"),
        (r" FormatName: DIRECT=OS:host\private$\q ", r"DIRECT=OS:host\private$\q"),
        (r"formatname:DIRECT=OS:.\q", r"DIRECT=OS:.\q"),
    ],
)
def test_a_name(given: str, name: str) -> None:
    assert as_queue_name(given) == name


def test_what_is_no_name() -> None:
    for wrong in ("", "  ", "FormatName:"):
        with pytest.raises(ValueError, match="not empty"):
            as_queue_name(wrong)
    with pytest.raises(TypeError):
        as_queue_name(None)


def test_a_dot_is_the_computer() -> None:
    assert absolute(r".\private$\q", "HOST") == r"HOST\private$\q"
    assert absolute(r"DIRECT=OS:.\private$\q", "HOST") == r"DIRECT=OS:HOST\private$\q"
    assert absolute(r"other.host\private$\q", "HOST") == r"other.host\private$\q"
    assert absolute(r".\private$\q", "") == r".\private$\q"
