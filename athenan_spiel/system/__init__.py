"""The machine that this runs on: files that may come from elsewhere, cores and memory, processes."""
