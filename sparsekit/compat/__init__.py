"""Code that only programs written for MXNet need.

Users access the names where MXNet has them, such as ``mx.mod.BucketingModule`` or ``mx.nd.CTCLoss``.  The first use of a name
imports its module.  No code outside this package depends on it.
"""
