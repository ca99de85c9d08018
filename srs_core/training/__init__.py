"""Training: Gaussian augmentation, two phases, Jacobian regularisation, runs that can be resumed."""
