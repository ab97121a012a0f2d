"""What each process has for itself."""

import os

from adapter.frameworks.processes import EachProcess


def test_a_process_has_one_and_a_forked_child_another() -> None:
    each = EachProcess(object)
    ours = each.mine()
    assert each.mine() is ours
    child = os.fork()
    if not child:
        os._exit(each.mine() is ours)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert each.mine() is ours
