"""What lessons compute with: chains of layers, digits, images, amounts."""
