"""What a class needs: slides, grading, the predictions of a class."""
