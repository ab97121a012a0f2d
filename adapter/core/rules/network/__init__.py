"""Where a name leads: local queues, aliases, other queue managers, and what cannot be delivered."""
