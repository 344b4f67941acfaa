"""Sweeps: the same numbers as one run of quilts for each setting, from far fewer passes."""

from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conftest import Unquilt, page, record, write_warc
from unquilt import (
    Corpus,
    LocalEngine,
    QuiltParams,
    Result,
    SweepParams,
    find_quilts,
    ingest_crawl,
    load_result,
    sweep_quilts,
    write_sweep,
)  # fmt: skip
from unquilt.errors import BadInput, BadParameter
from unquilt.sample import sample_files

FILES = ["sweep.csv", "sweep.parquet", "sweep.png", "sweep.svg"]
SMALL: dict[str, Any] = {
    "k_values": (3, 8),
    "m_values": (3, 50, 80),
    "c_values": (1, 4, 7),
    "sigma_values": (0.0, 0.3, 0.7, 1.0),
}


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory, engine: LocalEngine) -> Corpus:
    out = tmp_path_factory.mktemp("sweep") / "sample"
    return ingest_crawl([str(path) for path in sample_files()], out, engine=engine).corpus


def run_quilts(corpus: Corpus, row: dict[str, Any], others: dict[str, Any], engine: LocalEngine) -> dict[str, Any]:
    """What find_quilts says about the setting of a row."""
    setting = {name: row[name] for name in ("k", "m", "c", "sigma")}
    found = find_quilts(corpus, QuiltParams(**setting, **others, patches=False), engine=engine)
    counts = [len(sources) for sources in found.tables["quilts"]["sources"].to_pylist()]
    return {
        "quilted": len(counts),
        "share": len(counts) / corpus.pages,
        "mean_sources": sum(counts) / len(counts) if counts else None,
    }


@pytest.mark.parametrize(
    "others",
    [
        {"foreign": "none"},
        {"foreign": "domain", "min_contribution": 0.02},
        {"foreign": "host", "collapse": True},
    ],
    ids=lambda others: "-".join(map(str, others.values())),
)
def test_every_point_is_what_find_quilts_gives(sample: Corpus, engine: LocalEngine, others: dict[str, Any]) -> None:
    rows = sweep_quilts(sample, SweepParams(**SMALL, **others), engine=engine).tables["sweep"].to_pylist()
    assert len(rows) == 3 + 3 + 3 + 5  # the pivot is added to k and sigma
    assert sum(row["quilted"] > 0 for row in rows) > len(rows) / 2
    for row in rows:
        assert {name: row[name] for name in ("quilted", "share", "mean_sources")} == run_quilts(
            sample, row, others, engine
        )


def test_one_parameter_moves_and_the_pivot_is_a_row_of_each() -> None:
    params = SweepParams(k=4, m=9, c=2, sigma=0.25, **SMALL)
    values: dict[str, list[float]] = {}
    for point in params.points():
        values.setdefault(point.parameter, []).append(point.value)
        all_four = {"k": point.k, **point.setting._asdict()}
        pivot = {"k": 4, "m": 9, "c": 2, "sigma": 0.25}
        assert all_four == pivot | {point.parameter: point.value}
    assert values == {"k": [3, 4, 8], "m": [3, 9, 50, 80], "c": [1, 2, 4, 7], "sigma": [0, 0.25, 0.3, 0.7, 1]}


def test_only_k_needs_new_grams(sample: Corpus, engine: LocalEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[str] = []
    run_exchange = engine.exchange

    def exchange(*arguments: Any, name: str, **options: Any) -> Any:
        names.append(name)
        return run_exchange(*arguments, name=name, **options)

    monkeypatch.setattr(engine, "exchange", exchange)
    sweep_quilts(sample, SweepParams(**SMALL), engine=engine)
    assert names.count("Cutting grams") == 3  # k = 3, 5, 8


def check_files(folder: Path, table: pa.Table) -> None:
    assert pq.read_table(folder / "sweep.parquet").equals(table)
    rows = list(csv.DictReader((folder / "sweep.csv").open(encoding="utf-8")))
    assert [(row["parameter"], float(row["value"]), int(row["quilted"])) for row in rows] == list(
        zip(*(table[name].to_pylist() for name in ("parameter", "value", "quilted")), strict=True)
    )
    assert (folder / "sweep.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    drawing = ET.parse(folder / "sweep.svg").getroot()
    assert drawing.tag == "{http://www.w3.org/2000/svg}svg"
    text = " ".join(drawing.itertext())
    for label in ("k, words in a gram", "σ, least share of patches", "Pages that are quilts", "Mean number of sources"):
        assert label in text


def test_the_command_writes_table_and_plots_next_to_the_corpus(sample: Corpus, unquilt: Unquilt) -> None:
    done = unquilt("sweep", sample.path, "--foreign", "none", "--k-values", "5", "--sigma-values", "0.3,0.9")
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["k", "m", "c", "σ", "quilts", "of", "pages", "mean", "sources"] in lines
    assert sum(line[-1:] == ["pivot"] for line in lines) == 4
    folder = sample.results / "sweep"
    saved = load_result(
        sample, "sweep", params=SweepParams(foreign="none", k_values=(5,), sigma_values=(0.3, 0.9)).as_dict()
    )
    check_files(folder, saved.tables["sweep"])


def test_the_command_writes_where_it_is_told_and_speaks_json(sample: Corpus, unquilt: Unquilt, tmp_path: Path) -> None:
    done = unquilt("sweep", sample.path, "-o", tmp_path / "a" / "b", "--k-values", "6", "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    said = json.loads(done.stdout)
    assert said["files"] == [str(tmp_path / "a" / "b" / name) for name in FILES]
    assert said["params"]["k_values"] == [6]
    check_files(tmp_path / "a" / "b", pq.read_table(tmp_path / "a" / "b" / "sweep.parquet"))
    assert said["sweep"] == pq.read_table(tmp_path / "a" / "b" / "sweep.parquet").to_pylist()


def test_a_corpus_without_quilts_has_a_table_and_plots_too(tmp_path: Path, engine: LocalEngine) -> None:
    records = [record(f"http://a{i}.example/", page(i)) for i in range(5)]
    corpus = ingest_crawl([str(write_warc(tmp_path / "c.warc.gz", records))], tmp_path / "c", engine=engine).corpus
    only_pivot = SweepParams(k_values=(5,), m_values=(50,), c_values=(4,), sigma_values=(0.5,))
    result = sweep_quilts(corpus, only_pivot, engine=engine)
    assert result.tables["sweep"]["quilted"].to_pylist() == [0] * 4
    assert result.tables["sweep"]["mean_sources"].null_count == 4
    assert [path.name for path in write_sweep(result, tmp_path / "out")] == FILES
    check_files(tmp_path / "out", result.tables["sweep"])


def test_a_sweep_is_the_same_with_any_number_of_workers(sample: Corpus, engine: LocalEngine) -> None:
    results: list[Result] = [sweep_quilts(sample, SweepParams(**SMALL), engine=engine)]
    with LocalEngine(workers=1) as alone:
        results.append(sweep_quilts(sample, SweepParams(**SMALL), engine=alone))
    assert results[0].tables["sweep"].equals(results[1].tables["sweep"])


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"k_values": (3, 65)}, "--k-values has 65; each must be from 1 to 64."),
        ({"m_values": (1,)}, "--m-values has 1; each must be from 2 to 1,000,000."),
        ({"c_values": (4, 0)}, "--c-values has 0; each must be at least 1."),
        ({"sigma_values": (0.5, 1.5)}, "--sigma-values has 1.5; each must be from 0 to 1."),
        ({"sigma_values": (float("nan"),)}, "--sigma-values has nan; each must be from 0 to 1."),
        ({"k_values": ()}, "--k-values is empty; name at least one value."),
        ({"k": 0}, "--k is 0; it must be from 1 to 64."),
    ],
)
def test_a_value_out_of_range_is_refused_in_one_sentence(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadParameter) as refused:
        SweepParams(**values)
    assert refused.value.message == sentence


def test_the_command_refuses_lists_that_are_none(sample: Corpus, unquilt: Unquilt) -> None:
    done = unquilt("sweep", sample.path, "--m-values", "10,1")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: --m-values has 1; each must be from 2 to 1,000,000.\n")
    done = unquilt("sweep", sample.path, "--k-values", "3,four")
    assert done.returncode == 2
    assert "'3,four' is no list of whole numbers; write them with commas, as 1,2." in done.stderr


def test_a_list_of_urls_has_no_text_to_sweep(tmp_path: Path, engine: LocalEngine) -> None:
    (tmp_path / "urls.txt").write_text("http://a.example/\nhttp://b.example/\n")
    corpus = ingest_crawl([str(tmp_path / "urls.txt")], tmp_path / "c", engine=engine).corpus
    with pytest.raises(BadInput, match="has no text"):
        sweep_quilts(corpus, engine=engine)
