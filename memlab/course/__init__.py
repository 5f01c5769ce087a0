"""What a course puts around the pictures: cards, exercises, the bar of the case, the lecture."""
