"""Every technique on one step: bytes against time, the optimum of a chain and the lower bounds."""
