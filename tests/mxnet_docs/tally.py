"""What became of each statement of MXNet's examples, counted."""

import collections

from . import run, scope

#: The share of the statements in scope that give what MXNet gives.
REQUIRED = 0.99


class Tally:
    """What became of each statement."""

    def __init__(self, title):
        self.title, self.counts, self.left_out = title, collections.Counter(), collections.Counter()
        self.wrong, self.used = [], set()

    def leaves_out(self, example, index=None, count=1):
        """Whether an example, or one of its statements, is out of scope; if so, it is counted."""
        pattern = run.matches(scope.EXCLUDED, example, index)
        if pattern:
            self.used.add(pattern)
            self.left_out[scope.EXCLUDED[pattern]] += count
        return bool(pattern)

    def judge(self, example, index, agrees, difference):
        """Count a statement; ``difference`` says what is wrong if it does not agree."""
        if agrees:
            self.counts["passed"] += 1
            return
        known = run.matches([*scope.ON_PURPOSE, *scope.ON_PURPOSE_IN_CALLS, *scope.NOT_YET], example, index)
        self.used.add(known)
        self.counts["not yet" if known in scope.NOT_YET else "differs on purpose" if known else "failed"] += 1
        if not known:
            self.wrong.append(f"{example.where}:{example.kind}#{index}\n    {difference}")

    def report(self):
        """Return the counts as text."""
        lines = [f"{self.title}: {sum(self.counts.values())} statements in scope, of which {self.share():.2%} pass"]
        lines += [f"  {count:5} {what}" for what, count in sorted(self.counts.items())]
        lines += [f"  {count:5} left out: {reason}" for reason, count in sorted(self.left_out.items())]
        return "\n".join(lines)

    def share(self):
        return self.counts["passed"] / sum(self.counts.values())
