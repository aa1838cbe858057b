"""What every other part stands on: errors, contexts, settings, names, optional imports."""
