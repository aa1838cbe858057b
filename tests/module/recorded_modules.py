"""How the code of ``golden/module.json`` runs, with either library as ``mx``."""

import logging
import os
import re
import warnings
from pathlib import Path

import numpy as np


class Lines(logging.Handler):
    """What is logged, with times taken out."""

    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(f"{record.levelname}: " + re.sub(r"cost=[\d.]+", "cost=T", record.getMessage()))


def run(mx, code, folder):
    """What the code leaves in ``result``, logs, says in warnings and writes, in the folder, which stays the current one."""
    handler, names, logger = Lines(), {"mx": mx, "np": np}, logging.getLogger()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    os.chdir(folder)
    try:
        with warnings.catch_warnings(record=True) as said, mx.name.NameManager():
            warnings.simplefilter("always")
            exec(code, names)
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
    files = {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}
    return names["result"], handler.lines, [one for one in said if issubclass(one.category, UserWarning)], files
