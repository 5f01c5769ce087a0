"""The arithmetic: a kernel for every kind of operation, into arrays that are given to it."""
