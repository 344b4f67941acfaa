"""The peers of phrases, from text to classes: datatrove, text-dedup, datasketch and rensa.

PYTHON -m benchmarks.phrases_peers datatrove|text-dedup|datasketch|rensa FOLDER WORKERS

FOLDER has JSON lines with id and text. It runs in an environment that has the peer, and neither unquilt nor its
libraries. All are asked for 84 hashes of 5-word phrases, in 6 bands of 14, and for all else use their own defaults.
It prints the class of each page, in the order of the pages: pages of one class have the same label.
"""

from __future__ import annotations

import json
import multiprocessing
import pickle
import re
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout
from itertools import accumulate
from pathlib import Path
from typing import Any

SHINGLES, RUNS, K = 84, 6, 5
_WORD = re.compile(r"\w+")


def main() -> None:
    run = {"datatrove": run_datatrove, "text-dedup": run_text_dedup, "datasketch": run_datasketch, "rensa": run_rensa}
    which, folder, workers = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    with redirect_stdout(sys.stderr):
        labels = run[which](sorted(folder.glob("*.jsonl")), workers)
    print(json.dumps({"labels": labels}))


def run_datatrove(files: list[Path], workers: int) -> list[int]:
    """Its pipeline of signatures, buckets and clusters."""
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.dedup import MinhashDedupBuckets, MinhashDedupCluster, MinhashDedupSignature
    from datatrove.pipeline.dedup.minhash import MinhashConfig
    from datatrove.pipeline.readers import JsonlReader

    config = MinhashConfig(num_buckets=RUNS, hashes_per_bucket=SHINGLES // RUNS, n_grams=K)
    with tempfile.TemporaryDirectory() as scratch:

        def run(name: str, step: list[Any], tasks: int) -> None:
            LocalPipelineExecutor(step, tasks=tasks, workers=workers, logging_dir=f"{scratch}/logs/{name}").run()

        signatures, buckets, clusters = (f"{scratch}/{name}" for name in ("signatures", "buckets", "clusters"))
        reader = JsonlReader(str(files[0].parent), text_key="text", id_key="id")
        sign = MinhashDedupSignature(output_folder=signatures, config=config)
        match = MinhashDedupBuckets(input_folder=signatures, output_folder=buckets, config=config)
        join = MinhashDedupCluster(input_folder=buckets, output_folder=clusters, config=config, save_cluster_id=True)
        run("signatures", [reader, sign], len(files))
        run("buckets", [match], RUNS)
        run("clusters", [join], 1)
        return _labels_of_clusters(Path(clusters), [sum(1 for _ in file.open("rb")) for file in files])


def _labels_of_clusters(folder: Path, pages: list[int]) -> list[int]:
    """From pairs of a page of a file and its cluster; a page alone is its own."""
    labels = [-1 - page for page in range(sum(pages))]
    for number, first in enumerate(accumulate(pages[:-1], initial=0)):
        path = folder / f"{number:06}.clusters"
        for page, cluster in struct.iter_unpack("<2I", path.read_bytes() if path.exists() else b""):
            labels[first + page] = cluster
    return labels


def run_text_dedup(files: list[Path], workers: int) -> list[int]:
    """Its command; --debug makes it keep the clusters."""
    with tempfile.TemporaryDirectory() as scratch:
        command = [
            *(sys.executable, "-m", "text_dedup.minhash", "--path", "json", "--split", "train", "--column", "text"),
            *("--data_files", f"{files[0].parent}/*.jsonl", "--cache_dir", f"{scratch}/cache"),
            *("--output", f"{scratch}/out", "--debug", "--num_proc", str(workers)),
            *("--ngram", str(K), "--num_perm", str(SHINGLES), "--b", str(RUNS), "--r", str(SHINGLES // RUNS)),
        ]
        subprocess.run(command, check=True, stdout=sys.stderr, cwd=scratch)
        clusters = pickle.loads(Path(scratch, "out", "uf.pkl").read_bytes())
    return [clusters.find(page) for page in range(sum(1 for file in files for _ in file.open("rb")))]


def run_datasketch(files: list[Path], workers: int) -> list[int]:
    """Signatures in a pool of processes, then one LSH, and what it finds for each page joined."""
    from datasketch import MinHashLSH

    lsh = MinHashLSH(num_perm=SHINGLES, params=(RUNS, SHINGLES // RUNS))

    def look_up(minhashes: list[Any]) -> Iterator[list[int]]:
        for page, minhash in enumerate(minhashes):
            yield lsh.query(minhash)
            lsh.insert(page, minhash)

    return join(look_up(_in_pool(sign_for_datasketch, files, workers)))


def run_rensa(files: list[Path], workers: int) -> list[int]:
    """The same, with all pages in the index before it is asked."""
    from rensa import RMinHashLSH

    minhashes = _in_pool(sign_for_rensa, files, workers)
    lsh = RMinHashLSH(threshold=0.8, num_perm=SHINGLES, num_bands=RUNS)  # the threshold is not for queries
    lsh.insert_many(minhashes)
    return join(lsh.query_all(minhashes))


def _in_pool(sign: Any, files: list[Path], workers: int) -> list[Any]:
    with multiprocessing.Pool(workers) as pool:
        return [one for some in pool.map(sign, files, chunksize=1) for one in some]


def sign_for_datasketch(path: Path) -> list[Any]:
    from datasketch import MinHash

    found = []
    for page in phrases(path):
        found.append(MinHash(num_perm=SHINGLES))
        found[-1].update_batch([phrase.encode() for phrase in page])
    return found


def sign_for_rensa(path: Path) -> list[Any]:
    from rensa import RMinHash

    found: list[Any] = RMinHash.from_token_sets(map(list, phrases(path)), num_perm=SHINGLES, seed=42)
    return found


def phrases(path: Path) -> Iterator[set[str]]:
    """The distinct phrases of each page of a file."""
    for line in path.open(encoding="utf-8"):
        words = _WORD.findall(json.loads(line)["text"].lower())
        yield {" ".join(words[i : i + K]) for i in range(max(len(words) - K + 1, 1))}


def join(found: Iterable[list[int]]) -> list[int]:
    """A label for each page, the same for those connected by what was found for each."""
    parent: list[int] = []

    def root(page: int) -> int:
        while parent[page] != page:
            parent[page] = parent[parent[page]]
            page = parent[page]
        return page

    for page, others in enumerate(found):
        parent.append(page)
        for other in others:
            if other < page:  # what comes later has this one among what was found for it
                parent[root(page)] = root(other)
    return [root(page) for page in range(len(parent))]


if __name__ == "__main__":
    main()
