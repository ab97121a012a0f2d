"""Putting, getting and browsing messages of queues, in units of work and outside."""
