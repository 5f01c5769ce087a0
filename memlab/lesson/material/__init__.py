"""Material of lessons: chains of layers, digits, images, amounts."""
