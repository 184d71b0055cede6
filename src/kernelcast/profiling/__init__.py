"""From a trace to a profile: what a launch needs, on whatever chip."""
