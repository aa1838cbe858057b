"""Environments that programs meet: folders that cannot be written, full disks, damaged files, missing packages, few threads."""

from __future__ import annotations

import hashlib
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import programs
import pytest

import sparsekit as mx
from sparsekit import doctor
from sparsekit.base import environment
from sparsekit.base.errors import DownloadError
from sparsekit.datasets import data_home
from tests.sampling import some

PACKAGE = Path(mx.__file__).parent

#: Takes all capabilities away, so that permissions bind root too.
POWERLESS = """
import ctypes, os, struct
libc = ctypes.CDLL(None, use_errno=True)
header, data = ctypes.create_string_buffer(struct.pack("<Ii", 0x20080522, 0)), ctypes.create_string_buffer(24)
assert libc.capset(header, data) == 0, os.strerror(ctypes.get_errno())
"""

#: Three kernels, of which the last is made of others; their results are checked, and every warning is printed.
COMPUTE = """
import sys, warnings
import numpy as np
import sparsekit as mx
def compute(kind):
    dense = np.triu(np.arange(1, 17, dtype=kind).reshape(4, 4))
    array = mx.nd.array(dense, dtype=dense.dtype).tostype("csr")
    for axis in (0, 1):
        assert np.array_equal(array.sum(axis=axis).asnumpy(), dense.sum(axis)), axis
    if dense.dtype.kind == "f":
        weight = mx.nd.zeros((4, 4), dtype=dense.dtype)
        mx.nd.sgd_update(weight, mx.nd.array(dense, dtype=dense.dtype), lr=0.5, out=weight)
        assert np.array_equal(weight.asnumpy(), -0.5 * dense)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for kind in sys.argv[1:] or ["float32"]:
        compute(kind)
for one in caught:
    print(one.category.__name__, one.filename.rpartition('/')[2], one.message)
print("computed")
"""


def run(program, *arguments, env=None, cwd=None):
    """Run a program in an environment without settings of numba and of the library, but those in ``env``."""
    clean = {name: None for name in os.environ if name.startswith(("NUMBA_", "SPARSEKIT_"))}
    return programs.run(program, *arguments, env={**clean, **(env or {})}, timeout=400, cwd=cwd)


@pytest.fixture
def bare(tmp_path):
    """A copy of the package without compiled code, and an environment with no other folder to write to than these."""
    copy, home = tmp_path / "site", tmp_path / "home"
    shutil.copytree(PACKAGE, copy / "sparsekit", ignore=shutil.ignore_patterns("__pycache__", "notebooks", "static"))
    home.mkdir()
    yield {"PYTHONPATH": str(copy), "HOME": str(home), "XDG_CACHE_HOME": None, "PYTHONDONTWRITEBYTECODE": "1"}
    locked(tmp_path, False)


def locked(folder, really=True):
    """Let nobody write in a folder and those below it, or let its owner do so again."""
    for place, _, files in os.walk(folder):
        os.chmod(place, 0o555 if really else 0o755)
        for name in files:
            os.chmod(os.path.join(place, name), 0o444 if really else 0o644)


def test_kernels_run_where_neither_the_package_nor_home_can_be_written(bare, tmp_path):
    locked(tmp_path)
    tried = f"""
try:
    open({bare["PYTHONPATH"]!r} + "/sparsekit/kernels/cpu/new", "w")
    raise SystemExit("it could be written")
except PermissionError:
    pass
"""
    *warned, last = run(POWERLESS + tried + COMPUTE, "int32", env=bare).check().splitlines()
    assert last == "computed"
    assert len(warned) == 1, warned
    assert warned[0].startswith("RuntimeWarning program.py Compiled kernels cannot be kept")
    assert "Permission denied" in warned[0]
    assert "Set NUMBA_CACHE_DIR to a folder" in warned[0]


#: What makes a disk full: a limit of the system, a device that is, and a quota that only the last step meets.
FULL = {
    "EFBIG": "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n",
    "ENOSPC": """
import io, os
class Full(io.FileIO):
    def write(self, data):
        with open("/dev/full", "wb", buffering=0) as device:
            return device.write(data)
real = os.fdopen
def fdopen(descriptor, mode, *rest, **more):
    return io.BufferedRandom(Full(descriptor, "w+")) if "+" in mode else real(descriptor, mode, *rest, **more)
os.fdopen = fdopen
""",
    "EDQUOT": """
import errno, os
def full(*_):
    raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))
os.replace = full
""",
}


@pytest.mark.parametrize("number", some(sorted(FULL), one_in=100, always=["ENOSPC"]))
def test_kernels_run_where_the_disk_is_full(bare, tmp_path, number):
    cache = tmp_path / "cache"
    full = FULL[number]
    *warned, last = run(full + COMPUTE, "int32", env={**bare, "NUMBA_CACHE_DIR": str(cache)}).check().splitlines()
    assert last == "computed"
    assert len(warned) == 1, warned
    assert "cannot be kept" in warned[0]
    assert "NUMBA_CACHE_DIR" in warned[0]
    assert [path for path in tmp_path.rglob("*") if path.name.endswith((".nbc", ".tmp"))] == []


def kept(cache):
    return sorted(path for path in cache.rglob("*.nb*") if path.is_file())


def sound(path):
    content = path.read_bytes()
    return content[:32] == hashlib.sha256(content[32:]).digest()


def flipped(content, start):
    """Every 97th byte from a place on is changed."""
    changed = bytearray(content)
    for place in range(start, len(changed), 97):
        changed[place] ^= 0x55
    return bytes(changed)


DAMAGES = [lambda content: b"",
           lambda content: content[:40], lambda content: content[:-100], lambda content: b"no kernel\n" * 999,
           lambda content: flipped(content, len(content) // 2), lambda content: flipped(content, 33)]


@pytest.mark.thorough
def test_damaged_files_of_kernels_are_compiled_again(bare, tmp_path):
    env, kinds = {**bare, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}, ["float32", "float64", "int32", "int64"]
    assert run(COMPUTE, *kinds, env=env).check() == "computed\n"
    files = kept(tmp_path / "cache")
    assert len(files) >= len(DAMAGES)
    for number, path in enumerate(files):
        path.write_bytes(DAMAGES[number % len(DAMAGES)](path.read_bytes()))
    assert run(COMPUTE, *kinds, env=env).check() == "computed\n"
    assert kept(tmp_path / "cache") == files
    assert all(map(sound, files))


@pytest.mark.thorough
def test_kernels_whose_sources_changed_in_another_file_are_compiled_again(bare, tmp_path):
    env = {**bare, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    run(COMPUTE, env=env).check()
    before = {path: path.stat().st_ino for path in kept(tmp_path / "cache")}
    other = tmp_path / "site" / "sparsekit" / "kernels" / "cpu" / "intrinsics.py"
    other.write_text(f"{other.read_text(encoding='utf-8')}# changed\n", encoding="utf-8")
    run(COMPUTE, env=env).check()
    after = {path: path.stat().st_ino for path in kept(tmp_path / "cache")}
    assert before.keys() == after.keys()
    assert all(before[path] != after[path] for path in before)


@pytest.mark.thorough
def test_processes_that_keep_kernels_at_once_do_not_mix_them_up(bare, tmp_path):
    env = {**bare, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda kind: run(COMPUTE, kind, env=env), ["float32", "float64"] * 2))
    assert [one.check() for one in done] == ["computed\n"] * 4
    assert all(map(sound, kept(tmp_path / "cache")))
    for kind in ("float32", "float64"):
        assert run(NOTHING_COMPILED + COMPUTE, kind, env=env).check() == "computed\n"


#: A kernel that calls the one that it is told; both are made by functions of one file.
FACTORY = """
import sys
from sparsekit.kernels.cpu.jit import kernel

@kernel
def more(value):
    return value + 1

@kernel
def twice(value):
    return value * 2

def of(function):
    @kernel
    def inner(value):
        return function(value)
    return inner

print(of(globals()[sys.argv[1]])(5))
"""


@pytest.mark.thorough
def test_kernels_of_one_function_that_call_different_ones_are_not_mixed_up(bare, tmp_path):
    (tmp_path / "factory.py").write_text(FACTORY, encoding="utf-8")
    env = {**bare, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": f"{bare['PYTHONPATH']}{os.pathsep}{tmp_path}"}
    program = "import factory\n"
    assert [run(program, name, env=env).check() for name in ("more", "twice", "twice", "more")] == ["6\n", "10\n", "10\n", "6\n"]


#: Lets numba compile nothing.
NOTHING_COMPILED = """
import numba.core.compiler
def refuse(*_, **__):
    raise SystemExit("something was compiled")
numba.core.compiler.compile_extra = refuse
"""


@pytest.mark.thorough
def test_kernels_kept_by_somebody_else_are_read_where_nothing_can_be_written(bare, tmp_path):
    assert run(COMPUTE, env=bare).check() == "computed\n"
    beside = tmp_path / "site" / "sparsekit" / "kernels" / "cpu" / "__pycache__"
    assert kept(beside)
    locked(tmp_path)
    assert run(POWERLESS + NOTHING_COMPILED + COMPUTE, env=bare).check() == "computed\n"


def test_kernels_are_interpreted_where_numba_is_told_to_compile_nothing():
    interpreted = "import numba\nassert numba.config.DISABLE_JIT\nassert mx.kernels.warm() == 0\n"
    assert run(COMPUTE + interpreted, env={"NUMBA_DISABLE_JIT": "1"}).check() == "computed\n"


CALL = """
import sparsekit as mx
try:
    mx.nd.array([[1, 0], [0, 2]]).tostype("csr").sum(axis=0)
except mx.base.errors.MissingPackageError as error:
    print(error)
dense = mx.nd.ones((2, 2)) + 1  # needs no kernel
print(dense.asnumpy().tolist())
"""


UNFIT = [("__version__ = '0.60.0'", "numba 0.60.0 is installed, which is older than 0.61"),
         ("raise ImportError('needs NumPy 2.0 or less')", "numba cannot be imported (ImportError: needs NumPy 2.0 or less)"),
         ("raise SystemError('broken')", "numba cannot be imported (SystemError: broken)"),
         ("__version__ = '0.61'; config = 0", "numba cannot be imported (AttributeError: ")]


def with_numba(folder: Path, text: str) -> str:
    """A line of a program that puts a package of this text in the place of numba."""
    (folder / "numba").mkdir()
    (folder / "numba" / "__init__.py").write_text(text, encoding="utf-8")
    return f"import sys; sys.path.insert(0, {str(folder)!r})\n"


@pytest.mark.parametrize(("numba", "why"), [(None, "numba cannot be imported (ModuleNotFoundError: "), *UNFIT[1:3]])
def test_a_missing_or_unfit_numba_that_is_asked_for_is_named_with_a_remedy(tmp_path, numba, why):
    change = "import sys; sys.modules['numba'] = None\n" if numba is None else with_numba(tmp_path, numba)
    said = run(change + CALL, env={"SPARSEKIT_KERNELS": "numba"}).check()
    assert f"Kernels cannot be compiled, since {why}" in said
    assert "Hint: python -m pip install --upgrade sparsekit numba" in said
    assert said.endswith("[[2.0, 2.0], [2.0, 2.0]]\n")


INSTEAD = """
import os, warnings
import sparsekit as mx
x = mx.nd.array([[1, 0], [0, 2]]).tostype("csr")
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    print(x.sum(axis=0).asnumpy(), mx.nd.dot(x, x.T).asnumpy().tolist())
net = mx.gluon.nn.Dense(1)
net.initialize()
net.hybridize()
net(x)
print(len(said), os.path.basename(said[0].filename), said[0].message)
print(mx.gluon.hybrid.explain(net))
"""


@pytest.mark.parametrize(("numba", "why"), UNFIT[::3])
def test_a_numba_that_does_not_work_gives_one_warning_and_kernels_in_numpy(tmp_path, numba, why):
    values, warned, explained = run(with_numba(tmp_path, numba) + INSTEAD).check().splitlines()
    assert values == "[1. 2.] [[1.0, 0.0], [0.0, 4.0]]"
    assert warned.startswith(f"1 program.py Kernels in numpy are used, which are slower, since {why}")
    assert why in explained


def test_the_doctor_says_which_kernels_are_used_and_why(tmp_path):
    numba, why = UNFIT[1]
    with_numba(tmp_path, numba)
    program = "from sparsekit import doctor; print(doctor.line(doctor.kernels_finding()))"
    path = os.pathsep.join([str(tmp_path), str(PACKAGE.parent)])
    for asked, mark, value, remedy in (
            ("", "-", f"in numpy, since {why}", "--force-reinstall numba"),
            ("numpy", "+", "in numpy, since SPARSEKIT_KERNELS is numpy", ""),
            ("numba", "!", "Hint: python -m pip install", "SPARSEKIT_KERNELS=numpy works without numba")):
        said = run(program, env={"SPARSEKIT_KERNELS": asked, "PYTHONPATH": path}).check()
        assert said.startswith(f"{mark} kernels {' ' * 14}{value}"), said
        assert remedy in said


LOGGING = """
import io, logging, sys
stream = io.StringIO()
logging.basicConfig(level=logging.DEBUG, stream=stream)
if sys.argv[1:] == ["chosen"]:
    logging.getLogger("numba").setLevel(logging.DEBUG)
import sparsekit as mx
mx.nd.array([[0, 1], [2, 0]]).tostype("csr").sum(axis=0)
assert logging.getLogger().level == logging.DEBUG
logging.getLogger("mine").debug("mine")
lines = stream.getvalue().splitlines()
print(sum("numba" in line or "llvm" in line for line in lines), sum("mine" in line for line in lines))
"""


@pytest.mark.thorough
def test_numba_logs_nothing_unless_its_user_asks_for_it(bare):
    # Loading what was compiled logs nothing, so that it must be compiled.
    assert run(LOGGING, env=bare).check() == "0 1\n"
    for path in kept(Path(bare["PYTHONPATH"])):
        path.unlink()
    assert int(run(LOGGING, "chosen", env=bare).check().split()[0]) > 100


@pytest.mark.parametrize(("given", "count"), [
    ("1", 1), (" 2 ", 2), ("3", 3), ("1024", 1024), ("007", 7), ("", 8), ("  ", 8), ("0", None), ("-1", None), ("²", None),
    ("١", None), ("1.5", None), ("two", None), ("1e3", None), ("1_0", None), ("100000", None), ("9" * 5000, None)])
def test_the_number_of_threads(monkeypatch, given, count):
    monkeypatch.setattr(environment, "usable_cores", lambda: 8)
    monkeypatch.setenv("SPARSEKIT_NUM_THREADS", given)
    if count is None:
        with pytest.warns(RuntimeWarning, match="must be an integer from 1 to 1024, got .*: 8 is used") as caught:
            assert environment.thread_count() == 8
        assert caught[0].filename == __file__
        finding = doctor.kernel_threads_finding()
        assert "SPARSEKIT_NUM_THREADS" in finding.remedy
    else:
        assert environment.thread_count() == count
        assert doctor.kernel_threads_finding().value.startswith(f"{count} for large kernels")
        assert not doctor.kernel_threads_finding().remedy


THREADS = """
import threading
import numpy as np
import sparsekit as mx
x = mx.nd.ones((3000, 300)).tostype("csr")
assert (mx.nd.dot(x, mx.nd.ones((300, 16))).asnumpy() == 300).all()
assert (mx.nd.softmax(mx.nd.ones((3000, 256))).asnumpy() == np.float32(1 / 256)).all()
print(sum(thread.name.startswith("sparsekit") for thread in threading.enumerate()))
"""


@pytest.mark.thorough
def test_one_thread_means_no_helpers():
    assert run(THREADS, env={"SPARSEKIT_NUM_THREADS": "1"}).check() == "0\n"
    assert int(run(THREADS, env={"SPARSEKIT_NUM_THREADS": "3"}).check()) > 1


def test_kernels_run_where_no_thread_can_be_started():
    program = ("import _thread, threading\ndef refused(*_, **__):\n    raise RuntimeError(\"can't start new thread\")\n"
               "_thread.start_new_thread = threading._start_new_thread = refused\n" + THREADS)
    assert run(program, env={"SPARSEKIT_NUM_THREADS": "3"}).check() == "0\n"


@pytest.mark.parametrize(("given", "expected"), [
    ("1", True), ("true", True), ("ON", True), ("2", True), ("0", False), ("false", False), ("No", False), ("off", False),
    ("00", None), ("maybe", None), ("²", None), ("-1", None)])
def test_switches_of_the_environment(monkeypatch, given, expected):
    monkeypatch.setenv("MXNET_UPDATE_ON_KVSTORE", given)
    for default in (True, False):
        if expected is None:
            with pytest.warns(RuntimeWarning, match="must be 1 or 0, got "):
                assert environment.flag("MXNET_UPDATE_ON_KVSTORE", default) is default
        else:
            assert environment.flag("MXNET_UPDATE_ON_KVSTORE", default) is expected
    monkeypatch.setenv("MXNET_UPDATE_ON_KVSTORE", " ")
    assert environment.flag("MXNET_UPDATE_ON_KVSTORE", True)


def test_a_user_without_a_home_is_told_where_data_could_be_kept(monkeypatch):
    for name in ("SPARSEKIT_DATA", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 987654)
    with pytest.raises(DownloadError, match="SPARSEKIT_DATA"):
        data_home()


EXIT = """
import atexit, os, sys, threading
import numpy as np
import sparsekit as mx
x, y = mx.nd.ones((3000, 300)).tostype("csr"), mx.nd.ones((300, 16))
big = mx.nd.ones((3000, 256))
def compute():
    assert (mx.nd.dot(x, y).asnumpy() == 300).all()
    assert abs(mx.nd.softmax(big).asnumpy()[0, 0] * 256 - 1) < 1e-6
def at_exit():
    compute()
    print("computed at exit", flush=True)
def for_ever():
    while True:
        compute()
compute()
if "before" in sys.argv:
    atexit.register(at_exit)
loader = mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(np.ones((64, 3))), 4, num_workers=2, thread_pool=True)
batches = iter(loader)
next(batches)
if "busy" in sys.argv:
    for _ in range(2):
        threading.Thread(target=for_ever, daemon=True).start()
    threading.Event().wait(0.2)
if "hard" in sys.argv:
    sys.stdout.flush()
    os._exit(0)
"""


@pytest.mark.parametrize("how", [["busy", "hard"], ["busy", "before"]], ids="-".join)
def test_a_program_ends_whatever_its_threads_do(how):
    program = EXIT.replace("import numpy", "if 'before' in sys.argv:\n    atexit.register(lambda: at_exit())\nimport numpy", 1)
    done = run(program, *how, env={"SPARSEKIT_NUM_THREADS": "3"})
    assert done.check().count("computed at exit") == 2 * ("before" in how)
    assert done.stderr == ""
