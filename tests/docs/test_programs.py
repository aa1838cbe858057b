"""The page of other people's programs says what the manifests in ``profiles/programs`` say."""

import json
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "sparsekit" / "docs" / "programs.md").read_text(encoding="utf-8")
APART = runpy.run_path(str(ROOT / "tests" / "oracle" / "run_programs.py"))["apart"]


def manifest(name):
    return json.loads((ROOT / "profiles" / "programs" / f"{name}.json").read_text(encoding="utf-8"))


def link(program):
    """A program's name, with the address of the file that is run."""
    path = (program.get("root", "") + program["run"]).replace(" ", "%20").replace("(", "%28").replace(")", "%29")
    return f"[{program['name']}](https://github.com/{program['repository']}/blob/{program['commit']}/{path})"


def mxnet_row(program):
    """What the page says of a program of MXNet."""
    losses = [f"{program[name][0]:.5g} → {program[name][-1]:.5g}" for name in ("mxnet", "sparsekit")]
    return (f"| {link(program)} | {program['kind']} | {losses[0]} | {losses[1]} | {len(program['mxnet'])} | "
            f"{APART(program['mxnet'], program['sparsekit']):.0e} | {program.get('why', '')} |")


def torch_row(program):
    """What the page says of a program of PyTorch."""
    result = program["result"]
    return (f"| {link(program)} | {program['kind']} | {result['dense'] or 'nothing'} | {result['bytes'] or '–'} | "
            f"{result['verdict']} | {result['reason']} | {program.get('why', '')} |")


def rows(page, heading):
    """The rows of the table below a heading."""
    section = page.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return [line for line in section.splitlines() if line.startswith("| [")]


def test_the_table_of_mxnet_programs_is_that_of_the_manifest():
    assert rows(PAGE, "MXNet") == [mxnet_row(program) for program in manifest("mxnet")]


def test_ten_programs_run_to_the_losses_of_mxnet():
    programs = manifest("mxnet")
    assert len(programs) >= 10
    assert sum(program["repository"] == "apache/mxnet" for program in programs) <= 4
    for program in programs:
        assert APART(program["mxnet"], program["sparsekit"]) <= program.get("tolerance", 1e-3), program["name"]
        assert ("mended" in program) == ("why" in program)


def test_the_table_of_pytorch_programs_is_that_of_the_manifest():
    assert rows(PAGE, "PyTorch") == [torch_row(program) for program in manifest("torch")]


def test_steps_are_found_and_no_advice_raises():
    results = [program["result"] for program in manifest("torch")]
    assert sum(result["step"] for result in results) >= 0.9 * len(results)
    assert {result["verdict"] for result in results} <= {"holds", "refused", "no fix", "not judged", "nothing to fix", "by hand"}
    assert not any(result["dense"] for result in results if result["verdict"] == "nothing to fix")
    assert all(result["dense"] and result["reason"] for result in results if result["verdict"] == "by hand")
    assert all(result["bytes"] for result in results if result["verdict"] == "holds")


@pytest.mark.parametrize("name", ["mxnet", "torch"])
def test_each_file_is_known_by_its_hash(name):
    for program in manifest(name):
        assert re.fullmatch("[0-9a-f]{40}", program["commit"])
        assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in program["files"].values())
        assert program["run"] in program["files"]
