"""Functions of ``mx.nd`` for old programs that are not operators."""
