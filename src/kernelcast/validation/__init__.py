"""Predictions against what is known: the experiments of the papers, and measurements."""
