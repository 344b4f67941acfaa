"""How kernels are compiled: numba's njit, with less to compile."""

from collections.abc import Callable
from typing import Any

import numba
from numba import types

CACHED = True
"""Whether compiled kernels can be kept; not if numba finds no folder that it can write to."""


def njit(**options: bool) -> Callable[[Callable[..., Any]], Any]:
    """numba's njit, for a kernel that other kernels call with constants too, and that C does not call.

    To numba, 0 and 1 are types of their own, and each would make it compile the kernel anew.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher = _dispatcher(function, options)
        template = dispatcher.get_call_template

        def plain_template(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
            plain = {name: types.unliteral(given) for name, given in keywords.items()}
            return template(tuple(map(types.unliteral, arguments)), plain)

        dispatcher.get_call_template = plain_template
        return dispatcher

    return decorate


def _dispatcher(function: Callable[..., Any], options: dict[str, bool]) -> Any:
    global CACHED
    if CACHED:
        try:
            return numba.njit(no_cfunc_wrapper=True, **options)(function)
        except RuntimeError:  # no folder to keep it in
            CACHED = False
    return numba.njit(no_cfunc_wrapper=True, **options | {"cache": False})(function)
