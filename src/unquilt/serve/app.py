"""The explorer: a page for each list and each finding, made on the server; a little script makes it quick."""

from __future__ import annotations

import getpass
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from unquilt import __version__
from unquilt.errors import BadParameter, UnquiltError
from unquilt.serve.groups import children_of, cluster_of, group_of, neighborhood_of, pair_of
from unquilt.serve.index import DETECTORS, Index
from unquilt.serve.judge import KINDS, METHODS, draw_sample, setting_text
from unquilt.serve.judgments import Judgments, precision
from unquilt.serve.listings import ABOUT, LISTINGS, TITLES, Listing, listing_of, listings_of
from unquilt.serve.pages import (
    Explainer,
    NoPage,
    PatchMap,
    bands_of,
    cut_around,
    cut_pieces,
    facts_of,
    find_page,
    patches_of,
    read_page,
    read_text,
    word_diff,
)
from unquilt.serve.queries import read_rows
from unquilt.serve.security import FormToken, Guard, read_form
from unquilt.serve.show import HOME, templates

_JUDGE = "unquilt_judge"
_EVIDENCE = ("problem", "page", "cluster", "pair", "here")
_EXPLAINED_AT_ONCE = 5_000  # pages of a corpus in which "why" is quick enough to be asked without a click


class Explorer:
    """The answers to all requests about one corpus."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self.judgments = Judgments(index.corpus.path)
        self._explainer = Explainer()
        self._form_token = FormToken()
        self._templates = templates()

    def routes(self) -> list[Route | Mount]:
        get: list[tuple[str, Callable[..., Any]]] = [
            ("/", self.home),
            ("/page", self.page),
            ("/text", self.text),
            ("/why", self.why),
            ("/diff", self.diff),
            ("/styles/cluster", self.cluster),
            ("/mirrors/pair", self.pair),
            ("/mirrors/group", self.group),
            ("/reuse/tree", self.tree),
            ("/judge", self.judge),
            ("/judge/sample", self.sample),
            ("/judge/export", self.export),
            ("/figures/{detector}/{name}", self.figure),
            ("/{detector}", self.detector),
            ("/{detector}/{table}", self.listing),
        ]
        post: list[tuple[str, Callable[..., Any]]] = [
            ("/judge/draw", self.draw),
            ("/judge/verdict", self.verdict),
            ("/judge/undo", self.undo),
            ("/judge/name", self.name),
        ]
        return [
            Mount("/static", StaticFiles(directory=HOME / "static")),
            *(Route(path, self._posted(answer), methods=["POST"]) for path, answer in post),
            *(Route(path, self._asked(answer)) for path, answer in get),
        ]

    def _asked(self, answer: Callable[[Request], Response]) -> Callable[[Request], Response]:
        """Answer a question about the corpus as it is now; an error is a page that says what to do."""

        def respond(request: Request) -> Response:
            try:
                self.index.refresh()
                return answer(request)
            except NoPage as error:
                return self.render(request, "problem.html", status=404, error=error, similar=error.similar)
            except UnquiltError as error:
                return self.render(request, "problem.html", status=400, error=error, similar=[])

        return respond

    def _posted(self, answer: Callable[[Request, dict[str, str]], Response]) -> Callable[[Request], Any]:
        async def respond(request: Request) -> Response:
            body = await request.body()

            def work(request: Request) -> Response:
                form = read_form(body)
                if not self._form_token.is_right(form.get("form_token", "")):
                    raise BadParameter(
                        "This form is from before the server was started.",
                        fix="Go back and reload the page, then try again. Judgments made before are kept.",
                    )
                return answer(request, form)

            return await run_in_threadpool(self._asked(work), request)

        return respond

    def render(self, request: Request, template: str, *, status: int = 200, **known: Any) -> Response:
        page = self._templates.get_template(template).render(
            titles=TITLES, about=ABOUT, corpus=self.index.corpus, known=self.index.known, version=__version__,
            form_token=self._form_token.value, judge=_judge_of(request), path=request.url.path, **known,
        )  # fmt: skip
        return HTMLResponse(page.encode("utf-8", "replace"), status, headers={"Cache-Control": "no-store"})

    def home(self, request: Request) -> Response:
        first = {name: [one for one in LISTINGS if one.detector == name] for name in DETECTORS}
        return self.render(request, "home.html", first=first, detectors=DETECTORS, hosts=self.index.known["pages"].rows)

    def detector(self, request: Request) -> Response:
        """The first list of a detector that has one."""
        detector = request.path_params["detector"]
        found = self._tabs(detector)
        if found:
            return RedirectResponse(found[0].path, 303)
        return self._missing(request, detector)

    def _tables(self, detector: str) -> dict[str, dict[str, str]]:
        return self.index.known[detector].tables if detector in self.index.known else {}

    def _tabs(self, detector: str) -> list[Listing]:
        return listings_of(detector, self._tables(detector))

    def _missing(self, request: Request, detector: str) -> Response:
        if detector not in DETECTORS or self.index.known[detector].is_there:
            error = BadParameter("There is no such page here.", fix="Begin at the start, or search for a URL.")
            return self.render(request, "problem.html", status=404, error=error, similar=[])
        return self.render(request, "missing.html", detector=detector)

    def listing(self, request: Request) -> Response:
        detector, table = request.path_params["detector"], request.path_params["table"]
        found = listing_of(detector, table, self._tables(detector))
        if found is None:
            return self._missing(request, detector)
        rows = read_rows(self.index, found, dict(request.query_params))
        urls = [row["url"] for row in rows.rows] if (detector, table) == ("quilts", "quilts") else []
        template = "_rows.html" if request.query_params.get("part") == "rows" else "listing.html"
        return self.render(
            request, template, rows=rows, bands=bands_of(self.index, urls), tabs=self._tabs(detector),
            detector=detector, figures=self._figures(detector),
            can_judge=detector in KINDS and KINDS[detector].table == table,
        )  # fmt: skip

    def _figures(self, detector: str) -> list[str]:
        """Figures that a detector drew next to its tables."""
        folder = self.index.corpus.results / detector
        return sorted(path.name for path in folder.glob("*.svg")) if detector in DETECTORS else []

    def figure(self, request: Request) -> Response:
        detector, name = request.path_params["detector"], request.path_params["name"]
        if name not in self._figures(detector):  # a name of the folder's own list cannot lead out of it
            return self._missing(request, "")
        return FileResponse(self.index.corpus.results / detector / name, media_type="image/svg+xml")

    def page(self, request: Request) -> Response:
        asked = request.query_params
        page = find_page(self.index, asked.get("url", ""))
        patches = patches_of(self.index, page)
        is_quilt = patches is not None
        if patches is None and asked.get("look"):
            patches = self._explainer.explain(self.index, page["url"])
        whole = read_page(self.index, page["page"], ["text", "status", "media_type", "generator", "canonical", "links"])
        shown = self._shown_patch(patches, asked.get("patch", "")) if patches else None
        return self.render(
            request, "page.html", page=page, whole=whole, is_quilt=is_quilt, has_looked=patches is not None,
            facts=facts_of(self.index, page), shown=shown, asks_why=self.index.corpus.pages <= _EXPLAINED_AT_ONCE,
            **_cloth(whole["text"] or "", patches or PatchMap()),
        )  # fmt: skip

    def _shown_patch(self, patches: PatchMap, number: str) -> dict[str, Any] | None:
        """The source of a patch, open at the place it was taken from."""
        at = int(number) if number.isdecimal() and int(number) < len(patches.patches) else -1
        if at < 0:
            return None
        patch = patches.patches[at]
        source = patches.source(patch.source)
        assert source is not None
        text = read_text(self.index, source.url)
        return {"at": at, "source": source, **cut_around(text, patch.source_begin, patch.source_end)}

    def text(self, request: Request) -> Response:
        """A page's text around a place, as JSON."""
        asked = request.query_params
        url = asked.get("url", "")
        begin, end = (int(asked[name]) if asked.get(name, "").isdecimal() else 0 for name in ("begin", "end"))
        try:
            pieces = cut_around(read_text(self.index, url), begin, end)
        except UnquiltError as error:
            return JSONResponse({"problem": error.message}, 404)
        return JSONResponse({"url": url, **pieces}, headers={"Cache-Control": "no-store"})

    def why(self, request: Request) -> Response:
        """The likely cause of what a page looks like, as JSON."""
        page = find_page(self.index, request.query_params.get("url", ""))
        return JSONResponse({"cause": self._explainer.explain(self.index, page["url"]).cause})

    def diff(self, request: Request) -> Response:
        urls = [request.query_params.get(name, "") for name in ("a", "b")]
        texts = [read_text(self.index, url) for url in urls]
        return self.render(request, "diff.html", urls=urls, runs=word_diff(*texts))

    def cluster(self, request: Request) -> Response:
        found = self._look(cluster_of, "styles", "members", request.query_params.get("cluster", ""))
        return self.render(request, "cluster.html", cluster=found)

    def pair(self, request: Request) -> Response:
        asked = request.query_params
        found = self._look(pair_of, "mirrors", "pairs", asked.get("a", ""), asked.get("b", ""))
        return self.render(request, "pair.html", pair=found)

    def group(self, request: Request) -> Response:
        found = self._look(group_of, "mirrors", "groups", request.query_params.get("group", ""))
        return self.render(request, "group.html", group=found)

    def _look(self, find: Callable[..., dict[str, Any] | None], detector: str, table: str, *names: str) -> Any:
        if not self.index.has(detector, table):
            run = f"Run it:  unquilt {detector} {self.index.corpus.path}"
            raise BadParameter(f"There is no result of {detector}.", fix=run)
        found = find(self.index, *names)
        if found is None:
            raise BadParameter("There is no such finding in this result.", fix="It may be of an earlier run.")
        return found

    def tree(self, request: Request) -> Response:
        asked = request.query_params
        if not self.index.has("reuse", "neighborhoods"):
            return self._missing(request, "reuse")
        first = int(asked["from"]) if asked.get("from", "").isdecimal() else 0
        children, has_more = children_of(self.index, asked.get("prefix", ""), first=first)
        template = "_tree.html" if asked.get("part") == "rows" else "tree.html"
        here = neighborhood_of(self.index, asked["prefix"]) if asked.get("prefix") and template == "tree.html" else None
        return self.render(
            request, template, children=children, has_more=has_more, first=first, prefix=asked.get("prefix", ""),
            here=here, detector="reuse", tabs=self._tabs("reuse"),
        )  # fmt: skip

    def judge(self, request: Request) -> Response:
        return self.render(
            request, "judge.html", figures=self.judgments.figures(), kinds=KINDS, methods=METHODS,
            setting_text=setting_text, asked=dict(request.query_params),
        )  # fmt: skip

    def sample(self, request: Request) -> Response:
        """The next finding of a sample to judge, or one that is asked for."""
        asked, judge = request.query_params, _judge_of(request)
        number = int(asked["sample"]) if asked.get("sample", "").isdecimal() else 0
        sample = self.judgments.sample(number)
        if sample is None:
            raise BadParameter("There is no such sample.", fix="Draw one on the judging page.")
        at = asked.get("at", "")
        position = int(at) if at.isdecimal() else self.judgments.next_position(number, judge)
        finding = self.judgments.finding(number, position) if position is not None else None
        rows = [row for row in self.judgments.rows() if row["sample"] == number]
        mine = {row["position"]: row for row in rows if row["judge"] == judge}
        figures = next(one for one in self.judgments.figures() if one["sample"] == number)
        return self.render(
            request, "judging.html", sample=sample, kind=KINDS[sample["detector"]], finding=finding, figures=figures,
            evidence=dict.fromkeys(_EVIDENCE) | (self._evidence(sample, finding["finding"]) if finding else {}),
            done=len(mine), earlier=mine.get(position) if position is not None else None,
            mine=precision(list(mine.values())), tags=sorted({tag for row in rows for tag in _tags(row["tags"])}),
            setting_text=setting_text,
        )  # fmt: skip

    def _evidence(self, sample: dict[str, Any], finding: str) -> dict[str, Any]:
        """What there is to see about a finding; nothing if its result is not there any more."""
        detector = sample["detector"]
        try:
            if detector in ("quilts", "phrases"):
                page = find_page(self.index, finding)
                whole = read_page(self.index, page["page"], ["text"])
                patches = patches_of(self.index, page) or PatchMap()
                return {"page": page, **_cloth(whole["text"] or "", patches), "facts": facts_of(self.index, page)}
            if detector == "styles":
                return {"cluster": self._look(cluster_of, "styles", "members", finding)}
            if detector == "mirrors":
                return {"pair": self._look(pair_of, "mirrors", "pairs", *finding.split(" ", 1))}
            return {"here": self._look(neighborhood_of, "reuse", "neighborhoods", finding)}
        except UnquiltError as error:
            return {"problem": f"{error.message} {error.fix}"}

    def draw(self, request: Request, form: dict[str, str]) -> Response:
        detector = form.get("detector", "")
        sample = draw_sample(
            self.index, self.judgments, detector, size=_whole(form, "size"), seed=_whole(form, "seed"),
            method=form.get("method", "uniform"), asked=form,
        )  # fmt: skip
        return _with_judge(RedirectResponse(f"/judge/sample?sample={sample}", 303), form.get("judge", ""))

    def verdict(self, request: Request, form: dict[str, str]) -> Response:
        sample, position = _whole(form, "sample"), _whole(form, "position")
        tags = [tag.strip() for tag in form.get("tags", "").split(",") if tag.strip()]
        judge = form.get("judge", "") or _judge_of(request)
        self.judgments.judge(sample, position, judge, form.get("verdict", ""), tags=tags, note=form.get("note", ""))
        return _with_judge(RedirectResponse(f"/judge/sample?sample={sample}", 303), judge)

    def undo(self, request: Request, form: dict[str, str]) -> Response:
        sample = _whole(form, "sample")
        position = self.judgments.undo(sample, _judge_of(request))
        at = "" if position is None else f"&at={position}"
        return RedirectResponse(f"/judge/sample?sample={sample}{at}", 303)

    def name(self, request: Request, form: dict[str, str]) -> Response:
        target = f"/judge/sample?sample={_whole(form, 'sample')}" if form.get("sample") else "/judge"
        return _with_judge(RedirectResponse(target, 303), form.get("judge", ""))

    def export(self, request: Request) -> Response:
        import tempfile

        kind = "parquet" if request.query_params.get("as") == "parquet" else "csv"
        with tempfile.TemporaryDirectory() as folder:
            content = self.judgments.export(Path(folder) / f"judgments.{kind}").read_bytes()
        headers = {"Content-Disposition": f"attachment; filename=judgments.{kind}"}
        return Response(
            content, media_type="text/csv" if kind == "csv" else "application/octet-stream", headers=headers
        )


def _cloth(text: str, patches: PatchMap) -> dict[str, Any]:
    """What the template of a page's text needs."""
    return {
        "patches": patches,
        "pieces": cut_pieces(text, patches.patches),
        "length": max(len(text), 1),
        "characters": len(text),
    }


def _tags(text: str) -> list[str]:
    import json

    found: list[str] = json.loads(text)
    return found


def _whole(form: dict[str, str], name: str) -> int:
    text = form.get(name, "")
    if not (text.isdecimal() and len(text) < 10):
        raise BadParameter(f"The {name} must be a whole number.", fix="Go back and give a number, as 100.")
    return int(text)


def _judge_of(request: Request) -> str:
    from urllib.parse import unquote

    given = unquote(request.cookies.get(_JUDGE, ""))
    if given:
        return given
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container without a user's name
        return "me"


def _with_judge(answer: Response, judge: str) -> Response:
    from urllib.parse import quote

    if judge.strip():
        answer.set_cookie(_JUDGE, quote(judge.strip()[:80]), httponly=True, samesite="strict", max_age=86400 * 365)
    return answer


def make_app(index: Index, *, host: str = "127.0.0.1", token: str = "") -> Guard:
    """The application, guarded: an ASGI app for uvicorn."""
    return Guard(Starlette(routes=Explorer(index).routes()), host=host, token=token)
