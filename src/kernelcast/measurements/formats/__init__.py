"""One module per file format: `recognises` looks at a file's beginning, `read` makes values of it."""
