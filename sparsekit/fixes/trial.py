"""Trying remedies: each in a process beside the original's, and on top of those that hold."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence

from ..base import machine
from ..base.entry import entry
from ..base.errors import InsufficientMemoryError, ProfilerError, SparsekitError, expected
from ..base.formatting import counted, format_bytes
from ..base.lazy import computed_once
from ..core import hooks
from ..ndarray.ndarray import NDArray
from ..profiler import Profile
from ..profiler.advice import RULES
from ..profiler.arguments import number, whole
from ..profiler.first_look import left_dense
from ..profiler.torch_twin import OWN_OPTIMIZER
from .candidate import Candidate
from .contract import contract_text
from .judge import CHANGES, HOLDS, NO_GAIN, REFUSED, TOLERANCE, Answer, compare_answers, identical
from .many_steps import ManySteps, compare_many
from .observe import Run
from .origin import Origin, imported
from .processes import observed_apart
from .program import Program
from .remedies import Look, remedies
from .result import ALL, Figures, Fix, Fixes, Tried
from .scripts import Script
from .source import edited
from .torch_programs import growing
from .whole_run import NoSteps, ScriptError

#: Smallest share by which the bytes at the peak or the bytes moved must fall for a fix to count.
LEAST_BYTES = 0.01

#: How often arrays of the program are there at most, beside its own: on their way, in the other process, and as weights.
COPIES = 4

#: Steps that can be compared at most: all that they return is kept.
MOST_STEPS = 10_000

#: Seconds that a process may take.
TIMEOUT = 600.0

#: What is said of answers that were compared on other batches than the program's own.
TURNED = " (the data that the step holds were changed between steps)"


@entry
def try_fixes(step: Callable[[], object], profile: Profile | None = None, *, steps: int = 3,  # object: what it returns
              tolerance: float = TOLERANCE, timeout: float = TIMEOUT) -> Fixes:
    """Try every remedy on the text of a program, and report which hold, with proof.

    The function never calls ``step`` itself.  It sends the function by value to another process, with its closure, the globals
    that it uses, and all objects in them, which runs ``steps`` steps.  Each remedy is an edit of the text, and the edited text
    runs in a process of its own.  On Linux these processes are forked from one that has only imported the libraries, elsewhere
    each imports them.  A fix *holds* if losses, weights and gradients agree with those of the original within the
    tolerance and it saves bytes.  They are compared once more while the data that the step holds change from step to step.  A
    fix that holds stays applied while further ones are tried.  The user's model, optimizer, data, random numbers and settings
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
    tolerance : float
        Largest relative difference that counts as rounding.
    timeout : float
        Seconds after which a process is ended, and what it tried is refused.

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
    if not callable(step):
        raise ProfilerError(expected("step", "a function that is called without arguments", step),
                            hint="prof.try_fixes(step), where step() makes one step of training.")
    if profile is not None and not isinstance(profile, Profile):
        raise ProfilerError(expected("profile", "a Profile", profile), hint="prof.try_fixes(step) passes prof.")
    whole("steps", steps, 1, MOST_STEPS, "leave it out.")
    number("tolerance", tolerance, "a number of at least 0 and below 1", lambda share: 0 <= share < 1,
           f"{TOLERANCE} is the default.")
    number("timeout", timeout, "a number of seconds above 0", lambda seconds: 0 < seconds <= threading.TIMEOUT_MAX,
           f"{TIMEOUT:g} is the default.")
    if hooks.sink is not None:
        raise ProfilerError("try_fixes() cannot run while a profiler records.", hint="stop() it first.")
    with Origin(imported()) as origin:
        return _Trial(Called(step, int(steps), float(timeout), origin), profile, float(tolerance)).result()


def try_script(script: Script, tell: Callable[[str], None] | None = None) -> Fixes:
    """Try every remedy for PyTorch on a script, which runs from its beginning for each, in a process of its own.

    Parameters
    ----------
    script : Script
    tell : callable, optional
        Is told what runs now, in words: a run of a script may take minutes.

    Raises
    ------
    NoSteps
        If the script makes fewer than two steps with an optimizer of PyTorch.
    ScriptError
        If the script raises an error before its steps have been seen.
    """
    return _Trial(script, None, TOLERANCE, tell or (lambda words: None)).result()


class Called:
    """A step that is called, and sent to other processes, which the origin starts."""

    def __init__(self, step: Callable[[], object], steps: int, timeout: float, origin: Origin) -> None:  # object: as above
        self._step, self.steps, self._timeout, self._origin = step, steps, timeout, origin

    @computed_once
    def program(self) -> Program:
        """The step with what it holds."""
        return Program(self._step)

    def run(self, candidates: Sequence[Candidate], turned: bool = True) -> Run:
        """What the program with these remedies gives, in a process of its own."""
        self._check_memory()
        return observed_apart(self.program.sent(candidates), self.steps, turned, self._timeout, self._origin.start)

    def candidates(self, base: Run, applied: Sequence[Candidate]) -> list[Candidate]:
        """What could be tried on the program, of which this is the run."""
        look = Look(self.program, base.profile, applied)
        return [candidate for remedy in remedies for candidate in remedy.find(look)]

    def texts(self, candidates: Sequence[Candidate]) -> dict[str, tuple[str, str]]:
        """Each file that remedies change, with its text before and after."""
        edits = [edit for candidate in candidates for edit in candidate.edits]
        edited_texts = {}
        for file in dict.fromkeys(edit.file for edit in edits):
            source = self.program.source(file)
            if source is not None:
                edited_texts[file] = source.text, edited(source.text, [edit for edit in edits if edit.file == file])
        return edited_texts

    def contract(self, original: Run, final: Run, names: Sequence[str]) -> str:
        """The text of a test that keeps the fixes."""
        return contract_text(self._step, self.steps, original, final, names)

    def _check_memory(self) -> None:
        """Raise if another process, and the weights that are compared, would not fit the free memory."""
        size = sum(int(array.nbytes) for array in self.program.originals(NDArray))
        free = machine.available_memory()
        if free is not None and COPIES * size > free:
            raise InsufficientMemoryError(
                f"{format_bytes(COPIES * size)} are needed for copies of the {format_bytes(size)} that the step holds, "
                f"and {format_bytes(free)} are free.", hint="try a smaller model.")


class _Trial:
    """One call of ``try_fixes`` or ``try_script``."""

    def __init__(self, subject: Called | Script, profile: Profile | None, tolerance: float,
                 tell: Callable[[str], None] = lambda words: None) -> None:
        self.subject, self.profile, self.tolerance, self.tell = subject, profile, tolerance, tell
        self.fixes: dict[tuple[str, str], Fix] = {}
        self.original: Run

    def result(self) -> Fixes:
        """Everything that was found."""
        refusal = self._begin()
        if refusal:
            return Fixes([], None, refusal, Tried(None))
        applied: tuple[Candidate, ...] = ()
        base, reason = self.original, ""
        while accepted := next(self._holding(base, applied), None):
            fix, base = accepted
            applied, reason = (*applied, fix.candidate), fix.reason
        if isinstance(self.subject, Script) and applied:
            kept, words = self._after_many_steps(self.subject, applied, base)
            if kept != applied:
                applied, base = kept, self.subject.run(kept) if kept else self.original
            reason = f"{reason}; {words}" if words else reason
        return Fixes(list(self.fixes.values()), self._together(applied, base, reason), "",
                     Tried(self.subject, self.original, base, self._unanswered(base)))

    def _together(self, applied: tuple[Candidate, ...], base: Run, reason: str) -> Fix | None:
        if not applied:
            return None
        together = Candidate(ALL, ", ".join(dict.fromkeys(candidate.remedy for candidate in applied)),
                             edits=tuple(edit for candidate in applied for edit in candidate.edits))
        return Fix(together, HOLDS, reason, applied, Figures.of(self.original), Figures.of(base))

    def _after_many_steps(self, script: Script, applied: tuple[Candidate, ...], base: Run) -> tuple[tuple[Candidate, ...], str]:
        """The fixes that still hold after many steps of the script, and how well; the others get what is wrong as verdict."""
        self.tell("Making many steps, as it is and with what holds.")
        try:
            many = script.many()
        except SparsekitError:  # it takes too long before its first step
            return applied, ""
        verdict, words = self._over(script, applied, many, base)
        if verdict == HOLDS:
            return applied, words
        kept: tuple[Candidate, ...] = ()
        held = ""
        for candidate in applied:
            verdict, words = self._over(script, (*kept, candidate), many, None) if len(applied) > 1 else (verdict, words)
            fix = self.fixes[candidate.key]
            if verdict == HOLDS:
                kept, held = (*kept, candidate), words
            else:
                fix.verdict, fix.reason = verdict, words
        return kept, held

    def _over(self, script: Script, candidates: Sequence[Candidate], many: ManySteps, few: Run | None) -> tuple[str, str]:
        """A verdict on many steps, and its reason."""
        try:
            fixed = script.many(candidates, many)
        except SparsekitError as error:
            return REFUSED, f"in {counted(many.steps, 'step')}: {_first_line(error)}"
        return compare_many(many, fixed, self.original, few)

    def _unanswered(self, base: Run) -> tuple[str, ...]:
        """Findings that no fix answers: of a step those without a remedy, of a script what is left, and what to do."""
        if isinstance(self.subject, Script):
            tried = {rule for fix in self.fixes.values() if fix.verdict != HOLDS for remedy in remedies
                     if remedy.name == fix.candidate.remedy for rule in remedy.rules}
            timed = {rule.name for rule in RULES if rule.saves == "time"}  # which a few steps do not tell
            left = [f"{finding.reason} {finding.remedy}" for finding in base.profile.advice()
                    if finding.rule not in tried | timed or OWN_OPTIMIZER in finding.remedy]
            return *left, *left_dense(base.profile, not left and not self.fixes)
        answered = {rule for remedy in remedies for rule in remedy.rules}
        return tuple(finding.reason for finding in (self.profile.advice() if self.profile is not None else ())
                     if finding.rule not in answered)

    # the original

    def _begin(self) -> str:
        """Run the original twice; why nothing can be judged, or an empty text."""
        self.tell("Running the program as it is, twice.")
        try:
            again = self.subject.run((), turned=False)
            self.original = self.subject.run(())
        except (NoSteps, ScriptError):
            raise
        except SparsekitError as error:
            return _first_line(error)
        if not any(self.original.losses) and not self.original.weights:
            return "The step returns no numbers and holds no weights: nothing can be compared. Let it return its loss."
        apart = identical(self.original, again)
        if apart:
            return (f"Two runs of the unchanged program differ ({apart}), so no fix can be compared with it; without numbers "
                    "from the clock or from processes and threads of its own they would not.")
        turned = self.original.turned
        if turned is not None and len(self.original.losses) > 1 and not identical(self.original, turned):  # it repeats none
            self.original.turned = None
        return ""

    # fixes, each on top of those that hold

    def _holding(self, base: Run, applied: tuple[Candidate, ...]) -> Iterator[tuple[Fix, Run]]:
        """The fixes that hold in the program with the fixes so far, and their runs."""
        for candidate in self.subject.candidates(base, applied):
            before = self.fixes.get(candidate.key)
            if before is not None and (before.verdict in (HOLDS, REFUSED) or before.applied == applied):
                continue
            for variant in (candidate, *candidate.otherwise):
                fix, run = self._judged(variant, applied, base)
                self.fixes[variant.key] = fix
                if run is not None and fix.holds:
                    yield fix, run
                    break

    def _judged(self, candidate: Candidate, applied: tuple[Candidate, ...], base: Run) -> tuple[Fix, Run | None]:
        if isinstance(self.subject, Script) and not candidate.edits:
            return Fix(candidate, REFUSED, f"it was not tried: {candidate.unpatched}", applied), None
        self.tell(f"Trying {candidate.remedy}: {candidate.what}.")
        try:
            run = self.subject.run((*applied, candidate))
        except SparsekitError as error:
            return Fix(candidate, REFUSED, _first_line(error), applied), None
        answer, growth = self._answer(run), growing(run.states, self.original.states)
        verdict = REFUSED if growth else CHANGES if not answer.same else HOLDS if _gains(base, run) else NO_GAIN
        return Fix(candidate, verdict, growth or answer.words, applied, Figures.of(base), Figures.of(run)), run

    def _answer(self, run: Run) -> Answer:
        """How a run agrees with the original: on other batches too, if it made steps on them."""
        answer = compare_answers(self.original, run, self.tolerance)
        if not answer.same or self.original.turned is None:
            return answer
        if run.turned is None:
            return answer._replace(same=False, differences=("it fails when the data that the step holds are changed",))
        return compare_answers(self.original.turned, run.turned, self.tolerance)._replace(note=TURNED)


def _gains(base: Run, run: Run) -> bool:
    """Whether bytes at the peak, bytes moved or implicit conversions fall, and none of them grows."""
    ratios = [(run.peak, base.peak), (run.moved, base.moved)]
    grows = any(after > before * (1 + LEAST_BYTES) for after, before in ratios) or run.densified > base.densified
    return not grows and (any(after < before * (1 - LEAST_BYTES) for after, before in ratios) or run.densified < base.densified)


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
