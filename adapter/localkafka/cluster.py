"""A local Kafka that lives as long as the program that started it.

For tests, the demo and single applications: brokers are child processes, on loopback ports only.
It must not know what is kept on it: no topic names, no clients beyond the readiness request.
"""

import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from signal import SIGCONT, SIGSTOP
from typing import Self

import msgspec

from adapter.host import launch
from adapter.localkafka import broker as brokers_of
from adapter.localkafka import preparation
from adapter.localkafka.alone import alone_on
from adapter.localkafka.errors import LocalKafkaError
from adapter.localkafka.jars import Say, say_nothing
from adapter.localkafka.plan import plan_cluster, require_startable
from adapter.localkafka.ports import HOST
from adapter.localkafka.readiness import await_ready
from adapter.localkafka.settings import BrokerPlan, bootstrap_servers

# One broker stops in under a second; of three the last waits some 5 s in vain for a quorum.
STOP_GRACE_S = 10.0


class LocalKafka:
    """A real Kafka of one or three brokers, numbered from 1; a context manager.

    data_dir: where the data lies; a temporary folder, removed by stop(), when None.
    port: broker 1 listens there, broker 2 on the next, ...; random free ports when None.
    proxies: broker number -> loopback port. That broker gets a second listener, behind_proxy(n),
        which sends its clients to the given port, where a proxy of yours is to listen and forward;
        such clients start from proxied_bootstrap_servers.
    settings: broker settings that win over the room's own.
    low_pause: collect garbage beside the brokers' work, where else each collection stops a broker
        for about 20 ms; it costs them a tenth more CPU, more memory, and a second at their start.
    say: hears of slow steps (fetching the jars the first time).

    Every method raises LocalKafkaError, which says what happened and what to do.
    """

    def __init__(
        self,
        brokers: int = 1,
        data_dir: str | Path | None = None,
        *,
        port: int | None = None,
        proxies: Mapping[int, int] | None = None,
        settings: Mapping[str, str] | None = None,
        low_pause: bool = False,
        say: Say = say_nothing,
    ) -> None:
        self._brokers = brokers
        self._data_dir = None if data_dir is None else Path(data_dir).absolute()
        self._port = port
        self._proxies = dict(proxies or {})
        self._settings = dict(settings or {})
        self._collector = brokers_of.CONCURRENT if low_pause else brokers_of.SERIAL
        self._say = say
        self._plans: list[BrokerPlan] = []
        self._machine: brokers_of.Machine | None = None
        self._children: dict[int, launch.Child] = {}

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_problem: object) -> None:
        self.stop()

    @property
    def bootstrap_servers(self) -> str:
        """The addresses that clients start from; known once started."""
        return bootstrap_servers(self._make_plans())

    @property
    def data_dir(self) -> Path:
        """Where the data lies; known once started."""
        return self._make_plans()[0].folder.parent

    @property
    def proxied_bootstrap_servers(self) -> str:
        """Where clients start that are to go through the proxies."""
        ports = [plan.proxy_port for plan in self._make_plans() if plan.proxy_port is not None]
        return ",".join(f"{HOST}:{port}" for port in ports)

    def behind_proxy(self, broker: int) -> tuple[str, int]:
        """Host and port that the proxy of a broker is to forward to."""
        port = self._plan(broker).proxied_port
        if port is None:
            raise LocalKafkaError(f"broker {broker} has no proxy: name it in proxies={{...}}")
        return HOST, port

    def pid(self, broker: int) -> int | None:
        """The process id of a broker; None if it does not run."""
        return self._children[broker].pid if self._is_running(self._plan(broker)) else None

    def start(self, broker: int | None = None) -> None:
        """Start all brokers, or one that was killed, and wait until they answer.

        While no majority of the brokers runs, none can answer: then there is no wait.
        """
        is_alone = nullcontext() if self._data_dir is None else alone_on(self._data_dir, self._say)
        with is_alone:
            self._start(broker)

    def _start(self, broker: int | None) -> None:
        if not self._plans:
            self._prepare()
        wanted = self._plans if broker is None else [self._plan(broker)]
        wanted = [plan for plan in wanted if not self._is_running(plan)]
        require_startable(wanted)
        for plan in wanted:
            assert self._machine is not None, "planned without a machine"
            self.kill(plan.number)  # lets go of one that ended by itself
            command = brokers_of.run_command(self._machine, plan)
            self._children[plan.number] = launch.start(command, output=plan.output_file)
        running = [plan for plan in self._plans if self._is_running(plan)]
        if broker is None or 2 * len(running) > self._brokers:
            self._await_ready(wanted)

    def kill(self, broker: int) -> None:
        """SIGKILL a broker; its data stays."""
        child = self._children.pop(self._plan(broker).number, None)
        if child is not None:
            child.kill()

    def pause(self, broker: int) -> None:
        """Freeze a broker (SIGSTOP), as a frozen host does: its connections stay open."""
        self._child(broker).signal_group(SIGSTOP)

    def resume(self, broker: int) -> None:
        """Let a frozen broker go on."""
        self._child(broker).signal_group(SIGCONT)

    def stop(self) -> None:
        """Stop all brokers cleanly, within a bound; temporary data is removed at once."""
        if self._data_dir is not None:
            self._end_cleanly()
        for plan in self._plans:
            self.kill(plan.number)
        if self._data_dir is None and self._plans:
            shutil.rmtree(self.data_dir, ignore_errors=True)
            self._plans = []

    def statistics(self) -> dict[str, int]:
        """Counts of what this object holds."""
        running = sum(1 for plan in self._plans if self._is_running(plan))
        return {"brokers": self._brokers, "running": running}

    def _end_cleanly(self) -> None:
        for child in self._children.values():
            child.signal_group(SIGCONT)
            child.ask_to_end()
        deadline_s = time.monotonic() + STOP_GRACE_S
        for child in self._children.values():
            child.stop(max(0.0, deadline_s - time.monotonic()))
        self._children.clear()

    def _make_plans(self) -> Sequence[BrokerPlan]:
        if not self._plans:
            raise LocalKafkaError("this Kafka is not started: call start() or use `with`")
        return self._plans

    def _plan(self, broker: int) -> BrokerPlan:
        for plan in self._make_plans():
            if plan.number == broker:
                return plan
        raise LocalKafkaError(f"broker {broker} does not exist: use 1 to {self._brokers}")

    def _child(self, broker: int) -> launch.Child:
        if not self._is_running(self._plan(broker)):
            raise LocalKafkaError(f"broker {broker} does not run: call start({broker}) first")
        return self._children[broker]

    def _is_running(self, plan: BrokerPlan) -> bool:
        child = self._children.get(plan.number)
        return child is not None and child.exit_status() is None

    def _prepare(self) -> None:
        machine = preparation.find_machine(self._say)
        self._machine = msgspec.structs.replace(machine, collector=self._collector)
        folder = self._data_dir or Path(tempfile.mkdtemp(prefix="mqk-kafka-"))
        try:
            plans = plan_cluster(folder, self._brokers, self._port, self._proxies)
            require_startable(plans)
            brokers_of.prepare(self._machine, plans, self._settings)
        except BaseException:
            if self._data_dir is None:
                shutil.rmtree(folder, ignore_errors=True)
            raise
        self._plans = plans

    def _await_ready(self, wanted: Sequence[BrokerPlan]) -> None:
        try:
            await_ready(wanted, lambda: self._check_alive(wanted), self._say)
        except BaseException:
            for plan in wanted:
                self.kill(plan.number)
            if not self._children:
                self.stop()
            raise

    def _check_alive(self, wanted: Sequence[BrokerPlan]) -> None:
        for plan in wanted:
            brokers_of.require_running(plan, self._children[plan.number].exit_status())
