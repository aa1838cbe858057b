"""``sparsekit fix`` on PyTorch scripts as they are: the step is found whoever makes it, and the script alone is judged."""

from __future__ import annotations

import importlib
import io
import re
import subprocess
from pathlib import Path

import pytest

from sparsekit.cli import main
from sparsekit.fixes import profile_of
from sparsekit.fixes.whole_run import NoSteps

HEAD = '''
import argparse, os, sys, threading
import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.EmbeddingBag(ROWS, 8)
        self.out = nn.Linear(8, 3)

    def forward(self, tokens):
        return self.out(self.first(tokens))


def batch(number):
    made = torch.Generator().manual_seed(number)
    return torch.randint(ROWS, (32, 6), generator=made), torch.randint(3, (32,), generator=made)


ROWS = 5000
'''

LOOP = '''
model = Model()
optimizer = torch.optim.{optimizer}
log = open(os.devnull, "w")
for number in range(9):
    tokens, labels = batch(number)
    prediction = model(tokens)
    loss = F.cross_entropy(prediction, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(number, loss.item(), file=log)
'''

SGD = LOOP.format(optimizer="SGD(model.parameters(), lr=0.1)")


def within(head, lines):
    """A function of the lines."""
    return f"\n{head}\n" + "".join(f"    {line}\n" for line in lines.strip().splitlines())


ARGPARSE = within("def main(rate):", SGD.replace("0.1", "rate")) + '''

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float, required=True)
    main(parser.parse_args().rate)
'''

IMPORTED = '''
from own_trainer import Trainer

model = Model()
model.register_forward_hook(lambda *given: None)
Trainer(model, torch.optim.Adagrad(model.parameters(), lr=0.1)).fit(map(batch, range(9)))
'''

TRAINER = '''
import torch.nn.functional as F


class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer

    def fit(self, batches):
        for tokens, labels in batches:
            self.optimizer.zero_grad()
            F.cross_entropy(self.model(tokens), labels).backward()
            self.optimizer.step()
'''

THREAD = within("def work():", SGD) + "\nthread = threading.Thread(target=work)\nthread.start()\nthread.join()\n"

ACCUMULATED = '''
from torch.utils.checkpoint import checkpoint

model = Model()
optimizers = torch.optim.Adagrad(model.first.parameters(), lr=0.1), torch.optim.AdamW(model.out.parameters())
for number in range(18):
    tokens, labels = batch(number)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = F.cross_entropy(checkpoint(model, tokens, use_reentrant=False), labels) / 2
    loss.backward()
    if number % 2:
        for one in optimizers:
            one.step()
            one.zero_grad()
'''

PROCESSES = within("def work(rank):", '''
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="{port}")
torch.distributed.init_process_group("gloo", rank=rank, world_size=2)
torch.manual_seed(0)
model = nn.parallel.DistributedDataParallel(Model())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for number in range(9):
    tokens, labels = batch(2 * number + rank)
    optimizer.zero_grad()
    F.cross_entropy(model(tokens), labels).backward()
    optimizer.step()
''') + '\n\nif __name__ == "__main__":\n    torch.multiprocessing.spawn(work, nprocs=2)\n'

HOT = '''
weight, out = torch.rand(ROWS, 8, requires_grad=True), torch.rand(8, 3, requires_grad=True)
optimizer = torch.optim.SGD([weight, out], lr=0.1)
for number in range(9):
    tokens, labels = batch(number)
    hidden = F.one_hot(tokens[:, 0], ROWS).float() @ weight
    optimizer.zero_grad()
    F.cross_entropy(hidden @ out, labels).backward()
    optimizer.step()
'''

BY_HAND = SGD.replace("optimizer.zero_grad()", "model.zero_grad()").replace("    optimizer.step()", '''    with torch.no_grad():
        for weight in model.parameters():
            weight -= 0.1 * weight.grad''').replace("optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n", "")

UNSEEDED = SGD.replace("tokens, labels = batch(number)", '''numbers = numpy.random.default_rng()
    tokens, labels = torch.from_numpy((numbers.integers(0, ROWS, (32, 6)) + shift) % ROWS), torch.arange(32) % 3''').replace(
        "model = Model()", "import numpy\nshift = numpy.random.randint(ROWS)\nnumpy.random.seed()\nmodel = Model()")

PARAMETERS = '''
class Graph(nn.Module):
    def __init__(self):
        super().__init__()
        self.things, self.kinds = nn.Parameter(torch.rand(ROWS, 8)), nn.Parameter(torch.rand(ROWS, 8))

    def forward(self, triples):
        heads = torch.index_select(self.things, dim=0, index=triples[:, 0])
        return (heads * self.kinds[triples[:, 1], :] * F.embedding(triples[:, 2], self.things)).sum(1)

    def first(self):
        return self.things[0], self.things[1:3], self.kinds[-1, 2:]


model = Graph()
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)
for number in range(9):
    tokens, labels = batch(number)
    loss = F.softplus(-model(tokens)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
'''

SUBCLASS = '''
from torch.nn import EmbeddingBag as Bag


class Own(nn.Embedding):
    def __init__(self, rows):
        super().__init__(rows, 8)


class Both(Model):
    def __init__(self):
        super().__init__()
        self.first, self.other = Bag(ROWS, 8).requires_grad_(True), Own(ROWS)

    def forward(self, tokens):
        return self.out(self.first(tokens) + self.other(tokens[:, 0]))
''' + SGD.replace("Model()", "Both()")

FORKED = SGD.replace("for number", "child = os.fork()\nfor number") + '''
if child:
    os.waitpid(child, 0)
else:
    os._exit(0)
'''

GRADIENTS = BY_HAND.replace("loss.backward()", "gradients = torch.autograd.grad(loss, list(model.parameters()))").replace(
    "for weight in model.parameters():", "for weight, gradient in zip(model.parameters(), gradients):").replace(
        "weight.grad", "gradient")

COMPILED = '''
model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


@torch.compile(backend="eager")
def step(tokens, labels):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(tokens), labels)
    loss.backward()
    optimizer.step()
    return loss


for number in range(9):
    step(*batch(number))
'''

FUNCTIONAL = '''
from torch.func import functional_call, grad

model = Model()
weights = {name: one.detach() for name, one in model.named_parameters()}


def loss(weights, tokens, labels):
    return F.cross_entropy(functional_call(model, weights, (tokens,)), labels)


for number in range(9):
    gradients = grad(loss)(weights, *batch(number))
    weights = {name: one - 0.1 * gradients[name] for name, one in weights.items()}
'''

FUNCTIONAL_ADAM = FUNCTIONAL.replace("one.detach()", "one").replace("for number", '''
optimizer = torch.optim.Adam(model.parameters())
for number''').replace("    weights = {name: one - 0.1 * gradients[name] for name, one in weights.items()}", '''
    for name, one in weights.items():
        one.grad = gradients[name]
    optimizer.step()''')

ANEW = '''
weight = torch.rand(ROWS, 8, requires_grad=True)
for number in range(9):
    tokens, _ = batch(number)
    loss = weight[tokens].square().mean()
    loss.backward()
    weight = (weight - 0.1 * weight.grad).detach().requires_grad_()
'''

GRAPH = '''
def load():
    made = torch.rand(600, 600, generator=torch.Generator().manual_seed(0)).lt(0.005).float() + torch.eye(600)
    return made / made.sum(1, keepdim=True), torch.rand(600, 8)


class Graph(nn.Module):
    def __init__(self, adjacency):
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 3)
        {holds}

    def forward(self, things, adjacency):
        return adjacency @ self.second(F.relu(torch.mm(adjacency, self.first(things))))


adjacency, things = load()
model, labels = Graph(adjacency), torch.arange(600) % 3
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for number in range(9):
    loss = F.cross_entropy(model(things, {read}), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
'''

HOOKS = '''
model = Model()
optimizers = {weight: torch.optim.Adagrad([weight], lr=0.1) for weight in model.parameters()}


def update(weight):
    optimizers[weight].step()
    optimizers[weight].zero_grad()


for weight in model.parameters():
    weight.register_post_accumulate_grad_hook(update)
for number in range(9):
    tokens, labels = batch(number)
    F.cross_entropy(model(tokens), labels).backward()
'''

#: A line that moves the matrix to a GPU, which does not run here.
MOVED = GRAPH.format(holds="", read="adjacency").replace(
    "model, ", "if torch.cuda.is_available():\n    adjacency = adjacency.cuda()\nmodel, ", 1)

#: A matrix that is made of zeros, and filled by a loop and a method.
FILLED = GRAPH.format(holds="", read="adjacency").replace("model, ", """
adjacency = torch.zeros(600, 600)
for node in range(600):
    adjacency[node, 7 * node % 600] = 0.5
adjacency.fill_diagonal_(0.5)
model, """, 1)

#: Name -> the script, its arguments, and what its patch has.
MENDED = {"loop": (SGD, (), "sparse=True"), "argparse": (ARGPARSE, ("--rate", "0.1"), "sparse=True"),
          "imported": (IMPORTED, (), "sparse=True"), "thread": (THREAD, (), "sparse=True"),
          "accumulated": (ACCUMULATED, (), "sparse=True"), "processes": (PROCESSES, (), "sparse=True"),
          "by hand": (BY_HAND, (), "sparse=True"), "unseeded": (UNSEEDED, (), "sparse=True"),
          "hot": (HOT, (), "F.embedding(tokens[:, 0], weight, sparse=True)"), "forked": (FORKED, (), "sparse=True"),
          "compiled": (COMPILED, (), "sparse=True"), "traced": (COMPILED.replace("eager", "aot_eager"), (), "sparse=True"),
          "hooks": (HOOKS, (), "sparse=True"),
          "graph": (GRAPH.format(holds="", read="adjacency"), (), "adjacency = adjacency.to_sparse_csr()"),
          "moved": (MOVED, (), "adjacency = adjacency.to_sparse_csr()"),
          "filled": (FILLED, (), "adjacency = adjacency.to_sparse_csr()"),
          "attribute": (GRAPH.format(holds="self.held = adjacency", read="model.held"), (),
                        "self.held = adjacency.to_sparse_csr()"),
          "item": ("\ndata = {}\n" + GRAPH.format(holds="data['edges'] = adjacency", read="data['edges']"), (),
                   "data['edges'] = adjacency.to_sparse_csr()"),
          "buffer": (GRAPH.format(holds='self.register_buffer("held", adjacency)', read="model.held"), (),
                     'self.register_buffer("held", adjacency.to_sparse_csr())')}

#: Those that are run every time: a process takes seconds to import PyTorch.
QUICK = ("by hand", "imported", "forked", "graph", "moved", "filled", "traced")


def port():
    """A port of this machine that nothing listens on."""
    import socket

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.fixture
def fix(torch, tmp_path, monkeypatch, capsys):
    """Runs the command on a script; its status and what it printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(Path(profile_of.__code__.co_filename).parents[2])
    (tmp_path / "own_trainer.py").write_text(TRAINER)

    def run(text, *arguments, options=()):
        (tmp_path / "train.py").write_text(HEAD + text.replace("{port}", str(port())))
        status = main(["fix", *options, "train.py", *arguments])
        return status, capsys.readouterr()
    return run


@pytest.mark.parametrize("name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.thorough) for name in MENDED])
def test_the_step_is_where_an_optimizer_steps_and_the_patch_is_of_the_programs_lines(fix, tmp_path, name):
    text, arguments, line = MENDED[name]
    status, printed = fix(text, *arguments)
    assert status == 0
    assert "The step is backward() in " in printed.err
    assert " holds " in printed.out
    patch = (tmp_path / "train.patch").read_text()
    assert [one for one in patch.splitlines() if one.startswith("+") and line in one]
    assert (tmp_path / "train.py").read_text().startswith(HEAD)
    assert "sparse=True" not in (tmp_path / "train.py").read_text()


def test_a_fix_that_grows_or_that_pytorch_refuses_is_refused(fix, tmp_path):
    _, printed = fix(LOOP.format(optimizer="SGD(model.parameters(), lr=0.1, momentum=0.9)"))
    assert "the state of SGD (optimizer) grows by" in printed.out
    clipped = "    nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n    optimizer.step"
    _, printed = fix(SGD.replace("    optimizer.step", clipped))
    assert "refused" in printed.out
    assert "linalg_vector_norm" in printed.out
    assert ".." not in printed.out
    (left,) = re.findall("Left as it is: (.*)", printed.out)
    assert re.match(r"The gradient of \S+, with values in .* rows, is dense \(train.py:\d+\): ", left)
    assert "PyTorch takes no sparse gradient here: " in left
    utils = importlib.import_module("torch.nn.utils")
    assert ("nn.utils.clip_grads_with_norm_" in left) == hasattr(utils, "get_total_norm")
    assert not (tmp_path / "train.patch").exists()


@pytest.mark.parametrize(("line", "words"), [
    ("model.first.weight.grad.numpy()", "after 41 steps: The step raises TypeError: can't convert Sparse layout tensor"),
    pytest.param("optimizer.param_groups[0].update(weight_decay=0.1)", "RuntimeError: add(sparse, dense) is not supported",
                 marks=pytest.mark.thorough),
    pytest.param("sys.exit(int(model.first.weight.grad.is_sparse))", "after 41 steps: it ends with status 1",
                 marks=pytest.mark.thorough)])
def test_a_fix_that_fails_after_many_steps_is_refused(fix, tmp_path, line, words):
    _, printed = fix(SGD.replace("range(9)", "range(60)") + f"    if number == 40:\n        {line}\n")
    assert "refused" in printed.out
    assert words in printed.out
    assert not (tmp_path / "train.patch").exists()


def test_a_matrix_that_einsum_multiplies_is_left_with_what_to_write_and_without_an_empty_table(fix):
    text = GRAPH.format(holds="", read="adjacency")
    for product, factors in (("adjacency @ self.second(", "self.second("), ("torch.mm(adjacency, ", "")):
        assert product in text
        text = text.replace(product, f'torch.einsum("ij,jk->ik", adjacency, {factors}')
    _, printed = fix(text.replace("self.first(things))))", "self.first(things)))))"))
    assert printed.out.startswith("Nothing to fix: no remedy applies.\nLeft as it is: A dense matrix of 600×600, ")
    assert "torch.einsum and products with a batch of matrices refuse it: write them as matrix @ other" in printed.out


def test_batches_for_which_there_is_no_fix_are_told_of(fix):
    text = SGD.replace("model = Model()", "model = nn.Linear(600, 2)").replace(
        "prediction = model(tokens)", "prediction = model(torch.zeros(32, 600).scatter_(1, tokens % 600, 1.0))").replace(
        "cross_entropy(prediction, labels)", "cross_entropy(prediction, labels % 2)")
    _, printed = fix(text)
    assert re.search(r"Left as it is: A matrix of 32 × 600 with \d+ values that are not zero, one of \d+ that this line "
                     r"multiplies, is dense \(train.py:\d+\): 76.8 kB, .* Make it with torch.sparse_csr_tensor", printed.out)


def test_a_fix_that_holds_was_compared_to_the_end_of_the_script(fix):
    _, printed = fix(SGD.replace("range(9)", "range(60)"))
    assert "60 steps: " in printed.out
    said = ["Running the program as it is, twice.", "Trying sparse gradient (PyTorch)", "Making many steps"]
    places = [printed.err.find(one) for one in said]
    assert -1 not in places
    assert places == sorted(places)


UNBOUND = '''
held = [torch.rand(600, 600, generator=torch.Generator().manual_seed(0)).lt(0.005).float()]
layer, things, labels = nn.Linear(8, 3), torch.rand(600, 8), torch.arange(600) % 3
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
for number in range(5):
    loss = F.cross_entropy(held[0] @ layer(things), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
'''


@pytest.mark.thorough
def test_a_matrix_that_no_line_binds_is_left_with_what_to_do(fix, tmp_path):
    _, printed = fix(UNBOUND)
    assert "it was not tried: no line of the program binds it to a name; make it sparse where it is made" in printed.out
    assert not (tmp_path / "train.patch").exists()


def test_all_places_that_look_a_parameters_rows_up_are_in_its_patch(fix, tmp_path):
    _, printed = fix(PARAMETERS)
    rows = [line for line in printed.out.splitlines() if line.startswith("sparse look-up (PyTorch): model.")]
    assert len(rows) == 4, rows  # two in the table, and the answers of both below it
    assert "2 of 2 fixes that were tried hold together" in printed.out
    patch = (tmp_path / "train.patch").read_text()
    assert "+        heads = F.embedding(triples[:, 0], self.things, sparse=True)\n" in patch
    assert "F.embedding(triples[:, 1], self.kinds, sparse=True) * F.embedding(triples[:, 2], self.things, sparse=True)" in patch
    assert not [line for line in patch.splitlines() if line.startswith("+") and "things[0]" in line]


def test_layers_of_a_subclass_and_by_another_name_are_found_where_they_are_made(fix, tmp_path):
    _, printed = fix(SUBCLASS)
    assert "2 of 2 fixes that were tried hold together" in printed.out
    patch = (tmp_path / "train.patch").read_text()
    assert "Bag(ROWS, 8, sparse=True).requires_grad_(True)" in patch
    assert "super().__init__(rows, 8, sparse=True)" in patch


TOWERS = '''
class Tower(nn.Module):
    def __init__(self, rows):
        super().__init__()
        self.emb = nn.Embedding(rows, 8)

    def forward(self, tokens):
        return self.emb(tokens)


class Trainer:
    def __init__(self):
        self.users, self.items = Tower(ROWS), Tower(ROWS + 1000)
        self.optimizer = torch.optim.SGD([*self.users.parameters(), *self.items.parameters()], lr=0.1)

    def fit(self):
        for number in range(9):
            tokens, _ = batch(number)
            self.optimizer.zero_grad()
            (self.users(tokens) * self.items(tokens)).sum().backward()
            self.optimizer.step()


Trainer().fit()
'''


def test_layers_that_one_line_makes_are_named_as_in_the_profile(fix, capsys):
    _, printed = fix(TOWERS)
    both = "self.users.emb.weight and self.items.emb.weight: nn.Embedding(…, sparse=True)"
    assert re.search(f"{re.escape(both)} .* holds ", printed.out)
    assert main(["profile", "train.py"]) == 0
    assert "Look here first: the gradient of self.items.emb.weight, " in capsys.readouterr().err


LAZY = '''
import types


class Late(types.ModuleType):
    def __getattr__(self, name):
        raise ImportError("another package is not installed")


late = Late("late")


class Kept:
    @property
    def layer(self):
        raise ValueError("there is none yet")


kept = Kept()


def others(tokens):
    return late.table(tokens) + kept.layer(tokens)
'''


def test_attributes_that_raise_errors_are_passed_over(fix):
    _, printed = fix(LAZY + SGD)
    assert " holds " in printed.out


def test_a_layer_that_a_library_makes_is_left_to_it_and_the_rest_of_the_advice_is_said(fix, tmp_path):
    made = SGD.replace("model = Model()", '''
model = Model()
model.first = torch.nn.utils.skip_init(nn.EmbeddingBag, ROWS, 8)
nn.init.normal_(model.first.weight)''')
    _, printed = fix(made)
    assert "a library makes it; have that pass sparse=True" in printed.out


def test_a_script_that_ends_its_process_at_once_is_compared_to_its_end(fix):
    _, printed = fix(SGD.replace("range(9)", "range(20)") + "os._exit(3)\n")
    assert "20 steps: " in printed.out
    status, printed = fix("import torch\nos._exit(4)\n")
    assert status == 4
    assert "status 4 before an optimizer" in printed.err


def test_gradients_that_a_script_asks_for_are_where_its_step_begins(fix):
    status, printed = fix(GRADIENTS)
    assert status == 0
    assert "The step is torch.autograd.grad() in train.py" in printed.err
    assert "the program's own update of its weights" in printed.err


def test_a_script_that_reads_its_input_gets_it_in_each_run(fix, monkeypatch):
    text = SGD.replace("model = Model()", "assert input('which? ') == 'this'\nmodel = Model()")
    _, printed = fix(text)
    assert "No fix was tried. The script reads its input" in printed.out
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"this\n"), encoding="utf-8"))
    _, printed = fix(text)
    assert " holds " in printed.out


@pytest.mark.parametrize("ends", ["\n", "\r\n"], ids=["unix", "windows"])
def test_a_file_keeps_its_encoding_and_the_ends_of_its_lines(fix, tmp_path, ends):
    text = ("# -*- coding: latin-1 -*-\n# na\xefve" if ends == "\n" else "\ufeff") + HEAD + SGD
    before = text.replace("\n", ends).encode("latin-1" if ends == "\n" else "utf-8")
    (tmp_path / "old.py").write_bytes(before)
    assert main(["fix", "--apply", "old.py"]) == 0
    after = (tmp_path / "old.py").read_bytes()
    assert after == before.replace(b"EmbeddingBag(ROWS, 8)", b"EmbeddingBag(ROWS, 8, sparse=True)")
    (tmp_path / "old.py").write_bytes(before)
    subprocess.run(["git", "apply", "old.patch"], cwd=tmp_path, check=True)
    assert (tmp_path / "old.py").read_bytes() == after


def test_what_cannot_be_judged_is_said_in_one_sentence(fix):
    status, printed = fix("import sys\nsys.exit(3)\n")
    assert status == 3
    assert "status 3 before an optimizer" in printed.err
    status, printed = fix("x = 1\n")
    assert status == 2
    assert "No optimizer of PyTorch made a step." in printed.err
    assert "Hint: give the script the arguments" in printed.err
    assert "Of a script that does not train, sparsekit profile tells what is dense." in printed.err
    _, printed = fix(SGD.replace("loss =", "loss = torch.rand(1, generator=torch.Generator().manual_seed(os.getpid())) *"))
    assert "Two runs of the unchanged program differ" in printed.out
    assert "processes and threads of its own" in printed.out


@pytest.mark.parametrize("text", [
    "raise ValueError('no data')\n",
    SGD.replace("    loss =", "    if model.first.weight.grad is not None:\n        raise ValueError('no data')\n    loss =")],
    ids=["at once", "second step"])
def test_an_error_of_the_script_is_printed_as_python_prints_it(fix, text):
    status, printed = fix(text)
    assert status == 1
    told = printed.err.partition("Traceback")[2].splitlines()
    assert [line.partition(", line ")[0] for line in told if line.startswith("  File")] == [f'  File "{Path.cwd() / "train.py"}"']
    assert told[-2:] == ["ValueError: no data", "No fix was tried: the script ends with this error."]


def test_the_written_test_holds_for_the_mended_script_only(fix, tmp_path):
    from sparsekit.base.errors import ContractError

    fix(SGD, options=("--contract", "test_kept.py"))
    names = {}
    exec((tmp_path / "test_kept.py").read_text(), names)
    with pytest.raises(ContractError):
        names["test_train_keeps_its_fixes"]()
    text = (tmp_path / "train.py").read_text()
    (tmp_path / "train.py").write_text(text.replace("EmbeddingBag(ROWS, 8)", "EmbeddingBag(ROWS, 8, sparse=True)"))
    names["test_train_keeps_its_fixes"]()


def test_steps_of_a_script_are_profiled_from_its_second_on(fresh, torch, tmp_path):
    (tmp_path / "train.py").write_text(HEAD + SGD)
    prof = profile_of(tmp_path / "train.py", steps=2)
    updates = {record["line"] for record in prof.records if record["lane"] == "update" and record["kind"] == "op"}
    assert len(updates) == 1
    assert prof.table(of="gradients").rows[0]["times"] == 2
    (tmp_path / "train.py").write_text(HEAD + SGD.replace("9", "1"))
    with pytest.raises(NoSteps, match="one step only"):
        profile_of(tmp_path / "train.py", steps=2)


@pytest.mark.thorough
def test_a_fix_that_holds_gives_the_same_training_for_a_thousand_steps(torch):
    names = {}
    exec(HEAD.replace("ROWS = 5000", ""), names)
    names["ROWS"] = 5000
    sides = []
    for sparse in (False, True):
        torch.manual_seed(0)
        model = names["Model"]()
        model.first.sparse = sparse
        optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)
        for number in range(1000):
            tokens, labels = names["batch"](number)
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(tokens), labels).backward()
            optimizer.step()
        sides.append(model)
    for one, other in zip(*(side.parameters() for side in sides), strict=True):
        assert torch.allclose(one, other, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(("text", "words"), [
    (FUNCTIONAL, "torch.func.grad() in train.py:36 and the program's own update of its weights."),
    pytest.param(FUNCTIONAL_ADAM, "torch.func.grad() in train.py:38 and Adam.step() in train.py:42.", marks=pytest.mark.thorough),
    pytest.param(ANEW, "backward() in train.py:29 and the program's own update of its weights.", marks=pytest.mark.thorough)])
def test_a_step_that_makes_new_weights_or_asks_a_transformation_for_gradients_is_found(fix, text, words):
    status, printed = fix(text)
    assert status == 0
    assert f"The step is {words}" in printed.err
    assert "No fix was tried" not in printed.out
