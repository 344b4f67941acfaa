"""A page in the terminal, each patch in the color of its source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from unquilt.cli.show import clean

if TYPE_CHECKING:
    from rich.text import Text

    from unquilt.detectors.context import Context
    from unquilt.detectors.why import Source, Story

# Okabe and Ito's colors, that color-blind people can tell apart, and three more; beyond, they repeat.
_COLORS = ("#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#f0e442", "#d55e00", "#0072b2", "#9ad0a0", "#c0a0e0", "#b0b0b0")


def show_story(story: Story, *, most_sources: int) -> None:
    """Print a page: what it is, where its patches are from, and its text with the patches marked."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=200, no_color=True)
    console.print(f"[bold]{_safe(story.url)}[/]")
    console.print(
        f"{story.words:,} words, captured {_day(story.time)}. Of its {story.grams:,} grams {story.patch_fraction:.0%} "
        f"are patches, {story.foreign_fraction:.0%} stand on other sites; {story.original_fraction:.0%} is original."
    )
    console.print(f"{_safe(story.cause)}\n")
    for name, sentence in _around(story.context):
        console.print(f"[bold]{name}[/]  {_safe(sentence)}")
    console.print()
    if story.sources:
        console.print(_legend(story, most_sources))
        if len(story.sources) > most_sources:
            console.print(f"… and {len(story.sources) - most_sources:,} more sources")
        console.print()
    console.print(_cloth(story, is_colored=not console.no_color))


def _legend(story: Story, most: int) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2))
    for name in ("", "share", "grams", "captured", "", "links to it", "source"):
        table.add_column(name, justify="right" if name in ("share", "grams") else "left", overflow="fold")
    for i, source in enumerate(story.sources[:most]):
        age = {True: "older", False: "not older", None: ""}[source.is_older]
        table.add_row(
            f"[{_color(i)}]█ {i + 1}[/]", f"{source.share:.1%}", f"{source.grams:,}", _day(source.time), age,
            _linked(source), _safe(source.url) + ("" if source.is_foreign else "  (same site)"),
        )  # fmt: skip
    return table


def _around(context: Context) -> Iterator[tuple[str, str]]:
    """What the other detectors say, a line each."""
    if (near := context.near_duplicates) is not None:
        where = "of several sites" if near.cross_site else "of its own site"
        like = f"{near.resemblance:.0%} like {near.representative}"
        yield "phrases", f"one of {near.pages:,} near-duplicates {where}; {like}"
    elif context.popular is not None and context.popular.originality is not None:
        yield "phrases", f"no near-duplicates; {context.popular.originality:.0%} of its phrases are not popular"
    if (style := context.style) is not None:
        like = f"{style.similarity:.0%} like {style.prototype}"
        yield "styles", f"{style.kind}: made as {style.pages:,} pages on {style.domains:,} domains; {like}"
    for mirror in context.mirrors[:3]:
        yield "mirrors", f"its host and {mirror.host} are mirrors of level {mirror.level}"
    if (around := context.neighborhood) is not None:
        judged = "a bad neighborhood" if around.bad else "its neighborhood"
        copied = f"{around.badness:.0%} of the chunks of its {around.files:,} pages are copied"
        yield "reuse", f"{around.prefix} is {judged}: {copied}"
    if context.not_run:
        yield "not run", ", ".join(context.not_run)


def _linked(source: Source) -> str:
    """Whether the page links to a source, and where."""
    from unquilt.detectors.why import NEAR_CHARACTERS

    if not source.is_attributed:
        return "no"
    if source.link_distance is None:
        return "yes"
    return "near the patch" if source.link_distance <= NEAR_CHARACTERS else "elsewhere in it"


def _cloth(story: Story, *, is_colored: bool) -> Text:
    from rich.text import Text

    text = Text()
    done = 0
    for patch in story.patches:
        text.append(_lines(story.text[done : patch.begin]), style="dim" if is_colored else "")
        number = patch.source + 1
        if is_colored:
            text.append(_lines(story.text[patch.begin : patch.end]), style=f"bold {_color(patch.source)}")
        else:
            text.append(f"[{number}: {_lines(story.text[patch.begin : patch.end])}]")
        done = patch.end
    text.append(_lines(story.text[done:]), style="dim" if is_colored else "")
    return text


def _lines(text: str) -> str:
    return "\n".join(map(clean, text.split("\n")))


def _color(source: int) -> str:
    return _COLORS[source % len(_COLORS)]


def _safe(text: str) -> str:
    from rich.markup import escape

    return escape(clean(text))


def _day(time: Any) -> str:
    return str(time)[:10] if time else "–"
