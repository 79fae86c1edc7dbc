"""A program in an argument, or on standard input, for a warm process (tests/warm.py)."""

import sys

if __name__ == "__main__":
    code = sys.argv.pop(1) if len(sys.argv) > 1 else sys.stdin.read()
    exec(compile(code, "<program>", "exec"), {"__name__": "__main__"})
