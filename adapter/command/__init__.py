"""What every command line shares: options, signals, how a command is run and how it fails.

`mqk` and the jobs of Spark stand on it; this room must not know what any command does.
"""
