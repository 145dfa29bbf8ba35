"""Faults for `tools.mutants`: small slips of the kind people make, by room, each with the tests that should notice first."""

from dataclasses import dataclass

METRICS, INFERENCE, ENGINES, SUMMARY = "tests/metrics/", "tests/inference/", "tests/engines/", "tests/summary/"


@dataclass(frozen=True, slots=True)
class Mutant:
    """A snippet of a file below ``src/trueness`` and what stands there instead."""

    id: str
    path: str
    old: str  # occurs once, unless `occurrence` says which
    new: str
    tests: tuple[str, ...]
    occurrence: int | None = None  # counted from 0


def mutant(name: str, path: str, old: str, new: str, *tests: str, occurrence: int | None = None) -> Mutant:
    """A mutant with its tests as they come."""
    return Mutant(name, path, old, new, tests, occurrence)


_SUMMARY = (
    mutant(
        "ruler-extra-edge-open",
        "summary/ruler.py",
        "passed += inside >= ",
        "passed += inside > ",
        SUMMARY + "test_ruler.py",
        METRICS + "test_binned.py",
    ),
    mutant("ruler-last-cell", "summary/ruler.py", "np.minimum(k, FINE - 1,", "np.minimum(k, FINE,", SUMMARY + "test_ruler.py"),
    mutant("ruler-end-narrow", "summary/ruler.py", "END = 2.0**-6", "END = 2.0**-7", SUMMARY + "test_ruler.py"),
    mutant(
        "ruler-bin-of-cell",
        "summary/ruler.py",
        'on.edges[:-1], side="right"',
        'on.edges[:-1], side="left"',
        METRICS + "test_binned.py",
    ),
    mutant(
        "columns-third-moment",
        "summary/moments.py",
        "(self._k * self.wr2 + cubes)",
        "(self._k * self.wr2)",
        METRICS + "test_smooth.py",
        SUMMARY + "test_summary.py",
    ),
    mutant(
        "columns-label-swapped",
        "summary/moments.py",
        "return self._power(1, 1)",
        "return self._power(0, 1)",
        SUMMARY + "test_summary.py",
        METRICS + "test_smooth.py",
    ),
    mutant(
        "summary-merge-without-carry",
        "summary/summary.py",
        " += sums[numerator] >> NUMERATOR_BITS",
        " += 0 * sums[numerator]",
        SUMMARY + "test_summary.py",
    ),
    mutant(
        "summary-digest-without-sums",
        "summary/summary.py",
        "(self.cells, self.rows, self.sums)",
        "(self.cells, self.rows)",
        SUMMARY + "test_summary.py",
    ),
    mutant(
        "summary-soft-forgotten-in-a-sum",
        "summary/summary.py",
        "soft=any(part.soft for part in parts)",
        "soft=all(part.soft for part in parts)",
        SUMMARY + "test_summary.py",
    ),
    mutant(
        "file-digest-not-checked",
        "summary/file.py",
        "if hashlib.sha256(body).hexdigest().encode() != digest:",
        "if len(digest) != _DIGEST:",
        SUMMARY,
    ),
)

_INPUTS = (
    mutant(
        "labels-pos-label-inverted",
        "inputs/labels.py",
        "np.asarray(part == (pos_label if",
        "np.asarray(part != (pos_label if",
        "tests/inputs/test_rows.py",
    ),
    mutant(
        "align-index-ignored",
        "inputs/align.py",
        "given[k] = given[k].iloc[places]",
        "given[k] = given[k].iloc[:]",
        "tests/inputs",
    ),
    mutant(
        "faults-outside-clipped",
        "inputs/faults.py",
        "(values > 1.0 + tolerance)",
        "(values > 2.0 + tolerance)",
        "tests/inputs",
    ),
    mutant(
        "faults-drop-allows-everything",
        "inputs/faults.py",
        'allowed = ("always", "if asked") if nan == "drop"',
        'allowed = ("always", "if asked", "never") if nan == "drop"',
        "tests/inputs",
    ),
    mutant(
        "rows-zero-weights-kept",
        "inputs/rows.py",
        "keep &= ~zero",
        "keep &= True",
        "tests/inputs/test_rows.py",
        METRICS + "test_laws.py",
    ),
    mutant(
        "classes-softmax-overflows",
        "inputs/classes.py",
        "np.exp(logits - logits.max(axis=1, keepdims=True))",
        "np.exp(logits)",
        "tests/test_multiclass.py",
    ),
    mutant(
        "multiclass-ties-last",
        "multiclass.py",
        "np.arange(scores.shape[1]) < codes[:, None]",
        "np.arange(scores.shape[1]) > codes[:, None]",
        "tests/test_multiclass.py",
    ),
)

_ENGINES = (
    mutant("plain-weight-dropped", "engines/arrays/plain.py", "we = weight * e", "we = e", METRICS + "test_laws.py"),
    mutant(
        "plain-soft-label-as-hard",
        "engines/arrays/plain.py",
        "if np.any(label & (y != 1)):",
        "if np.any(label & (y > 1)):",
        METRICS + "test_binned.py",
        ENGINES + "arrays/test_summarize.py",
    ),
    mutant(
        "plain-zero-weights-counted",
        "engines/arrays/plain.py",
        "positive = w > 0",
        "positive = w >= 0",
        ENGINES + "arrays/test_summarize.py",
        "tests/inputs/test_rows.py",
    ),
    mutant(
        "plain-dropped-not-counted",
        "engines/arrays/summarize.py",
        "self.counts.update(counts)",
        "self.counts = counts",
        ENGINES + "arrays/test_summarize.py::test_rows_left_out_are_counted_in_every_chunk",
    ),
    mutant(
        "compiled-rounds-down",
        "engines/arrays/compiled.py",
        "np.floor((square * r) * _TWO31 + 0.5)",
        "np.floor((square * r) * _TWO31)",
        ENGINES + "arrays/test_summarize.py",
    ),
    mutant(
        "bins-correction-dropped",
        "engines/arrays/compiled.py",
        "k = k - 1.0 if x < k / bins else k",
        "k = k",
        ENGINES + "arrays/test_bins.py",
    ),
    mutant(
        "extremes-part-too-narrow",
        "engines/arrays/compiled.py",
        "row[5] = max(row[5], bits)",
        "row[5] = bits",
        ENGINES + "arrays/test_summarize.py",
    ),
    mutant(
        "expressions-correction-dropped",
        "engines/expressions.py",
        "k - a.either(g < a.divide(k, m, g), one, zero)",
        "k",
        ENGINES + "test_expressions.py",
    ),
    mutant(
        "expressions-edge-open",
        "engines/expressions.py",
        "g >= a.divide(k + one, m, g)",
        "g > a.divide(k + one, m, g)",
        ENGINES + "test_expressions.py",
    ),
    mutant(
        "expressions-missing-group-as-text",
        "engines/expressions.py",
        "None if _is_missing(value) else value",
        '"(missing)" if _is_missing(value) else value',
        ENGINES + "test_expressions.py",
    ),
    mutant(
        "torch-label-swapped",
        "engines/torch/sums.py",
        '2 * cell + columns["label"].long()',
        '2 * cell + 1 - columns["label"].long()',
        ENGINES + "torch",
    ),
    mutant(
        "torch-state-of-other-options",
        "torch.py",
        "if given != settings:",
        "if len(given) != len(settings):",
        ENGINES + "torch",
    ),
    mutant(
        "torch-sums-counted-twice",
        "torch.py",
        "for _, token, _ in processes if token",
        "for _, token, _ in ()",
        ENGINES + "torch",
    ),
    mutant(
        "torch-host-counts-all",
        "engines/torch/host.py",
        "len(scores) - len(left)",
        "len(scores)",
        ENGINES + "torch/test_host.py",
    ),
    mutant("torch-edge-open", "engines/torch/sums.py", "cell += g >= ", "cell += g > ", ENGINES + "torch"),
    mutant(
        "sql-identifier-unquoted",
        "engines/sql/text.py",
        "escapes = {words.quote: words.quote * 2} if words.name_escapes is None else words.name_escapes",
        "escapes = {}",
        ENGINES + "frames/test_frames.py::test_sql_quotes_names_and_labels",
    ),
    mutant(
        "files-resumed-rows-twice",
        "engines/files/reduction.py",
        "self._pieces(skip=done)",
        "self._pieces()",
        ENGINES + "files/test_checkpoint.py",
    ),
    mutant(
        "files-true-in-capitals",
        "engines/files/outcomes.py",
        'label = f"lower{label}"',
        "pass",
        ENGINES + "files",
    ),
)

_DATA = (
    mutant(
        "rows-brier-unweighted",
        "data/row_sample.py",
        "a.w[first:last] * (e * e)",
        "e * e",
        METRICS + "test_scores.py",
    ),
    mutant(
        "rows-sigma-weight-once",
        "data/row_sample.py",
        "a.w**2 * spread",
        "a.w * spread",
        METRICS + "test_cumulative.py",
    ),
    mutant(
        "rows-contradiction-unseen",
        "data/row_sample.py",
        "(a.f <= 0) & (a.y > 0)",
        "(a.f < 0) & (a.y > 0)",
        INFERENCE + "test_significance.py",
    ),
    mutant(
        "scales-logit-clip", "data/scales.py", "LOGIT_CLIP = 1e-10", "LOGIT_CLIP = 1e-8", METRICS + "test_logit_smoothed.py"
    ),
    mutant(
        "extremes-without-the-start",
        "summary/extremes.py",
        "lowest: Point = ORIGIN",
        "lowest: Point = Point(1.0, 0.0, 0.0)",
        METRICS + "test_cumulative.py",
    ),
    mutant(
        "points-null-at-one-half",
        "data/samplers.py",
        "np.clip((self.score_of_zeros + self.score_of_ones) / n, 0.0, 1.0)",
        "np.full(len(n), 0.5)",
        INFERENCE + "test_significance.py",
    ),
    mutant(
        "binomials-complement-kept",
        "data/binomials.py",
        "np.where(p > 0.5, -1.0, 1.0)",
        "np.where(p > 1.5, -1.0, 1.0)",
        "tests/data/test_binomials.py",
    ),
    mutant(
        "binomials-skewness-left-out",
        "data/binomials.py",
        "(1 - 2 * rare) / np.sqrt(variance)",
        "0 * rare / np.sqrt(variance)",
        "tests/data/test_binomials.py",
    ),
    mutant(
        "binomials-coins-not-centred",
        "data/binomials.py",
        "sums -= single(coins * scale)",
        "sums -= single(0.9 * coins * scale)",
        "tests/data/test_binomials.py",
    ),
    mutant(
        "draws-spread-not-taken-out",
        "smoothing/draws.py",
        ") ** -2).astype(dtype)",
        ") ** 0).astype(dtype)",
        "tests/smoothing/test_draws.py",
    ),
    mutant(
        "rows-groups-by-position",
        "inputs/rows.py",
        "given, notes = aligned(given, names, align)",
        "given, notes = aligned(given[:count], names, align)[0] + given[count:], []",
        "tests/test_assessment.py",
    ),
    mutant(
        "points-signs-too-small",
        "data/samplers.py",
        "Bent(np.sqrt(left), np.zeros(len(left)), precise)",
        "Bent(0.5 * np.sqrt(left), np.zeros(len(left)), precise)",
        "tests/data/test_points.py",
    ),
    mutant(
        "points-heavy-rows-lost",
        "data/samplers.py",
        "if len(self.alone):",
        "if len(self.alone) < 0:",
        "tests/data/test_points.py",
    ),
    mutant(
        "points-effective-rows",
        "data/points.py",
        "self.total**2 / float(self.w2.sum())",
        "float(self.n)",
        INFERENCE + "test_intervals.py",
    ),
)

_SMOOTHING = (
    mutant(
        "kernel-without-reflection",
        "smoothing/kernel.py",
        "for centre in (f - 2 * k, -f - 2 * k):",
        "for centre in (f - 2 * k,):",
        "tests/curves",
    ),
    mutant(
        "fixed-point-tolerance",
        "smoothing/fixed_point.py",
        "tolerance: float = 1e-13",
        "tolerance: float = 1e-6",
        METRICS + "test_smooth.py",
    ),
    mutant(
        "sigmoid-sign",
        "smoothing/smoothed.py",
        "np.where(u < 0, small, 1.0)",
        "np.where(u > 0, small, 1.0)",
        METRICS + "test_logit_smoothed.py",
    ),
    mutant(
        "integral-sign-changes-uncut",
        "smoothing/integral.py",
        "np.abs(part) + np.abs(full[crossing] - part)",
        "np.abs(full[crossing])",
        METRICS + "test_smooth.py",
    ),
    mutant(
        "cosine-damping",
        "smoothing/cosine.py",
        "np.exp(-share * (sigma * frequency) ** 2)",
        "np.exp(-share * sigma * frequency**2)",
        METRICS + "test_smooth.py",
    ),
)

_METRICS = (
    mutant(
        "binned-l2-without-root",
        "metrics/binned.py",
        "float(np.sqrt(max(float((share * squares).sum()), 0.0)))",
        "max(float((share * squares).sum()), 0.0)",
        METRICS + "test_binned.py",
    ),
    mutant(
        "binned-debias-sign",
        "metrics/binned.py",
        "squares - mean * (1 - mean) / others",
        "squares + mean * (1 - mean) / others",
        METRICS + "test_binned.py",
        occurrence=0,
    ),
    mutant(
        "binned-drawn-debias-sign",
        "metrics/binned.py",
        "squares - mean * (1 - mean) / others",
        "squares + mean * (1 - mean) / others",
        INFERENCE + "test_floor.py",
        occurrence=1,
    ),
    mutant(
        "binned-ties-straddle",
        "metrics/binned.py",
        "np.unique(rows.f, return_inverse=True)",
        "(np.sort(rows.f), np.argsort(np.argsort(rows.f)))",
        METRICS + "test_binned.py",
    ),
    mutant(
        "cumulative-draws-without-the-start",
        "metrics/cumulative.py",
        "np.minimum(c.min(axis=1), 0.0)",
        "c.min(axis=1)",
        INFERENCE + "test_significance.py",
    ),
    mutant(
        "cumulative-worst-ends-swapped",
        "metrics/cumulative.py",
        "low=first.score,\n        high=last.score,",
        "low=last.score,\n        high=first.score,",
        METRICS + "test_cumulative.py",
    ),
    mutant(
        "logit-uniform-noise-width",
        "metrics/logit_smoothed.py",
        "cuts = np.concatenate([h - sigma / 2, h + sigma / 2])",
        "cuts = np.concatenate([h - sigma, h + sigma])",
        METRICS + "test_logit_smoothed.py",
    ),
    mutant(
        "scores-log-loss-clipped",
        "metrics/scores.py",
        "np.log(f[ones])",
        "np.log(np.clip(f[ones], 1e-15, 1))",
        METRICS + "test_scores.py",
    ),
    mutant(
        "scores-parts-swapped",
        "metrics/scores.py",
        "miscalibration=max(own - best, 0.0),\n        discrimination=max(flat - best, 0.0),",
        "miscalibration=max(flat - best, 0.0),\n        discrimination=max(own - best, 0.0),",
        METRICS + "test_scores.py",
    ),
    mutant(
        "scores-isotonic-unweighted",
        "metrics/scores.py",
        "weights=ones + zeros",
        "weights=None",
        METRICS + "test_scores.py",
    ),
    mutant(
        "distance-upper-bound",
        "metrics/distance.py",
        "min(2 * weak, 2 * smooth, by_score)",
        "min(2 * weak, 2 * smooth)",
        METRICS + "test_distance.py",
    ),
    mutant("distance-half-a-jump", "metrics/distance.py", "jump.append(2 * d)", "jump.append(d)", METRICS + "test_distance.py"),
)

_INFERENCE = (
    mutant(
        "brownian-range-factor",
        "brownian.py",
        "return 8 * total",
        "return 4 * total",
        "tests/test_brownian.py",
    ),
    mutant(
        "significance-wrong-tail",
        "inference/significance.py",
        "pvalue=max(law.sf(standardized), SMALLEST)",
        "pvalue=max(law.cdf(standardized), SMALLEST)",
        INFERENCE + "test_significance.py",
    ),
    mutant(
        "simulation-p-without-plus-one",
        "inference/simulation.py",
        "return (1 + int(",
        "return (int(",
        INFERENCE + "test_significance.py",
    ),
    mutant(
        "simulation-ties-do-not-reach",
        "inference/simulation.py",
        "self.null >= reached",
        "self.null > self.observed",
        INFERENCE + "test_significance.py",
    ),
    mutant(
        "simulation-few-rows",
        "inference/simulation.py",
        "points.n < FEW_ROWS",
        "points.n <= FEW_ROWS",
        INFERENCE + "test_significance.py",
    ),
    mutant(
        "intervals-kappa-sign",
        "inference/intervals.py",
        "np.abs(1 - 2 * points.score)",
        "(1 - 2 * points.score)",
        INFERENCE + "test_intervals.py",
    ),
    mutant(
        "intervals-whole-alpha",
        "inference/intervals.py",
        "resampling.base, normal_quantile(alpha / 2)",
        "resampling.base, normal_quantile(alpha)",
        INFERENCE + "test_intervals.py",
    ),
    mutant(
        "drawing-whole-alpha",
        "metrics/drawing.py",
        "alpha / 2) for norms",
        "alpha) for norms",
        INFERENCE + "test_intervals.py",
    ),
    mutant(
        "floor-median",
        "inference/floor.py",
        "float(drawn.perfect.mean())",
        "float(sorted(drawn.perfect)[len(drawn.perfect) // 2])",
        INFERENCE + "test_floor.py",
    ),
    mutant(
        "groups-holm-without-maximum",
        "inference/groups.py",
        "max(largest, min(log10_pvalues",
        "max(-math.inf, min(log10_pvalues",
        INFERENCE + "test_groups.py",
    ),
    mutant(
        "groups-holm-factor",
        "inference/groups.py",
        "math.log10(len(order) - rank)",
        "math.log10(len(order) - rank + 1)",
        INFERENCE + "test_groups.py",
    ),
    mutant(
        "groups-missing-merged",
        "inference/groups.py",
        "code.setdefault(group, len(code))",
        "code.setdefault(MISSING if group is None else group, len(code))",
        INFERENCE + "test_groups.py",
    ),
    mutant(
        "groups-one-seed-for-all",
        "inference/groups.py",
        "of_stage[place] >>",
        "of_stage[0] >>",
        INFERENCE + "test_groups.py",
    ),
    mutant(
        "differences-unpaired",
        "inference/mean_gaps.py",
        "summed((self._gap - self.value) ** 2, square)",
        "summed((self._a.own - self.values[0]) ** 2 + (self._b.own - self.values[1]) ** 2, square)",
        INFERENCE + "test_differences.py",
    ),
    mutant(
        "differences-bounds-from-the-wrong-ends",
        "inference/differences.py",
        "first.low - second.high, first.high - second.low",
        "first.low - second.low, first.high - second.high",
        INFERENCE + "test_differences.py",
    ),
)

_RESULTS = (
    mutant(
        "curves-isotonic-block-short",
        "curves/isotonic_curve.py",
        "points.score[last]]",
        "points.score[first]]",
        "tests/curves",
    ),
    mutant("curves-exact-whole-alpha", "curves/limits.py", "n - ones + 1, alpha / 2)", "n - ones + 1, alpha)", "tests/curves"),
    mutant(
        "plots-band-of-the-other-kind",
        "plots/draw.py",
        "ax.fill_between(curve.score, curve.confidence_low,",
        "ax.fill_between(curve.score, curve.consistency_low,",
        "tests/plots",
    ),
    mutant(
        "verdict-too-high-for-too-low",
        "verdict.py",
        'return "high" if worst.mean_gap < 0 else "low"',
        'return "high" if worst.mean_gap > 0 else "low"',
        "tests/test_assessment.py",
    ),
    mutant(
        "recalibrate-clipped-not-reflected",
        "recalibrate.py",
        "np.where(x > 1, 2 - x, x)",
        "np.clip(x, 0, 1)",
        "tests/test_recalibrate.py",
    ),
    mutant(
        "report-title-unescaped",
        "report/html.py",
        "<h1>{escape(title)}</h1>",
        "<h1>{title}</h1>",
        "tests/report",
    ),
    mutant(
        "report-group-unescaped",
        "report/html.py",
        "map(escape, each.cells(120))",
        "map(str, each.cells(120))",
        "tests/report",
    ),
    mutant(
        "report-comparison-unescaped",
        "report/compare.py",
        "{escape(row[_named(head)])}</th>",
        "{row[_named(head)]}</th>",
        "tests/report",
    ),
    mutant(
        "cli-failed-check-exits-0",
        "cli/commands.py",
        "raise SystemExit(FAILED)",
        "raise SystemExit(0)",
        "tests/cli/test_check.py",
    ),
    mutant(
        "cli-limit-reached-fails",
        "cli/check.py",
        "passed = value <= limit",
        "passed = value < limit",
        "tests/cli/test_check.py",
    ),
    mutant(
        "atomic-written-in-place",
        "_atomic.py",
        "os.replace(temporary, target)",
        'open(target, "wb").write(content)',
        "tests/test_atomic.py",
        "tests/cli/test_writing.py",
        occurrence=0,
    ),
    mutant(
        "atomic-leftover",
        "_atomic.py",
        "            _remove(temporary)\n            raise",
        "            raise",
        "tests/test_atomic.py",
        "tests/cli/test_writing.py",
    ),
    mutant("json-nan", "_json.py", "value if math.isfinite(value) else None", "value", "tests/test_json.py"),
)

MUTANTS = (*_SUMMARY, *_INPUTS, *_ENGINES, *_DATA, *_SMOOTHING, *_METRICS, *_INFERENCE, *_RESULTS)
