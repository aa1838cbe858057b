"""README's tables say what the records say."""

from __future__ import annotations

import json
import re
import runpy
import tomllib
from pathlib import Path
from types import SimpleNamespace

readme_tables = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("readme_tables.py"))))


def test_the_readme_says_what_the_records_say():
    shown = readme_tables.README.read_text(encoding="utf-8").splitlines()
    missing = [line for line in readme_tables.lines() if line not in shown]
    assert not missing, "\n".join(["python tests/readme_tables.py writes what README.md lacks:", *missing])
    for path, pattern, text in readme_tables.phrases():
        assert re.findall(pattern, path.read_text(encoding="utf-8")) == [text]


def test_the_first_example_prints_what_the_readme_says(tmp_path, capsys):
    """And the lines after it run."""
    text = readme_tables.README.read_text(encoding="utf-8")
    example, more = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)[:2]
    printed = re.findall(r"```text\n(.*?)```", text, flags=re.DOTALL)[0]
    file = tmp_path / "example.py"
    file.write_text(example, encoding="utf-8")
    names = runpy.run_path(str(file))
    assert capsys.readouterr().out == printed
    for line in more.splitlines():
        exec(line, names)


def test_every_record_names_its_machine():
    for path in sorted((readme_tables.ROOT / "profiles").glob("*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        if "sections" in record:
            assert record["cores"] == 2, path.name
            assert record["versions"]["sparsekit"], path.name


def test_the_readme_lists_every_extra_and_what_it_brings():
    project = tomllib.loads((readme_tables.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = readme_tables.README.read_text(encoding="utf-8")
    table = text.partition("| extra |")[2].partition("\n\n")[0]
    rows = {name: brings for names, brings in re.findall(r"^\| ([^|]*`) \| ([^|]*) \|", table, flags=re.MULTILINE)
            for name in re.findall(r"`(.*?)`", names)}
    assert set(rows) == set(project["optional-dependencies"])
    for extra, needs in project["optional-dependencies"].items():
        packages = [re.split(r"[\[<>=;~ ]", need)[0].partition("-cuda")[0] for need in needs]
        if extra != "test":
            assert [one for one in packages if one not in rows[extra]] == [], extra
    needs = text.partition("The package itself needs ")[2].partition(".")[0]
    assert set(re.split(", | and ", needs)) == {re.split("[<>=;]", one)[0] for one in project["dependencies"]}
