"""What kernels can say beyond Python; ``native`` tells numba what it is compiled to.  Outside kernels these do nothing."""

from __future__ import annotations

__all__ = ["add", "eight_bytes", "pause", "prefetch", "put_up", "read", "run_piece", "write", "zero_bits"]

# Words of the board that ``crew`` keeps, each on a cache line of its own; a helper's AWAKE follows those before it.
NEXT, COUNT, GRAIN, FUNCTION, ARGUMENTS, ACTIVE, FAILED, AWAKE = (place * 8 for place in range(8))



def prefetch(array, place):
    """Have ``array[place]`` brought near, for a read that comes soon; the array is one-dimensional."""


def eight_bytes(text, place):
    """``text[place:place + 8]`` of uint8 as one uint64, the first byte lowest; unchecked, so have the room."""


def zero_bits(word):
    """How many zero bits a uint64 has below its lowest one; 64 if it is 0."""


def add(board, place, amount):
    """Add to a word of the board; what it was."""


def read(board, place):
    """A word of the board, whoever wrote it."""


def write(board, place, value):
    """Set a word of the board, after all that was written before."""


def pause():
    """Tell the processor that this is a loop that waits."""


def run_piece(function, packed, start, stop):
    """Run a piece of the loop that is on the board; not 0 if it failed."""


def put_up(board, body, arguments):
    """Write on the board where ``body(*arguments, start, stop)`` and its arguments are.

    They are in the frame of the calling kernel, which must not return before ``crew.lead`` has.
    """
