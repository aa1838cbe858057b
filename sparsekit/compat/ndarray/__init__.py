"""Functions of ``mx.nd`` that old programs call and no operator stands for."""
