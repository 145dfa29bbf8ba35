"""Lemma 1, definition 2 and lemma 10: what the bandwidth does to the measure and to the diagram."""

from collections.abc import Iterator

import numpy as np

import trueness
from reproductions.arrays import Floats
from reproductions.findings import Finding, claim, printed
from reproductions.lab import Lab
from reproductions.smooth_ece.kernel import MEAN_DISTANCE
from reproductions.smooth_ece.rows import Rows, anything, calibrated, ece, sine, sine_fixed_point, sine_smooth_ece
from reproductions.style import CYCLE, LINES

SIGMAS = np.geomspace(0.003, 2, 24)
ROUNDING = 1e-9
HALF = Rows(np.array([0.0, 1.0]), np.array([0.5, 0.5]))  # footnote 2: always 1/2, and right


def lemma_1(lab: Lab) -> Iterator[Finding]:
    """SmoothECE falls as the bandwidth grows, so it meets the bandwidth once."""
    rows = list(_random(lab, "lemma 1", lab.either(40, 300)))
    plain = [_steepest_rise(each, SIGMAS) for each in lab.steps(rows)]
    yield claim(
        "smECE_σ never rises with σ",
        "non-increasing",
        f"largest rise {max(plain):.0e} in {len(rows)} sets × {len(SIGMAS)} bandwidths",
        holds=max(plain) <= ROUNDING,
    )
    logit = [_steepest_rise(each, 8 * SIGMAS[::2], "logit") for each in lab.steps(rows[::4])]
    yield claim(
        "neither does it on the logit scale (B.3)",
        "non-increasing",
        f"largest rise {max(logit):.0e} in {len(logit)} sets",
        holds=max(logit) <= ROUNDING,
    )
    off = [abs(trueness.smooth_ece(*each, bandwidth=s) / s - 1) for each in rows if (s := trueness.smooth_ece(*each)) > 0]
    yield claim(
        "definition 2: σ* solves smECE_σ = σ",
        "one solution",
        f"relative error at most {max(off):.0e} in {len(off)} sets",
        holds=max(off) <= 1e-7,
    )
    yield _area_may_grow()
    yield from _below_ece(rows)
    _draw_bandwidths(lab)


def _random(lab: Lab, name: str, count: int) -> Iterator[Rows]:
    rng = lab.rng(name)
    for _ in range(count):
        yield anything(rng, int(np.exp(rng.uniform(np.log(5), np.log(3000)))))


def _steepest_rise(rows: Rows, sigmas: Floats, scale: str = "probability") -> float:
    values = [trueness.smooth_ece(*rows, bandwidth=sigma, scale=scale) for sigma in sigmas]  # type: ignore[arg-type]
    return float(np.diff(values).max())


def _area_may_grow() -> Finding:
    """Appendix A: smoothing outcomes instead of residuals is not monotone, even for a calibrated distribution."""
    areas = [trueness.smooth_ece_area(*HALF, bandwidth=sigma) for sigma in (0.01, 0.05, 0.2)]
    errors = [trueness.smooth_ece(*HALF, bandwidth=sigma) for sigma in (0.01, 0.05, 0.2)]
    return claim(
        "smoothing outcomes, not residuals, is not monotone: f = 1/2, P(y = 1) = 1/2, σ = 0.01, 0.05, 0.2",
        "may grow; smECE_σ = 0",
        f"area {areas[0]:.4f}, {areas[1]:.4f}, {areas[2]:.4f}; smECE_σ {max(errors):.0f}",
        holds=areas[0] < areas[1] < areas[2] and max(errors) < 1e-15,
    )


def _below_ece(rows: list[Rows]) -> Iterator[Finding]:
    over = [trueness.smooth_ece(*each, bandwidth=0.003) - ece(each) for each in rows]
    yield claim("smECE_σ is at most the ECE", "at most", f"largest excess {max(over):.0e}", holds=max(over) <= ROUNDING)
    rest = [_of_calibrated(each.f) for each in rows]
    yield claim("it is 0 for calibrated distributions", "0", f"at most {max(rest):.0e}", holds=max(rest) <= 1e-15)


def _of_calibrated(f: Floats) -> float:
    """SmoothECE of the distribution that has these predictions and is right: both outcomes, weighted by f and 1 − f."""
    both = np.concatenate([np.ones(len(f)), np.zeros(len(f))])
    return trueness.smooth_ece(both, np.tile(f, 2), bandwidth=0.01, sample_weight=np.concatenate([f, 1 - f]))


def _draw_bandwidths(lab: Lab) -> None:
    sigmas = np.geomspace(0.003, 0.5, 60)
    shown = {
        "figure 2d, 1 000 rows": sine(lab.rng("figure 2d")),
        "calibrated, 50 rows": calibrated(lab.rng("lemma 1, few"), 50),
        "calibrated, 50 000 rows": calibrated(lab.rng("lemma 1, many"), 50_000),
    }
    with lab.figure("lemma-1", width=6.4, height=3.9) as figure:
        ax = figure.subplots()
        ax.plot(sigmas, sigmas, color="0.5", linewidth=0.9, label="smECE = σ")
        curves = {"figure 2d, the distribution": ([sine_smooth_ece(s) for s in sigmas], sine_fixed_point())}
        for name, rows in shown.items():
            curves[name] = ([trueness.smooth_ece(*rows, bandwidth=s) for s in sigmas], trueness.smooth_ece(*rows))
        for (name, (values, own)), color, line in zip(curves.items(), CYCLE, LINES, strict=False):
            ax.plot(sigmas, values, color=color, linestyle=line, linewidth=1.6, label=name)
            ax.plot(own, own, "o", color=color, markersize=5)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_ylim(1e-3, 0.5)
        ax.set_xlabel("bandwidth σ")
        ax.set_ylabel("SmoothECE at σ")
        figure.legend(loc="outside right center")


def lemma_10(lab: Lab) -> Iterator[Finding]:
    """The area that the diagram shows is within √(2/π)σ of SmoothECE."""
    rows = list(_random(lab, "lemma 10", lab.either(40, 300)))
    sigmas = np.exp(lab.rng("lemma 10, bandwidths").uniform(np.log(0.003), np.log(2), (len(rows), 8)))
    ratio = np.array([[_area_gap(each, s) / s for s in own] for each, own in lab.steps(list(zip(rows, sigmas, strict=True)))])
    yield claim(
        "|area − smECE_σ| / σ",
        "at most √(2/π) = 0.7979",
        f"{ratio.min():.4f} to {ratio.max():.4f} in {ratio.size} cases",
        holds=bool(np.abs(ratio).max() <= MEAN_DISTANCE + ROUNDING),
    )
    own = [trueness.smooth_ece_area(*each) / s for each in rows if (s := trueness.smooth_ece(*each)) > 1e-6]
    yield claim(
        "area / smECE at σ*",
        "about 1: 0.20 to 1.80",
        f"{min(own):.3f} to {max(own):.3f}, median {np.median(own):.3f}",
        holds=min(own) >= 1 - MEAN_DISTANCE and max(own) <= 1 + MEAN_DISTANCE,
    )
    small, wide = (_area_gap(HALF, s) / s for s in (0.01, 0.2))
    yield printed(
        "footnote 2: area / σ for f = 1/2, P(y = 1) = 1/2",
        "0.79",
        small,
        why=f"cut, not rounded: the constant is √(2/π) = {MEAN_DISTANCE:.4f}, which lemma 10 gives as at most 0.8. Reflection "
        f"at 0 and 1 takes it below that for wide kernels: {wide:.3f} at σ = 0.2.",
    )
    yield claim(
        "the same in closed form, √(2/π)", "the constant of lemma 10", f"{MEAN_DISTANCE:.6f}; area / σ at 0.01 is {small:.6f}",
        holds=abs(small - MEAN_DISTANCE) < 1e-6,
    )  # fmt: skip
    _draw_areas(lab, sigmas, ratio)


def _area_gap(rows: Rows, sigma: float) -> float:
    return trueness.smooth_ece_area(*rows, bandwidth=sigma) - trueness.smooth_ece(*rows, bandwidth=sigma)


def _draw_areas(lab: Lab, sigmas: Floats, ratio: Floats) -> None:
    with lab.figure("lemma-10", width=6.4, height=3.4) as figure:
        ax = figure.subplots()
        ax.fill_between([1e-3, 10], -MEAN_DISTANCE, MEAN_DISTANCE, color="0.5", alpha=0.15, linewidth=0, label="± √(2/π)")
        ax.plot(sigmas.ravel(), ratio.ravel(), "o", color=CYCLE[0], markersize=3, alpha=0.35, label="random rows")
        own = np.geomspace(0.002, 3, 60)
        half = [_area_gap(HALF, s) / s for s in own]
        ax.plot(own, half, color=CYCLE[1], linewidth=1.6, linestyle="--", label="always 1/2, and right")
        ax.set_xscale("log")
        ax.set_xlim(0.002, 3)
        ax.set_ylim(-1, 1)
        ax.set_xlabel("bandwidth σ")
        ax.set_ylabel("(area − SmoothECE) / σ")
        figure.legend(loc="outside right center")
