"""What an owner tells operators: totals that go on through take-overs, and its queues."""

from adapter.runtime.owner.lifecycle import OwnerState
from tests.unit.runtime.owner.test_owner import Bench, put, run, until


def test_totals_go_on_when_the_ledger_is_taken_over_again() -> None:
    async def test(bench: Bench) -> None:
        await bench.begin()
        await bench.ask(put(), durable=True)
        bench.log.arm("lost after durable")
        bench.send(put(), durable=True)
        await until(lambda: bench.owner.statistics().terms == 2)
        (status,) = (one for one in bench.owner.queue_statuses() if one.name == "Q")
        assert (status.name, status.current_depth, status.put_total) == ("Q", 2, 2)

    run(test)


def test_nothing_is_told_of_queues_that_are_not_served() -> None:
    async def test(bench: Bench) -> None:
        assert bench.owner.queue_statuses() == []
        await bench.begin()
        assert "Q" in {one.name for one in bench.owner.queue_statuses()}
        await bench.owner.stop()
        assert bench.owner.lifecycle.state is OwnerState.STOPPED
        assert bench.owner.queue_statuses() == []

    run(test)
