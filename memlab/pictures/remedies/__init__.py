"""Picture of remedies for a step that does not fit its card, with what each costs."""
