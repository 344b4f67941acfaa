"""The docs say what the program does: every command, option, column and error reason is in them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from unquilt import __all__ as public_names
from unquilt.cli import COMMANDS, unquilt
from unquilt.ingest.capture import Reason
from unquilt.schema import CLEAN_DROPPED, CLEAN_REMOVED, PAGES, SKIPPED, SUPERSEDED

ROOT = Path(__file__).parent.parent


def docs(name: str) -> str:
    return (ROOT / "docs" / name).read_text("utf-8")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_and_option_is_documented(command: str) -> None:
    text = docs("commands.md")
    assert f"## `unquilt {command}`" in text
    section = text.partition(f"## `unquilt {command}`")[2].partition("\n## ")[0]
    found = unquilt.get_command(None, command)  # type: ignore[arg-type]
    assert found is not None
    shared = text.partition("## Shared options")[2].partition("\n## ")[0]
    for parameter in found.params:
        for option in parameter.opts:
            if option.startswith("--"):
                assert f"`{option}" in section + shared, option


@pytest.mark.parametrize("schema", [PAGES, SKIPPED, SUPERSEDED, CLEAN_REMOVED, CLEAN_DROPPED])
def test_every_column_is_documented(schema: object) -> None:
    text = docs("file-format.md")
    for name in schema.names:  # type: ignore[attr-defined]
        assert f"| `{name}` |" in text, name


def test_every_reason_for_skipping_is_documented() -> None:
    text = docs("file-format.md")
    for reason in get_args(Reason):
        assert f"| `{reason}` |" in text, reason


def test_every_public_name_is_documented() -> None:
    text = docs("api.md")
    for name in public_names:
        assert f"`{name}" in text, name


def test_no_link_between_the_docs_is_broken() -> None:
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
