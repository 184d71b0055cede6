"""The thesis of Resios (2011): its tables and equations recomputed, its experiments forecast."""
