"""Run a step on real arrays, and measure from outside what it used."""

from memlab.errors import library

library("numpy", "running a network")
