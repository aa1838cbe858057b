"""README's tables say what the records say."""

from __future__ import annotations

import json
import re
import runpy
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
