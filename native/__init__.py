"""The hot modules of mqk as machine code, by mypyc, from the same Python source.

`make compiled` puts packages into build/compiled that come first where PYTHONPATH names that folder.
Without a compiler, or without this, everything runs as Python: nothing else differs.
"""
