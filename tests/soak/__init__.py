"""A long run of what tests/acceptance runs shortly: `python -m tests.soak`, from the top."""
