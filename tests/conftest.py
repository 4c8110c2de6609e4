"""How the laws are tried: the same examples every time by default, new ones on demand.

A check that decides whether a change may land must not depend on luck or on how busy the machine is, so examples are
derived from the test itself and have no time limit. `make explore` searches with new examples.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("explore", derandomize=False, deadline=None, max_examples=500, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))
