"""Run the validity study: python -m studies --help."""

import os


def run() -> None:
    """One thread a process, said before NumPy is loaded: the study runs a process a core."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "TRUENESS_THREADS"):
        os.environ.setdefault(name, "1")
    from studies.run import main

    main()


if __name__ == "__main__":
    run()
