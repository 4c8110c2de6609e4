"""From a user's files and a question to a scenario and a study: `simnet plan`."""
