"""The explorer and the judging tool in a real browser, Debian's chromium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from explorer import HOSTILE, NEAR, QUILT, Server, add_results, make_corpus, sentence, serving, source_url
from unquilt.engines.local import LocalEngine
from unquilt.serve.judgments import Judgments


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory, engine: LocalEngine) -> Path:
    corpus = make_corpus(tmp_path_factory.mktemp("browser"), engine)
    add_results(corpus)
    return corpus.path


@pytest.fixture(scope="module")
def server(corpus: Path) -> Iterator[Server]:
    with serving(corpus) as one:
        yield one


@pytest.fixture
def page(browser: Browser, server: Server) -> Iterator[Page]:
    """A page that must end without an error in its console, and without a request that left this server."""
    context = browser.new_context(base_url=server.origin)
    one = context.new_page()
    complaints: list[str] = []
    left: list[str] = []
    one.on("console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None)
    one.on("pageerror", lambda error: complaints.append(str(error)))
    one.on("request", lambda request: left.append(request.url) if not request.url.startswith(server.origin) else None)
    yield one
    context.close()
    assert complaints == []
    assert left == []


def open_page(page: Page, url: str) -> None:
    from urllib.parse import urlencode

    page.goto("/page?" + urlencode({"url": url}))


def test_search_open_a_quilt_click_a_patch_see_the_source(page: Page) -> None:
    page.goto("/")
    page.get_by_label("Find a page").fill("quilt.example")
    page.keyboard.press("Enter")
    page.get_by_role("link", name=QUILT).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("The quilt")
    expect(page.locator("#source")).to_be_hidden()
    page.get_by_text(sentence(2, 2)).click()
    expect(page.locator("#source-text mark")).to_have_text(sentence(2, 2))
    expect(page.locator("#source-url")).to_have_text(source_url(2))
    assert page.locator("#source-text mark").evaluate(
        "mark => { const box = mark.closest('.cloth').getBoundingClientRect(), at = mark.getBoundingClientRect();"
        " return at.top >= box.top && at.bottom <= box.bottom; }"
    )
    page.locator('svg.band rect[data-patch="0"]').click()
    expect(page.locator("#source-text mark")).to_have_text(sentence(0, 0))


def test_the_place_in_a_long_source_is_scrolled_to(page: Page, server: Server) -> None:
    open_page(page, QUILT)
    page.set_viewport_size({"width": 900, "height": 260})  # a text box of a few lines
    page.locator("#patch-3").click()
    expect(page.locator("#source-text mark")).to_have_text(sentence(3, 3))
    assert page.locator("#source-text").evaluate("box => box.scrollTop > 0")


def test_patches_are_reached_by_keyboard_alone(page: Page) -> None:
    open_page(page, QUILT)
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "patch-1":
            break
    page.keyboard.press("Enter")
    expect(page.locator("#source-text mark")).to_have_text(sentence(1, 1))


def test_a_slider_changes_the_list_and_the_address(page: Page) -> None:
    page.goto("/reuse/neighborhoods")
    expect(page.locator(".total")).to_contain_text("3 neighborhoods")
    slider = page.get_by_label("badness", exact=False).first
    slider.fill("0.6")
    expect(page.locator(".total")).to_contain_text("1 of 3 neighborhoods")
    expect(page.locator("tbody tr")).to_have_count(1)
    assert "badness=0.6" in page.url
    page.reload()
    expect(page.locator(".total")).to_contain_text("1 of 3")
    page.get_by_label("badness", exact=False).first.press("Home")
    expect(page.locator(".total")).to_contain_text("3 neighborhoods")


def test_sigma_and_c_move_the_quilts(page: Page) -> None:
    page.goto("/quilts/quilts")
    expect(page.locator("tbody tr")).to_have_count(2)
    page.locator("#knob-c").fill("6")
    expect(page.locator("tbody tr")).to_have_count(0)
    expect(page.get_by_text("Nothing matches")).to_be_visible()


def test_the_tree_opens_branch_by_branch(page: Page) -> None:
    page.goto("/reuse/tree")
    expect(page.get_by_text("x/", exact=True)).to_have_count(0)
    page.locator("summary", has_text="mirror.example/").click()
    expect(page.get_by_text("x/", exact=True)).to_be_visible()


def test_judging_by_keyboard_loses_nothing(page: Page, corpus: Path) -> None:
    page.goto("/quilts/quilts")
    page.get_by_role("link", name="Judge a sample of these").click()
    page.get_by_label("Your name").fill("Ada")
    page.get_by_label("How many").fill("2")
    page.get_by_role("button", name="Draw and judge").click()
    first = page.locator("#finding").inner_text()
    page.keyboard.press("t")
    page.keyboard.type("scraper, s")  # the keys of verdicts are letters here
    page.keyboard.press("Escape")
    page.keyboard.press("m")
    page.keyboard.type("no links")
    page.keyboard.press("Enter")
    page.keyboard.press("s")
    expect(page.locator("#done")).to_have_text("1")
    kept = [row for row in Judgments(corpus).rows() if row["judge"] == "Ada"]
    assert [(row["finding"], row["verdict"], row["note"]) for row in kept] == [(first, "yes", "no links")]
    assert kept[0]["tags"] == '["scraper", "s"]'
    page.reload()
    expect(page.locator("#done")).to_have_text("1")
    second = page.locator("#finding").inner_text()
    assert second != first
    page.keyboard.press("z")
    expect(page.locator("#finding")).to_have_text(first)
    page.keyboard.press("n")
    expect(page.locator("#done")).to_have_text("1")
    page.keyboard.press("u")
    expect(page.get_by_text("Every finding of this sample is judged")).to_be_visible()
    verdicts = {row["finding"]: row["verdict"] for row in Judgments(corpus).rows() if row["judge"] == "Ada"}
    assert verdicts == {first: "no", second: "unsure"}


def test_hostile_pages_are_inert(page: Page) -> None:
    for path in ("/", "/pages/page", "/quilts/quilts", "/phrases/popular", "/styles/clusters", "/reuse/objects"):
        page.goto(path)
        assert page.evaluate("document.documentElement.dataset.hacked") is None, path
    open_page(page, HOSTILE)
    expect(page.get_by_role("heading", level=1)).to_contain_text("<script>")
    page.locator("#patch-0").click()
    expect(page.locator("#source-text mark")).not_to_be_empty()
    assert page.evaluate("document.documentElement.dataset.hacked") is None
    assert page.evaluate("[...document.scripts].every(one => one.src.startsWith(location.origin + '/static/'))")
    assert page.evaluate("[...document.links].every(one => one.origin === location.origin)")


def test_everything_is_there_without_script(browser: Browser, server: Server) -> None:
    context = browser.new_context(base_url=server.origin, java_script_enabled=False)
    page = context.new_page()
    open_page(page, QUILT)
    page.get_by_text(sentence(4, 0)).click()
    expect(page.locator("#source-text mark")).to_have_text(sentence(4, 0))
    page.goto("/reuse/neighborhoods?badness=0.6")
    expect(page.locator("tbody tr")).to_have_count(1)
    context.close()


CONTRAST = """() => {
  const parse = text => { const n = text.match(/[\\d.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n; };
  const linear = v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => .2126 * linear(r / 255) + .7152 * linear(g / 255) + .0722 * linear(b / 255);
  const behind = node => {
    for (; node; node = node.parentElement) {
      const color = parse(getComputedStyle(node).backgroundColor);
      if (color[3] === 1) return color;
    }
    return [255, 255, 255, 1];
  };
  const poor = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement, text = walker.currentNode.textContent.trim();
    if (!text || !node.checkVisibility() || node.closest("svg, :disabled, .unseen")) continue;
    const [a, b] = [light(parse(getComputedStyle(node).color)), light(behind(node))];
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < 4.5) poor.push(node.className + ": " + text.slice(0, 30) + " " + ratio.toFixed(2));
  }
  return poor;
}"""
UNNAMED = """() => [...document.querySelectorAll("input, select, button, a, summary, [role=img], [role=region]")]
  .filter(one => one.type !== "hidden" && one.checkVisibility() && !(one.labels && one.labels.length)
    && !one.getAttribute("aria-label") && !one.textContent.trim()).map(one => one.outerHTML.slice(0, 80))"""
VIEWS = [
    "/", "/pages/page", "/quilts/quilts", f"/page?url={QUILT}&patch=1", f"/diff?a={NEAR[0]}&b={NEAR[1]}", "/styles",
    "/styles/cluster?cluster=1", "/mirrors/group?group=1", "/mirrors/pair?a=mirror.example&b=www.mirror.example",
    "/reuse/tree", "/judge", "/judge/sample?sample=1", "/page?url=nowhere",
]  # fmt: skip


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_is_readable_and_named(browser: Browser, server: Server, scheme: str) -> None:
    context = browser.new_context(base_url=server.origin, color_scheme=scheme)  # type: ignore[arg-type]
    page = context.new_page()
    form = {"form_token": server.form_token(), "detector": "quilts", "size": 2, "seed": 1, "judge": "eve"}
    assert server.post("/judge/draw", dict(form)).status == 303  # sample 1, if no other test drew one
    for path in VIEWS:
        page.goto(path)
        assert page.evaluate(CONTRAST) == [], path
        assert page.evaluate(UNNAMED) == [], path
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{path} is wider than the window"
        assert page.locator("h1").count() == 1
    context.close()
