"""What each verb means, one file per family: decide_* refuses or answers, apply_* changes state.

decide_* changes no message and no object; apply_* is the only code that does, live and on replay.
"""
