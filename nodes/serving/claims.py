"""What an update says about itself, held against the plan."""

from collections.abc import Mapping
from typing import Any

from contracts.messages import SAMPLES
from contracts.plan import Plan
from protocols.wire import Refused


class Claims:
    """How many samples the updates of a server's children may stand for, as the plan has them.

    A client trains on all its samples and on those its server shared, in each round. Those who took
    part below an edge differ from round to round; it never has more than all that may come to it.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._below: dict[str, int] = {}
        for node in plan.nodes:
            for server, _ in (*node.servers, *node.visits) if node.role == "client" else ():
                self._below[server] = self._below.get(server, 0) + node.samples

    def check(self, child: str, meta: Mapping[str, Any], shared: int) -> None:
        """Raise Refused unless the child may say that; `shared` counts the server's samples.

        Whether there is a count at all is for the method to say.
        """
        claimed = meta.get(SAMPLES)
        if type(claimed) is not int:
            return
        node = self._plan.node(child)
        least, most = 0, self._below.get(child, 0)
        if node.role == "client":
            least = most = node.samples + shared
        if not least <= claimed <= most:
            raise Refused("claim", f"{claimed} samples, and the plan says {least} to {most}", child)
