"""``mx.rnn``, the recurrent cells of MXNet before Gluon, which build symbols."""
