"""How the laws are tried: the same examples every time by default, new ones on demand.

A check that decides whether a change may land must not depend on luck, on how busy the machine is, or on what else
happens to be imported. So examples are derived from the test itself and have no time limit. Hypothesis would also mix
in the constants that it finds in the sources of imported modules: the steady profile gives it none, because they
change with every edit and with the choice of tests. `make explore` searches with new examples, constants included.
"""

from __future__ import annotations

import os

from hypothesis import settings
from hypothesis.internal.conjecture import providers

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "steady")

settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("explore", derandomize=False, deadline=None, max_examples=500, print_blob=True)
settings.load_profile(PROFILE)
if PROFILE == "steady":
    assert callable(providers._get_local_constants), "this hypothesis finds constants in another way"
    providers._get_local_constants = providers.Constants
