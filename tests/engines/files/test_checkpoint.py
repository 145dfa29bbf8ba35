"""Going on after an interruption."""

import os
import stat

import pytest
from data_files import F, W, Y, in_pieces, message, write_csv, write_parquet

from trueness.engines.files.checkpoint import Checkpoint
from trueness.errors import InputError

PIECE = 40  # rows


class InterruptedRunError(Exception):
    pass


def interrupted_at(path, stop, kept, **options):
    """A run that ends after `stop` pieces."""
    original, pieces = Checkpoint.save, []

    def save(self, rows, summary):
        if len(pieces) == stop:
            raise InterruptedRunError
        pieces.append(rows)
        original(self, rows, summary)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpoint, "save", save)
        with pytest.raises(InterruptedRunError):
            in_pieces(path, PIECE, resume=kept, **options)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["parquet", "csv"])
def test_an_interrupted_run_goes_on_to_the_same_bytes(tmp_path, weighted, name):
    write = write_parquet if name == "parquet" else write_csv
    for k in range(3):
        part = slice(k * 160, (k + 1) * 160)
        write(tmp_path / f"{k}.{name}", {"y": Y[part], "p": F[part], "w": (W + 0.1)[part]})
    files = tmp_path / f"*.{name}"
    options = {"weight": "w"} if weighted else {}
    in_pieces(files, PIECE, **options).save(tmp_path / "whole.tns")
    kept = tmp_path / "run.resume"
    for stop in (0, 1, 5, 11):
        interrupted_at(files, stop, kept, **options)
        found = in_pieces(files, PIECE, **options, resume=kept)
        found.save(tmp_path / "resumed.tns")
        assert (tmp_path / "resumed.tns").read_bytes() == (tmp_path / "whole.tns").read_bytes()
        assert not kept.exists()
        assert not (tmp_path / "run.resume.lock").exists()


def test_what_an_interrupted_run_left_is_checked(tmp_path):
    path, kept = write_csv(tmp_path / "a.csv", {"y": Y, "p": F, "q": F}), tmp_path / "run.resume"
    interrupted_at(path, 3, kept)
    with pytest.raises(InputError, match="columns changed since"):
        in_pieces(path, PIECE, prediction="q", resume=kept)
    write_csv(path, {"y": 1 - Y, "p": F})
    with pytest.raises(InputError, match="input changed since"):
        in_pieces(path, PIECE, resume=kept)
    damaged = bytearray(kept.read_bytes())
    damaged[-100] ^= 1
    kept.write_bytes(damaged)
    with pytest.raises(Exception, match=r"changed since|damaged"):
        in_pieces(path, PIECE, resume=kept)
    flipped = kept.read_bytes()
    kept.write_bytes(flipped.replace(b'"rows": ', b'"rows": 1', 1))
    with pytest.raises(InputError, match=r"changed since|damaged"):
        in_pieces(path, PIECE, resume=kept)
    kept.write_text("something else")
    with pytest.raises(InputError, match="is not what an interrupted run leaves"):
        in_pieces(path, PIECE, resume=kept)
    assert "Leave out by=" in message(path, by="p", resume=kept)
    assert "is one of the inputs" in message(path, resume=path)
    assert "standard input cannot be read again" in message("-", resume=kept)
    os.mkfifo(tmp_path / "pipe.csv")
    assert "pipe.csv' cannot be read again" in message(tmp_path / "pipe.csv", resume=kept)


def test_files_in_another_order_are_another_run(tmp_path):
    paths = [write_csv(tmp_path / f"{k}.csv", {"y": Y[k::2], "p": F[k::2]}) for k in range(2)]
    kept = tmp_path / "run.resume"
    interrupted_at(paths, 3, kept)
    with pytest.raises(InputError, match="the order of the files changed since"):
        in_pieces(paths[::-1], PIECE, resume=kept)
    assert in_pieces(paths, PIECE, resume=kept) == in_pieces(paths[::-1], PIECE)


def test_rows_that_a_flipped_bit_would_count_twice(tmp_path):
    path, kept = write_csv(tmp_path / "a.csv", {"y": Y, "p": F}), tmp_path / "run.resume"
    interrupted_at(path, 3, kept)
    content = kept.read_bytes()
    kept.write_bytes(content.replace(b'"rows": 120', b'"rows": 160', 1))
    assert kept.read_bytes() != content
    with pytest.raises(InputError, match="damaged"):
        in_pieces(path, PIECE, resume=kept)


def test_a_file_replaced_by_one_of_the_same_size_and_time(tmp_path):
    path, kept = write_csv(tmp_path / "a.csv", {"y": Y, "p": F}), tmp_path / "run.resume"
    interrupted_at(path, 3, kept)
    state, text = path.stat(), path.read_text()
    head, _, rest = text.partition("\n")
    path.write_text(head + "\n" + "".join({"0": "1", "1": "0"}[line[0]] + line[1:] for line in rest.splitlines(True)))
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert path.stat().st_size == state.st_size
    with pytest.raises(InputError, match="input changed since"):
        in_pieces(path, PIECE, resume=kept)


def test_two_runs_on_one_checkpoint(tmp_path):
    path, kept = write_csv(tmp_path / "a.csv", {"y": Y, "p": F}), tmp_path / "run.resume"
    with Checkpoint(str(kept), {}).locked():
        assert "another run is using it" in message(path, resume=kept)


@pytest.mark.parametrize("name", ["resume", "resume.lock"])
def test_a_pipe_does_not_make_a_run_wait(tmp_path, name):
    path = write_csv(tmp_path / "a.csv", {"y": Y, "p": F})
    os.mkfifo(tmp_path / name)
    assert (
        message(path, resume=tmp_path / "resume")
        == f"resume: {str(tmp_path / name)!r} is a pipe or a device. Name another file."
    )
    assert stat.S_ISFIFO(os.stat(tmp_path / name).st_mode)
