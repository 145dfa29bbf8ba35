"""Files appear whole or not at all: killed writers, full disks, several writers at once."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import trueness
from trueness import cli
from trueness._atomic import write_atomically
from trueness.demo import make_demo

Y, F, _ = make_demo(n=2000)
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and signals")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{y},{f!r}\n" for y, f in zip(Y.tolist(), F.tolist(), strict=True))
    (tmp_path / "a.csv").write_text(f"y,p\n{rows}")
    return tmp_path


def forked(work):
    """A child that runs `work` and exits with what it returns."""
    child = os.fork()
    if child:
        return child
    code = 70
    try:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
        code = work()
    finally:
        os._exit(code)


def exit_code(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def leftovers():
    return [path.name for path in Path().iterdir() if path.name.endswith(".tmp")]


COMMANDS = {
    "report": ["report", "a.csv", "-y", "y", "-p", "p", "-o", "out"],
    "summarize": ["summarize", "a.csv", "-y", "y", "-p", "p", "-o", "out"],
}


def complete(command):
    """The bytes that the command writes when nothing disturbs it."""
    assert exit_code(forked(lambda: cli.main(COMMANDS[command]))) == 0
    return Path("out").read_bytes()


def kill_at_random_moments(command, number, times):
    whole = complete(command)
    began = time.monotonic()
    assert exit_code(forked(lambda: cli.main(COMMANDS[command]))) == 0
    usual = time.monotonic() - began
    moments = random.Random(11)
    codes = []
    for attempt in range(times):
        before = b"" if attempt % 2 else b"the old file"
        Path("out").unlink(missing_ok=True)
        if before:
            Path("out").write_bytes(before)
        child = forked(lambda: cli.main(COMMANDS[command]))
        time.sleep(moments.random() * usual * 1.1)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, number)
        codes.append(exit_code(child))
        found = Path("out").read_bytes() if Path("out").exists() else b""
        assert found in (before, whole)
        if codes[-1] == 0:
            assert found == whole
        if number == signal.SIGTERM:
            assert leftovers() == []
    return codes


@pytest.mark.full
@pytest.mark.parametrize("command", COMMANDS)
def test_sigterm_at_random_moments(command):
    codes = kill_at_random_moments(command, signal.SIGTERM, 20)
    assert set(codes) <= {0, 143, -signal.SIGTERM}  # the last where the handler is not set yet
    assert set(codes) != {0}  # how many end before they are reached is a matter of load


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_signals_at_many_random_moments(command, number):
    kill_at_random_moments(command, number, 200)


@pytest.mark.full
@pytest.mark.parametrize("command", COMMANDS)
def test_sigkill_leaves_at_most_a_temporary_file_which_the_next_run_removes(command):
    kill_at_random_moments(command, signal.SIGKILL, 10)
    Path(f".out.{'0' * 16}.tmp").write_bytes(b"left behind by a writer that was killed")
    complete(command)
    assert leftovers() == []


def test_a_living_writer_keeps_its_temporary_file():
    """Two writers: while one holds its temporary file, the other must not take it for a leftover."""
    import fcntl

    name = f".out.{'1' * 16}.tmp"
    with open(name, "wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        held.write(b"half")
        held.flush()
        assert exit_code(forked(lambda: write_atomically("out", b"whole") or 0)) == 0
        assert leftovers() == [name]
    write_atomically("out", b"again")
    assert leftovers() == []


def many_writers(writers, rounds):
    contents = [bytes([65 + k]) * (200_000 + k) for k in range(writers)]

    def write(k):
        for _ in range(rounds):
            write_atomically("out", contents[k])
        return 0

    children = [forked(lambda k=k: write(k)) for k in range(writers)]
    seen = 0
    while children:
        done, status = os.waitpid(-1, os.WNOHANG)
        if done:
            assert status == 0
            children.remove(done)
        if Path("out").exists():
            assert Path("out").read_bytes() in contents
            seen += 1
    assert seen
    assert leftovers() == []


def test_several_writers_never_mix():
    many_writers(4, 25)


@pytest.mark.slow
def test_many_writers_never_mix():
    many_writers(20, 50)


def kill_and_resume(times):
    from functools import partial

    from trueness.engines.files import summarize_files as files
    from trueness.engines.files.open_files import open_files

    command = ["summarize", "a.csv", "-y", "y", "-p", "p", "-o", "resumed", "--resume"]

    def run():
        files.open_files = partial(open_files, piece_rows=20)  # in the child alone
        return cli.main(command)

    assert exit_code(forked(run)) == 0
    whole = Path("resumed").read_bytes()
    moments, kept = random.Random(5), 0
    for _ in range(times):
        Path("resumed").unlink()
        child = forked(run)
        time.sleep(0.05 + moments.random() * 0.5)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        exit_code(child)
        kept += Path("resumed.resume").exists()
        if not Path("resumed").exists():
            assert exit_code(forked(run)) == 0
        assert Path("resumed").read_bytes() == whole
        assert sorted(path.name for path in Path().iterdir() if "resume" in path.name) == ["resumed"]
    return kept


@pytest.mark.full
def test_killed_runs_go_on_to_the_same_bytes():
    assert kill_and_resume(8) > 0


@pytest.mark.slow
def test_many_killed_runs_go_on_to_the_same_bytes():
    kill_and_resume(100)


LIMITED = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
from trueness import cli
sys.exit(cli.main(sys.argv[2:]))
"""


@pytest.mark.full
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("share", [0.0, 0.3, 0.999])
def test_a_disk_that_fills_is_3_and_leaves_the_old_file(command, share):
    size = len(complete(command))
    Path("out").write_bytes(b"the old file")
    script = [sys.executable, "-c", LIMITED, str(int(size * share)), *COMMANDS[command]]
    done = subprocess.run(script, capture_output=True, timeout=120, check=False)
    assert done.returncode == 3, done.stderr
    assert b"File too large" in done.stderr
    assert b"Traceback" not in done.stderr
    assert Path("out").read_bytes() == b"the old file"
    assert leftovers() == []


def test_a_write_that_fails_at_any_moment(monkeypatch):
    """Every call that touches the disk fails once: the old file stays, and nothing else."""
    trueness.summarize(Y, F).save("out")
    old = Path("out").read_bytes()
    for name in ("fsync", "replace"):
        original = getattr(os, name)
        with monkeypatch.context() as patch:

            def fail(*arguments):
                raise OSError(5, "Input/output error")

            patch.setattr(os, name, fail)
            with pytest.raises(OSError, match="Input/output error"):
                trueness.summarize(Y[:10], F[:10]).save("out")
        assert getattr(os, name) is original
        assert Path("out").read_bytes() == old
        assert leftovers() == []


MEMORY = """
import resource, sys
from trueness import cli
import duckdb, scipy, numpy
import trueness.assessment, trueness.engines.files.summarize_files
duckdb.connect().sql("select 1").fetchall()
if sys.argv[1] != "all":
    size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + (int(sys.argv[1]) << 20),) * 2)
sys.exit(cli.main(["assess", "big.csv", "-y", "y", "-p", "p"]))
"""


@pytest.mark.full
def test_memory_that_runs_out_is_3():
    """With less and less memory the answer is the same, or there is none and a sentence says why."""
    rows = Path("a.csv").read_text().partition("\n")[2]
    Path("big.csv").write_text("y,p\n" + rows * 1500)
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}

    def run(mebibytes):
        script = [sys.executable, "-c", MEMORY, mebibytes]
        return subprocess.run(script, capture_output=True, timeout=120, check=False, env=environment)

    whole = run("all")
    assert whole.returncode == 0, whole.stderr
    codes = []
    for mebibytes in ("40", "120", "360", "1080", "3240"):
        done = run(mebibytes)
        codes.append(done.returncode)
        assert done.returncode in (0, 3), done.stderr
        assert b"Traceback" not in done.stderr
        if done.returncode:
            assert b"memory" in done.stderr.lower()
        else:
            assert done.stdout == whole.stdout
    assert codes[0] == 3
    assert codes[-1] == 0
