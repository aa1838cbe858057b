"""PyTorch's operators as the profiler records them: what of counts, bytes, lanes, lines and memory is known by hand."""

from __future__ import annotations

import copy
import os
import re
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import pytest

import sparsekit as mx
from sparsekit import cli
from sparsekit.base.errors import ContractError, ProfilerError
from sparsekit.profiler import torch_names
from sparsekit.profiler.torch_operators import is_torch

ROWS, WIDTH, CLASSES = 1000, 8, 4


def names(prof, *lanes):
    return [record["name"] for record in prof.records if is_torch(record) and (not lanes or record["lane"] in lanes)]


def one(prof, name, lane=None):
    found = [record for record in prof.records if record["name"] == name and lane in (None, record["lane"])]
    assert len(found) == 1, [record["name"] for record in prof.records]
    return found[0]


def classifier(torch, sparse=False):
    class Classifier(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.emb = torch.nn.Embedding(ROWS, WIDTH, sparse=sparse)
            self.out = torch.nn.Linear(WIDTH, CLASSES)

        def forward(self, tokens):
            return self.out(self.emb(tokens).mean(1))

    return Classifier()


def batch(torch):
    return torch.tensor([[1, 2, 3], [3, 4, 5]]), torch.tensor([0, 1])


def step(torch, model, optimizer, tokens, labels):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(tokens), labels)
    loss.backward()
    optimizer.step()
    return loss


def trained(torch, sparse=False, steps=1):
    """The profile of some steps of a model that is gone afterwards."""
    model, given = classifier(torch, sparse), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with mx.Profiler(torch=True) as prof:
        for _ in range(steps):
            step(torch, model, optimizer, *given)
    return prof


# Operators


def test_every_operator_is_recorded_with_shapes_bytes_and_operations(torch):
    left, right = torch.ones(3, 5), torch.ones(5, 7)
    with mx.Profiler(torch=True) as prof:
        left @ right
    record = one(prof, "aten::mm")
    assert [array["shape"] for array in record["inputs"]] == [[3, 5], [5, 7]]
    assert [array["shape"] for array in record["outputs"]] == [[3, 7]]
    assert {array["stype"] for array in (*record["inputs"], *record["outputs"])} == {"default"}
    assert {array["dtype"] for array in record["inputs"]} == {"float32"}
    assert record["bytes"] == 4 * (15 + 35 + 21)
    assert record["flops"] == record["dense_flops"] == 2 * 3 * 5 * 7
    assert record["duration"] > 0
    assert names(prof) == ["aten::mm"]


def test_views_move_nothing_and_share_their_memory(torch):
    with mx.Profiler(torch=True) as prof:
        whole = torch.zeros(100, 10)
        part = whole.t()[2:4].unsqueeze(0)
        del whole
        part.add_(1)
    views = ("aten::t", "aten::slice", "aten::unsqueeze")
    assert [record["bytes"] for record in prof.records if record["name"] in views] == [0] * 3
    assert prof.memory["peak_bytes"] == 4000
    assert [(row["bytes"], row["shape"]) for row in prof.memory["at_peak"]] == [(4000, [100, 10])]


def test_the_peak_is_what_is_alive_at_once(torch):
    with mx.Profiler(torch=True) as prof:
        first = torch.zeros(1000)
        second = first + 1  # 8,000 bytes are alive
        del first
        third = second * 2  # and again
        del second
        fourth = torch.zeros(3000)  # 16,000
        del third, fourth
        torch.zeros(10)
    assert prof.memory["peak_bytes"] == 16_000
    assert sorted(row["bytes"] for row in prof.memory["at_peak"]) == [4000, 12_000]
    assert prof.memory["samples"][-1][1] <= 40


def test_memory_that_the_graph_keeps_is_alive(torch):
    weight = torch.nn.Parameter(torch.ones(1000))
    with mx.Profiler(torch=True) as prof:
        loss = (weight * 2).exp().sum()  # exp keeps its result for the gradient; that of `weight * 2` is gone
        torch.zeros(1)
        held = prof.memory["samples"][-1][1]
        del loss
        torch.zeros(1)
    assert 8000 <= held < 8000 + 100  # the weight and what exp keeps
    assert prof.memory["samples"][-1][1] < held - 3900


def test_lanes_layers_and_lines(torch):
    prof = trained(torch)
    forward = one(prof, "aten::embedding")
    backward = one(prof, "aten::embedding_dense_backward")
    assert (forward["lane"], forward["layer"]) == ("forward", "emb")
    assert (backward["lane"], backward["layer"]) == ("backward", "emb")
    assert backward["line"] == forward["line"], "a gradient has the line of its operator"
    assert forward["line"].startswith("test_torch_mode.py:")
    assert backward["node"] == forward["node"] is not None
    assert one(prof, "aten::addmm")["layer"] == "out"
    updates = names(prof, "update")
    assert updates.count("aten::add_") == 3
    assert {record["thread"] for record in prof.records} == {0}, "the backward pass runs in the calling thread"


def test_parameters_gradients_and_states_are_known_by_name(torch):
    model, given = classifier(torch), batch(torch)
    optimizer = torch.optim.Adam(model.parameters())
    with mx.Profiler(torch=True) as prof:
        for _ in range(2):
            step(torch, model, optimizer, *given)
    rows = prof.memory["at_peak"]
    sizes = {}
    for row in rows:
        sizes.setdefault((row["role"], row["owner"]), []).append(row["bytes"])
    weight = ROWS * WIDTH * 4
    assert sizes["parameter", "emb.weight"] == [weight]
    assert sizes["gradient", "emb.weight"] == [weight]
    assert sorted(sizes["optimizer state", "emb.weight"])[-2:] == [weight, weight]
    assert sizes["parameter", "out.bias"] == [CLASSES * 4]
    roles = prof.memory["samples"][-1][2]
    assert roles["parameter"] == weight + 4 * (WIDTH * CLASSES + CLASSES)


def test_parameters_of_no_module_get_a_name_from_their_optimizer(torch):
    weights = [torch.ones(100, requires_grad=True)]
    optimizer = torch.optim.SGD(weights, lr=0.1, momentum=0.9)
    with mx.Profiler(torch=True) as prof:
        (weights[0] * 2).sum().backward()
        optimizer.step()
    owners = {(row["role"], row["owner"]) for row in prof.memory["at_peak"]}
    assert {("parameter", "parameter0"), ("gradient", "parameter0"), ("optimizer state", "parameter0")} <= owners


def test_two_models_with_parts_of_the_same_name_are_told_apart(torch):
    first, second = classifier(torch), classifier(torch)
    tokens, _ = batch(torch)
    with mx.Profiler(torch=True) as prof:
        first(tokens)
        second(tokens)
    owners = {row["owner"] for row in prof.memory["at_peak"] if row["role"] == "parameter"}
    assert {"emb.weight", "second.emb.weight"} <= owners


def test_a_second_model_is_named_as_the_program_writes_it(torch):
    class Trainer:
        def __init__(self):
            self.towers, self.item = [classifier(torch), classifier(torch)], torch.nn.Embedding(ROWS, WIDTH)
            self.user = torch.nn.Embedding(ROWS, WIDTH)

        def score(self, tokens):
            return self.towers[0](tokens), self.towers[1](tokens), self.user(tokens), self.item(tokens)

    trainer = Trainer()
    with mx.Profiler(torch=True) as prof:
        trainer.score(batch(torch)[0])
    owners = {row["owner"] for row in prof.memory["at_peak"] if row["role"] == "parameter"}
    assert {"emb.weight", "self.towers[1].emb.weight", "Embedding.weight", "self.item.weight"} <= owners


@pytest.mark.parametrize("alone", [False, True], ids=["of a model", "of no module"])
def test_looking_for_names_keeps_no_tensor_of_the_program_alive(torch, alone):
    model, weight = classifier(torch), torch.rand(ROWS, WIDTH, requires_grad=True)
    optimizer = torch.optim.SGD([weight] if alone else model.parameters(), lr=0.1)
    tokens, _ = batch(torch)
    made, prof = [], mx.Profiler(torch=True)
    for number in range(3):
        if number == 1:
            prof.start()
        scores = weight[tokens].sum(1) if alone else model(tokens)
        made.append(weakref.ref(scores))
        optimizer.zero_grad()
        scores.square().sum().backward()
        optimizer.step()
    assert [reference() is not None for reference in made] == [False, False, True]
    prof.stop()


def test_a_dict_that_the_program_has_from_locals_stays_as_it_is(torch):
    first, second, tokens = classifier(torch), classifier(torch), batch(torch)[0]
    mine = locals()
    with mx.Profiler(torch=True) as prof:
        first(tokens)
        second(tokens)
    assert mine["second"] is second
    assert "second.emb.weight" in {row["owner"] for row in prof.memory["at_peak"]}


def test_modules_that_are_made_anew_in_each_step_are_not_searched_for_each_time(torch, monkeypatch):
    searches = []
    search = torch_names._outermost
    monkeypatch.setattr(torch_names, "_outermost", lambda kind: searches.append(kind) or search(kind))
    model, (tokens, labels) = classifier(torch), batch(torch)
    with mx.Profiler(torch=True) as prof:
        for _ in range(20):
            torch.nn.CrossEntropyLoss()(model(tokens), labels).backward()
    assert len(searches) == 1, "what has no parameters is not searched for"
    assert {record["layer"] for record in prof.records if "embedding" in record["name"]} == {"emb"}
    searches.clear()
    with mx.Profiler(torch=True):
        kept = [copy.deepcopy(model) for _ in range(33)]
        for one in kept:
            one(tokens)
    assert 0 < len(searches) <= 6, "the first, second, fourth … thirty-second time"


def test_what_a_loader_collates_is_in_the_lane_of_reading(torch):
    data = torch.utils.data.TensorDataset(torch.ones(6, 3))
    with mx.Profiler(torch=True) as prof:
        batches = [rows for (rows,) in torch.utils.data.DataLoader(data, batch_size=2)]
    assert len(batches) == 3
    assert names(prof, "io").count("aten::stack") == 3
    assert sum(record["kind"] == "span" and record["lane"] == "io" for record in prof.records) >= 3


def test_ranges_of_the_user_are_spans(torch):
    with mx.Profiler(torch=True) as prof, torch.profiler.record_function("mine"):
        torch.ones(2)
    span = next(record for record in prof.records if record["name"] == "mine")
    assert (span["kind"], span["lane"]) == ("span", "user")


# Layouts, conversions, the ledger


@pytest.mark.parametrize(("make", "stype", "stored", "size"), [
    (lambda eye: eye.to_sparse(), "coo", 4, 4 * (4 + 16)),
    (lambda eye: eye.to_sparse_csr(), "csr", 4, 4 * (4 + 8) + 5 * 8),
    (lambda eye: eye.to_sparse_csc(), "csc", 4, 4 * (4 + 8) + 5 * 8),
    (lambda eye: eye.to_sparse(1), "row_sparse", 16, 16 * 4 + 4 * 8),
    (lambda eye: eye.to_sparse_bsr((2, 2)), "bsr", 8, 8 * 4 + 2 * 8 + 3 * 8),
])  # fmt: skip
def test_layouts_and_their_bytes(torch, make, stype, stored, size):
    tensor = make(torch.eye(4))
    with mx.Profiler(torch=True) as prof:
        tensor.clone()
    given = one(prof, "aten::clone")["inputs"][0]
    assert (given["stype"], given["nnz"], given["bytes"]) == (stype, stored, size)


def test_a_conversion_that_the_user_asks_for_is_not_in_the_ledger(torch):
    sparse = torch.eye(50).to_sparse()
    with mx.Profiler(torch=True) as prof:
        sparse.to_dense()
        sparse.to_sparse_csr()
    assert prof.ledger == []
    assert set(names(prof)) == set(names(prof, "convert"))
    assert [(row["from"], row["to"], row["shape"], row["bytes before"], row["bytes after"], row["how"])
            for row in prof.table(of="conversions").rows] == [
        ("coo", "default", (50, 50), 50 * 20, 50 * 50 * 4, "asked for"),
        ("coo", "csr", (50, 50), 50 * 20, 50 * 12 + 51 * 8, "asked for")]


def test_a_conversion_that_a_library_makes_is_implicit(torch):
    emb = torch.nn.Embedding(ROWS, WIDTH, sparse=True)
    optimizer = torch.optim.SparseAdam(emb.parameters())
    with mx.Profiler(torch=True) as prof:
        emb(torch.tensor([1, 1, 2])).sum().backward()
        optimizer.step()
    (row,) = [row for row in prof.table(of="conversions").rows if row["operator"] == "aten::_coalesce"]
    assert (row["how"], row["bytes before"], row["bytes after"]) == ("implicit", 3 * (WIDTH * 4 + 8), 2 * (WIDTH * 4 + 8))
    assert prof.ledger == []


def test_a_tensor_that_a_library_makes_dense_is_in_the_ledger(torch):
    sparse, library = torch.eye(50).to_sparse(), {"__name__": "torch.of_a_test"}
    exec(compile("def dense(given):\n    return given.to_dense()\n", "torch_of_a_test.py", "exec"), library)
    with mx.Profiler(torch=True) as prof:
        library["dense"](sparse)
    (found,) = prof.ledger
    assert (found.kind, found.bytes_after, found.line[:18]) == ("fallback", 50 * 50 * 4, "test_torch_mode.py")


def test_an_operator_that_makes_a_sparse_tensor_dense_is_in_the_ledger(torch):
    sparse, dense = torch.eye(50).to_sparse(), torch.ones(50, 50)
    with mx.Profiler(torch=True) as prof:
        dense + sparse  # the line of the ledger
    (found,) = prof.ledger
    assert (found.op, found.source, found.target, found.shape) == ("aten::add", "coo", "default", (50, 50))
    assert (found.bytes_before, found.bytes_after) == (50 * (4 + 16), 50 * 50 * 4)
    assert found.line.startswith("test_torch_mode.py:")
    assert "add_" in found.remedy
    with pytest.raises(ContractError, match=r"aten::add at test_torch_mode.py:\d+: coo \(50, 50\)"):
        mx.expect(prof).no_densify()


def test_sparse_and_dense_gradients_of_one_parameter_add_up_to_a_dense_one(torch):
    emb = torch.nn.Embedding(ROWS, WIDTH, sparse=True)
    with mx.Profiler(torch=True) as prof:
        (emb(torch.tensor([1, 2])).sum() + emb.weight.sum()).backward()
    (found,) = prof.ledger
    assert (found.source, found.shape) == ("row_sparse", (ROWS, WIDTH))
    assert "gradient" in found.remedy


def test_a_sparse_gradient_keeps_the_contracts_of_rows(torch):
    prof = trained(torch, sparse=True)
    assert prof.gradient_rows == {"emb.weight": 6}
    mx.expect(prof).no_densify().grad_rows("emb.weight", at_most=6).calls("aten::embedding", 1)
    with pytest.raises(ContractError, match="one stored 6 rows"):
        mx.expect(prof).grad_rows("emb.weight", at_most=5)


# Rows of gradients


def test_rows_of_dense_gradients_are_counted(torch):
    prof = trained(torch, steps=5)
    (row,) = prof.table(of="gradients").rows
    assert (row["parameter"], row["most"], row["least"], row["shape"]) == ("emb.weight", 5, 5, (ROWS, WIDTH))
    assert row["times"] == 3, "of the first, the second and the fourth backward pass"
    assert (row["bytes"], row["as_rows"]) == (ROWS * WIDTH * 4, 5 * (WIDTH * 4 + 8))
    assert "5 of 1,000 rows" in repr(prof.table(of="gradients"))


# The rest of the profiler


def test_what_if_takes_the_rows_that_were_counted(torch):
    prof = trained(torch)
    changed = prof.what_if(gradient={"emb.weight": "row_sparse"})
    assert changed.before == prof.memory["peak_bytes"]
    assert changed.saved == ROWS * WIDTH * 4 - 5 * (WIDTH * 4 + 8)


def test_a_model_of_bfloat16_has_a_report_and_other_types(torch, tmp_path):
    net = torch.nn.Linear(64, 32).to(torch.bfloat16)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    with mx.profiler.Profiler(torch=True) as prof:
        for _ in range(2):
            optimizer.zero_grad()
            net(torch.ones(4, 64, dtype=torch.bfloat16)).sum().backward()
            optimizer.step()
    rows = {row["role"]: row for row in prof.what_if(value_dtype="float32").rows if row["owner"].endswith("weight")}
    assert {role: (row["before"], row["after"]) for role, row in rows.items()} == dict.fromkeys(
        ("parameter", "gradient", "optimizer state"), (64 * 32 * 2, 64 * 32 * 4))
    prof.save(tmp_path / "run.html")


def graph_of(prof):
    """Operators with what made their inputs, by position; names of variables with what is said of them."""
    nodes = prof._data().graph
    operators = [(node["op"], node["name"], [nodes[source]["name"] for source, _, _ in node["inputs"]])
                 for node in nodes if node["op"]]
    return operators, {node["name"]: node for node in nodes if not node["op"]}


def test_the_graph_says_which_operator_took_what(torch):
    prof = trained(torch, sparse=True, steps=2)
    operators, variables = graph_of(prof)
    assert operators == [
        ("aten::embedding", "emb", ["emb.weight", "input1"]), ("aten::mean", "Classifier", ["emb"]),
        ("aten::t", "out", ["out.weight"]), ("aten::addmm", "out", ["out.bias", "Classifier", "out"]),
        ("aten::_log_softmax", "_log_softmax", ["out"]),
        ("aten::nll_loss_forward", "nll_loss_forward", ["_log_softmax", "input2"])]
    assert {name: node.get("gradient") for name, node in variables.items()} == {
        "emb.weight": "row_sparse", "out.weight": "default", "out.bias": "default", "input1": None, "input2": None}
    assert variables["emb.weight"]["outputs"] == [
        {"shape": [ROWS, WIDTH], "dtype": "float32", "stype": "default", "bytes": ROWS * WIDTH * 4}]
    assert "emb.weight" in prof.graph().svg()


def test_the_graph_has_what_becomes_dense_forwards_and_backwards(torch):
    emb, sparse = torch.nn.Embedding(ROWS, WIDTH, sparse=True), torch.eye(50).to_sparse()
    with mx.Profiler(torch=True) as prof:
        loss = (torch.ones(50, 50) + sparse).sum() + emb(torch.tensor([1, 2])).sum() + emb.weight.sum()
        loss.backward()
    nodes = prof._data().graph
    (added,) = [node for node in nodes if "result" in node]
    assert (added["op"], added["result"]["what"], added["result"]["bytes"]) == ("aten::add", "coo 50 × 50", 50 * 50 * 4)
    assert len([one for one in prof.ledger if "gradient" in one.remedy]) == 1
    assert len([node for node in nodes if "backward" in node]) == 1
    assert "1 coo" in prof.graph().finding


def test_trace_report_diff_and_displays(torch, tmp_path):
    model, (tokens, labels) = classifier(torch), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with mx.Profiler(torch=True) as prof:
        step(torch, model, optimizer, tokens, labels)
        torch.ones(40, 40) + torch.eye(40).to_sparse()
    path = prof.save(tmp_path / "trace.npz")
    again = mx.profiler.load(path)
    assert [record["name"] for record in again.records] == [record["name"] for record in prof.records]
    assert again.table(of="gradients").rows == prof.table(of="gradients").rows
    assert again.ledger == prof.ledger
    page = prof.save(tmp_path / "report.html").read_text()
    assert "as rows" in page
    assert prof.timeline().html()
    assert prof.memory.figure().html()
    assert "aten::embedding" in repr(prof.table(rows=100))
    assert "text/html" in prof._repr_mimebundle_()
    with mx.Profiler(torch=True) as after:
        step(torch, model, optimizer, tokens, labels)
    assert any(row["name"] == "aten::add" for row in prof.diff(after).rows)


def test_pause_resume_and_schedule(torch):
    with mx.Profiler(torch=True) as prof:
        torch.ones(1)
        prof.pause()
        torch.zeros(1)
        prof.resume()
        torch.full((1,), 2.0)
    assert names(prof) == ["aten::ones", "aten::full"]
    taken = []
    with mx.Profiler(torch=True, schedule=mx.profiler.schedule(wait=1, warmup=1, active=1), on_ready=taken.append) as prof:
        for size in range(3):
            torch.ones(size)
            prof.step()
    assert [[array["shape"] for array in record["outputs"]] for record in taken[0].records if is_torch(record)] == [[[2]]]


def test_the_page_runs_as_it_is_written(torch, capsys):
    text = (Path(__file__).parents[3] / "sparsekit" / "docs" / "pytorch.md").read_text(encoding="utf-8")
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(block, "pytorch.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "128 of 20,000 rows" in printed
    assert "2 contracts hold" in printed


def test_a_script_is_profiled_with_pytorch(torch, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text("import torch\nemb = torch.nn.Embedding(9000, 8)\nemb(torch.arange(5)).sum().backward()\n",
                                encoding="utf-8")
    assert cli.main(["profile", "--torch", "train.py"]) == 0
    printed = capsys.readouterr().err
    assert "aten::embedding_dense_backward" in printed
    assert "5 of 9,000 rows" in printed
    assert "train.py:3" in printed


def test_a_script_whose_modules_import_pytorch_is_profiled_with_it_and_may_change_the_folder(torch, tmp_path):
    (tmp_path / "own_model.py").write_text("import torch\ndef train():\n    emb = torch.nn.Embedding(9000, 8)\n"
                                           "    emb(torch.arange(5)).sum().backward()\n", encoding="utf-8")
    (tmp_path / "train.py").write_text("import os\nfrom own_model import train\nos.mkdir('other')\nos.chdir('other')\ntrain()\n",
                                       encoding="utf-8")
    done = subprocess.run([sys.executable, "-m", "sparsekit", "profile", "-m", "train"], cwd=tmp_path, capture_output=True,
                          text=True, env={**os.environ, "PYTHONPATH": str(Path(cli.__file__).parents[1])})
    assert done.returncode == 0
    assert "5 of 9,000 rows" in done.stderr
    assert "Look here first: the gradient of" in done.stderr
    assert (tmp_path / "train.npz").exists()


def test_the_profile_of_a_script_that_ends_its_process_at_once_is_written(torch, tmp_path):
    (tmp_path / "train.py").write_text("import os, torch\nemb = torch.nn.Embedding(9000, 8)\n"
                                       "emb(torch.arange(5)).sum().backward()\nif os.fork() == 0:\n    os._exit(0)\nos.wait()\n"
                                       "os._exit(3)\n", encoding="utf-8")
    done = subprocess.run([sys.executable, "-m", "sparsekit", "profile", "train.py"], cwd=tmp_path, capture_output=True,
                          text=True, env={**os.environ, "PYTHONPATH": str(Path(cli.__file__).parents[1])})
    assert done.returncode == 3
    assert done.stderr.count("Look here first: the gradient of") == 1
    assert (tmp_path / "train.npz").exists()


def test_a_script_that_has_other_processes_train_is_told_of_the_command_that_follows_them(torch, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text("import torch\n", encoding="utf-8")
    assert cli.main(["profile", "train.py"]) == 0
    assert "Processes that a script starts are not recorded: `sparsekit fix` follows those that train" in capsys.readouterr().err


def test_the_profile_of_a_script_in_which_all_is_sparse_says_so(torch, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text("import torch\nemb = torch.nn.Embedding(9000, 8, sparse=True)\n"
                                "emb(torch.arange(5)).sum().backward()\n", encoding="utf-8")
    assert cli.main(["profile", "train.py"]) == 0
    assert ("Nothing to look at first: of 1 gradient of 4.10 kB or more, none is dense and mostly zero, and no sparse tensor "
            "became dense. Operators on sparse tensors move") in capsys.readouterr().err


def test_tensors_that_only_an_optimizer_holds_have_the_names_of_their_variables_and_advice_that_keeps_them(torch):
    table = torch.randn(9000, 8, requires_grad=True)
    optimizer = torch.optim.SGD([table], lr=0.1)
    with mx.Profiler(torch=True) as prof:
        table[torch.arange(5)].square().sum().backward()
        optimizer.step()
    assert [row["parameter"] for row in prof.table(of="gradients").rows] == ["table"]
    found = next(one for one in prof.advice() if one.rule == "zero_rows")
    assert "torch.nn.functional.embedding(numbers, weight, sparse=True). SGD takes its gradient." in found.remedy


def test_tensors_of_no_module_and_no_optimizer_have_the_names_of_their_variables(torch):
    table, one_pass = torch.randn(9000, 8, requires_grad=True), torch.randn(8000, 8, requires_grad=True)
    with mx.Profiler(torch=True) as prof:
        for number in range(3):
            table[torch.arange(number, number + 5)].square().sum().backward()
            with torch.no_grad():
                table -= 0.1 * table.grad
            table.grad = None
        one_pass[torch.arange(7)].sum().backward()
    rows = {row["parameter"]: row for row in prof.table(of="gradients").rows}
    assert set(rows) == {"table", "one_pass"}
    assert (rows["table"]["most"], rows["one_pass"]["most"]) == (5, 7)
    assert {found.where for found in prof.advice() if found.rule == "zero_rows"} == {"gradient of table", "gradient of one_pass"}


def test_a_version_that_is_too_old_is_refused(torch, monkeypatch):
    monkeypatch.setattr(torch, "__version__", "1.13.1+cu117")
    with pytest.raises(ProfilerError, match=r"needs PyTorch 2\.4 or newer, got 1\.13\.1"):
        mx.Profiler(torch=True)


def test_training_in_a_thread_without_any_module_around_it_is_counted_and_has_names(torch):
    def work():
        model, (tokens, labels) = classifier(torch), batch(torch)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model.forward(tokens), labels).backward()
            optimizer.step()
    with mx.Profiler(torch=True) as prof:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert {row["parameter"] for row in prof.table(of="gradients").rows} >= {"emb.weight"}
    assert "sparse=True" in next(one.remedy for one in prof.advice() if one.rule == "zero_rows")


def test_parameters_that_only_methods_use_have_the_names_of_their_modules(torch):
    class Ranked(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.user, self.item = torch.nn.Embedding(ROWS, WIDTH), torch.nn.Embedding(ROWS, WIDTH)

        def bpr_loss(self, users, items):
            return (self.user.weight[users] * self.item(items)).sum()
    model = Ranked()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with mx.Profiler(torch=True) as prof:
        for _ in range(2):
            optimizer.zero_grad()
            model.bpr_loss(torch.arange(5), torch.arange(5)).backward()
            optimizer.step()
    assert [row["parameter"] for row in prof.table(of="gradients").rows] == ["item.weight", "user.weight"]
    assert "item" in {record["layer"] for record in prof.records}
