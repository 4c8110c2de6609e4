"""simnet's version, kept in one place: the package's metadata read it from here."""

VERSION = "0.1.0"
