"""Parts of ours that are written as a user's own are: against `simnet.extend` alone."""
