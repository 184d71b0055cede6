"""The version of this package: packaging takes it from here."""

VERSION = "0.2.0"
