"""examples/kafka-topics/compose.yaml: a feed, a worker and an export, in containers."""

from tests.docker.compose import FILE, Project
from tests.pages.blocks import TOP

BAKERY = TOP / "examples" / "kafka-topics" / "compose.yaml"
DONE = "until mqk export show 'BAKERY.*' | grep -q bakery.invoices; do sleep 0.3; done"
IN_THE_BAKERY = ("run", "--rm", "--no-deps", "--entrypoint", "python", "bakery-topics", "bakery.py")


def test_an_order_on_one_topic_is_an_invoice_on_the_other() -> None:
    with Project(files=(FILE, BAKERY)) as project:
        project.within_the_pod(DONE)
        project.do(*IN_THE_BAKERY, "order", "anna", "2")
        found = project.do(*IN_THE_BAKERY, "invoices", "1")
        assert found.strip() == 'anna {"loaves": 2, "cents": 700}'
