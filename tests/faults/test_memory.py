"""Memory that the system does not give: a named error, whatever asked for it."""

from __future__ import annotations

import programs


def test_a_program_is_run_and_measured():
    done = programs.run("import sys; block = bytearray(100 << 20); block[::4096] = b'1' * len(block[::4096]); print(sys.argv[1])",
                        "said")
    assert done.check() == "said\n"
    assert 100 * programs.MIB < done.peak < 200 * programs.MIB
    limited = programs.run("bytearray(200 << 20)", memory=100 * programs.MIB)
    assert limited.returncode == 1
    assert "MemoryError" in limited.stderr
    assert programs.run("import ctypes; ctypes.string_at(0)").returncode < 0
    assert programs.run("while True: pass", timeout=1).returncode is None
