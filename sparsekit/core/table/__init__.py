"""Tables of calls: operators of a program run by compiled code, without Python between them.

``arrays`` has the arrays that rules are run on once, ``numpy_calls`` and ``kernel_calls`` note what rules call,
``builder`` lays out words and memory, ``machine`` finds the functions, ``table`` runs what was made.
"""
