"""Seconds: how long operations, streams of them and a data path take on a machine."""
