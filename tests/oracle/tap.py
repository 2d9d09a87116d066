"""tap.py: what the oracle scripts share: where the program is, and speaking TAP."""
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("COMP_BUILD", os.path.join(ROOT, "build"))
COMP = os.environ.get("COMP", os.path.join(BUILD, "comp"))
count = failed = 0


def ok(condition, what):
    global count, failed
    count += 1
    failed += not condition
    print(f"{'ok' if condition else 'not ok'} {count} - {what}", flush=True)


def skip_all(why):
    print(f"1..0 # SKIP {why}")
    sys.exit(0)


def finish():
    print(f"1..{count}")
    sys.exit(1 if failed else 0)
