"""Prediction cards and exercises as widgets and pictures."""
