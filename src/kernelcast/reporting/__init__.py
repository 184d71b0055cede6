"""Answers as typed documents (`documents`), and the forms of them: text, JSON, pages, charts.

The builders of documents compute all that is shown; views read a document and nothing else.
"""
