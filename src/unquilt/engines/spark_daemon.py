"""The parent of an executor's Python workers: it imports the kernels once, and every worker it forks has them.

Spark starts it in the place of its own if ``spark.python.daemon.module`` names it. Arrow is left to the workers: it
starts threads, which do not survive a fork.
"""

from __future__ import annotations

import contextlib
import importlib
import pkgutil

from pyspark import daemon


def import_kernels() -> None:
    with contextlib.suppress(Exception):  # what is wrong shows, with a better message, in the step that needs it
        import unquilt.kernels

        for module in pkgutil.iter_modules(unquilt.kernels.__path__):
            if not module.name.startswith("make_"):
                importlib.import_module(f"unquilt.kernels.{module.name}")


if __name__ == "__main__":
    import_kernels()
    daemon.manager()
