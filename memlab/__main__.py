"""``python -m memlab`` is the command ``memlab``."""

import sys


def main() -> int:
    """Run one command and return its exit code. Ctrl-C is silent, also while memlab is loaded."""
    try:
        from memlab.cli import main as command
    except KeyboardInterrupt:
        return 130
    return command()


if __name__ == "__main__":
    sys.exit(main())
