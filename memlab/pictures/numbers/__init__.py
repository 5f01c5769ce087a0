"""Views of formats: a number, a step, a training."""
