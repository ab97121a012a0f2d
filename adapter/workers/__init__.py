"""Programs that work on a queue: processes and threads that call a function with each message.

`mqk worker MODULE:FUNCTION --queue Q` and adapter.run_worker(). A supervisor forks the processes,
before anything connects; each connects, and runs its threads.
"""
