"""A PyTorch program that runs in this process, as remedies look at it: its functions, modules and variables of the moment."""

from __future__ import annotations

import gc
import sys
import types
import weakref
from collections.abc import Iterator
from typing import Any, TypeVar

from .send import contents_of, is_program
from .source import Texts

T = TypeVar("T")

#: Where a call stands in a text: file, first and last line, and the columns in bytes where it begins and ends.
Place = tuple[str, int, int, int, int]

#: What no line of the program makes.
NOWHERE: Place = ("", 0, 0, 0, 0)

#: The places of the calls that made modules, by their ids, which others may have once they are gone.
Made = dict[int, tuple[weakref.ref[Any], Place]]  # Any: modules


def program_frames(frame: types.FrameType | None) -> Iterator[types.FrameType]:
    """The frames of the program itself among a frame and those that called it, the innermost first."""
    while frame is not None:
        if is_program(frame.f_globals):
            yield frame
        frame = frame.f_back


def place_of(frame: types.FrameType) -> Place:
    """The place of the call that a frame makes."""
    first, last, begin, end = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    line = first or frame.f_lineno
    return frame.f_code.co_filename, line, last or line, begin or 0, end or 0


class LiveProgram(Texts):
    """The program of this process, with what ``Program`` offers to remedies.

    Parameters
    ----------
    main : function
        The code of the script, with its globals.
    frame : frame
        Of the step.
    places : dict
        Where modules were made.

    Attributes
    ----------
    functions : list of function
        Those of the program, in the order of its text; the code of a script counts as one.
    """

    #: A script is not a notebook cell.
    snippet = None

    def __init__(self, main: types.FunctionType, frame: types.FrameType | None, places: Made) -> None:
        self._places, self._objects = places, gc.get_objects()
        functions = [function for function in self._objects
                     if type(function) is types.FunctionType and is_program(function.__globals__)]
        super().__init__(sorted([main, *functions],
                                key=lambda function: (function.__code__.co_filename, function.__code__.co_firstlineno)))
        self._paths: dict[int, str] = {}
        self._locals: dict[types.CodeType, dict[str, Any]] = {}  # Any: variables
        for program_frame in program_frames(frame):
            self._locals.setdefault(program_frame.f_code, dict(program_frame.f_locals))
        for names in (*self._locals.values(), *(function.__globals__ for function in self.functions)):
            for name, value in list(names.items()):
                self._paths.setdefault(id(value), name)

    def originals(self, kind: type[T]) -> list[T]:
        """The objects of one class that there are, in the order in which they were made."""
        return [value for value in self._objects if issubclass(type(value), kind)]

    def path_of(self, original: object) -> str:
        """The variable that the program holds an object in; empty if it is a part of others."""
        return self._paths.get(id(original), "")

    def made_at(self, module: object) -> Place | None:
        """The place of the call that made a module, if it was seen."""
        reference, place = self._places.get(id(module), (None, None))
        return place if reference is not None and reference() is module else None

    def variables(self, function: types.FunctionType) -> dict[str, Any]:  # Any: whatever they hold
        """The variables that a function sees: those of itself if it runs now, of functions around it, and its globals."""
        return {**function.__globals__, **contents_of(function), **self._locals.get(function.__code__, {})}


def calling() -> types.FrameType | None:
    """The frame of the program that called the library, or a library that called this one."""
    return next(program_frames(sys._getframe(1)), None)
