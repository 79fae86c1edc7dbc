"""A program on standard input, which tests/bin/python runs in a warm process."""

import sys

if __name__ == "__main__":
    exec(compile(sys.stdin.read(), "<stdin>", "exec"), {"__name__": "__main__"})
