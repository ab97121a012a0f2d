"""What any part of the process may use: its figures, repeated calls, the service manager."""
