"""The multiscale deep equilibrium model: its layer, network, sizes and checkpoints."""
