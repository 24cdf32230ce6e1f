"""`python -m engramfs`."""

import sys

try:
    from engramfs.cli import main

    main()
except ModuleNotFoundError as error:
    sys.exit(
        f"engramfs: the package {error.name} is not installed for {sys.executable} "
        "(use the .venv that ./scripts/demo makes, or pip install .)"
    )
