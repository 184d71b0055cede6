"""The memory hierarchy: what moves at each of its levels, by the rules of a machine."""
