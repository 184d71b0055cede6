"""The timing simulation against the measurements of the TEG paper, on a GT200."""
