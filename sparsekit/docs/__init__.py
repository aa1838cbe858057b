"""Sources of the documentation, which ``python -m sphinx sparsekit/docs site`` builds.

The library does not import this package. ``registry_pages`` writes the pages on operators from the registry.
"""
