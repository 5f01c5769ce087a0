"""What a class needs: notebooks without solutions, grading, marks, the guesses of a room."""
