"""What is learned: data sets and how they are shared out, losses, the local objective and its solver."""
