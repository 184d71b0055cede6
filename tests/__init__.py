"""The tests, whose caches, those of child processes too, all lie below their own folder.

That is said before anything else of the product is imported: some loops are compiled, and kept,
where they are defined.
"""

import os

from tests import kept

os.environ["KERNELCAST_CACHE"] = str(kept.DIRECTORY)
os.environ["KERNELCAST_RECALL"] = "0"
