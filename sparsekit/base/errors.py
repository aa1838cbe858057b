"""Named errors: a message that says what was expected and what was given, and a hint that says what to do."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = [
    "AbsentImportError",
    "AbsentNameError",
    "ArgumentError",
    "ContractError",
    "ConversionError",
    "DTypeError",
    "DataFileError",
    "DensificationError",
    "DistError",
    "DownloadError",
    "FileFormatError",
    "GPUNotFound",
    "GradientError",
    "HybridizeWarning",
    "IndexWarning",
    "InitializationError",
    "InsufficientMemoryError",
    "InternalError",
    "LazyUpdateWarning",
    "LibSVMError",
    "LostDataError",
    "LostServerError",
    "LostWorkerError",
    "MXNetError",
    "MismatchError",
    "MissingPackageError",
    "ModuleStateError",
    "NoClusterError",
    "NoRoomError",
    "NotImplementedForSymbol",
    "ParameterError",
    "ParameterNameError",
    "ProfilerError",
    "RowIndexError",
    "ShapeError",
    "SparseFormatError",
    "SparsekitError",
    "StaleGradientError",
    "StorageFallbackWarning",
    "StorageTypeError",
    "UnknownNameError",
    "UnsupportedError",
    "UpdateError",
    "WaitTimeoutError",
    "WorkerError",
    "WorkerTimeoutError",
]

#: Characters of a message.  A name or a list of the user's, or what another library quotes of a file, may have millions.
MOST = 10_000


class SparsekitError(RuntimeError):
    """Base of every error that sparsekit raises.

    Errors are also of the classes that MXNet raises in their place (``ValueError``, ``AssertionError``, …), so that a program
    which catches those goes on.

    Parameters
    ----------
    message : str
        What was expected, and what was given.
    hint : str, optional
        What to do instead; shown on a line of its own after ``Hint:``.
    """

    def __init__(self, message: str = "", hint: str = "") -> None:
        if isinstance(message, str) and len(message) > MOST:  # programs raise MXNetError of anything
            message = f"{message[:MOST // 2]} … {message[-MOST // 2:]}"
        self.message = message
        self.hint = hint
        super().__init__(f"{message}\nHint: {hint}" if hint else message)


#: MXNet's name for the base class, so that ``except mx.MXNetError`` keeps working.
MXNetError = SparsekitError


class InternalError(SparsekitError):
    """A fault of sparsekit itself, which no other call would have avoided; its cause is the error that was raised inside."""


class ShapeError(SparsekitError, ValueError, AssertionError):
    """Shapes do not fit together, or do not fit the components given."""


class DTypeError(SparsekitError, TypeError, ValueError, AssertionError):
    """An element type that the operation does not take, or an object of another kind than the one that it takes."""


class StorageTypeError(SparsekitError, ValueError):
    """An unknown storage type, or one that the operation does not take."""


class SparseFormatError(SparsekitError, ValueError):
    """Components (``data``, ``indices``, ``indptr``) that do not form a valid sparse array."""


class RowIndexError(SparsekitError, IndexError):
    """An index outside the array."""


class UnknownNameError(SparsekitError, ValueError, AttributeError, AssertionError):
    """An unknown name."""

    @classmethod
    def of(cls, kind: str, name: object, known: Iterable[str]) -> UnknownNameError:  # object: any name that a user gave
        """Build the error, with the nearest known names as the hint."""
        import difflib  # imported by the first such error: `import sparsekit` stays fast

        names = sorted(known)
        near = difflib.get_close_matches(name, names, n=3) if isinstance(name, str) else []
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"known: {', '.join(names)}."
        return cls(f"There is no {kind} named {shown(name)}.", hint=hint)

    @classmethod
    def check(cls, kind: str, name: object, known: Iterable[str]) -> None:  # object: anything that a user gave
        """Raise the error unless a name is a known one."""
        names = tuple(known)
        if not isinstance(name, str) or name not in names:
            raise cls.of(kind, name, names)


class AbsentNameError(UnknownNameError):
    """A name of MXNet that sparsekit does not have; the hint says what to use."""


class AbsentImportError(SparsekitError, ModuleNotFoundError):
    """An import of a name or module that is not here; of one of MXNet's, the hint says what to use."""

    def __init__(self, message: str = "", hint: str = "", name: str | None = None) -> None:
        super().__init__(message, hint)
        self.name = name


class ArgumentError(UnknownNameError, TypeError):
    """An unknown argument of a function, or a missing one."""


class ParameterNameError(UnknownNameError, KeyError):
    """An unknown name of a parameter."""

    __str__ = BaseException.__str__  # KeyError.__str__ would quote the message


class ConversionError(SparsekitError, TypeError, BufferError):
    """An array cannot be converted implicitly to what the caller needs."""


class GradientError(SparsekitError):
    """A requested gradient cannot be computed."""


class DensificationError(SparsekitError):
    """``config.densify`` or ``config.densify_limit`` forbids an implicit conversion to dense."""


class InitializationError(SparsekitError, ValueError, AssertionError):
    """A parameter used before its values or its shape are known."""


class ParameterError(SparsekitError, ValueError, AssertionError):
    """A value that an argument does not take, or shared or loaded parameters that do not match the block that uses them."""


class ModuleStateError(SparsekitError, AssertionError):
    """A module is used before it is bound, or before it has parameters or an optimizer."""


class StaleGradientError(GradientError, UserWarning):
    """A step uses a gradient that no backward pass has computed since the previous step."""


class DataFileError(SparsekitError, OSError):
    """A data file that is missing, truncated or of another format."""


class DownloadError(DataFileError):
    """A file cannot be downloaded, or differs from the published one; the message names the address."""


class FileFormatError(DataFileError, ValueError):
    """A file of arrays that is damaged or truncated; the message gives the byte."""


class LibSVMError(DataFileError, ValueError):
    """A malformed line of a LibSVM file; the message gives file and line number."""


class GPUNotFound(SparsekitError):
    """A GPU context was requested without a usable GPU or without cupy."""


class InsufficientMemoryError(SparsekitError, MemoryError):
    """The machine has less free memory than the operation needs."""


class MissingPackageError(SparsekitError, ImportError):
    """An optional package is not installed; the hint names the extra that installs it."""


class ProfilerError(SparsekitError):
    """The profiler was used out of order."""


class CustomOpError(SparsekitError):
    """A custom operator's own code raised an error, which is the cause of this one."""


class LearningRateError(SparsekitError, UserWarning):
    """A learning rate is no usable number, or was set although a schedule decides it; also a ``UserWarning``, as in MXNet."""


class ContractError(SparsekitError, AssertionError):
    """A profile breaks a contract of ``expect(prof)``."""


class UnsupportedError(SparsekitError, NotImplementedError):
    """A feature of MXNet that this version does not support, or a method that a class of the user's has to define."""


class NotImplementedForSymbol(UnsupportedError):
    """A function of arrays that symbols do not have.

    Parameters
    ----------
    function : callable or str
    alias : str, optional
        The operator that stands for it.
    *args : object
        Arguments, whose types the message names.
    """

    # object: MXNet documents a function or its name, and prints anything else as it is; of the arguments only the types
    def __init__(self, function: object, alias: str | None = None, *args: object, hint: str = "") -> None:
        named = f' (namely operator "{alias}")' if alias else ""
        arguments = f" with arguments ({', '.join(str(type(argument)) for argument in args)})" if args else ""
        super().__init__(f"Function {getattr(function, '__name__', function)}{named}{arguments} is not implemented for Symbol "
                         "and only available in NDArray.", hint)


class WorkerError(SparsekitError):
    """A worker of a ``DataLoader`` ended, or failed with an error that cannot be raised here."""


class WorkerTimeoutError(WorkerError, TimeoutError):
    """A worker did not finish a batch in time."""


class DistError(SparsekitError):
    """A distributed run cannot continue as requested.

    Parameters
    ----------
    message, hint : str, as in ``SparsekitError``
    rank : int, optional
        The worker that the error concerns.
    key : str or int, optional
    step : int, optional
        Number of the push of that key.
    """

    def __init__(self, message: str = "", hint: str = "", *, rank: int | None = None, key: str | int | None = None,
                 step: int | None = None) -> None:
        super().__init__(message, hint)
        self.rank, self.key, self.step = rank, key, step


class LostWorkerError(DistError):
    """A worker has ended, and the run cannot go on without it."""


class WaitTimeoutError(DistError, TimeoutError):
    """A worker, a server or a barrier did not answer in time."""


class MismatchError(DistError, ValueError):
    """A worker sends data that do not match those of the servers or of other workers."""


class UpdateError(DistError):
    """The optimizer failed on a server; the key cannot be used any more."""


class LostDataError(DistError):
    """No snapshot of a run can be read, or a machine does not see them."""


class LostServerError(DistError):
    """A server has ended, and the run cannot go on without it."""


class NoClusterError(DistError):
    """A distributed store is requested outside a distributed run, or there is no cluster."""


class NoRoomError(DistError):
    """The machines of a cluster have no room for the workers and servers."""


def first_line(error: Exception) -> str:
    """Class and text of an error of Python or numpy, in one line of bounded length: some quote a whole file."""
    try:
        return _begin(f"{type(error).__name__}: {error}")
    except Exception:  # an error whose own text fails
        return type(error).__name__


def _begin(text: str, most: int = 500) -> str:
    """The first line, or its beginning."""
    line = text.splitlines()[0]
    return line if len(line) <= most else f"{line[:most]}…"


def named(error: Exception, message: str) -> Exception:
    """The named error for an error of Python or numpy that arguments have caused; it is an instance of the same builtin class.

    Its text is ``message`` and that of the error.
    """
    if isinstance(error, SparsekitError):
        return error
    try:
        message = f"{message}: {_begin(str(error) or type(error).__name__)}"
    except Exception:  # an error whose own text fails
        message = f"{message}: {type(error).__name__}"
    if isinstance(error, MemoryError):
        return InsufficientMemoryError(message, hint="take a slice first, or a smaller element type.")
    if isinstance(error, (TypeError, OverflowError, AttributeError)):
        return DTypeError(message, hint="check the types of the arguments; astype() casts arrays, to float32 for instance.")
    kind = RowIndexError if isinstance(error, IndexError) else UnknownNameError if isinstance(error, KeyError) else ShapeError
    return kind(message, hint="check the arguments, the shapes and the element types of the arrays.")


def expected(name: str, what: str, got: object) -> str:  # object: whatever came instead of what was expected
    """The message of a value of the wrong kind or size: ``units must be at least 1, got 0.``"""
    return f"{name} must be {what}, got {got.__name__ if isinstance(got, type) else shown(got)}."


def shown(value: object, most: int = 200) -> str:  # object: everything has a repr
    """``repr`` of a user's value for a message: at most ``most`` characters, and safe for objects whose ``repr`` fails."""
    try:
        text = repr(value)
    except Exception:  # a number with more digits than Python prints, a list in itself, an object that raises
        return f"<{type(value).__name__}>"
    return text if len(text) <= most else f"{text[:most]}…"


class StorageFallbackWarning(UserWarning):
    """A sparse array was made dense because no sparse kernel fits the call."""


class LazyUpdateWarning(UserWarning):
    """An optimizer leaves rows without a gradient as they are, although its standard update would change them."""


class IndexWarning(UserWarning):
    """An index, a label or an id was changed to fit: clipped to the ends of an axis, or rounded by a float type."""


class WorkerWarning(UserWarning):
    """The workers of a ``DataLoader`` are threads, since what they call cannot be sent to another process."""


class HybridizeWarning(UserWarning):
    """A hybridized block runs unhybridized, or is traced again at every call."""
