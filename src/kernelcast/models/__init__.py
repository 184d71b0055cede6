"""Performance models: a case goes in, a prediction comes out. One module holds one model."""
