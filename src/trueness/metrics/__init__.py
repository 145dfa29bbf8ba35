"""One file a family of measures, each ending in its registry entries."""
