"""Pictures of offload: feature maps that wait in host memory."""
