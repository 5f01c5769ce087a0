"""Run a step on real arrays, and measure from outside what it used."""
