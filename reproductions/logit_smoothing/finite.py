"""Finite distributions: every point's mass, its true probability, and a predictor with ties."""

from dataclasses import dataclass, replace

import numpy as np

from reproductions.arrays import Floats

SAME = 1e-12  # what rounding may do to two equal numbers
_MOST_POINTS = 8
_LEVELS = np.array([0.2, 0.35, 0.5, 0.75])


@dataclass(frozen=True, slots=True)
class Finite:
    """π_X on finitely many points (`mass`), g* (`truth`) and g (`prediction`)."""

    mass: Floats
    truth: Floats
    prediction: Floats

    def true_ece(self) -> float:
        """Eq. A.1: Σ over level sets of |Σ p_i (g*(i) − g(i))|."""
        _, level = np.unique(self.prediction, return_inverse=True)
        return float(np.abs(np.bincount(level, self.mass * (self.truth - self.prediction))).sum())

    def sizes(self) -> Floats:
        """Eq. A.3: p_m·| |E[Y | g(X) = g(m)] − g(m)| − |g*(m) − g(m)| | of every point; (3.1) asks for one above 0."""
        _, level = np.unique(self.prediction, return_inverse=True)
        mass = np.bincount(level, self.mass)
        mean = np.divide(np.bincount(level, self.mass * self.truth), mass, out=np.zeros_like(mass), where=mass > 0)
        tied, alone = np.abs(mean[level] - self.prediction), np.abs(self.truth - self.prediction)
        size: Floats = self.mass * np.abs(tied - alone)
        return size

    def opposed(self) -> bool:
        """Whether points of one level set err to opposite sides."""
        error = np.where(np.abs(self.truth - self.prediction) > SAME, self.truth - self.prediction, 0.0) * self.mass
        _, level = np.unique(self.prediction, return_inverse=True)
        over, under = np.bincount(level, np.maximum(error, 0)), np.bincount(level, np.maximum(-error, 0))
        return bool(np.any((over > 0) & (under > 0)))

    def moved(self, by: Floats) -> "Finite":
        """The same distribution with the predictions moved."""
        return replace(self, prediction=self.prediction + by)


def draw(rng: np.random.Generator) -> Finite:
    """Two to eight points, some without mass, some true; predictions of four levels.

    In half of the level sets all points err to the same side.
    """
    points = int(rng.integers(2, _MOST_POINTS + 1))
    level = rng.integers(len(_LEVELS), size=points)
    prediction = _LEVELS[level]
    mass = rng.dirichlet(np.ones(points))
    mass[1:][rng.random(points - 1) < 0.1] = 0.0
    side = rng.choice([-1.0, 0.0, 1.0], size=len(_LEVELS), p=[0.25, 0.5, 0.25])[level]
    up = np.where(side == 0, rng.random(points) < 0.5, side > 0)
    truth = prediction + rng.random(points) * np.where(up, 1 - prediction, -prediction)
    right = rng.random(points) < 0.15
    return Finite(mass=mass / mass.sum(), truth=np.where(right, prediction, truth), prediction=prediction)


def splits(rng: np.random.Generator, points: int, reach: float, count: int) -> Floats:
    """Moves of at most `reach`: the first takes all points apart, the others some of them."""
    apart = rng.permutation(np.linspace(-reach, reach, points))
    return np.vstack([apart, reach * rng.integers(-1, 2, size=(count - 1, points))])
