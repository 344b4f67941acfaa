"""The peers of phrases, from text to classes: datatrove's MinHash pipeline, and datasketch's MinHash and LSH.

PYTHON benchmarks/phrases_peers.py datatrove|datasketch FOLDER WORKERS

FOLDER has JSON lines with id and text. It runs in an environment of its own, which has neither unquilt nor its
libraries. Both are asked for 84 hashes of 5-word phrases, in 6 bands of 14.
"""

from __future__ import annotations

import json
import multiprocessing
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

SHINGLES, RUNS, K = 84, 6, 5
_WORD = re.compile(r"\w+")


def main() -> None:
    which, folder, workers = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    run = run_datatrove if which == "datatrove" else run_datasketch
    print(json.dumps(run(folder, workers)))


def run_datatrove(folder: Path, workers: int) -> dict[str, Any]:
    """Signatures, buckets and clusters, with its own options but for the number of hashes."""
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.dedup import MinhashDedupBuckets, MinhashDedupCluster, MinhashDedupSignature
    from datatrove.pipeline.dedup.minhash import MinhashConfig
    from datatrove.pipeline.readers import JsonlReader

    files = len(list(folder.glob("*.jsonl")))
    config = MinhashConfig(num_buckets=RUNS, hashes_per_bucket=SHINGLES // RUNS, n_grams=K)
    with tempfile.TemporaryDirectory() as scratch:

        def run(step: list[Any], tasks: int) -> None:
            LocalPipelineExecutor(step, tasks=tasks, workers=workers, logging_dir=f"{scratch}/logs-{id(step)}").run()

        signatures, buckets, removed = (f"{scratch}/{name}" for name in ("signatures", "buckets", "removed"))
        reader = JsonlReader(str(folder), text_key="text", id_key="id")
        run([reader, MinhashDedupSignature(output_folder=signatures, config=config)], files)
        run([MinhashDedupBuckets(input_folder=signatures, output_folder=buckets, config=config)], RUNS)
        run([MinhashDedupCluster(input_folder=buckets, output_folder=removed, config=config)], 1)
        dropped = sum(path.stat().st_size // 4 for path in Path(removed).rglob("*.remove"))
    return {"dropped": dropped}


def sign(path: Path) -> list[tuple[str, Any]]:
    """The MinHash of each page of a file."""
    from datasketch import MinHash

    found = []
    for line in path.open(encoding="utf-8"):
        page = json.loads(line)
        words = _WORD.findall(page["text"].lower())
        phrases = {" ".join(words[i : i + K]).encode() for i in range(max(len(words) - K + 1, 1))}
        minhash = MinHash(num_perm=SHINGLES)
        minhash.update_batch(phrases)
        found.append((page["id"], minhash))
    return found


def run_datasketch(folder: Path, workers: int) -> dict[str, Any]:
    """Signatures in a pool of processes, then one LSH, and what it finds for each page joined."""
    from datasketch import MinHashLSH

    with multiprocessing.Pool(workers) as pool:
        signed = [one for some in pool.map(sign, sorted(folder.glob("*.jsonl")), chunksize=1) for one in some]
    lsh = MinHashLSH(num_perm=SHINGLES, params=(RUNS, SHINGLES // RUNS))
    parent = {name: name for name, _ in signed}

    def root(name: str) -> str:
        while parent[name] != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    for name, minhash in signed:
        for other in lsh.query(minhash):
            parent[root(name)] = root(other)
        lsh.insert(name, minhash)
    return {"dropped": sum(name != above for name, above in parent.items())}


if __name__ == "__main__":
    main()
