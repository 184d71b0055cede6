"""The libraries that a program loads in place of the vendor's: C sources, and how they are made."""
