"""Distributed training, without a cluster: servers in this process, and workers in threads."""
