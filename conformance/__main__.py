"""`python -m conformance`: the command, where it is not on the path."""

from conformance.cli import main

if __name__ == "__main__":
    main()
