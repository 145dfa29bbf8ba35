"""Files that appear whole or not at all."""

import os
import stat

import pytest

from trueness import summarize
from trueness._atomic import write_atomically


def test_saving_into_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere' is not a directory"):
        summarize([0], [0.5]).save(tmp_path / "nowhere" / "s.tns")


def test_a_file_replaced_keeps_its_mode(tmp_path):
    path = tmp_path / "private.tns"
    for mode in (0o600, 0o640, 0o444):
        path.touch()
        path.chmod(mode)
        write_atomically(path, b"new")
        assert stat.S_IMODE(path.stat().st_mode) == mode
    (tmp_path / "link.tns").symlink_to(path)
    write_atomically(tmp_path / "link.tns", b"not through the link")
    assert not (tmp_path / "link.tns").is_symlink()
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("size", [233, 234, 255])
def test_names_as_long_as_a_file_system_takes(tmp_path, size):
    path = tmp_path / ("é" * (size // 2) + "x" * (size % 2))
    killed = [tmp_path / f".{'é' * (size // 2) + 'x' * (size % 2)}.{'0' * 16}.tmp"] if size == 233 else []
    for leftover in killed:
        leftover.write_bytes(b"half")
    write_atomically(path, b"first")
    write_atomically(path, b"second")
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == b"second"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_called_like_a_temporary_file_is_left_alone(tmp_path):
    pipe = tmp_path / f".a.tns.{'0' * 16}.tmp"
    os.mkfifo(pipe)
    write_atomically(tmp_path / "a.tns", b"new")  # opening the pipe would wait for ever
    assert pipe.exists()


@pytest.mark.skipif(not os.path.exists("/dev/fd/1"), reason="needs /dev/fd")
def test_what_a_process_has_open_is_not_replaced(tmp_path):
    (tmp_path / "stdout").symlink_to("/proc/self/fd/1")  # as /dev/stdout is
    for path in (tmp_path / "stdout", "/dev/fd/1"):
        with pytest.raises(FileExistsError, match="is a pipe or a device"):
            write_atomically(path, b"new")
    assert (tmp_path / "stdout").is_symlink()
