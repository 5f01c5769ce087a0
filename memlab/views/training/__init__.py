"""Training in several number formats: losses and errors, gradients that vanish, sums that stop."""
