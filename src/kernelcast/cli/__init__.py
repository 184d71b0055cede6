"""The command line: one module per sub-command, which parses, calls the library and prints."""
