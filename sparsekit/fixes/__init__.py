"""From a finding to a fix with proof: remedies tried on the text of a program, judged, and written down as a patch and a test.

``prof.try_fixes(step)`` and ``sparsekit fix script.py`` lead here.  ``remedies`` propose edits of the text, ``send`` pickles a
step with them, ``processes`` asks a fresh process for what ``runner`` and ``observe`` find there, ``judge`` compares the
answers, ``trial`` puts these together, ``result`` shows them.  A PyTorch script is run as a whole: ``scripts`` asks for it,
``whole_run`` runs it, and remedies look at it as ``live`` has it.
"""

from .candidate import Candidate
from .remedies import Look, Remedy
from .result import Fix, Fixes
from .scripts import profile_of
from .trial import try_fixes

__all__ = ["Candidate", "Fix", "Fixes", "Look", "Remedy", "profile_of", "try_fixes"]
