"""A user's training script, run in a child process with its file unchanged, and watched there.

``watched_script`` is the side of memlab, ``child`` the side of the script; a folder that both know
carries the outcome from one to the other.
"""
