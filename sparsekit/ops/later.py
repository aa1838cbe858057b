"""The names of operators that are declared when one of them is first used, by their module.

Written by ``python tests/stubs.py`` for the modules that are listed; a test compares it with the registry.
"""

LATER = {
    "ops.random.sampling":
        "_random_exponential _random_exponential_like _random_gamma _random_gamma_like _random_generalized_negative_binomial "
        "_random_generalized_negative_binomial_like _random_negative_binomial _random_negative_binomial_like _random_normal "
        "_random_normal_like _random_poisson _random_poisson_like _random_randint _random_uniform _random_uniform_like "
        "_sample_exponential _sample_gamma _sample_generalized_negative_binomial _sample_multinomial "
        "_sample_multinomial_backward _sample_negative_binomial _sample_normal _sample_poisson _sample_uniform "
        "_sample_unique_zipfian _shuffle _shuffle_backward normal random_exponential random_gamma "
        "random_generalized_negative_binomial random_negative_binomial random_normal random_poisson random_randint "
        "random_uniform sample_exponential sample_gamma sample_generalized_negative_binomial sample_multinomial "
        "sample_negative_binomial sample_normal sample_poisson sample_uniform shuffle uniform",
    "ops.recurrent.rnn":
        "RNN _rnn_backward",
    "ops.update.update_adaptive":
        "_adamw_rows_update _adamw_update _contrib_adamw_update _contrib_group_adagrad_update _sparse_adagrad_update "
        "adadelta_update adagrad_update adam_update adamax_update ftml_update ftrl_update lamb_update_phase1 lamb_update_phase2 "
        "nadam_update rmsprop_update rmspropalex_update",
    "ops.update.update_momentum":
        "dcasgd_mom_update dcasgd_update nag_mom_update sgd_mom_update sgd_update sgld_update signsgd_update signum_update",
    "ops.update.update_precision":
        "_contrib_mp_adamw_update _mp_adamw_update mp_lamb_update_phase1 mp_lamb_update_phase2 mp_nag_mom_update "
        "mp_sgd_mom_update mp_sgd_update",
    "ops.indexing.boolean_mask":
        "_boolean_mask_backward _contrib_boolean_mask",
    "ops.neural.ctc":
        "CTCLoss _contrib_CTCLoss _contrib_ctc_loss ctc_loss",
    "ops.indexing.crop":
        "Crop",
    "ops.linear_algebra.linalg":
        "_apart _linalg_det _linalg_gelqf _linalg_inverse _linalg_potrf _linalg_potri _linalg_slogdet _linalg_syevd "
        "_linalg_syrk _linalg_trmm _linalg_trsm linalg_det linalg_gelqf linalg_inverse linalg_potrf linalg_potri linalg_slogdet "
        "linalg_syevd linalg_syrk linalg_trmm linalg_trsm",
    "ops.update.multi_update":
        "_multi_adamw_update _multi_lamb_update _multi_mp_adamw_update _multi_mp_lamb_update all_finite multi_all_finite "
        "multi_lars multi_mp_sgd_mom_update multi_mp_sgd_update multi_sgd_mom_update multi_sgd_update multi_sum_sq "
        "preloaded_multi_mp_sgd_mom_update preloaded_multi_mp_sgd_update preloaded_multi_sgd_mom_update "
        "preloaded_multi_sgd_update reset_arrays",
    "ops.random.pdf":
        "_random_pdf_dirichlet _random_pdf_dirichlet_backward _random_pdf_exponential _random_pdf_exponential_backward "
        "_random_pdf_gamma _random_pdf_gamma_backward _random_pdf_generalized_negative_binomial "
        "_random_pdf_generalized_negative_binomial_backward _random_pdf_negative_binomial "
        "_random_pdf_negative_binomial_backward _random_pdf_normal _random_pdf_normal_backward _random_pdf_poisson "
        "_random_pdf_poisson_backward _random_pdf_uniform _random_pdf_uniform_backward random_pdf_dirichlet "
        "random_pdf_exponential random_pdf_gamma random_pdf_generalized_negative_binomial random_pdf_negative_binomial "
        "random_pdf_normal random_pdf_poisson random_pdf_uniform",
    "ops.linear_algebra.triangle":
        "_linalg_extractdiag _linalg_extracttrian _linalg_makediag _linalg_maketrian _linalg_sumlogdiag _mirrored _triangle "
        "khatri_rao linalg_extractdiag linalg_extracttrian linalg_makediag linalg_maketrian linalg_sumlogdiag",
}
