"""Children end with us, end when told, and are gone within a bound; detached ones stay."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from adapter.cli import background
from adapter.command import failures
from adapter.host import launch
from adapter.server.services.kafka_wiring import KafkaSettings
from adapter.server.settings import ServerSettings

WAIT_S = 10.0


def exists(pid: int) -> bool:
    """Whether a process runs (one that has ended and awaits its parent does not)."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def await_end(pid: int) -> bool:
    deadline_s = time.monotonic() + WAIT_S
    while exists(pid) and time.monotonic() < deadline_s:
        time.sleep(0.01)
    return not exists(pid)


def test_output_goes_to_the_file_and_the_status_is_the_programs(tmp_path: Path) -> None:
    output = tmp_path / "out"
    child = launch.start(["/bin/sh", "-c", "echo said; echo loudly >&2; exit 7"], output=output)
    assert child.wait(WAIT_S) == 7
    assert child.stop(0) == 7
    assert sorted(output.read_text().split()) == ["loudly", "said"]


def test_arguments_reach_the_program_unchanged(tmp_path: Path) -> None:
    output = tmp_path / "out"
    odd = ["a b", "$HOME", "*", "'", '"', "; exit 3"]
    child = launch.start(
        [sys.executable, "-c", "import sys; print(sys.argv[1:])", *odd], output=output
    )
    assert child.wait(WAIT_S) == 0
    child.stop(0)
    assert output.read_text().strip() == str(odd)


def test_stop_asks_first(tmp_path: Path) -> None:
    output = tmp_path / "out"
    script = "trap 'echo asked; exit 0' TERM; echo ready; while :; do sleep 0.05; done"
    child = launch.start(["/bin/sh", "-c", script], output=output)
    await_text(output, "ready")
    assert child.stop(WAIT_S) == 0
    assert "asked" in output.read_text()


def test_stop_kills_what_does_not_listen(tmp_path: Path) -> None:
    output = tmp_path / "out"
    script = "trap '' TERM; echo ready; while :; do sleep 0.05; done"
    child = launch.start(["/bin/sh", "-c", script], output=output)
    await_text(output, "ready")
    assert child.exit_status() is None
    assert child.wait(0.05) is None
    assert child.stop(0.1) == -signal.SIGKILL
    assert await_end(child.pid)


def test_kill_takes_what_the_program_started(tmp_path: Path) -> None:
    output = tmp_path / "out"
    child = launch.start(["/bin/sh", "-c", "sleep 600 & echo $!; wait"], output=output)
    grandchild = int(await_text(output, "\n"))
    assert child.kill() == -signal.SIGKILL
    assert await_end(grandchild)


def test_a_child_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    parent = (
        "import sys, time; from pathlib import Path; from adapter.host import launch;"
        "child = launch.start(['sleep', '600'], output=Path(sys.argv[1]));"
        "print(child.pid, flush=True); time.sleep(600)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", parent, str(tmp_path / "out")], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        assert exists(pid)
        process.kill()
    assert await_end(pid)


def test_a_detached_program_stays_when_its_parent_ends(tmp_path: Path) -> None:
    output = tmp_path / "out"
    parent = (
        "import sys; from pathlib import Path; from adapter.host import launch;"
        "print(launch.detach(['/bin/sh', '-c', 'echo here; sleep 600'], output=Path(sys.argv[1])))"
    )
    done = subprocess.run(
        [sys.executable, "-c", parent, str(output)],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    pid = int(done.stdout)
    try:
        await_text(output, "here")
        assert exists(pid)
    finally:
        os.killpg(os.getpgid(pid), signal.SIGKILL)
    assert await_end(pid)


def await_text(path: Path, text: str) -> str:
    deadline_s = time.monotonic() + WAIT_S
    while text not in path.read_text() if path.exists() else True:
        assert time.monotonic() < deadline_s, f"{text!r} did not appear in {path}"
        time.sleep(0.01)
    return path.read_text()


def test_a_program_knows_no_child_that_it_did_not_start(tmp_path: Path) -> None:
    """It may wait until all its children have ended: the watcher is none of them."""
    output = tmp_path / "out"
    program = "import os\ntry: os.wait()\nexcept ChildProcessError: print('none')"
    child = launch.start([sys.executable, "-c", program], output=output)
    assert child.wait(WAIT_S) == 0
    child.stop(0)
    assert output.read_text().strip() == "none"


def test_stopping_a_group_lets_what_is_behind_a_shell_end_in_its_own_time(tmp_path: Path) -> None:
    output = tmp_path / "out"
    program = "trap 'sleep 0.2; echo tidied; exit 0' TERM; echo ready; while :; do sleep 0.05; done"
    child = launch.start(["/bin/sh", "-c", f'sh -c "{program}"; exit 3'], output=output)
    await_text(output, "ready")
    child.stop_group(WAIT_S)
    assert "tidied" in output.read_text()
    assert await_end(child.pid)


def test_stopping_a_group_kills_what_does_not_listen(tmp_path: Path) -> None:
    output = tmp_path / "out"
    program = "trap '' TERM; echo \\$\\$ ready; while :; do sleep 0.05; done"
    child = launch.start(["/bin/sh", "-c", f'sh -c "{program}"; exit 3'], output=output)
    inner = int(await_text(output, "ready").split()[0])
    child.stop_group(0.1)
    assert await_end(inner)


def test_what_an_ended_program_started_may_be_left_alone(tmp_path: Path) -> None:
    """Nor does it end with us."""
    parent = (
        "import sys; from pathlib import Path; from adapter.host import launch;"
        "child = launch.start(['/bin/sh', '-c', 'sleep 600 & echo $!'], output=Path(sys.argv[1]));"
        "assert child.wait(10) == 0; child.leave_group()"
    )
    output = tmp_path / "out"
    subprocess.run([sys.executable, "-c", parent, str(output)], check=True, timeout=60)
    pid = int(await_text(output, "\n"))
    try:
        group = os.getpgid(pid)
        assert only_member(group, pid), "the watcher is still there"
        assert exists(pid)
    finally:
        os.kill(pid, signal.SIGKILL)
    assert await_end(pid)


def only_member(group: int, pid: int) -> bool:
    """Whether a process is soon the only one of its group."""
    deadline_s = time.monotonic() + WAIT_S
    while time.monotonic() < deadline_s:
        if members(group) == {pid}:
            return True
        time.sleep(0.01)
    return False


def members(group: int) -> set[int]:
    found = subprocess.run(
        ["ps", "-e", "-o", "pid=,pgid="], capture_output=True, text=True, check=True, timeout=60
    )
    pairs = (line.split() for line in found.stdout.splitlines())
    return {int(pid) for pid, its in pairs if int(its) == group}


def test_a_zombie_does_not_keep_a_group_alive() -> None:
    """Left by its parent, it may never be reaped."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, start_new_session=True) as process:
        assert launch.has_living(process.pid)
        assert process.stdin is not None
        process.stdin.close()
        assert await_end(process.pid)
        os.killpg(process.pid, 0)  # it is there, as long as nobody asks for its status
        assert not launch.has_living(process.pid)


def test_output_may_be_ours() -> None:
    parent = (
        "from adapter.host import launch; child = launch.start(['echo', 'here'], output=None);"
        "assert child.wait(10) == 0; child.stop(0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", parent], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "here\n"


HOSTILE = (
    "open({!r}, 'a').write(__name__ + '\\n')\nraise SystemExit('a foreign module was imported')\n"
)


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with modules that are called as Python's and ours; the file is written by
    whichever is imported.
    """
    imported = tmp_path / "imported"
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("enum", "structlog", "msgspec", "logging", "adapter"):
        (folder / f"{name}.py").write_text(HOSTILE.format(str(imported)))
    monkeypatch.chdir(folder)
    return imported


@pytest.mark.parametrize("module", ["adapter.server.main", "adapter.storage.movers.process"])
def test_modules_of_the_working_directory_are_not_imported(module: str, hostile: Path) -> None:
    done = subprocess.run(
        launch.program(module),
        check=False,
        input="none",
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert not hostile.exists()
    assert done.returncode == 1
    assert done.stderr.startswith("mqk: ")


def test_a_server_in_the_background_imports_none_of_them(hostile: Path, tmp_path: Path) -> None:
    settings = ServerSettings(queue_manager="no name", kafka=KafkaSettings(bootstrap_servers="k:1"))
    with pytest.raises(failures.Failed, match="'no name'"):
        background.start(settings, tmp_path / "log")
    assert not hostile.exists()
