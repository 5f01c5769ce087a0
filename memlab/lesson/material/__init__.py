"""Material of lessons: digits, images, recorded models, amounts that follow from shapes."""
