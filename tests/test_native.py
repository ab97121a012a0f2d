"""Which modules are compiled: what mypyc refuses is found, and nowhere but where it is known."""

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from native import modules, target, wheel
from native.__main__ import FUTURE, mark

TOP = Path(__file__).parents[1]


def test_the_hot_modules_that_are_interpreted_are_known() -> None:
    found = {
        str(path)
        for path in modules.hot(TOP)
        if modules.refused((TOP / path).read_text(encoding="utf-8"))
    }
    assert found == modules.INTERPRETED


def test_what_is_compiled_is_there() -> None:
    compiled = modules.compiled(TOP)
    assert Path("adapter/core/dispatch.py") in compiled
    assert all((TOP / path).is_file() for path in compiled)


def test_a_client_loads_none_of_the_queue_managers_modules() -> None:
    groups = {
        name: {".".join(path.with_suffix("").parts) for path in paths}
        for name, paths in modules.groups(TOP).items()
    }
    program = "import sys, adapter.aio, adapter.client.connection; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": ""}, cwd=TOP, capture_output=True, text=True, check=True,
    )  # fmt: skip
    loaded = set(done.stdout.split())
    assert not loaded & groups["mqk"]
    assert groups["mqk_client"] <= loaded


def test_classes_that_may_be_subclassed_say_so_to_the_compiler(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    text = f"{FUTURE}\nclass Base:\n    pass\n\n\nclass Middle(Base):\n    pass\n"
    path.write_text(text, encoding="utf-8")
    mark(path, ("Base", "Middle"), "allow_interpreted_subclasses=True")
    written = path.read_text(encoding="utf-8")
    line = "@mypyc_attr(allow_interpreted_subclasses=True)\n"
    assert f"{line}class Base:" in written
    assert f"{line}class Middle(Base):" in written
    assert written.count("import mypyc_attr") == 1


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("class A(Struct, frozen=True):\n    x: int", "1: class A has keywords"),
        ("class A(list[int]):\n    pass", "1: class A is a list[int]"),
        (
            "from msgspec import field\nclass A(Struct):\n    x: dict = field()",
            "2: class A has a field",
        ),
        ("import msgspec as m\nclass A(Struct):\n    x: int = m.field()", "2: class A has a field"),
        ("from msgspec import field as f\nclass A:\n    x: int = f()", "2: class A has a field"),
        ('a = "\\ud800"', "1: a text with half of a character"),
        ("def f(a):\n    a._thread = 1", "2: the attribute _thread"),
        ("while 1:\n    with a:\n        if b:\n            break", "2: break in a with"),
    ],
)
def test_what_mypyc_refuses_is_found(text: str, why: str) -> None:
    (found,) = modules.refused(text)
    assert found.startswith(why)


@pytest.mark.parametrize(
    "text",
    [
        "class A(Struct):\n    x: int = 0",
        "class A(Generic[T]):\n    pass",
        "class A(Struct):\n    x: int = measured_field(1)",
        "def f(a):\n    a._signed()",
        "with a:\n    while b:\n        break",
    ],
)
def test_what_mypyc_compiles_is_not_refused(text: str) -> None:
    assert modules.refused(text) == []


def test_another_compiler_or_library_makes_what_was_built_old(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    built = target.digest("2")
    assert target.digest("2") == built
    monkeypatch.setattr(target, "c_compiler", lambda: "gcc 99")
    assert target.digest("2") != built
    monkeypatch.undo()
    version = metadata.version
    newer = {"msgspec": "99.0"}
    monkeypatch.setattr(metadata, "version", lambda name: newer.get(name) or version(name))
    assert target.digest("2") != built


def test_a_compiler_that_is_not_there_has_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "there-is-none")
    assert target.c_compiler() == ""


def test_what_was_built_of_other_sources_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target, "made_of", lambda: target.digest("2"))
    assert target.usable() == target.TARGET
    monkeypatch.setattr(target, "made_of", lambda: target.digest("0"))
    assert target.usable() is None


@pytest.mark.parametrize(("options", "status"), [([], 1), (["--if-possible"], 0)])
def test_without_a_compiler_a_sentence_says_so(options: list[str], status: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "native", *options],
        env={**os.environ, "CC": "there-is-none"}, cwd=TOP, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == status
    said = done.stdout + done.stderr
    assert "no C compiler (there-is-none): install one (Debian: gcc); everything runs as" in said


@pytest.mark.parametrize(("value", "wanted"), [("", False), ("0", False), ("1", True)])
def test_a_wheel_is_compiled_on_request(value: str, wanted: bool) -> None:
    assert wheel.is_wanted({wheel.SWITCH: value}) is wanted
    assert not wheel.is_wanted({})


def test_another_value_is_refused() -> None:
    with pytest.raises(SystemExit, match="Invalid MQK_COMPILE=yes: 1 compiles"):
        wheel.is_wanted({wheel.SWITCH: "yes"})


def test_the_compiler_is_the_one_that_is_tested() -> None:
    constraints = (TOP / "constraints.txt").read_text(encoding="utf-8")
    name, _, version = wheel.tested("mypy", constraints).partition("==")
    assert name == "mypy"
    assert f"\nmypy=={version} " in constraints
    assert wheel.tested("mypy", "mypy-extensions==1.0\n") == "mypy"


def test_extension_modules_lie_beside_their_sources_in_the_wheel(tmp_path: Path) -> None:
    (tmp_path / "adapter/core").mkdir(parents=True)
    (tmp_path / "build/temp").mkdir(parents=True)
    for name in ("mqk__mypyc.so", "adapter/core/dispatch.so", "adapter/core/dispatch.py"):
        (tmp_path / name).touch()
    (tmp_path / "build/temp/dispatch.so").touch()
    assert wheel.extensions(tmp_path) == {
        str(tmp_path / "mqk__mypyc.so"): "mqk__mypyc.so",
        str(tmp_path / "adapter/core/dispatch.so"): "adapter/core/dispatch.so",
    }
