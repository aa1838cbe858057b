"""Importing this makes all operators known.

Most are declared at once.  Those in ``LATER`` are declared when one of their names is first used.
"""

from ..core.op import registry as _registry
from . import creation
from .elementwise import binary, scalar, special, unary
from .indexing import gather, index, sequence, slices
from .linear_algebra import products
from .neural import neural, normalize, output, softmax
from .reduce import reduce, sorting
from .shape import array_info, concat, matrix, repeat_pad_split, shape
from .sparse import cast, dot, embedding, sparse_dot, sparse_pairs, sparse_reduce, sparse_rows

__all__ = [
    "LATER", "array_info", "binary", "cast", "concat", "creation", "dot", "embedding", "gather", "index", "matrix",
    "neural", "normalize", "output", "products", "reduce", "repeat_pad_split", "scalar", "sequence", "shape", "slices",
    "softmax", "sorting", "sparse_dot", "sparse_pairs", "sparse_reduce", "sparse_rows", "special", "unary",
]

#: Modules that are imported when one of these operators is first used.
LATER = {
    "ops.random.sampling":
        "_random_uniform random_uniform uniform _random_uniform_like _sample_uniform sample_uniform _random_normal "
        "random_normal normal _random_normal_like _sample_normal sample_normal _random_gamma random_gamma _random_gamma_like "
        "_sample_gamma sample_gamma _random_exponential random_exponential _random_exponential_like _sample_exponential "
        "sample_exponential _random_poisson random_poisson _random_poisson_like _sample_poisson sample_poisson "
        "_random_negative_binomial random_negative_binomial _random_negative_binomial_like _sample_negative_binomial "
        "sample_negative_binomial _random_generalized_negative_binomial random_generalized_negative_binomial "
        "_random_generalized_negative_binomial_like _sample_generalized_negative_binomial sample_generalized_negative_binomial "
        "_random_randint random_randint _sample_multinomial sample_multinomial _sample_multinomial_backward _shuffle shuffle "
        "_shuffle_backward _sample_unique_zipfian",
    "ops.recurrent.rnn":
        "RNN _rnn_backward",
    "ops.update.update_adaptive":
        "adam_update _adamw_rows_update adamax_update nadam_update _sparse_adagrad_update adagrad_update "
        "_contrib_group_adagrad_update rmsprop_update rmspropalex_update ftrl_update ftml_update adadelta_update "
        "_contrib_adamw_update _adamw_update lamb_update_phase1 lamb_update_phase2",
    "ops.update.update_momentum":
        "sgd_update sgd_mom_update nag_mom_update signsgd_update signum_update dcasgd_update dcasgd_mom_update sgld_update",
    "ops.update.update_precision":
        "mp_sgd_update mp_sgd_mom_update mp_nag_mom_update _contrib_mp_adamw_update _mp_adamw_update mp_lamb_update_phase1 "
        "mp_lamb_update_phase2",
    "ops.indexing.boolean_mask":
        "_contrib_boolean_mask _boolean_mask_backward",
    "ops.neural.ctc":
        "CTCLoss ctc_loss _contrib_CTCLoss _contrib_ctc_loss",
    "ops.neural.im2col":
        "im2col col2im Crop",
    "ops.linear_algebra.linalg":
        "_linalg_syrk linalg_syrk _linalg_potrf linalg_potrf _linalg_potri linalg_potri _linalg_trmm linalg_trmm _linalg_trsm "
        "linalg_trsm _linalg_inverse linalg_inverse _linalg_det linalg_det _linalg_slogdet linalg_slogdet _linalg_gelqf "
        "linalg_gelqf _linalg_syevd linalg_syevd _apart",
    "ops.update.multi_update":
        "multi_sgd_update multi_sgd_mom_update multi_mp_sgd_update multi_mp_sgd_mom_update preloaded_multi_sgd_update "
        "preloaded_multi_sgd_mom_update preloaded_multi_mp_sgd_update preloaded_multi_mp_sgd_mom_update _multi_adamw_update "
        "_multi_lamb_update _multi_mp_adamw_update _multi_mp_lamb_update multi_sum_sq multi_lars all_finite multi_all_finite "
        "reset_arrays",
    "ops.random.pdf":
        "_random_pdf_uniform random_pdf_uniform _random_pdf_uniform_backward _random_pdf_normal random_pdf_normal "
        "_random_pdf_normal_backward _random_pdf_gamma random_pdf_gamma _random_pdf_gamma_backward _random_pdf_exponential "
        "random_pdf_exponential _random_pdf_exponential_backward _random_pdf_poisson random_pdf_poisson "
        "_random_pdf_poisson_backward _random_pdf_negative_binomial random_pdf_negative_binomial "
        "_random_pdf_negative_binomial_backward _random_pdf_generalized_negative_binomial "
        "random_pdf_generalized_negative_binomial _random_pdf_generalized_negative_binomial_backward _random_pdf_dirichlet "
        "random_pdf_dirichlet _random_pdf_dirichlet_backward",
    "ops.linear_algebra.triangle":
        "_linalg_extractdiag linalg_extractdiag _linalg_makediag linalg_makediag _linalg_extracttrian linalg_extracttrian "
        "_linalg_maketrian linalg_maketrian _triangle _mirrored _linalg_sumlogdiag linalg_sumlogdiag khatri_rao",
}

for _module, _names in LATER.items():
    _registry.declared_in(f"sparsekit.{_module}", _names.split())
