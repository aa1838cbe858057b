"""How the code of ``golden/estimator.json`` runs, with either library as ``mx``."""

import logging
import os
import warnings

import numpy as np


class Run:
    """What code logs, says, gives in the form of ``kept``, and warns of; and its error, if it ends with one."""

    def __init__(self, mx, estimator, code, folder, kept=lambda found: found):
        self.lines, self.said, self.outputs, self.error = [], [], [], None
        run, folder = self, str(folder)

        class Keeper(logging.Handler):
            def emit(self, record):
                run.lines.append(record.getMessage().replace(folder + "/", "").replace(folder, "FOLDER"))

        names = {"mx": mx, "E": estimator, "np": np, "Keeper": Keeper, "folder": folder,
                 "say": lambda *words: self.said.append(" ".join(map(str, words))),
                 "out": lambda *found: self.outputs.extend(map(kept, found)),
                 "files": lambda: self.outputs.append(sorted(os.listdir(folder)))}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                for part in code:
                    exec(part, names)
            except Exception as error:
                self.error = error
        self.warned = [one.category for one in caught]
