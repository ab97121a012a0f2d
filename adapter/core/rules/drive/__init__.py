"""What is caused by no request: waits that are served, time, triggers, arrivals, restarts."""
