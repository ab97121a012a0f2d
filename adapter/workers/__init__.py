"""Programs that work on a queue: processes that call a function with each message.

`mqk worker MODULE:FUNCTION --queue Q` and adapter.run_worker(). A supervisor forks the processes,
before anything connects; each connects, and runs its threads, or tasks for a coroutine function.
"""
