"""What performance models share: the case, the prediction, and the terms of their equations."""
