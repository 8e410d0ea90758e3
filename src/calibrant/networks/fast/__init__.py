"""Fast twins of the networks' layers; the references are torch's layers and plain formulas."""
