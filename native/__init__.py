"""The hot modules of mqk as machine code, by mypyc, from the same Python source.

`make compiled` puts the packages into build/compiled: they come first where PYTHONPATH names it.
Without a compiler, or without this, everything runs as Python: nothing else differs.
"""
