"""Five siblings, one shape: settings in, a corpus read in steps, a Result out."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unquilt.params import Params
    from unquilt.result import Result


@dataclass(frozen=True, slots=True)
class Detector:
    """Where a detector's settings and its work are, imported when they are needed."""

    name: str
    settings: str
    find: str

    def params_type(self) -> type[Params]:
        """The class of its settings."""
        module = importlib.import_module(f"unquilt.detectors.{self.name}.params")
        found: type[Params] = getattr(module, self.settings)
        return found

    def finder(self) -> Callable[..., Result]:
        """The function that finds: ``find(corpus, params, engine=engine)``."""
        module = importlib.import_module(f"unquilt.detectors.{self.name}.find")
        found: Callable[..., Result] = getattr(module, self.find)
        return found


DETECTORS = {
    one.name: one
    for one in (
        Detector("phrases", "PhraseParams", "find_phrases"),
        Detector("quilts", "QuiltParams", "find_quilts"),
        Detector("styles", "StyleParams", "find_styles"),
        Detector("mirrors", "MirrorParams", "find_mirrors"),
        Detector("reuse", "ReuseParams", "find_reuse"),
    )
}
"""Every detector, in the order in which they run."""
