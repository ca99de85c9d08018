"""Certified robustness of deep equilibrium models by randomized smoothing, plain and serialized."""
