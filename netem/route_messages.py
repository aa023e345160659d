"""pyroute2's classes of rtnetlink messages, without the rest of pyroute2.

Importing any part of pyroute2 runs its `__init__`, which imports all of it: front ends, databases
and tools of which we use nothing. In the guest that took a second of every run, and every node
forked afterwards carried it along.
"""

import sys
from importlib.util import find_spec, module_from_spec

if "pyroute2" not in sys.modules:
    _spec = find_spec("pyroute2")
    assert _spec is not None, "pyroute2 is among the packages of requirements.txt"
    sys.modules["pyroute2"] = module_from_spec(_spec)  # knows where its parts are; not executed

from pyroute2.netlink.rtnl.ifaddrmsg import ifaddrmsg
from pyroute2.netlink.rtnl.ifinfmsg import ifinfmsg
from pyroute2.netlink.rtnl.ndmsg import ndmsg
from pyroute2.netlink.rtnl.rtmsg import rtmsg
from pyroute2.netlink.rtnl.tcmsg import plugins, tcmsg

__all__ = ["ifaddrmsg", "ifinfmsg", "ndmsg", "plugins", "rtmsg", "tcmsg"]
