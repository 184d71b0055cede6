"""Answers as typed documents (`documents`), and the forms that show them: text, JSON, charts.

The builders of documents compute all that is shown; views read a document and nothing else.
"""
