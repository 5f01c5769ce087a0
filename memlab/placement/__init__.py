"""Addresses: where in one arena every block of a step lies, at one batch."""
