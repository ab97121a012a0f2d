"""Which extension module the packages find. Each case in a process of its own."""

import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).parents[3]
PATHS = [str(TOP), str(TOP / "adapter" / "toplevel")]


def run(program: str) -> str:
    """Run a program; what it prints."""
    start = f"import sys; sys.path[:0] = {PATHS!r}\n"
    done = subprocess.run(
        [sys.executable, "-c", start + program],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return (done.stdout + done.stderr).strip()


def test_without_ibms_client_the_packages_find_ours() -> None:
    assert run("import ibmmq; print(ibmmq.ibmmqc.__name__)") == "ibmmqc"


def test_install_puts_ours_before_ibms_client() -> None:
    """What stands for IBM's module would be found first."""
    assert (
        run(
            "import importlib.util, pathlib, types, sys\n"
            "class Theirs:\n"
            "    def find_spec(self, name, path=None, target=None):\n"
            "        if name == 'ibmmq.ibmmqc':\n"
            "            return importlib.util.spec_from_loader(name, self)\n"
            "    def create_module(self, spec):\n"
            "        return types.ModuleType(spec.name)\n"
            "    def exec_module(self, module):\n"
            "        raise SystemExit('IBM')\n"
            "sys.meta_path.insert(0, Theirs())\n"
            "import adapter.mqi\n"
            "adapter.mqi.install()\n"
            "import ibmmq\n"
            "print(ibmmq.ibmmqc.__name__)"
        )
        == "ibmmqc"
    )


def test_install_comes_too_late() -> None:
    said = run(
        "import types, sys\n"
        "sys.modules['pymqi'] = types.SimpleNamespace(pymqe=object())\n"
        "import adapter.mqi\n"
        "adapter.mqi.install()"
    )
    assert "StartError: pymqi was imported before" in said


def test_install_may_be_called_twice() -> None:
    assert (
        run(
            "import adapter.mqi\n"
            "adapter.mqi.install()\n"
            "import ibmmq\n"
            "adapter.mqi.install()\n"
            "print('fine')"
        )
        == "fine"
    )
