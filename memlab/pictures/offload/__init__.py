"""Offload: feature maps that wait in host memory."""
