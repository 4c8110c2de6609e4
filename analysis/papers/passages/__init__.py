"""What each paper's rows of docs/reproduction.md say that we measured, one module per paper."""
