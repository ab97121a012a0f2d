"""The wheel of mqk-client, in an environment that has msgspec and nothing else."""

import importlib.metadata as metadata
import subprocess
import sys
import tomllib
import venv
from pathlib import Path
from shutil import copytree

import pytest

from adapter import testing

TOP = Path(__file__).parents[2]
PROGRAM = """
import sys
import mqk.msmq, mqk.servicebroker, mqk.mqi, mqk
import adapter, adapter.msmq
from adapter.client import message
import mqk.client.message as same

assert mqk is adapter and mqk.msmq is adapter.msmq and same is message
assert mqk.errors.Error is adapter.Error and mqk.__version__ == adapter.__version__ != "0+unknown"
with mqk.connect(sys.argv[1]) as qm:
    with qm.unit():
        qm.put("ORDERS", "42 widgets", properties={"colour": "red"})
    print(qm.get("ORDERS").text)
with mqk.msmq.connect(sys.argv[1]) as host:
    queue = host.create(r".\\private$\\q")
    queue.send(mqk.msmq.Message("hello"))
    print(queue.receive(timeout=5).body)
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of the environment."""
    folder = tmp_path_factory.mktemp("client")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder),
         str(TOP / "packaging/client")],
        check=True, capture_output=True,
    )  # fmt: skip
    (wheel,) = folder.glob("mqk_client-*.whl")
    venv.create(folder / "venv", with_pip=False)
    found = folder / "venv/bin/python"
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(found), "install", "--no-deps", "--no-index",
         "--quiet", "--disable-pip-version-check", str(wheel)],
        check=True,
    )  # fmt: skip
    (packages,) = folder.glob("venv/lib/python*/site-packages")
    msgspec = metadata.distribution("msgspec")
    copytree(str(msgspec.locate_file("msgspec")), packages / "msgspec")
    return found


def test_finding_users_section_5_a_client_needs_msgspec_alone(python: Path) -> None:
    with testing.queue_manager() as manager, manager.connect() as qm:
        qm.define_queue("ORDERS")
        done = subprocess.run(
            [python, "-P", "-c", PROGRAM, manager.address],
            check=True, stdout=subprocess.PIPE, text=True, cwd=python.parent, timeout=60,
        )  # fmt: skip
    assert done.stdout == "42 widgets\nhello\n"


def test_a_module_that_is_not_there_is_named_as_it_was_asked_for(python: Path) -> None:
    done = subprocess.run(
        [python, "-P", "-c", "import mqk.nothing"], capture_output=True, text=True, check=False
    )
    assert "ModuleNotFoundError" in done.stderr
    assert "nothing" in done.stderr


def test_both_distributions_are_of_one_release() -> None:
    of_all = tomllib.loads(TOP.joinpath("pyproject.toml").read_text())["project"]
    of_client = tomllib.loads(TOP.joinpath("packaging/client/pyproject.toml").read_text())
    client = of_client["project"]
    for name in ("version", "requires-python", "license", "classifiers"):
        assert client[name] == of_all[name], name
    extras = client["optional-dependencies"]
    needed = {*client["dependencies"], *extras["avro"], *extras["kafka"]}
    assert needed <= set(of_all["dependencies"])
