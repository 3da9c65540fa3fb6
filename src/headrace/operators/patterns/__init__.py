"""Patterns of events: their stages, the automaton of a pattern, and the operator that runs it."""
