"""The whole exchange and reduce, in a process of its own whose memory can be measured.

python -m benchmarks.exchange_run FOLDER MEMORY-IN-BYTES   (0: as much as the engine takes by itself)
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from benchmarks.steps import count, emit
from unquilt.engines.local import LocalEngine

WORKERS = 2


def main() -> None:
    folder, memory = Path(sys.argv[1]), int(sys.argv[2])
    files = sorted(map(str, folder.glob("*.parquet")))
    begun = time.perf_counter()
    with LocalEngine(workers=WORKERS, memory=memory or None, scratch=folder.parent) as engine:
        with engine.exchange(emit, files, name="exchange") as blocks:
            exchanged = time.perf_counter()
            kept = blocks.memory_bytes, blocks.disk_bytes
            grams = pages = 0
            for one in engine.reduce(count, blocks, name="count"):
                grams += one[0]
                pages += one[1]
        ended = time.perf_counter()
        workers = engine.workers
    answer = {
        "answer": [grams, pages],
        "seconds": ended - begun,
        "exchange_seconds": exchanged - begun,
        "memory_bytes": kept[0],
        "disk_bytes": kept[1],
        "workers": workers,
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
