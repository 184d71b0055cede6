"""Forms of a gate's document for CI systems: JUnit XML, SARIF, annotations in a log."""
