"""The papers' figures and tables, one script each, from results that `simnet sweep` has stored."""
