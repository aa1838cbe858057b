"""What exists for programs written for MXNet alone.

Every name is where MXNet's users expect it, such as ``mx.mod.BucketingModule`` or ``mx.nd.CTCLoss``; this package holds the
code.  No module of it is imported before one of its names is used, and nothing outside it needs it.
"""
