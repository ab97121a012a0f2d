"""What tests of Celery, kombu and dramatiq share."""

import adapter


def delete_queues(qm: adapter.Connection) -> None:
    """Delete all local queues and subscriptions that a test has left."""
    for subscription in qm.objects("subscription"):
        qm.delete_object("subscription", subscription.name)
    for queue in qm.queues():
        qm.delete_queue(queue.name, purge=True)
