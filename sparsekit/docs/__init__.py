"""Sources of the documentation, which ``python -m sphinx sparsekit/docs site`` turns into pages for a browser.

Nothing here is imported by the library. ``registry_pages`` writes the pages on operators from their records.
"""
