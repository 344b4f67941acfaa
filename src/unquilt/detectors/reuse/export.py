"""What is labelled in a corpus, as a set that a crawler can carry."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pyarrow.compute as pc

from unquilt.corpus import Corpus
from unquilt.detectors.reuse.digests import Digests, check_chunks, column_words
from unquilt.detectors.reuse.given import digests_of_corpus
from unquilt.detectors.reuse.labelled import Labelled, write_labelled
from unquilt.engines import Engine
from unquilt.engines.local import LocalEngine
from unquilt.errors import BadInput
from unquilt.ingest.chunks import Cutter
from unquilt.result import load_result


def export_labelled(
    corpus: Corpus,
    out: str | Path,
    *,
    kind: str = "exact",
    error: float = 0.001,
    everything: bool = False,
    min_labelled_bytes: int = 101,
    engine: Engine | None = None,
) -> Labelled:
    """Write the files and chunks that reuse labelled in a corpus, or ``everything`` in it that is long enough.

    ``kind`` is ``exact``, or ``bloom`` with a share of false alarms of ``error``.
    """
    cutter = Cutter.of_setting(corpus.settings.get("chunks", "p"))
    min_chunk_bytes = 0
    if everything:
        check_chunks(corpus)
        with ExitStack() as stack:
            given = digests_of_corpus(
                corpus, engine or stack.enter_context(LocalEngine()), min_bytes=min_labelled_bytes
            )
        chunks, files = given.chunks, given.files
    else:
        result = load_result(corpus, "reuse")
        objects = result.tables["objects"]
        labelled = objects.filter(pc.equal(objects["label"], "labelled"))
        chunks, files = (
            Digests.make(column_words(labelled.filter(pc.equal(labelled["kind"], kind))["sha1"]))
            for kind in ("chunk", "file")
        )
        min_chunk_bytes = int(result.params["min_chunk_bytes"])
    if not len(chunks) and not len(files):
        raise BadInput(
            f"Nothing is labelled in {corpus.path}.",
            fix="Lower the thresholds of `unquilt reuse`, or export everything in it with --everything.",
        )
    return write_labelled(
        out, chunks=chunks, files=files, cutter=cutter, min_chunk_bytes=min_chunk_bytes, kind=kind, error=error,
        made_from=corpus.digest,
    )  # fmt: skip
