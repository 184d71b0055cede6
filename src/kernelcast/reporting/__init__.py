"""Views of the other stages' values: text and JSON. They compute nothing but shares and sums."""
