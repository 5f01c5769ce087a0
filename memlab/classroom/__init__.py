"""A class: notebooks to hand out, to mark in a confined process, and the guesses of everybody."""
