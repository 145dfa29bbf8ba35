"""Theorem 17: predictions made calibrated by noise and the smooth curve, and how far that moves them."""

import math
from collections.abc import Iterator

import numpy as np

import trueness
from reproductions.arrays import Floats
from reproductions.findings import Finding, claim
from reproductions.lab import Lab
from reproductions.smooth_ece.rows import Rows, anything, sine, sine_truth
from reproductions.style import BLUE, GREEN, VERMILION

SIGMAS = (0.02, 0.05, 0.15)
LEVELS = 20


def theorem_17(lab: Lab) -> Iterator[Finding]:
    """κ = κ₂∘κ₁: noise of the size σ, then the smooth curve."""
    rows, draws = sine(lab.rng("theorem 17"), 1000), lab.either(400, 2000)
    model = trueness.SmoothRecalibrator().fit(rows.f, rows.y)
    rng = lab.rng("theorem 17, draws")
    drawn = np.stack([model.sample(rows.f, rng=rng) for _ in lab.steps(range(draws))])
    yield _calibrated(rows, drawn)
    yield _left_over(rows, drawn[: lab.either(200, 1000)], model.smooth_ece_)
    moved = float(np.abs(drawn - rows.f).mean())
    yield claim(
        "E|κ(f) − f| on these rows",
        f"at most 2 smECE = {2 * model.smooth_ece_:.4f}",
        f"{moved:.4f}; smECE {model.smooth_ece_:.4f}",
        holds=moved <= 2 * model.smooth_ece_,
    )
    yield _moves(lab)
    yield _other_metric()
    _draw(lab, rows, model)


def _calibrated(rows: Rows, drawn: Floats) -> Finding:
    """Mean of y − κ(f) at twenty levels of κ(f), with the error that the draws of the noise leave."""
    edges = np.quantile(drawn, np.arange(1, LEVELS) / LEVELS)
    level = np.searchsorted(edges, drawn)
    gap = np.stack([np.where(level == i, rows.y - drawn, 0.0).sum(axis=1) for i in range(LEVELS)])
    mean = gap.mean(axis=1) / (len(rows.f) / LEVELS)  # per row of a level
    error = gap.std(axis=1, ddof=1) / math.sqrt(len(drawn)) / (len(rows.f) / LEVELS)
    z = np.abs(mean / error)
    return claim(
        f"E[y | κ(f)] = κ(f) at {LEVELS} levels, {len(drawn)} draws a row",
        "equal",
        f"largest gap {np.abs(mean).max():.4f}, {z.max():.1f} standard errors",
        holds=bool(z.max() < 4),
    )


def _left_over(rows: Rows, drawn: Floats, before: float) -> Finding:
    """SmoothECE of many draws: what calibrated rows of that number have by chance, which falls to 0 as draws grow."""
    y, many = np.tile(rows.y, len(drawn)), drawn.ravel()
    after, floor = trueness.smooth_ece(y, many), trueness.noise_floor(y, many, resamples=49, rng=0)
    return claim(
        f"SmoothECE of {len(many)} draws of κ(f), {before:.4f} before",
        f"0; by chance {floor:.5f}",
        f"{after:.5f}",
        holds=after <= 1.3 * floor,  # chance moves it by a twelfth
    )


def _moves(lab: Lab) -> Finding:
    """Section 3: E|κ(f) − f| ≤ smECE_σ + σ at any bandwidth, on rows of any kind."""
    rng = lab.rng("theorem 17, any rows")
    ratios = []
    for _ in lab.steps(range(lab.either(20, 150))):
        rows = anything(rng, 400)
        for sigma in SIGMAS:
            model = trueness.SmoothRecalibrator(bandwidth=sigma).fit(rows.f, rows.y)
            moved = np.mean([np.abs(model.sample(rows.f, rng=rng) - rows.f).mean() for _ in range(25)])
            ratios.append(float(moved / (trueness.smooth_ece(*rows, bandwidth=sigma) + sigma)))
    return claim(
        f"E|κ(f) − f| / (smECE_σ + σ), {len(ratios)} cases",
        "at most 1",
        f"{min(ratios):.3f} to {max(ratios):.3f}",
        holds=max(ratios) <= 1,
    )


def _other_metric() -> Finding:
    """The theorem for h = logit, where all predictions are one: κ(f) is calibrated only if it is the mean outcome."""
    f, rate = 1e-6, 1e-2
    rows = Rows(np.array([1.0, 0.0]), np.full(2, f))
    value = trueness.smooth_ece(*rows, scale="logit", sample_weight=[rate, 1 - rate])
    apart = math.log(rate / (1 - rate)) - math.log(f / (1 - f))
    return claim(
        "E d_h(κ(f), f) ≲ smECE_h for h = logit: f = 10⁻⁶, P(y = 1) = 0.01",
        "the order of smECE_h",
        f"smECE_h {value:.4f}; d_h(κ(f), f) = {apart:.2f}, |κ(f) − f| = {rate - f:.4f}",
        holds=apart <= 10 * value,
        why="f is constant, so a calibrated κ(f) is 0.01, and the ratio grows without bound as both fall. The proof bounds "
        "|κ₂(f') − f'|, which is the ECE, where the statement has d_h; for this h it holds with |κ(f) − f| in its place.",
    )


def _draw(lab: Lab, rows: Rows, model: trueness.SmoothRecalibrator) -> None:
    """Fresh rows before and after: the theorem speaks of the fitted ones, the picture of what a user gets."""
    fresh = sine(lab.rng("theorem 17, fresh"), 20_000)
    after = model.sample(fresh.f, rng=lab.rng("theorem 17, fresh draws"))
    t = np.linspace(0, 1, 400)
    with lab.figure("theorem-17", height=3.55) as figure:
        left, right = figure.subplots(1, 2)
        left.plot(t, sine_truth(t), color=GREEN, linestyle="-.", linewidth=1.4, label="true line")
        left.plot(t, model.predict(t), color=VERMILION, linestyle="--", linewidth=1.4, label="mean of κ(f)")
        some = lab.rng("theorem 17, shown").choice(len(rows.f), 400, replace=False)
        left.plot(
            rows.f[some], model.sample(rows.f[some], rng=0), "o", color=BLUE, markersize=2.2, alpha=0.6, label="draws of κ(f)"
        )
        left.set_xlabel("prediction f")
        left.set_ylabel("recalibrated prediction")
        left.set_aspect("equal")
        left.set_title("fitted rows")
        left.legend(loc="upper left")
        trueness.reliability_curve(fresh.y, after, kind="smooth").plot(right)
        right.set_title("fresh rows")
        right.set_xlabel("recalibrated prediction κ(f)")
