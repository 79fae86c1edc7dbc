"""A program that answers each line by a line; some words make it fail."""

import os
import signal
import sys
import time

print("x" * 100_000, file=sys.stderr)
print(flush=True)
for line in sys.stdin:
    if "die" in line:
        sys.exit("cannot go on")
    if "kill" in line:
        os.kill(os.getpid(), signal.SIGKILL)
    if "hang" in line:
        time.sleep(600)
    print(line[::-1].strip() * (100_000 if "long" in line else 1), flush=True)
