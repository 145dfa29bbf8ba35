"""Files that appear whole or not at all."""

import pytest

from trueness import summarize


def test_saving_into_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere' is not a directory"):
        summarize([0], [0.5]).save(tmp_path / "nowhere" / "s.tns")
