"""Bytes by role over a step: the picture that six others are variants of."""
