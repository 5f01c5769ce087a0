"""A lecture as one file: scenes that follow a slider without a kernel."""
