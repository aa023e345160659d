"""Which models a run is judged by, and the scores of its rounds by these models."""

from collections.abc import Iterable

from contracts.evaluations import GLOBAL
from contracts.plan import Plan
from reports.records.cells import CellScores
from reports.records.evaluations import EvaluationLine, Scores, mean_scores


def solo_clients(plan: Plan | None) -> tuple[str, ...]:
    """The clients whose own models are evaluated because no server combines them."""
    tops = plan.tops if plan else ()
    return tops if plan and len(tops) > 1 and plan.node(tops[0]).role == "client" else ()


def scores_by_round(plan: Plan | None, lines: Iterable[EvaluationLine]) -> Scores:
    """Return accuracy and loss of every round that has been evaluated; None where incomplete."""
    if plan and plan.cells:
        return CellScores(plan.cells, lines).by_round()
    return mean_scores(lines, solo_clients(plan) or (GLOBAL,))


class LatestAccuracy:
    """Follows a run's evaluations: the last round whose accuracy is known, and that accuracy.

    A round's accuracy is the same number as in rounds.csv; where several models make it, it is not
    known before all of them have been evaluated.
    """

    def __init__(self, plan: Plan) -> None:
        self.round: int | None = None
        self.accuracy: float | None = None
        self._plan = plan
        judged_by = CellScores(plan.cells, ()).judged_by if plan.cells else solo_clients(plan)
        self._keys = frozenset(judged_by or (GLOBAL,))
        self._lines: dict[int, dict[str, EvaluationLine]] = {}

    def add(self, line: EvaluationLine) -> bool:
        """Take a line of evaluations.jsonl; return whether it completed a round's accuracy."""
        round, key = line.get("round"), line.get("key")
        if not isinstance(round, int) or key not in self._keys or round < (self.round or 0):
            return False
        found = self._lines.setdefault(round, {})
        found[key] = line
        if len(found) < len(self._keys):
            return False
        accuracy, _ = scores_by_round(self._plan, found.values())[round]
        if accuracy is None:
            return False
        self.round, self.accuracy = round, accuracy
        self._lines = {later: lines for later, lines in self._lines.items() if later >= round}
        return True
