"""Styles against brute force over all pairs, chance formulas against simulation, and what synth has planted."""

from __future__ import annotations

import gzip
import json
import zipfile
from math import comb
from pathlib import Path
from random import Random

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import Unquilt, record, write_warc
from slow_styles import clusters_of, prototype_of, similarity, tags_of
from unquilt.corpus import Corpus
from unquilt.detectors.styles.exact import compare_exactly
from unquilt.detectors.styles.find import find_styles
from unquilt.detectors.styles.like import find_gaps, find_like
from unquilt.detectors.styles.marks import cells_of, kept_marks, make_marks
from unquilt.detectors.styles.params import LikeParams, MarkParams, StyleParams, miss_chance, probes_needed
from unquilt.engines.local import LocalEngine
from unquilt.errors import BadInput, BadParameter, NoInput
from unquilt.ingest.params import IngestParams
from unquilt.ingest.run import ingest_crawl
from unquilt.kernels.components import components
from unquilt.kernels.noise import cell_permutations
from unquilt.kernels.parts import fingerprint_of, parts_of, tag_tokens
from unquilt.kernels.second import nearest_units
from unquilt.kernels.styles import all_pairs, cluster_centers, link_groups, most_similar, probe_keys
from unquilt.result import Result
from unquilt.sample import sample_files
from unquilt.synth import SynthParams, write_synth

Cells = npt.NDArray[np.uint16]
few_cells = st.integers(2, 14).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, 3), min_size=6, max_size=6), min_size=n, max_size=n)
)


@pytest.fixture(scope="module")
def sample(engine: LocalEngine, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = tmp_path_factory.mktemp("styles") / "sample.corpus"
    return ingest_crawl([str(path) for path in sample_files()], folder, engine=engine).corpus


@pytest.fixture(scope="module")
def cells(sample: Corpus) -> Cells:
    return cells_of(sample.read(["style"])["style"], 128)


def members_of(result: Result) -> list[list[str]]:
    found: dict[int, list[str]] = {}
    for row in result.tables["members"].to_pylist():
        found.setdefault(row["cluster"], []).append(row["url"])
    return sorted(sorted(urls) for urls in found.values())


@pytest.mark.parametrize("params", [StyleParams(), StyleParams(t=20, p=128), StyleParams(t=60, k=2, p=40, min_pages=4)])
def test_clusters_of_the_sample_are_those_of_all_pairs(
    params: StyleParams, sample: Corpus, cells: Cells, engine: LocalEngine
) -> None:
    result = find_styles(sample, params, engine=engine)
    urls = sample.read(["url"])["url"].to_pylist()
    domains = sample.read(["domain"])["domain"].to_pylist()
    pages = cells.tolist()
    expected = [one for one in clusters_of(pages, params.t, params.probes()) if len(one) >= params.min_pages]
    assert expected
    assert members_of(result) == sorted(sorted(urls[page] for page in one) for one in expected)
    rows = {row["prototype"]: row for row in result.tables["clusters"].to_pylist()}
    similar = {row["url"]: row["similarity"] for row in result.tables["members"].to_pylist()}
    for one in expected:
        center = prototype_of(one, pages)
        row = rows[urls[center]]
        others = [similarity(pages[page], pages[center]) / 128 for page in one if page != center]
        assert row["pages"] == len(one)
        assert row["mean_similarity"] == pytest.approx(sum(others) / len(others))
        assert row["domains"] == len({domains[page] for page in one})
        assert row["score"] == pytest.approx(row["mean_similarity"] * row["domains"])
        assert {similar[urls[page]] for page in one if page != center} == set(others)
    scores = result.tables["clusters"]["score"].to_pylist()
    assert scores == sorted(scores, reverse=True)


def test_tables_do_not_depend_on_the_number_of_workers(sample: Corpus, engine: LocalEngine) -> None:
    params = StyleParams(t=20, second=8)
    with LocalEngine(workers=1) as alone:
        one, other = find_styles(sample, params, engine=alone), find_styles(sample, params, engine=engine)
    assert one.tables["clusters"].equals(other.tables["clusters"])
    assert one.tables["members"].equals(other.tables["members"])


@settings(max_examples=200)
@given(few_cells, st.integers(0, 5))
def test_a_group_is_connected_as_all_its_pairs_are(rows: list[list[int]], t: int) -> None:
    made = np.array(rows, np.uint16)
    pages = np.arange(len(made), dtype=np.uint32)
    edges = link_groups(pages, np.array([0, len(made)]), made, t, 64, 64).astype(np.int64)
    assert all(similarity(rows[a], rows[b]) > t for a, b in edges.tolist())
    found = components(len(made), edges[:, 0].copy(), edges[:, 1].copy())
    groups = [np.flatnonzero(found == one).tolist() for one in np.unique(found) if (found == one).sum() > 1]
    assert groups == clusters_of(rows, t, [[cell] for cell in range(6)] if t >= 0 else [])


@settings(max_examples=100)
@given(few_cells)
def test_the_center_is_the_member_most_similar_to_all(rows: list[list[int]]) -> None:
    made = np.array(rows, np.uint16)
    centers, similar = cluster_centers(np.arange(len(made), dtype=np.uint32), np.array([0, len(made)]), made)
    assert centers[0] == prototype_of(range(len(made)), rows)
    assert similar.tolist() == [similarity(one, rows[centers[0]]) for one in rows]
    assert all_pairs(made).tolist() == [[similarity(a, b) for b in rows] for a in rows]
    best, which = most_similar(made, made[:2])
    assert best.tolist() == [max(similarity(a, b) for b in rows[:2]) for a in rows]
    assert all(similarity(a, rows[w]) == b for a, w, b in zip(rows, which, best, strict=True))


@settings(max_examples=100)
@given(few_cells, st.lists(st.integers(1, 3), min_size=14, max_size=14))
def test_the_nearest_unit_is_that_of_the_highest_mean(rows: list[list[int]], lengths: list[int]) -> None:
    made = np.array(rows, np.uint16)
    owners = np.repeat(np.arange(14), lengths)[: len(made)].astype(np.uint32)
    places = np.arange(len(made), dtype=np.uint32)
    sizes = np.bincount(owners).astype(np.uint32)
    mine, others, means = nearest_units(places, np.array([0, len(made)]), places, owners, sizes, made, 0.5, 64, 64)
    expected = {}
    units = [np.flatnonzero(owners == unit).tolist() for unit in range(len(sizes))]
    for a in range(len(units)):
        to = {
            b: np.mean([similarity(rows[i], rows[j]) for i in units[a] for j in units[b]])
            for b in range(len(units))
            if b != a
        }
        if to and max(to.values()) >= 0.5:
            expected[a] = max(to.values())
            assert to[others[list(mine).index(a)]] == pytest.approx(expected[a])
    assert dict(zip(mine.tolist(), means.tolist(), strict=True)) == pytest.approx(expected)


def family(rng: np.random.Generator, pages: int, shared: int) -> Cells:
    """Fingerprints of pages of one template: about so many cells in common, the others their own."""
    made = rng.integers(1, 65536, (pages, 128)).astype(np.uint16)
    template = rng.integers(1, 65536, 128).astype(np.uint16)
    return np.where(rng.random((pages, 128)) < shared / 128, template, made)


def test_a_large_group_is_linked_by_few_references_and_loses_next_to_nothing() -> None:
    rng = np.random.default_rng(1)
    made = np.concatenate([family(rng, 900, 90), family(rng, 700, 84), family(rng, 300, 78)])
    made[:, 0] = 7  # one huge group
    pages = np.arange(len(made), dtype=np.uint32)
    keys, owners = probe_keys(made, np.array([[0]]), 0)
    assert len(set(keys.tolist())) == 1
    assert owners.tolist() == pages.tolist()
    edges = link_groups(pages, np.array([0, len(made)]), made, 35, 256, 64).astype(np.int64)
    found = components(len(made), edges[:, 0].copy(), edges[:, 1].copy())
    a, b = np.nonzero(np.triu(all_pairs(made) > 35, 1))
    exact = components(len(made), a, b)
    assert len(np.unique(exact)) == 3
    assert (found == exact).mean() > 0.99


@pytest.mark.parametrize(("m", "k", "t", "p"), [(128, 1, 35, 20), (128, 1, 10, 20), (32, 2, 12, 9), (16, 3, 8, 30)])
def test_probes_miss_a_pair_as_often_as_the_formula_says(m: int, k: int, t: int, p: int) -> None:
    rng = Random(5)
    turns, missed = 4000, 0
    for seed in range(turns):
        equal = set(rng.sample(range(m), t))
        probes = StyleParams(m=m, k=k, t=t, p=p, seed=seed).probes()
        assert len(set(probes)) == p
        missed += not any(equal.issuperset(probe) for probe in probes)
    chance = miss_chance(p, t, m, k)
    assert abs(missed / turns - chance) < 4 * (chance * (1 - chance) / turns) ** 0.5 + 1e-3


def test_the_chance_is_the_papers_and_enough_probes_keep_it() -> None:
    for p, t in ((20, 35), (5, 60), (128, 3), (100, 100)):
        assert miss_chance(p, t, 128) == pytest.approx(comb(128 - p, t) / comb(128, t), abs=1e-12)
    assert all(miss_chance(-(-512 // t), t, 128) < 0.01 for t in range(4, 129))
    for k in (1, 2, 3):
        p = probes_needed(0.01, 35, 128, k)
        assert miss_chance(p, 35, 128, k) <= 0.01 < miss_chance(p - 1, 35, 128, k)
        assert StyleParams(max_miss=0.01, k=k).probe_count == p


def test_cells_estimate_the_exact_jaccard_without_bias() -> None:
    """Over random sets the mean of Sim is J times the chance that a cell has a part at all."""
    rng = np.random.default_rng(2)
    letters = np.frombuffer(b'<>="/&; \n.,-', np.uint8)
    for shared, own in ((600, 100), (300, 300), (60, 20), (100, 700)):
        sims, expected = [], []
        for seed in range(150):
            body = rng.choice(letters, shared + 31)
            pages = [np.concatenate([body, rng.choice(letters, own)]) for _ in range(2)]
            one, other = (set(parts_of(page, "noise", 32).tolist()) for page in pages)
            both = len(one | other)
            marks = [fingerprint_of(page, "noise", 32, *cell_permutations(seed, 128)) for page in pages]
            sims.append(similarity(marks[0].tolist(), marks[1].tolist()) / 128)
            expected.append(len(one & other) / both * (1 - (1 - 1 / 128) ** both))
        error = np.std(sims) / len(sims) ** 0.5
        assert abs(np.mean(sims) - np.mean(expected)) < 4 * error


def test_short_pages_score_low() -> None:
    html = np.frombuffer(
        b'<html><body bgcolor="#fff"><p>&nbsp;</p> <a href="/">[-]</a>, (<b>!</b>)</body></html>', np.uint8
    )
    marks = fingerprint_of(html, "noise", 32, *cell_permutations(0, 128)).tolist()
    assert 0 < similarity(marks, marks) <= 20


pieces = st.sampled_from(["<", ">", "/", "!", "-", "<!--", "-->", "a", "b", "H1", " ", "\n", "="])


@settings(max_examples=300)
@given(st.lists(pieces, max_size=60).map("".join))
def test_tags_are_those_of_a_regular_expression(text: str) -> None:
    slow = tags_of(text)
    tokens = tag_tokens(np.frombuffer(text.encode(), np.uint8)).tolist()
    assert [tokens.index(one) for one in tokens] == [slow.index(one) for one in slow]


PAGES = [
    f"<html><head><title>{i}</title></head><body>{'<p class=x>word, <b>' * (10 + i)}<i>é</i></body></html>"
    for i in range(12)
]


def write_inputs(folder: Path) -> dict[str, tuple[list[str], IngestParams]]:
    """The same pages in every kind of input that keeps their source."""
    urls = [f"http://a.example/{i}" for i in range(len(PAGES))]
    records = [record(url, html.encode()) for url, html in zip(urls, PAGES, strict=True)]
    warc = write_warc(folder / "w.warc.gz", records)
    (folder / "plain.warc").write_bytes(b"".join(records))
    (folder / "one.warc.gz").write_bytes(gzip.compress(b"".join(records)))
    for name, method in (("stored.wacz", zipfile.ZIP_STORED), ("packed.wacz", zipfile.ZIP_DEFLATED)):
        with zipfile.ZipFile(folder / name, "w", method) as archive:
            archive.writestr("datapackage.json", "{}")
            archive.write(warc, "archive/data.warc.gz")
    (folder / "html" / "a.example").mkdir(parents=True)
    for i, html in enumerate(PAGES):
        (folder / "html" / "a.example" / f"{i}.html").write_text(html)
    rows = [{"address": url, "source": html} for url, html in zip(urls, PAGES, strict=True)]
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    (folder / "r.jsonl").write_bytes(lines)
    (folder / "r.jsonl.gz").write_bytes(gzip.compress(lines))
    pq.write_table(pa.Table.from_pylist(rows), folder / "r.parquet", row_group_size=5)
    columns = IngestParams(url_column="address", html_column="source")
    usual = ["w.warc.gz", "plain.warc", "one.warc.gz", "stored.wacz", "packed.wacz", "html"]
    given = {name: ([str(folder / name)], IngestParams()) for name in usual}
    return given | {name: ([str(folder / name)], columns) for name in ("r.jsonl", "r.jsonl.gz", "r.parquet")}


@pytest.mark.parametrize(
    "name",
    [
        "w.warc.gz",
        "plain.warc",
        "one.warc.gz",
        "stored.wacz",
        "packed.wacz",
        "html",
        "r.jsonl",
        "r.jsonl.gz",
        "r.parquet",
    ],
)
def test_pages_read_again_have_the_fingerprints_that_ingest_made(name: str, tmp_path: Path) -> None:
    inputs, params = write_inputs(tmp_path)[name]
    with LocalEngine(workers=1) as alone:
        corpus = ingest_crawl(inputs, tmp_path / "c", params, engine=alone).corpus
    (file,) = corpus.files()
    kept = kept_marks(file)
    assert kept.any(axis=1).all()
    assert (make_marks(file, params=MarkParams(), settings=corpus.settings) == kept).all()
    tags = make_marks(file, params=MarkParams(variant="tags", m=64, tags_n=3), settings=corpus.settings)
    assert tags.shape == (len(PAGES), 64)
    assert tags.any(axis=1).all()


def test_a_crawl_that_is_gone_or_changed_is_named(tmp_path: Path) -> None:
    path = write_warc(tmp_path / "w.warc.gz", [record("http://a.example/", PAGES[3].encode())])
    with LocalEngine(workers=1) as alone:
        corpus = ingest_crawl([str(path)], tmp_path / "c", engine=alone).corpus
        write_warc(path, [record("http://a.example/", PAGES[4].encode())])
        with pytest.raises(BadInput, match=r"no longer holds http://a\.example/"):
            find_styles(corpus, StyleParams(variant="tags"), engine=alone)
        path.unlink()
        with pytest.raises(BadInput, match="is not there any more"):
            find_styles(corpus, StyleParams(n=16), engine=alone)
        assert len(find_styles(corpus, engine=alone).tables["clusters"]) == 0


def test_every_variant_clusters_the_sample(sample: Corpus, engine: LocalEngine) -> None:
    for variant in ("tags", "full"):
        result = find_styles(sample, StyleParams(variant=variant), engine=engine)
        assert len(result.tables["clusters"])
        assert result.params["variant"] == variant


def test_a_second_look_brings_together_what_single_pairs_do_not(sample: Corpus, engine: LocalEngine) -> None:
    strict, joined = (find_styles(sample, StyleParams(t=60, second=s), engine=engine) for s in (0.0, 12.0))
    assert len(joined.tables["members"]) > len(strict.tables["members"])
    where = {row["url"]: row["cluster"] for row in joined.tables["members"].to_pylist()}
    for urls in members_of(strict):
        assert len({where[url] for url in urls}) == 1


def test_pairs_compared_exactly_follow_the_estimate(sample: Corpus, engine: LocalEngine) -> None:
    pairs = compare_exactly(sample, pairs=400, engine=engine)
    sim, dice, jaccard = (pairs[name].to_numpy() for name in ("sim", "dice", "jaccard"))
    assert np.allclose(dice, 2 * jaccard / (1 + jaccard))
    large = pairs["parts"].to_numpy() > 1000
    assert large.sum() > 50
    assert np.abs(sim - jaccard)[large].mean() < 0.05


@pytest.fixture(scope="module")
def planted(engine: LocalEngine, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Corpus]:
    folder = tmp_path_factory.mktemp("planted")
    write_synth(folder / "web", SynthParams(pages=3000, templates=0.1, mirrors=0.2), workers=2)
    files = [str(path) for path in sorted((folder / "web").glob("*.warc.gz"))]
    return folder / "web" / "truth", ingest_crawl(files, folder / "c", engine=engine).corpus


def test_every_planted_family_is_one_cluster_of_its_kind(planted: tuple[Path, Corpus], engine: LocalEngine) -> None:
    truth, corpus = planted
    result = find_styles(corpus, engine=engine)
    kinds = {row["cluster"]: row for row in result.tables["clusters"].to_pylist()}
    clusters: dict[int, set[str]] = {}
    for row in result.tables["members"].to_pylist():
        clusters.setdefault(row["cluster"], set()).add(row["url"])
    families: dict[tuple[int, str], set[str]] = {}
    for row in pq.read_table(truth / "templates.parquet").to_pylist():
        families.setdefault((row["family"], row["kind"]), set()).add(row["url"])
    assert {kind for _, kind in families} == {"template", "link-farm"}
    found = {frozenset(urls): number for number, urls in clusters.items()}
    for (_, kind), urls in families.items():
        assert kinds[found[frozenset(urls)]]["kind"] == kind.replace("-", " ")
    levels = pq.read_table(truth / "mirrors.parquet").to_pylist()
    (copied,) = [row for row in levels if row["level"] == "1"][:1]
    pages = pq.read_table(truth / "pages.parquet").to_pylist()
    mirrored = {row["url"] for row in pages if row["host"] in (copied["host_a"], copied["host_b"])}
    (number,) = [one for one, urls in clusters.items() if len(urls & mirrored) > len(mirrored) // 2]
    assert kinds[number]["kind"] == "mirror"


def test_one_text_under_many_names_is_copy_and_paste(tmp_path: Path) -> None:
    signs = Random(1)
    notice = "<html><body>" + "".join(
        f"<p>you must be {i}{signs.choice(';,.!?:-')} or <b>leave</b>\n" for i in range(90)
    )
    records = [record(f"http://host{i}.example/{i}.html", notice.encode()) for i in range(6)]
    with LocalEngine(workers=1) as alone:
        corpus = ingest_crawl([str(write_warc(tmp_path / "w.warc.gz", records))], tmp_path / "c", engine=alone).corpus
        (row,) = find_styles(corpus, engine=alone).tables["clusters"].to_pylist()
    assert (row["kind"], row["pages"], row["domains"], row["mean_similarity"]) == (
        "copy/paste",
        6,
        6,
        row["mean_similarity"],
    )
    assert row["same_text"] == 1
    assert "same text" in row["evidence"]


def test_all_pages_by_similarity_to_a_page_a_file_and_a_list(
    sample: Corpus, cells: Cells, engine: LocalEngine, tmp_path: Path
) -> None:
    urls = sample.read(["url"])["url"].to_pylist()
    one = int(np.flatnonzero((cells != 0).all(axis=1))[5])
    slow = [similarity(page, cells[one].tolist()) for page in cells.tolist()]
    result = find_like(sample, [urls[one]], engine=engine)
    rows = result.tables["like"].to_pylist()
    expected = sorted(((-sim, i) for i, sim in enumerate(slow) if sim), key=lambda pair: pair)
    assert [(row["url"], row["cells"]) for row in rows] == [(urls[i], -sim) for sim, i in expected]
    assert result.tables["curve"]["pages"].to_pylist() == [slow.count(sim) for sim in range(128, -1, -1)]
    listed = tmp_path / "black.txt"
    listed.write_text(f"# bad ones\n{urls[one]}\nhttp://nowhere.example/\n")
    assert find_like(sample, [str(listed)], engine=engine).tables["like"].equals(result.tables["like"])
    page = tmp_path / "page.html"
    page.write_text("<html><body>" + "<div class='q'>[<a href=\"/\">x</a>],\n" * 60)
    foreign = find_like(sample, [str(page), urls[one]], LikeParams(above=5), engine=engine).tables["like"]
    assert foreign["cells"][0].as_py() == 128
    assert set(foreign["like"].to_pylist()) <= {str(page), urls[one]}


def test_gaps_are_where_the_curve_falls_within_few_pages() -> None:
    counts = np.zeros(129, np.int64)
    counts[[128, 90, 89, 88, 40, 39]] = [1, 400, 300, 300, 500, 600]
    counts[0] = 9000
    gaps = find_gaps(counts, 8).to_pylist()
    assert [(gap["rank"], gap["above"], gap["below"]) for gap in gaps] == [(1, 128, 90), (1001, 88, 40), (2101, 39, 0)]
    smooth = np.full(129, 50)
    assert not len(find_gaps(smooth, 8))
    assert not len(find_gaps(np.eye(1, 129, 5, dtype=np.int64)[0], 8))


def test_what_cannot_be_is_said(sample: Corpus, engine: LocalEngine, tmp_path: Path) -> None:
    with pytest.raises(BadParameter, match="--t is 70"):
        StyleParams(m=64, t=70)
    with pytest.raises(BadParameter, match="--p is 200"):
        StyleParams(p=200)
    with pytest.raises(BadParameter, match="no number of probes"):
        StyleParams(max_miss=0.01, t=1, k=2).probes()
    with pytest.raises(BadInput, match="is not in"):
        find_like(sample, ["http://nowhere.example/"], engine=engine)
    with pytest.raises(NoInput, match="No page was given"):
        find_like(sample, [], engine=engine)
    (tmp_path / "urls.txt").write_text("http://a.example/1\nhttp://a.example/2\n")
    with LocalEngine(workers=1) as alone:
        corpus = ingest_crawl([str(tmp_path / "urls.txt")], tmp_path / "u", engine=alone).corpus
        with pytest.raises(BadInput, match="has no HTML"):
            find_styles(corpus, engine=alone)


def test_the_command_shows_saves_and_plots(unquilt: Unquilt, sample: Corpus, tmp_path: Path) -> None:
    done = unquilt("styles", sample.path, "--max-miss", "0.01", "--plots", "--json", "--quiet")
    facts = json.loads(done.stdout)
    assert (facts["probes"], facts["clusters"] > 0, facts["miss"] <= 0.01) == (14, True, True)
    for name in ("styles-sizes", "styles-graph"):
        assert (sample.results / "styles" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    shown = unquilt("styles", sample.path, "--quiet", "--top", "2")
    assert "score low by design" in shown.stdout
    assert "20 probes miss a pair with 35 of 128 cells equal" in shown.stdout
    url = sample.read(["url"])["url"][0].as_py()
    out = tmp_path / "list.txt"
    like = unquilt("styles", sample.path, "--like", url, "--above", "3", "--plots", "--export", out, "--quiet")
    assert like.returncode == 0, like.stderr
    listed = out.read_text().splitlines()
    assert f"{len(listed):,} of {sample.pages:,} pages" in like.stdout
    assert (sample.results / "styles-like" / "styles-like.svg").exists()


def test_a_corpus_of_no_page_and_of_one_has_no_cluster(tmp_path: Path) -> None:
    with LocalEngine(workers=1) as alone:
        none = write_warc(
            tmp_path / "n.warc.gz", [record("http://a.example/", b"GIF89a", head=b"Content-Type: image/gif")]
        )
        one = write_warc(tmp_path / "o.warc.gz", [record("http://a.example/\x1b[31m", PAGES[5].encode())])
        for name, path, pages in (("n", none, 0), ("o", one, 1)):
            corpus = ingest_crawl([str(path)], tmp_path / name, engine=alone).corpus
            assert corpus.pages == pages
            for params in (StyleParams(), StyleParams(second=8, max_miss=0.01)):
                result = find_styles(corpus, params, engine=alone)
                assert not len(result.tables["clusters"])
                assert not len(result.tables["members"])
