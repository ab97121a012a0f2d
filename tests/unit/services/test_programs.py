"""Real programs: what they are told, when they are waited for, how many there are, how they end."""

import os
import pwd
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from adapter.host.allowed import AllowedPrograms
from adapter.mqi import TriggerMessage
from adapter.services.programs import CannotStart, Programs, command_of
from tests.unit.host.test_launch import await_end, await_text, exists

WAIT_S = 10.0
Failures = list[tuple[TriggerMessage, str]]


def trigger(appl_id: str, env_data: str = "", **fields: str) -> TriggerMessage:
    return TriggerMessage(
        queue="ORDERS", process="P", appl_type=6, appl_id=appl_id, env_data=env_data,
        queue_manager="QM1", **fields,
    )  # fmt: skip


@pytest.fixture
def failures() -> Failures:
    return []


@pytest.fixture
def programs(failures: Failures) -> Iterator[Programs]:
    running = Programs(lambda what, why: failures.append((what, why)), most=2)
    yield running
    running.stop(0.1)


def await_that(check: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + WAIT_S
    while not check():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


def test_a_program_gets_the_mqtmc2_as_its_argument_and_env_data_behind_it(
    programs: Programs, tmp_path: Path
) -> None:
    program = tmp_path / "worker.py"
    program.write_text(
        "import sys; from adapter.mqi import TriggerMessage as T\n"
        "print(len(sys.argv[1]), T.from_argv(sys.argv), sys.argv[2:])"
    )
    wanted = trigger(f"{sys.executable} {program}", f"-v >{tmp_path}/out", user_data="south")
    programs.start(wanted)
    assert (tmp_path / "out").read_text() == f"732 {wanted!r} ['-v']\n"


def test_what_applications_set_is_no_part_of_the_command(
    programs: Programs, tmp_path: Path
) -> None:
    """Trigger data can be set by MQSET, which is not to run programs."""
    evil = f'"; touch {tmp_path}/pwned; "$(touch {tmp_path}/pwned)`touch {tmp_path}/pwned`'
    programs.start(trigger("printf %s", f">{tmp_path}/out", trigger_data=evil[:64]))
    assert not (tmp_path / "pwned").exists()
    assert evil[:64] in (tmp_path / "out").read_text()


@pytest.mark.parametrize(
    ("env_data", "command", "waits"),
    [
        ("", 'worker "$1"', True),
        ("-v", 'worker "$1" -v', True),
        ("-v &", 'worker "$1" -v', False),
        ("&", 'worker "$1"', False),
        (">log 2>&1 &  ", 'worker "$1" >log 2>&1', False),
        ("-v && tidy", 'worker "$1" -v && tidy', True),
    ],
)
def test_an_ampersand_at_the_end_means_not_to_wait(
    env_data: str, command: str, waits: bool
) -> None:
    before, after, is_waited_for = command_of(trigger("worker", env_data))
    assert (f'{before} "$1" {after}'.rstrip(), is_waited_for) == (command, waits)


def test_a_program_in_the_foreground_is_waited_for(programs: Programs, tmp_path: Path) -> None:
    script = tmp_path / "slow"
    script.write_text("#!/bin/sh\nsleep 0.2\necho done >$0.done\n")
    script.chmod(0o755)
    programs.start(trigger(str(script)))
    assert (tmp_path / "slow.done").read_text() == "done\n"
    assert programs.statistics()["programs_running"] == 0


def test_the_bound_holds_until_one_has_ended(programs: Programs, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    for _ in range(2):
        assert programs.await_room(0)
        programs.start(trigger(f"sh -c 'read x <{gate}'", "&"))
    assert not programs.await_room(0.05)
    found: list[bool] = []
    waiting = threading.Thread(target=lambda: found.append(programs.await_room(WAIT_S)))
    waiting.start()
    with gate.open("w") as opened:
        opened.write("one\ntwo\n")
    waiting.join(WAIT_S)
    assert found == [True]


def test_what_cannot_be_run_is_told_at_once_in_the_foreground(programs: Programs) -> None:
    with pytest.raises(CannotStart, match=r"could not run /nowhere/worker.*status 127"):
        programs.start(trigger("/nowhere/worker"))
    with pytest.raises(CannotStart, match="process P has no ApplId"):
        programs.start(trigger("  "))
    assert programs.statistics()["programs_failed"] == 1


def test_what_cannot_be_run_is_told_later_in_the_background(
    programs: Programs, failures: Failures, tmp_path: Path
) -> None:
    plain = tmp_path / "plain"
    plain.write_text("not a program")
    wanted = trigger(str(plain), "&")
    programs.start(wanted)
    await_that(lambda: bool(failures))
    assert failures == [(wanted, failures[0][1])]
    assert "status 126" in failures[0][1]


def test_a_program_that_fails_was_started(programs: Programs, failures: Failures) -> None:
    programs.start(trigger("exit 3 #"))
    assert programs.statistics() == {
        "programs_running": 0, "programs_started": 1, "programs_failed": 0
    }  # fmt: skip
    assert not failures


def test_stop_lets_programs_end_and_kills_those_that_do_not(tmp_path: Path) -> None:
    programs = Programs(lambda _what, _why: None)
    script = tmp_path / "script"
    script.write_text(
        "trap 'echo asked >>$0.asked; exit 0' TERM; echo $$ >$0.pid; while :; do sleep 0.05; done"
    )
    deaf = tmp_path / "deaf"
    deaf.write_text("trap '' TERM; echo $$ >$0.pid; while :; do sleep 0.05; done")
    for name in (script, deaf):
        programs.start(trigger(f"sh {name}", "&"))
    pids = [int(await_text(Path(f"{name}.pid"), "\n")) for name in (script, deaf)]
    programs.stop(0.3)
    assert await_text(Path(f"{script}.asked"), "\n") == "asked\n"
    assert all(await_end(pid) for pid in pids)
    assert not programs.await_room(0)
    with pytest.raises(CannotStart, match="being stopped"):
        programs.start(trigger("true"))


def test_a_program_is_told_to_end_once_however_often_that_is_asked(tmp_path: Path) -> None:
    programs = Programs(lambda _what, _why: None)
    script = tmp_path / "script"
    script.write_text(
        "trap 'echo told >>$0.told; n=0; while [ $n -lt 10 ]; do sleep 0.02; n=$((n+1)); done; "
        "exit 0' TERM; touch $0.ready; while :; do sleep 0.02; done"
    )
    programs.start(trigger(f"exec sh {script}", "&"))
    await_that((tmp_path / "script.ready").exists)
    stops = [threading.Thread(target=programs.stop, args=(WAIT_S,)) for _ in range(3)]
    for stop in stops:
        stop.start()
    for stop in stops:
        stop.join(WAIT_S)
    assert programs.statistics()["programs_running"] == 0
    assert (tmp_path / "script.told").read_text() == "told\n"


def test_stop_ends_the_wait_for_a_program_in_the_foreground() -> None:
    programs = Programs(lambda _what, _why: None)
    waiting = threading.Thread(target=programs.start, args=(trigger("sleep 600 #"),))
    waiting.start()
    await_that(lambda: programs.statistics()["programs_running"] == 1)
    programs.stop(WAIT_S)
    waiting.join(WAIT_S)
    assert not waiting.is_alive()


def test_a_program_that_was_told_to_end_was_started_whatever_its_status_is(
    tmp_path: Path, failures: Failures
) -> None:
    """127 from one that runs is not what the shell says of one that is not there."""
    programs = Programs(lambda what, why: failures.append((what, why)))
    script = tmp_path / "script"
    script.write_text("trap 'exit 127' TERM; touch $0.ready; while :; do sleep 0.02; done")
    programs.start(trigger(f"exec sh {script}", "&"))
    await_that((tmp_path / "script.ready").exists)
    programs.stop(WAIT_S)
    assert not failures
    assert programs.statistics()["programs_failed"] == 0


def test_what_a_program_has_started_goes_on_when_it_has_ended(
    programs: Programs, tmp_path: Path
) -> None:
    script = tmp_path / "starts-a-server"
    script.write_text(f"#!/bin/sh\nsleep 600 >/dev/null & echo $! >{tmp_path}/pid\n")
    script.chmod(0o755)
    programs.start(trigger(str(script)))
    pid = int(await_text(tmp_path / "pid", "\n"))
    programs.stop(0.1)
    try:
        assert exists(pid)
    finally:
        os.kill(pid, 9)
    assert await_end(pid)


@pytest.fixture
def allowing(tmp_path: Path) -> Iterator[Programs]:
    """Starts programs of one directory, without a shell."""
    folder = tmp_path / "programs"
    folder.mkdir(mode=0o755)
    script = folder / "worker"
    script.write_text('#!/bin/sh\nprintf "%s\\n" "$@" >"$0.said"\n')
    script.chmod(0o755)
    account = pwd.getpwuid(os.geteuid()).pw_name
    made = Programs(lambda *_: None, allowed=AllowedPrograms([folder], account))
    yield made
    made.stop(1.0)


def test_with_directories_a_command_is_split_and_no_shell_reads_it(
    allowing: Programs, tmp_path: Path
) -> None:
    one = trigger("worker -a 'b c' $HOME", '"*" `d`')
    allowing.start(one)
    said = (tmp_path / "programs" / "worker.said").read_text().splitlines()
    assert said == ["-a", "b c", "$HOME", os.fsdecode(one.to_tmc2()), "*", "`d`"]


@pytest.mark.parametrize(
    ("appl_id", "env_data", "why"),
    [
        ("/bin/sh -c 'touch pwned'", "", "it is no program in"),
        ("sh -c true", "", "it is no program in"),
        ("../../bin/sh", "", "it is no program in"),
        ("worker", "; touch pwned", "started without a shell"),
        ("worker", "&& touch pwned", "started without a shell"),
        ("worker", ">pwned", "started without a shell"),
        ("worker 'a", "", "no closing quotation"),
    ],
)
def test_with_directories_nothing_else_is_started(
    allowing: Programs, tmp_path: Path, appl_id: str, env_data: str, why: str
) -> None:
    with pytest.raises(CannotStart, match=why):
        allowing.start(trigger(appl_id, env_data))
    assert [one.name for one in (tmp_path / "programs").iterdir()] == ["worker"]


def test_a_failure_that_cannot_be_told_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def fail(what: TriggerMessage, why: str) -> None:
        raise OSError(f"no one hears that {why}")

    programs = Programs(fail)
    programs.start(trigger("/nowhere/worker", "&"))
    await_that(lambda: "for queue ORDERS ended unexpectedly" in caplog.text)
    await_that(lambda: programs.statistics()["programs_running"] == 0)
    programs.stop(0.1)
