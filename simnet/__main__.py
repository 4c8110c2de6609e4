"""`python -m simnet` is the command `simnet`."""

from simnet.cli import main

if __name__ == "__main__":
    main()
