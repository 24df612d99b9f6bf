"""What several workers share that needs NumPy, torch or Gymnasium; nothing else of the kit imports it."""
