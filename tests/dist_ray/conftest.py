"""One cluster for all tests of this folder, with two machines that are processes of this one."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sparsekit.dist.ray_cluster import SYSTEM

ROOT = Path(__file__).resolve().parents[2]

#: So that a lost machine is noticed in about two seconds rather than after a minute.
QUICK = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_timeout_ms": 1000,
         "health_check_failure_threshold": 3, **SYSTEM}

#: Ray's own warnings.
WARNINGS = ("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning",
            "ignore::pytest.PytestUnraisableExceptionWarning")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = f"{Path(__file__).parent}/"
    missing = importlib.util.find_spec("ray") is None
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.ray)
            for warning in WARNINGS:
                item.add_marker(pytest.mark.filterwarnings(warning))
            if missing:
                item.add_marker(pytest.mark.skip(reason="Ray is not installed: pip install 'sparsekit[dist]'"))


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home folder and a folder for temporary files of the tests' own, to see what is left in them."""
    place = Path(tempfile.mkdtemp(prefix="t", dir="/tmp"))  # its name is short, as sockets lie in it
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(place))
        patch.setenv("TMPDIR", str(place))
        patch.setattr(tempfile, "tempdir", None)
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("PYTHONPATH", f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
        yield place
    shutil.rmtree(place, ignore_errors=True)


@pytest.fixture(scope="session")
def cluster(home: Path) -> Iterator[Any]:
    """A cluster of two machines, which are processes here."""
    import ray
    from ray.cluster_utils import Cluster

    found = in_time(lambda: Cluster(initialize_head=True, head_node_args={
        "num_cpus": 2, "resources": {"server": 2}, "object_store_memory": 100 << 20, "include_dashboard": False,
        "_system_config": QUICK}))
    ray.init(address=found.address, log_to_driver=False, logging_level="ERROR", namespace="sparsekit")
    try:
        yield found
    finally:
        ray.shutdown()
        found.shutdown()


@pytest.fixture(scope="session")
def jobs() -> Any:
    """The functions of ``jobs.py``, which travel to workers by value."""
    from ray import cloudpickle

    module = load_jobs()
    cloudpickle.register_pickle_by_value(module)
    return module


def children() -> set[int]:
    """Numbers of the processes that this one has started."""
    found = set()
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (path / "stat").read_text(encoding="latin-1").rpartition(")")[2].split()[1] == str(os.getpid()):
                found.add(int(path.name))
    return found


def in_time(start: Callable[[], Any], tries: int = 3) -> Any:
    """What a function starts with Ray, which gives a machine up that takes half a minute to start: then it is begun again."""
    before = children()
    try:
        return start()
    except Exception as error:
        if tries == 1 or "timed out during startup" not in str(error):
            raise
    for pid in children() - before:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    return in_time(start, tries - 1)


def load_jobs() -> Any:
    spec = importlib.util.spec_from_file_location("dist_ray_jobs", Path(__file__).with_name("jobs.py"))
    module = sys.modules["dist_ray_jobs"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def until(condition: Callable[[], object], seconds: float, what: str) -> None:
    """Wait for something that is bound to happen, and fail if it has not after some seconds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"{what} within {seconds} s"
        time.sleep(0.05)
