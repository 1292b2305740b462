"""`python -m holdfast`: the `holdfast` command without its script."""

from holdfast.cli.main import main

if __name__ == "__main__":
    main()
