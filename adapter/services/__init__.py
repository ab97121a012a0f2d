"""Programs that stand beside a queue manager: the trigger monitor and the dead-letter handler.

They are clients like any other, and know nothing of how the queue manager decides.
"""
