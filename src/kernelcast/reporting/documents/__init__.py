"""One typed document per answer: all that any form of it shows, built from the domain's values.

A module holds the document of one answer and the function that builds it. Documents compute; the
forms (`text`, JSON) only show. Everything is in SI units (seconds, bytes, bytes per second) or SM
cycles. What is not known is null in JSON, as are infinity and NaN, which JSON has no figure for.
Later versions may add fields; removing one or changing its meaning changes `schema`.
"""
