"""The capstone's puzzle: a step, a budget that it does not meet, and techniques to make it fit.

``board`` has what may be chosen and what a choice costs, ``levels`` the puzzles, ``windows`` the
bytes and seconds of every pair of neighbouring blocks, and ``search`` the exact optimum that
follows from them. ``proof`` runs a choice.
"""
