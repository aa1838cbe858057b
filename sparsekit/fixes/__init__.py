"""From a finding to a fix with proof: remedies tried on clones of a program, judged, and written down as a patch and a contract.

``prof.try_fixes(step)`` and ``sparsekit fix script.py`` lead here.  ``clone`` copies a program, ``remedies`` propose changes
of the copy and of the text, ``observe`` runs it, ``judge`` compares the answers, ``trial`` puts these together, ``result``
shows them.
"""

from . import torch_programs
from .candidate import Candidate
from .remedies import Look, Remedy
from .result import Fix, Fixes
from .trial import try_fixes

__all__ = ["Candidate", "Fix", "Fixes", "Look", "Remedy", "try_fixes"]
