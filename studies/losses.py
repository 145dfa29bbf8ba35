"""The power of many tests side by side, and what each loses against the best."""

from collections.abc import Sequence

from studies import omnibus, peers
from studies.share import Share

COMBINED = "combined"
COLUMNS = (*omnibus.TESTS, COMBINED, *peers.NAMES)


def powers(shares: Sequence[Share]) -> dict[str, dict[str, float]]:
    """Power by alternative and test."""
    found: dict[str, dict[str, float]] = {}
    for share in shares:
        found.setdefault(share.world, {})[share.what] = share.events / share.trials
    return found


def losses(shares: Sequence[Share]) -> dict[str, list[float]]:
    """What each test loses against the best of ours but the combination, by alternative."""
    lost: dict[str, list[float]] = {name: [] for name in COLUMNS}
    for power in powers(shares).values():
        best = max(power.get(name, 0.0) for name in omnibus.TESTS)
        for name in COLUMNS:
            if name in power:
                lost[name].append(max(best - power[name], 0.0))
    return {name: values for name, values in lost.items() if values}


def sentences(shares: Sequence[Share]) -> list[str]:
    """What the combination loses, and ECCE-R alone; nothing where it was not measured."""
    lost = losses(shares)
    if COMBINED not in lost:
        return []
    combined, alone = lost[COMBINED], lost["ecce_r"]
    return [
        f"Of {len(combined)} ways to be off, real ones among them, the combined test loses at most {max(combined):.2f} and on"
        f" average {sum(combined) / len(combined):.2f} of power against whichever single test happens to be best; ECCE-R"
        f" alone loses {max(alone):.2f} and {sum(alone) / len(alone):.2f}."
    ]


def table(shares: Sequence[Share]) -> list[str]:
    """Alternatives down, tests across; a dash where a test is not here."""
    found, lost = powers(shares), losses(shares)
    trials = sorted({share.trials for share in shares})
    lines = [
        f"{trials[0]} samples a row." if len(trials) == 1 else f"{trials[0]} to {trials[-1]} samples a row.",
        "",
        "| | " + " | ".join(COLUMNS) + " |",
        "|---" * (len(COLUMNS) + 1) + "|",
    ]
    for name, power in found.items():
        best = max(power.get(each, 0.0) for each in omnibus.TESTS)
        cells = [_cell(power.get(each), bold=each in omnibus.TESTS and power.get(each) == best) for each in COLUMNS]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    for what, of in (("largest loss", max), ("mean loss", lambda values: sum(values) / len(values))):
        lines.append(
            f"| **{what}** | " + " | ".join(_cell(of(lost[each]) if each in lost else None) for each in COLUMNS) + " |"
        )
    return [*lines, ""]


def _cell(value: float | None, *, bold: bool = False) -> str:
    return "–" if value is None else f"**{value:.2f}**" if bold else f"{value:.2f}"
