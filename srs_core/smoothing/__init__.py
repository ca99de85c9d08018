"""Randomized smoothing, plain and serialized, with a certificate that holds."""
