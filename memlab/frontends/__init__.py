"""Steps that were not built here: recorded from a model of another framework."""
