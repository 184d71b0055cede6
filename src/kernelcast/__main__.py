"""`python -m kernelcast`: the command line."""

import sys

from kernelcast.cli.main import main

sys.exit(main())
