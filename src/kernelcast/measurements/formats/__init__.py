"""One module per file format: `recognises` looks at the beginning, `read` makes values of all."""
