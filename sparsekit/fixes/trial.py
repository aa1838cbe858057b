"""Trying remedies: each on a clone beside the original, then all together that hold, then their times in turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from ..base import machine
from ..base.entry import entry
from ..base.errors import InsufficientMemoryError, ProfilerError, SparsekitError, expected
from ..base.formatting import format_bytes
from ..core import hooks
from ..ndarray.ndarray import NDArray
from ..profiler import Profile
from .candidate import Candidate
from .judge import CHANGES, HOLDS, NO_GAIN, REFUSED, TOLERANCE, Answer, compare_answers, identical
from .observe import Run, Weight, initial, run
from .program import Program
from .remedies import Look, remedies
from .result import ALL, Figures, Fix, Fixes, Tried
from .source import overlap
from .times import timed
from .torch_programs import find_repeated, growth_of_states

if TYPE_CHECKING:
    from ..profiler.turns import Comparison

__all__ = ["try_fixes"]

#: Smallest share by which the bytes at the peak or the bytes moved must fall for a fix to count.
LEAST_BYTES = 0.01

#: How often fixes are looked for again in the program with those that hold.
MOST_ROUNDS = 4

#: How often arrays of the program are there at most, beside its own: in a clone, and as weights that are compared.
COPIES = 3

#: What remains of an error of memory: the class that cupy raises is not imported for it.
_NO_MEMORY = ("OutOfMemoryError",)


@entry
def try_fixes(step: Callable[[], object], profile: Profile | None = None, *, steps: int = 3,  # object: what it returns
              rounds: int = 20, tolerance: float = TOLERANCE) -> Fixes:
    """Try every remedy on clones of a program, and report which hold, with proof.

    The function never calls ``step`` itself.  It calls clones of the function, its closure, the globals that it uses, and all
    objects in them.  Each remedy is applied to a clone.  This clone and a clone of the original run ``steps`` steps each.  A fix
    *holds* if losses, weights and gradients agree within the tolerance and it saves bytes or time.  All fixes that hold are
    applied together and compared once more with the original.  The user's model, optimizer, data, random numbers and settings
    do not change.

    Parameters
    ----------
    step : callable
        A function, method, ``partial`` or object that is called without arguments.  One call runs one step of training, or a
        loop of several.  Its results, such as losses, are compared.
    profile : Profile, optional
        Profile of the program.  The findings of its advice that have no remedy are listed.
    steps : int
        Number of calls of ``step`` that are compared.
    rounds : int
        Number of interleaved rounds for the times, as in ``profiler.compare``; with 0 no times are measured.
    tolerance : float
        Largest relative difference that counts as rounding.

    Returns
    -------
    Fixes

    Raises
    ------
    ProfilerError
        If a profiler is recording, or an argument is invalid.

    Examples
    --------
    >>> with mx.Profiler() as prof:
    ...     step()
    >>> fixes = prof.try_fixes(step)
    >>> print(fixes.patch)
    """
    _check(steps, rounds, tolerance)
    if hooks.sink is not None:
        raise ProfilerError("try_fixes() cannot run while a profiler records.", hint="stop() it first.")
    return _Trial(step, profile, int(steps), int(rounds), float(tolerance)).result()


def _check(steps: object, rounds: object, tolerance: object) -> None:  # object: what the user gave
    for name, value, least in (("steps", steps, 1), ("rounds", rounds, 0)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ProfilerError(expected(name, f"an integer of at least {least}", value), hint="leave it out.")
    if isinstance(tolerance, bool) or not isinstance(tolerance, (int, float)) or not 0 <= tolerance < 1:
        raise ProfilerError(expected("tolerance", "a number of at least 0 and below 1", tolerance),
                            hint=f"{TOLERANCE} is the default.")


class _Trial:
    """One call of ``try_fixes``."""

    def __init__(self, step: Callable[[], object], profile: Profile | None, steps: int, rounds: int,  # object: as above
                 tolerance: float) -> None:
        self.step, self.profile, self.steps, self.rounds, self.tolerance = step, profile, steps, rounds, tolerance
        self.fixes: dict[tuple[str, str], Fix] = {}
        self.program: Program
        self.original: Run
        self.shifted: Run | None = None
        self.start: dict[int, Weight] = {}

    def result(self) -> Fixes:
        """Everything that was found."""
        refusal = self._begin()
        if refusal:
            return Fixes([], None, refusal, None, Tried(None, self.steps))
        applied: tuple[Candidate, ...] = ()
        base = self.original
        for _ in range(MOST_ROUNDS):
            new = list(self._round(base, applied))
            if not new:
                break
            applied, base = self._together(applied, new, base)
        together = None if not applied else self._together_fix(applied, base)
        tried = Tried(self.program, self.steps, self.original, base, self._unanswered())
        return Fixes(list(self.fixes.values()), together, "", self._measured(applied), tried)

    def _unanswered(self) -> tuple[str, ...]:
        """Reasons of the profile's advice that no remedy answers."""
        answered = {rule for remedy in remedies for rule in remedy.rules}
        return tuple(finding.reason for finding in (self.profile.advice() if self.profile is not None else ())
                     if finding.rule not in answered)

    # the original

    def _begin(self) -> str:
        """Run the original twice; why nothing can be judged, or an empty text."""
        try:
            self.program = Program(self.step)
            self._check_memory()
            find_repeated(self.program)
            self.start = initial(self.program)
            self.original = run(self.program.clone(), self.steps)
            again = run(self.program.clone(), self.steps)
        except (Exception, SystemExit) as error:
            return refused(error)
        if not any(self.original.losses) and not self.original.weights:
            return "The step returns no numbers and holds no weights: nothing can be compared. Let it return its loss."
        apart = identical(self.original, again)
        if apart:
            return f"Two runs of the unchanged program differ ({apart}), so no fix can be compared with it."
        return ""

    def _check_memory(self) -> None:
        """Raise if a clone, and the weights that are compared, would not fit the free memory."""
        self.size = sum(int(array.nbytes) for array in self.program.originals(NDArray))
        free = machine.available_memory()
        if free is not None and COPIES * self.size > free:
            raise InsufficientMemoryError(
                f"{format_bytes(COPIES * self.size)} are needed for copies of the {format_bytes(self.size)} that the step holds, "
                f"and {format_bytes(free)} are free.", hint="try a smaller model.")

    # single fixes

    def _round(self, base: Run, applied: tuple[Candidate, ...]) -> Iterator[Candidate]:
        """Judge what remedies find in the program with the fixes so far; those that hold."""
        look = Look(self.program, base.profile, applied)
        for remedy in remedies:
            for candidate in list(remedy.find(look)):
                before = self.fixes.get(candidate.key)
                if before is not None and (before.verdict in (HOLDS, REFUSED) or before.applied == applied):
                    continue
                for one in (candidate, *candidate.otherwise):
                    fix = self._lasting(self._judged(one, applied, base))
                    self.fixes[one.key] = fix
                    if fix.verdict == HOLDS:
                        yield one
                        break

    def _judged(self, candidate: Candidate, applied: tuple[Candidate, ...], base: Run) -> Fix:
        try:
            found = run(self.program.clone((*applied, candidate)), self.steps)
        except (Exception, SystemExit) as error:
            return Fix(candidate, REFUSED, refused(error), applied)
        return self._verdict(candidate, applied, base, found)

    def _answer(self, candidate: Candidate, applied: tuple[Candidate, ...], found: Run) -> Answer:
        """How a fix agrees with the original: on different batches, if rows that a batch leaves out may fare differently."""
        if not candidate.by_rows or not self.program.repeated:
            return compare_answers(self.original, found, self.start, self.tolerance)
        steps = max(2, self.steps)
        self.shifted = self.shifted or run(self.program.clone(), steps, shifted=True)
        other = run(self.program.clone((*applied, candidate)), steps, shifted=True)
        answer = compare_answers(self.shifted, other, self.start, self.tolerance)
        return answer._replace(note=" (the program repeats one batch: from step to step its row numbers were shifted)")

    def _lasting(self, fix: Fix) -> Fix:
        """A fix, refused if the states of optimizers grow with every step by it: a few steps would not show what that takes."""
        if fix.verdict == REFUSED:
            return fix
        try:
            growth = growth_of_states(self.program, fix.applied, (*fix.applied, fix.candidate))
        except (Exception, SystemExit) as error:
            growth = refused(error)
        return fix if not growth else Fix(fix.candidate, REFUSED, growth, fix.applied, fix.before, fix.after)

    def _verdict(self, candidate: Candidate, applied: tuple[Candidate, ...], base: Run, found: Run) -> Fix:
        answer = self._answer(candidate, applied, found)
        figures = Figures.of(base), Figures.of(found)
        if not answer.same:
            return Fix(candidate, CHANGES, answer.words, applied, *figures)
        if _gains(base, found):
            return Fix(candidate, HOLDS, answer.words, applied, *figures)
        if candidate.for_time and self.rounds:
            row = timed(self.program, {"before": applied, "after": (*applied, candidate)}, self.rounds)["after"]
            if row["verdict"] == "faster":
                return Fix(candidate, HOLDS, answer.words, applied, *figures)
            return Fix(candidate, NO_GAIN, f"{answer.words}; time: {row['finding']}", applied, *figures)
        if candidate.for_time:
            return Fix(candidate, NO_GAIN, f"{answer.words}; it may save time, which was not measured", applied, *figures)
        return Fix(candidate, NO_GAIN, answer.words, applied, *figures)

    # all together

    def _together(self, applied: tuple[Candidate, ...], new: list[Candidate], base: Run) -> tuple[tuple[Candidate, ...], Run]:
        """The fixes that hold with each other, added one by one where all at once do not."""
        try:
            found = run(self.program.clone((*applied, *new)), self.steps)
            if compare_answers(self.original, found, self.start, self.tolerance).same and _no_worse(base, found):
                return (*applied, *new), found
        except Exception:
            pass  # one by one, then
        for candidate in new:
            if overlap([edit for one in (*applied, candidate) for edit in one.edits]):
                self.fixes[candidate.key] = Fix(candidate, NO_GAIN, "a fix that holds changes the same lines", applied)
                continue
            fix = self._lasting(self._judged(candidate, applied, base))
            if fix.verdict == HOLDS:
                applied = (*applied, candidate)
                base = run(self.program.clone(applied), self.steps)
            else:
                self.fixes[candidate.key] = fix
        return applied, base

    def _together_fix(self, applied: tuple[Candidate, ...], found: Run) -> Fix:
        answer = compare_answers(self.original, found, self.start, self.tolerance)
        whole = Candidate(ALL, ", ".join(dict.fromkeys(one.remedy for one in applied)),
                          edits=tuple(edit for one in applied for edit in one.edits))
        return Fix(whole, HOLDS if answer.same else CHANGES, answer.words, applied, Figures.of(self.original), Figures.of(found))

    def _measured(self, applied: Sequence[Candidate]) -> Comparison | None:
        """The times of the original, of each fix that holds on what it was judged on, and of all together, in turns."""
        if not self.rounds or not applied:
            return None
        programs: dict[str, tuple[Candidate, ...]] = {"original": ()}
        for fix in self.fixes.values():
            if fix.candidate in applied and len(applied) > 1:
                programs[fix.name] = (*fix.applied, fix.candidate)
        programs[ALL] = tuple(applied)
        free = machine.available_memory()
        if free is not None and len(programs) * self.size > free / 2:  # they are all there at once
            programs = {name: programs[name] for name in ("original", ALL)}
        return timed(self.program, programs, self.rounds)


def _gains(base: Run, found: Run) -> bool:
    """Whether bytes at the peak, bytes moved or implicit conversions fall, and none of them grows."""
    fewer = (found.peak < base.peak * (1 - LEAST_BYTES) or found.moved < base.moved * (1 - LEAST_BYTES)
             or found.densified < base.densified)
    return fewer and _no_worse(base, found)


def _no_worse(base: Run, found: Run) -> bool:
    return (found.peak <= base.peak * (1 + LEAST_BYTES) and found.moved <= base.moved * (1 + LEAST_BYTES)
            and found.densified <= base.densified)


def refused(error: BaseException) -> str:
    """Why a program or a fix was refused, from the error that it met."""
    if isinstance(error, MemoryError) or type(error).__name__ in _NO_MEMORY:
        return f"There is not enough memory for a clone and its run: {_first_line(error)}"
    if isinstance(error, SparsekitError):
        return _first_line(error)
    return f"The step raises {type(error).__name__}: {_first_line(error)}"


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
