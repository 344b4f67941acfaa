"""The quality gate: what it measures with, and that it cannot be passed with other data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from quality.agreement import adjusted_rand, area_under_curve, best_f1
from quality.gate import FLOORS, detectors, digest_of, report

from unquilt.sample import sample_files


def test_agreement_of_clusterings_has_known_values() -> None:
    assert adjusted_rand([0, 0, 1, 1], ["b", "b", "a", "a"]) == 1
    assert adjusted_rand([0, 0, 1, 2], [0, 0, 1, 1]) == pytest.approx(0.571, abs=1e-3)
    assert adjusted_rand([0, 0, 1, 1], [0, 1, 0, 1]) == pytest.approx(-0.5)


def test_scores_have_known_curves() -> None:
    assert area_under_curve([3, 2, 1], [True, False, True]) == 0.5
    assert area_under_curve([2, 2], [True, False]) == 0.5
    assert best_f1([3, 2, 1], [True, False, True]) == 0.8
    assert best_f1([3, 2, 1], [True, True, False]) == 1


def test_floors_are_those_of_the_bundled_pages() -> None:
    floors = json.loads(FLOORS.read_text())
    assert set(floors) == set(detectors())
    assert floors["phrases"]["sample"]["sha256"] == digest_of(sample_files())


def test_a_low_figure_and_other_data_fail(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = {"sha256": "digest", "floors": {"recall": 0.9}}
    assert report("it", {"recall": 0.91}, known, "digest")
    assert not report("it", {"recall": 0.89}, known, "digest")
    assert "BELOW" in capsys.readouterr().out
    assert not report("it", {"recall": 0.91}, known, "another")
    assert not report("it", {"recall": 0.91, "precision": 1.0}, known, "digest")
