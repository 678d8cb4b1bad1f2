"""Imported first by tests of apply: ends them as skipped where PyTorch is older than apply needs."""

import sys

from support import SKIPPED, VERSION

if VERSION < (2, 6):
    print(f"SKIPPED: PyTorch {'.'.join(map(str, VERSION))} is older than 2.6, which apply needs")
    sys.exit(SKIPPED)
