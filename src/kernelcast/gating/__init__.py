"""Bounds on forecasts: conditions with units, forecasts kept from before, and what is broken.

conditions    a text, quantities           -> clauses that hold, are broken, or cannot be told
quantities    an explained forecast        -> what a condition may name
baseline      a forecast kept as JSON      -> what became slower, by which term and line
gate          all of these, for all files  -> the document of `gate`
"""
