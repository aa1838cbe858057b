"""What a profile says without its times, which is equal for every run of a deterministic program."""

from sparsekit.profiler.groups import grouped

#: Lanes whose counts differ from run to run: compilation happens once a machine, not once a run, and waits are up to others.
VOLATILE = ("compile", "profiler", "serve", "wait")


def skeleton(profile):
    """Lane, layer, operator with its storage types, and number of calls, in an order of their own."""
    columns, by = profile.tables, ("lane", "layer", "name", "storage")
    found = grouped(columns, *by)
    texts = [columns.texts(found[name]) for name in by]
    rows = zip(*texts, found["calls"].tolist(), strict=True)
    return sorted((lane, layer, f"{name} ({storage})" if storage else name, calls)
                  for lane, layer, name, storage, calls in rows if lane not in VOLATILE)
