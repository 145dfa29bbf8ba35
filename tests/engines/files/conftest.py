import pytest
from data_files import WRITERS


@pytest.fixture(params=WRITERS)
def write(request, tmp_path):
    """Writes columns to a file: one of every kind."""
    return lambda columns: WRITERS[request.param](tmp_path / request.param, columns)
