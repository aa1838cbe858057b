"""Two machines, which are network namespaces with a cable between them: processes, machines and cables fail.

Each machine has a Ray node, an address and a folder for temporary files of its own; the folder of the run is common.  A run ends
with the bits of one process, or with the error that names what is wrong.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from .conftest import ROOT, until
from .jobs import alone

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(1500)]

STEPS, PACE = 60, 0.1
PORT, HUB = 6399, "skhub"
#: Seconds within which a run must have ended after a fault.
LIMIT = 240.0

ENVIRONMENT = {**os.environ, "RAY_health_check_period_ms": "1000", "RAY_health_check_timeout_ms": "2000",
               "RAY_health_check_failure_threshold": "5", "RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0",
               "PYTHONPATH": str(ROOT)}


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


def why_not() -> str:
    """Why there can be no namespaces here; empty if there can be."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    missing = [name for name in ("ip", "nsenter", "unshare") if shutil.which(name) is None]
    if missing:
        return f"{', '.join(missing)} missing: apt-get install iproute2 util-linux"
    tried = subprocess.run(["ip", "netns", "add", HUB], capture_output=True, text=True)
    if tried.returncode:
        return f"ip netns add: {tried.stderr.strip()}"
    ip("netns", "del", HUB)
    return ""


def send(pids: set[int], how: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, how)
        except ProcessLookupError:
            continue


class Machine:
    """A network namespace with a Ray node, and a file system of its own at a place."""

    def __init__(self, number: int, place: str) -> None:
        self.place = place
        self.name, self.cable, self.address = f"sk{number}", f"skv{number}", f"10.77.0.{number}"
        ip("netns", "add", self.name)
        ip("link", "add", self.cable, "type", "veth", "peer", "name", "eth0", "netns", self.name)
        ip("link", "set", self.cable, "netns", HUB)
        ip("-n", HUB, "link", "set", self.cable, "master", "br0", "up")
        ip("-n", self.name, "addr", "add", f"{self.address}/24", "dev", "eth0")
        for device in ("eth0", "lo"):
            ip("-n", self.name, "link", "set", device, "up")
        # Its name is that of its address, and nobody else is asked for names: Ray would wait for an answer in each process.
        names = (f"echo 127.0.0.1 localhost > {place}/hosts && echo {self.address} {socket.gethostname()} >> {place}/hosts && "
                 f"mount --bind {place}/hosts /etc/hosts && mount --bind /dev/null /etc/resolv.conf")
        self.holder = subprocess.Popen(["ip", "netns", "exec", self.name, "unshare", "-m", "sh", "-c",
                                        f"mount -t tmpfs tmpfs {place} && {names} && echo ready && exec sleep 100000"],
                                       stdout=subprocess.PIPE, text=True)
        assert self.holder.stdout is not None
        assert self.holder.stdout.readline() == "ready\n"
        self.node: subprocess.Popen[str] | None = None

    def within(self, *words: object) -> list[str]:
        """A command that runs in this machine."""
        return ["nsenter", "-t", str(self.holder.pid), "-n", "-m", *map(str, words)]

    def start(self, log: Path) -> None:
        """Start the node; the first one is the head."""
        how = ([f"--address={HEAD}"] if self.address != HEAD.partition(":")[0] else
               ["--head", f"--port={PORT}", f"--temp-dir={self.place}", "--include-dashboard=false",
                "--include-log-monitor=false"])
        with log.open("a", encoding="utf-8") as file:
            self.node = subprocess.Popen(self.within(
                sys.executable, "-P", "-m", "ray.scripts.scripts", "start", *how, f"--node-ip-address={self.address}",
                "--num-cpus=4", "--object-store-memory=100000000", "--block"), env=ENVIRONMENT, stdout=file, stderr=file,
                text=True)

    def runs(self) -> bool:
        """Whether the node has not ended."""
        return self.node is not None and self.node.poll() is None

    def processes(self) -> set[int]:
        """All processes of the machine."""
        found = subprocess.run(["ip", "netns", "pids", self.name], check=True, capture_output=True, text=True)
        return set(map(int, found.stdout.split())) - {self.holder.pid}

    def end(self) -> None:
        """Leave nothing behind."""
        send(self.processes(), signal.SIGKILL)
        if self.node is not None:
            self.node.wait()
        self.holder.kill()
        self.holder.communicate()
        ip("netns", "del", self.name)


HEAD = f"10.77.0.1:{PORT}"


def alive(machine: Machine) -> int:
    """How many machines of the cluster live, as one of them sees it."""
    program = f"import ray; ray.init({HEAD!r}, logging_level='ERROR'); print(sum(one['Alive'] for one in ray.nodes()))"
    try:
        found = subprocess.run(machine.within(sys.executable, "-c", program), capture_output=True, text=True, env=ENVIRONMENT,
                               timeout=60)
    except subprocess.TimeoutExpired:  # Ray waits long for a head that is not there
        return 0
    return int(found.stdout.split()[-1]) if found.returncode == 0 else 0


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[list[Machine]]:
    """Two machines."""
    reason = why_not()
    if reason:
        pytest.skip(reason)
    place = tempfile.mkdtemp(prefix="m", dir="/tmp")  # its name is short, as sockets lie in it
    ip("netns", "add", HUB)
    found: list[Machine] = []
    try:
        ip("-n", HUB, "link", "add", "br0", "type", "bridge")
        ip("-n", HUB, "link", "set", "br0", "up")
        found += [Machine(1, place), Machine(2, place)]
        for count, one in enumerate(found, 1):
            for _ in range(3):  # Ray gives up a machine that takes half a minute to start
                one.start(tmp_path / f"{one.name}.log")
                until(lambda one=one, count=count: not one.runs() or alive(found[0]) >= count, 300, f"{one.name} starts")
                if one.runs():
                    break
        assert alive(found[0]) == 2, (tmp_path / "sk1.log").read_text() + (tmp_path / "sk2.log").read_text()
        yield found
    finally:
        for one in found:
            one.end()
        ip("netns", "del", HUB)
        shutil.rmtree(place, ignore_errors=True)


@pytest.fixture(scope="module")
def wanted() -> tuple[np.ndarray, np.ndarray]:
    return alone(STEPS, 2)


PROGRAM = """
import sys, numpy as np, sparsekit as mx
sys.path.insert(0, {root!r})
from tests.dist_ray import jobs
try:
    found = mx.dist.run(jobs.train_and_tell, address={head!r}, folder={place!r} + "/run", every=5, frozen_after=10.0, restarts=6,
                        args=({steps}, {place!r}, {pace}))
    np.savez({place!r} + "/out.npz", **{{name + str(rank): found[rank][name] for rank in (0, 1) for name in ("table", "dense")}})
except mx.DistError as error:
    open({place!r} + "/error", "w").write(f"{{type(error).__name__}} {{error}}")
"""


def ends(machines: list[Machine], place: Path, fault: Callable[[set[int]], Any]) -> str:
    """How a run ends, whose driver is on the first machine, if a fault befalls it after its first snapshot.

    The fault is told the servers on the second machine.  Empty if it ends with all steps done; else the error.
    """
    program = PROGRAM.format(root=str(ROOT), head=HEAD, place=str(place), steps=STEPS, pace=PACE)
    with subprocess.Popen(machines[0].within(sys.executable, "-c", program), env=ENVIRONMENT) as started:
        try:
            until(lambda: any(place.glob("run/step-*.json")) or started.poll() is not None, LIMIT, "the first snapshot")
            servers = {int(pid) for pid in (place / "servers").read_text().split()} & machines[1].processes()
            assert len(servers) == 1, "each machine has a server"
            fault(servers)
            started.wait(LIMIT)
            told = place / "error"
            return told.read_text() if told.exists() else ""
        finally:
            started.kill()


def same(place: Path, wanted: tuple[np.ndarray, np.ndarray]) -> None:
    found = np.load(place / "out.npz")
    for rank in range(2):
        assert found[f"table{rank}"].tobytes() == wanted[0].tobytes()
        assert found[f"dense{rank}"].tobytes() == wanted[1].tobytes()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_server_on_another_machine_is_lost(machines, tmp_path, wanted, how):
    assert ends(machines, tmp_path, lambda servers: send(servers, how)) == ""
    same(tmp_path, wanted)


@pytest.mark.parametrize("seconds", [2, 10, 60])
def test_the_cable_is_out_for_a_while(machines, tmp_path, wanted, seconds):
    def out(servers: set[int]) -> None:
        ip("-n", HUB, "link", "set", machines[1].cable, "down")
        time.sleep(seconds)
        ip("-n", HUB, "link", "set", machines[1].cable, "up")

    assert ends(machines, tmp_path, out) == ""
    same(tmp_path, wanted)


def test_a_machine_is_lost(machines, tmp_path, wanted):
    assert ends(machines, tmp_path, lambda servers: send(machines[1].processes(), signal.SIGKILL)) == ""
    same(tmp_path, wanted)


def test_the_head_of_the_cluster_is_lost(machines, tmp_path):
    def lost(servers: set[int]) -> None:
        names = {pid: Path(f"/proc/{pid}/comm").read_text(encoding="utf-8") for pid in machines[0].processes()}
        found = {pid for pid, name in names.items() if name == "gcs_server\n"}
        assert len(found) == 1
        send(found, signal.SIGKILL)

    assert ends(machines, tmp_path, lost).startswith("NoClusterError The head of the Ray cluster has not answered")
