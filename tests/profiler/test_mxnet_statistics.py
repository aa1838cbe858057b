"""What `profiler.dumps()` says of domains, beside what MXNet said of the same session."""

import json
import re
from pathlib import Path

import pytest

from sparsekit import profiler
from sparsekit.profiler import api

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "profiler_api.json").read_text())


pytestmark = pytest.mark.usefixtures("fresh_api")


@pytest.fixture
def session(library):
    """The session that MXNet was recorded in."""
    scope = {}
    exec(GOLDEN["session"], scope)
    profiler.set_state("run")
    scope["session"](profiler)
    library.run("ones", (), library.dense(10))
    profiler.set_state("stop")


def sections(text):
    found = {}
    for section in re.split(r"\n\n", text.strip("\n")):
        lines = section.split("\n")
        lines = lines[lines.index("=================") - 1:] if "=================" in lines else lines
        found[lines[0]] = lines[1:]
    return found


def row(line):
    found = re.fullmatch(r"(\S.*?) +(\d+)( +\d+\.\d{4}){3,4}", line)
    return [found[1], int(found[2]), len(line)] if found else line


@pytest.mark.parametrize("section", GOLDEN["table"])
def test_the_table_has_the_sections_and_rows_of_mxnet(session, section):
    assert profiler.dumps().split("\n")[:3] == GOLDEN["heading"]
    found = [row(line) for line in sections(profiler.dumps())[section]]
    rows = sorted((line for line in found[3:] if line), key=str)
    wanted = GOLDEN["table"][section]
    assert found[:3] == wanted[:3]
    if section.endswith("instant_marker"):  # MXNet leaves markers out
        assert rows == [["here", 1, 109]]
    elif section == "Device Storage":
        assert rows == [["Memory: cpu/0", rows[0][1], 92]]
    else:
        assert rows == wanted[3:]


def test_json_has_the_categories_of_mxnet_and_counters_in_their_own_units(session):
    document = json.loads(profiler.dumps(format="json"))
    assert list(document) == GOLDEN["sections"]
    assert {name: list(rows) for name, rows in document["Memory"].items()} == GOLDEN["memory"]
    assert sorted(document["Memory"]["Device Storage"]["Memory: cpu/0"]) == GOLDEN["memory_keys"]
    times = document["Time"]
    assert set(times) == {*GOLDEN["json"], "operator"}
    for category, rows in GOLDEN["json"].items():
        if not category.endswith("instant_marker"):
            assert set(times[category]) == set(rows)
        for name, wanted in rows.items():
            found = times[category][name]
            assert found["Count"] == wanted["Count"]
            # MXNet divides values by 1000, as if they were microseconds.
            for key in ("Total", "Min", "Max"):
                assert key not in wanted or found[key] == round(1000 * wanted[key])
    # 5, 12 and 10: MXNet's average is half of what lies between the extremes.
    assert times["first"]["samples"]["Avg"] == 9
    assert times["second"]["samples"]["Avg"] == 100
    assert times["first,instant_marker"]["here"]["Count"] == 1


def test_domains_stay_apart_when_events_are_folded(library):
    profiler.set_config(capacity=2)
    profiler.set_state("run")
    for name in ("one", "two", "two"):
        for _ in range(5):
            with profiler.Domain(name).new_task("work"):
                pass
    profiler.set_state("stop")
    held = api._Shared.profiler
    held._run.log._fold(len(held._run.log.rows))
    found = json.loads(profiler.dumps(format="json"))["Time"]
    assert {name: rows["work"]["Count"] for name, rows in found.items()} == {"one": 5, "two": 10}


def test_what_belongs_to_no_domain_is_the_users(library):
    profiler.set_state("run")
    held = api._Shared.profiler
    held.counter("loss", 2.5, "nats")
    held.counter("loss", 1.5)
    held.marker("begin")
    with held.span("loss"):
        pass
    profiler.set_state("stop")
    found = json.loads(profiler.dumps(format="json"))["Time"]
    assert found["user"]["loss (counter)"] == {"Count": 2, "Total": 1.5, "Min": 1.5, "Max": 2.5, "Avg": 2.0}
    assert found["user"]["loss"]["Count"] == 1
    assert found["user,instant_marker"]["begin"]["Count"] == 1


def test_a_value_that_is_no_number_is_none_of_the_extremes(library):
    profiler.set_state("run")
    counter = profiler.Domain("a").new_counter("loss", 5)
    counter.set_value(float("nan"))
    counter.set_value(3)
    profiler.set_state("stop")
    found = json.loads(profiler.dumps(format="json"))["Time"]["a"]["loss"]
    assert found == {"Count": 3, "Total": 3, "Min": 3, "Max": 5, "Avg": 4}
