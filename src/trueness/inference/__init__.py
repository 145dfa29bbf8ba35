"""How sure: simulation, tests, intervals, noise floors, groups and differences."""
