"""Studies: many runs, and what they say together.

found = simnet.study("scenarios/studies/skips.toml", out="results")
found.runs, found.rounds, found.means("test_error", "wire_bytes")
"""

PLAN = "study.json"
"""The file by which a study's folder is known."""
