"""Names are text, without the prefix of System.Messaging."""

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.core.contract.format_names import is_format_name
from adapter.msmq import MessageQueueException
from adapter.msmq.names import absolute, as_queue_name, here_as_dot, is_of_several, no_computer

HERE = ("localhost", "LocalHost", "127.0.0.1", "127.0.0.2", socket.gethostname(), ".")
FORMS = ("", "DIRECT=OS:", "direct=os:", "DIRECT=TCP:", "FormatName:DIRECT=OS:")
PATHS = (r"\private$\a", r"\private$\b;sub", r"\orders", r"\SYSTEM$;DEADXACT")


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


@given(
    names=st.lists(
        st.tuples(st.sampled_from(FORMS), st.sampled_from(HERE), st.sampled_from(PATHS)), min_size=1
    )
)
def test_what_means_this_machine_is_a_dot_in_every_form_of_a_name(
    names: list[tuple[str, str, str]],
) -> None:
    name = ", ".join(form + host + path for form, host, path in names)
    found = here_as_dot(as_queue_name(name), no_computer).split(",")
    assert len(found) == len(names)
    for one, (form, _, path) in zip(found, names, strict=True):
        plain = as_queue_name(one)
        assert plain.upper().removeprefix("DIRECT=OS:").removeprefix("DIRECT=TCP:")[0] == "."
        assert plain.endswith(path)
        assert is_format_name(plain) == bool(form)


@pytest.mark.parametrize("host", [one for one in HERE if one != socket.gethostname()])
def test_what_means_each_machine_itself_is_the_computer_that_is_meant(host: str) -> None:
    names = rf"{host}\private$\q,DIRECT=TCP:{host}\private$\q,other\private$\q"
    own = r"HOST\private$\q,DIRECT=OS:HOST\private$\q,other\private$\q"
    assert absolute(names, "HOST") == own
    assert is_of_several(names)


def test_other_names_stay() -> None:
    for name in (r"other\private$\q", "PUBLIC=x", "x", r".\private$\a=b", ",", r"\private$\q", ""):
        assert here_as_dot(name, no_computer) == absolute(name, "") == name


@pytest.mark.parametrize("name", ["DIRECT=OS:x", "Public=x", "DL=x", "private=a", "multicast=x"])
def test_a_format_name_is_known_by_its_beginning(name: str) -> None:
    assert is_format_name(name)
    assert as_queue_name(f"FormatName:{name}") == name
    for path in (rf".\private$\{name}", rf"x\{name}"):
        assert not is_format_name(path)
        with pytest.raises(MessageQueueException, match="ILLEGAL_FORMATNAME"):
            as_queue_name(f"FormatName:{path}")
