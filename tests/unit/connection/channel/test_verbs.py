"""Opening by another name: an alias leads to its queue, in every way that the SDK opens."""

import adapter
import adapter.testing


def test_an_alias_is_opened_like_its_queue() -> None:
    with adapter.testing.queue_manager("QM1") as manager, manager.connect() as qm:
        qm.define_queue("BASE")
        qm.define_object("alias", "OTHER", target="BASE")
        qm.put("OTHER", "one")
        with qm.queue("OTHER", open_for="input") as queue:
            queue.put("two")
            with qm.unit():
                qm.put("OTHER", "three")
                got = qm.get("OTHER")
            assert got is not None
            assert got.body == b"one"
            manager.crash()
            manager.start()
            assert [message.body for message in queue.browse()] == [b"two", b"three"]
            got = queue.get()
            assert got is not None
            assert got.body == b"two"
