"""What a live view does for a frame, counted by the engine: the same on every machine, whatever else runs there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: Blocks of JavaScript that may run from a key or a turn of the wheel to the repainted view of a hundred thousand events: not
#: even one for each of them.  A sixtieth of a second is time for millions.
BLOCKS = 50_000

#: The same for the first press of a key or turn of the wheel: a view may look at each event once, and keep what it finds.
ONCE = 1_000_000

#: Waits until what was asked for has been painted.
PAINTED = """async () => {
    for (let i = 0; i < 3; i += 1) { await new Promise(requestAnimationFrame); }
    await new Promise((done) => setTimeout(done, 100));
}"""

PRESS = """([selector, key]) => {
    document.querySelector(selector).dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
}"""

def blocks_of(page: Any, acts: list[Callable[[], object]]) -> list[int]:
    """How many blocks of JavaScript run for each act and the repainting that it asks for."""
    session = page.context.new_cdp_session(page)
    session.send("Profiler.enable")
    session.send("Profiler.startPreciseCoverage", {"callCount": True, "detailed": True})


    def count(act: Callable[[], object]) -> int:
        session.send("Profiler.takePreciseCoverage")  # counts begin anew
        act()
        page.evaluate(PAINTED)
        counted = session.send("Profiler.takePreciseCoverage")["result"]
        return sum(one["count"] for script in counted for function in script["functions"] for one in function["ranges"])

    quiet = 0
    for _ in range(600):  # frames count from when the page has started
        quiet = quiet + 1 if count(lambda: None) < 100 else 0
        if quiet == 3:
            break
    found = [count(act) for act in acts]
    session.send("Profiler.stopPreciseCoverage")
    session.detach()
    return found


def presses(page: Any, selector: str, keys: list[str]) -> list[int]:
    """The same for keys that are pressed in the first part of a view that takes them, twice each after a first press."""
    page.locator(selector).first.focus()
    found = blocks_of(page, [lambda key=key: page.evaluate(PRESS, [selector, key]) for key in keys * 3])
    first, later = found[:len(keys)], found[len(keys):]
    assert max(first) <= ONCE, first
    return later
