"""Input that lies elsewhere: in an object store or in HDFS, read in ranges, never downloaded whole.

Whoever runs a step opens the file itself, so every machine of a cluster needs the rights to: those of its environment,
as the clients of the store find them (for S3: variables, profile or role of the machine; AWS_ENDPOINT_URL for others).
"""

from __future__ import annotations

import fnmatch
import os
import re
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import unquote, urlsplit

from unquilt.errors import BadInput, NoInput

_SCHEMES = {"s3": "s3", "s3a": "s3", "s3n": "s3", "gs": "gs", "abfs": "abfs", "abfss": "abfss", "hdfs": "hdfs"}
_URL = re.compile(r"(s3|s3a|s3n|gs|abfs|abfss|hdfs)://([^/]+)/?(.*)", re.IGNORECASE)
_MAGIC = re.compile(r"[*?\[]")


def is_remote(path: str) -> bool:
    return _URL.fullmatch(path) is not None


def local_path(given: str) -> str:
    """The path that a file:// URL names; anything else as it is."""
    if not given.lower().startswith("file:/"):
        return given
    parts = urlsplit(given)
    return unquote(parts.path) if parts.netloc in ("", "localhost") else given


def open_input(path: str, *, buffering: int = -1) -> BinaryIO:
    """A file of this machine, or one elsewhere; it can be read from any place."""
    if not is_remote(path):
        return Path(path).open("rb", buffering=buffering)
    file: BinaryIO = _filesystem(_base(path)).open_input_file(_key(path))
    return file


def size_of(file: Any) -> int:
    """Bytes of a file that ``open_input`` gave."""
    return int(file.size()) if callable(getattr(file, "size", None)) else os.fstat(file.fileno()).st_size


def expand_remote(given: str) -> list[str]:
    """The files that a URL names, sorted: one, all in a folder, or those that fit a pattern of its last parts."""
    from pyarrow import fs

    given = given.rstrip("/")
    key = _key(given)
    prefix = key
    while _MAGIC.search(prefix):
        prefix = prefix.rpartition("/")[0]
    try:
        filesystem = _filesystem(_base(given))
        (info,) = filesystem.get_file_info([prefix])
        if info.type == fs.FileType.File:
            return [given]
        selector = fs.FileSelector(prefix, allow_not_found=True, recursive=True)
        found = [one.path for one in filesystem.get_file_info(selector) if one.type == fs.FileType.File]
    except (OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0].rstrip(".")
        raise BadInput(
            f"{given} cannot be read: {reason}.", fix="Check the URL, and that this machine may read it."
        ) from None
    if prefix != key:
        found = [one for one in found if fnmatch.fnmatchcase(one, key) and one.count("/") == key.count("/")]
    if not found:
        raise NoInput(f"There are no files at {given}.", fix="Check the URL; * matches within a folder.")
    root = given[: len(given) - len(_tail(given))]
    skipped = len(key) - len(_tail(given))
    return [root + one[skipped:] for one in sorted(found)]


def _base(url: str) -> str:
    scheme, authority, _ = _parts(url)
    return f"{_SCHEMES[scheme.lower()]}://{authority}"


def _tail(url: str) -> str:
    return _parts(url)[2]


def _key(url: str) -> str:
    """The path as the file system has it; in an object store it begins with the bucket."""
    scheme, authority, tail = _parts(url)
    if scheme.lower() == "hdfs":
        return "/" + tail
    return f"{authority.partition('@')[0]}/{tail}".rstrip("/")


def _parts(url: str) -> tuple[str, str, str]:
    found = _URL.fullmatch(url)
    if not found:
        raise ValueError(f"{url} is no URL of a store")
    return found[1], found[2], found[3]


@lru_cache(maxsize=8)
def _filesystem(base: str) -> Any:
    from pyarrow import fs

    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if base.startswith("s3://") and endpoint:
        return fs.S3FileSystem(endpoint_override=endpoint)
    return fs.FileSystem.from_uri(base)[0]
