"""How fast this machine certifies: one evaluation of f, whole certifications, and files that keep the numbers."""
