"""Run the examples of MXNet's docstrings in MXNet itself, and record what each statement gives.

The examples are not recorded: a result goes by a hash of its example's text. A statement that MXNet refuses is recorded with its
error; one that gives something else with another seed is recorded without its numbers. The calls that the examples make are
recorded beside, as data::

    python tests/oracle/record_docstrings.py tests/golden/docstrings.json.xz tests/golden/docstring_calls.json.xz
"""

import json
import lzma
import re
import subprocess
import sys
from pathlib import Path

import mxnet as mx

#: Statements whose values are other ones on each run, whatever the seed: the time, and memory as it was.
UNREPEATED = re.compile(r"\btime\.time\(|\bempty\(")

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from mxnet_docs import calls, collect, run, scope  # noqa: E402


def outcomes(example):
    """What the statements give, twice."""
    first, second = (run.run(mx, example, seed) for seed in (1, 2))
    chance = run.matches(scope.CHANCE, example)
    found = []
    for statement, one, other in zip(example.statements, first, second, strict=True):
        one.pop("raised", None)
        other.pop("raised", None)
        drawn = chance or UNREPEATED.search(str(statement))
        if run.same(one, other) and (not drawn or "error" in one):
            found.append(one)
        elif "error" not in one and run.form(one) == run.form(other):
            found.append({**run.form(one), "varies": True})
        else:
            found.append({"error": "differs", "message": "differs from run to run"})
    return found


def steps(example):
    """The calls, or why there are none."""
    try:
        return calls.without_numbers(*(calls.note(mx, example, seed) for seed in (1, 2)),
                                     run.matches(scope.CHANCE, example) or "empty" in example.where)
    except calls.NotNoted as reason:
        return str(reason)


def examples():
    found = collect.collect(Path(mx.__file__).parent.parent, scope.MODULES)
    return [one for one in found if not run.matches(scope.EXCLUDED, one)]


def record_from(first):
    """Print the results of the examples from one on: an example that kills MXNet kills only what follows in this process."""
    for number, example in enumerate(examples()):
        if number >= first:
            print("@@" + json.dumps([number, f"{example.where}:{example.kind}", example.key, None, None]), flush=True)
            print("@@" + json.dumps([number, f"{example.where}:{example.kind}", example.key, outcomes(example),
                                     steps(example)]), flush=True)


def save(target, found):
    with lzma.open(target, "wb", preset=9 | lzma.PRESET_EXTREME) as file:
        file.write(json.dumps(found, sort_keys=True, separators=(",", ":")).encode())


def main(target, target_of_calls):
    found, made, first, total = {}, {}, 0, len(examples())
    while first < total:
        process = subprocess.run([sys.executable, __file__, "--from", str(first)], stdout=subprocess.PIPE, text=True, check=False)
        for line in process.stdout.splitlines():
            if line.startswith("@@"):
                number, where, key, results, sequence = json.loads(line[2:])
                found[key] = {"where": where, "statements": results or "MXNet dies"}
                made[key] = {"where": where, "steps": sequence}
                first = number + 1
        print(f"{first} of {total}", file=sys.stderr)
    save(target, found)
    save(target_of_calls, made)


if __name__ == "__main__":
    record_from(int(sys.argv[2])) if sys.argv[1] == "--from" else main(*sys.argv[1:])
