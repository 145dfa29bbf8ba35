"""Real engines: a Spark cluster of two executors, a Dask cluster of two processes, a PostgreSQL server. And their deaths."""

import csv
import io
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from trueness import Summary, ecce, sql, summarize, summarize_frame
from trueness.engines import exact
from trueness.errors import InputError
from trueness.summary.ruler import ruler

EDGES = ruler((7,)).edges
RNG = np.random.default_rng(4)
F = np.concatenate([RNG.random(2000), EDGES[::5], np.nextafter(EDGES[::5], 0), np.nextafter(EDGES[:-1:5], 1), [1 + 2**-52]])
N = len(F)
Y = (RNG.random(N) < 0.4).astype(float)
W = RNG.integers(0, 3, N) * 0.5
G = RNG.choice(["a", "b"], N)
SOFT = np.clip(RNG.normal(0.5, 0.4, N), 0, 1)
TABLE = pa.table({"p": F, "y": Y, "w": W, "g": pa.array([None if g == "b" else g for g in G]), "s": SOFT})
NAMES = {"outcome": "y", "prediction": "p"}
WHOLE = summarize(Y, F, bins=7)


def near(found, expected):
    np.testing.assert_array_equal(found.cells, expected.cells)
    np.testing.assert_array_equal(found.rows, expected.rows)
    np.testing.assert_allclose(found.sums, expected.sums, rtol=1e-12, atol=1e-15)
    assert found.rejected == expected.rejected


def assert_exact(found, **weight):
    expected = ecce(Y, F, **weight)
    assert (found.mad, found.range) == pytest.approx((expected.mad, expected.range), rel=1e-12)
    assert found.worst.low == pytest.approx(expected.worst.low, rel=1e-12)
    assert found.worst.high == pytest.approx(expected.worst.high, rel=1e-12)


# Spark


@pytest.fixture(scope="module")
def spark():
    pytest.importorskip("pyspark")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pyspark.sql import SparkSession

        settings = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.sql.shuffle.partitions": "4",
            "spark.speculation": "true",
        }
        builder = SparkSession.builder.master("local-cluster[2,1,1024]")
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        yield session
        session.stop()


# Warnings: Spark's about pandas 3, Dask's about ports.
pytestmark = [pytest.mark.full, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def spark_frame(spark):
    return spark.createDataFrame(TABLE)


@pytest.mark.parametrize("partitions", [1, 2, 7, 64])
def test_spark_gives_the_same_bits(spark_frame, partitions):
    from pyspark.sql.functions import rand

    shuffled = spark_frame.orderBy(rand(seed=partitions)).repartition(partitions)
    assert summarize_frame(shuffled, **NAMES, bins=7) == WHOLE


@pytest.mark.parametrize("held", [300, 1 << 22])
def test_spark_reads_the_rows_that_matter_again(spark_frame, monkeypatch, held):
    monkeypatch.setattr("trueness.engines.exact._IN_MEMORY", held)
    found = ecce(summarize_frame(spark_frame.repartition(5), **NAMES, exact=True))
    assert found.bracket is None
    assert_exact(found)
    groups = summarize_frame(spark_frame, **NAMES, by="g", weight="w", exact=True)
    assert_exact(ecce(groups.total()), sample_weight=W)


ODD_NAMES = ["a b", "a.b", "p`q", "it's", 'y"; DROP TABLE t;--', "line\nbreak", "😀", "*", "a\\b", "(1+1)", "^p$", "x" * 10_000]


@pytest.mark.parametrize("name", ODD_NAMES, ids=range(len(ODD_NAMES)))
def test_spark_columns_with_odd_names(spark, name):
    columns = {name: F[:300], f"{name}_y": Y[:300].astype(float), f"{name}_g": G[:300]}
    frame = spark.createDataFrame(pa.table(columns).to_pandas())
    names = {"outcome": f"{name}_y", "prediction": name}
    expected = summarize(Y[:300], F[:300])
    assert summarize_frame(frame, **names, by=f"{name}_g")["a"] == summarize(Y[:300][G[:300] == "a"], F[:300][G[:300] == "a"])
    assert summarize_frame(frame, **names) == expected
    found = summarize_frame(frame, **names, exact=True)
    assert ecce(found).range == pytest.approx(ecce(Y[:300], F[:300]).range, rel=1e-12)
    frame.createOrReplaceTempView("odd")
    assert Summary.from_frame(spark.sql(sql("spark", source="odd", **names)).toPandas()) == expected


def test_spark_hashes_clusters_alike(spark):
    names = {"outcome": "y", "prediction": "p", "cluster": "c"}
    for clusters in ([f"question {row % 50}" for row in range(600)], [row % 50 for row in range(600)]):
        table = pa.table({"y": Y[:600].astype(float), "p": F[:600], "c": clusters})
        assert summarize_frame(spark.createDataFrame(table.to_pandas()), **names) == summarize_frame(table, **names)


def test_spark_columns_that_cannot_be_told_apart(spark):
    frame = spark.createDataFrame([(0.25, 0.75, 1)], ["p", "P", "y"])
    assert summarize_frame(frame, **NAMES) == summarize([1], [0.25])
    assert summarize_frame(frame, outcome="y", prediction="P") == summarize([1], [0.75])
    with pytest.raises(InputError, match="column 'p': occurs 2 times"):
        summarize_frame(frame.toDF("p", "p", "y"), **NAMES)
    with pytest.raises(InputError, match="column 'q'"):
        summarize_frame(frame, outcome="y", prediction="q")


def test_spark_groups(spark_frame):
    found = summarize_frame(spark_frame, **NAMES, by="g")
    assert found == {None: summarize(Y[G == "b"], F[G == "b"]), "a": summarize(Y[G == "a"], F[G == "a"])}


def test_spark_soft_labels_and_weights(spark_frame):
    near(summarize_frame(spark_frame, outcome="s", prediction="p", weight="w"), summarize(SOFT, F, sample_weight=W))


def test_spark_sql(spark, spark_frame):
    spark_frame.createOrReplaceTempView("predictions")
    text = sql("spark", source="predictions", **NAMES, bins=7)
    assert Summary.from_frame(spark.sql(text).toArrow()) == WHOLE


def test_spark_sql_of_hostile_labels(spark):
    """Escapes, quotes, line ends and variables, which Spark replaces even within texts, are labels like others."""
    for label in ("x\\' OR 1=1 --", "it's", "a\\", "\\u0027", "\\047", "two\nlines", "${spark.app.name}", '`"%_'):
        spark.createDataFrame([(label, 0.5), ("other", 0.25)], ["y`\\'", "p"]).createOrReplaceTempView("odd")
        text = sql("spark", source="odd", outcome="y`\\'", prediction="p", pos_label=label)
        assert Summary.from_frame(spark.sql(text).toArrow()) == summarize([1, 0], [0.5, 0.25]), label


def test_spark_errors_name_the_column(spark_frame):
    with pytest.raises(InputError, match="there is no column 'q'"):
        summarize_frame(spark_frame, outcome="y", prediction="q")
    with pytest.raises(InputError, match="column 'g': is of type String"):
        summarize_frame(spark_frame, outcome="y", prediction="g")


def executors():
    """Process ids of Spark's executors on this machine."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                command = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if b"CoarseGrainedExecutorBackend" in command and b"java" in command.split(b"\0")[0]:
                found.append(int(folder.name))
    return found


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds executors in /proc")
def test_a_spark_executor_killed_in_the_middle_changes_nothing(spark_frame):
    def slowly(batches):  # defined here so that it travels to the executors by value
        import time

        for batch in batches:
            time.sleep(1.0)
            yield batch

    slow = spark_frame.repartition(8).mapInArrow(slowly, spark_frame.schema)
    found, faults = [], []

    def work():
        try:
            found.append(summarize_frame(slow, **NAMES, bins=7))
        except Exception as error:
            faults.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(4)
    victims = executors()
    assert len(victims) >= 2
    os.kill(victims[0], signal.SIGKILL)
    thread.join(timeout=240)
    assert not faults
    assert found == [WHOLE]


def test_a_spark_partition_that_always_fails_fails_the_whole(spark_frame):
    def broken(batches):
        from pyspark import TaskContext

        number = TaskContext.get().partitionId()
        if number == 3:
            raise ValueError(f"partition {number} cannot be read")
        yield from batches

    with pytest.raises(Exception, match="partition 3 cannot be read"):
        summarize_frame(spark_frame.repartition(8).mapInArrow(broken, spark_frame.schema), **NAMES)


# Dask


@pytest.fixture(scope="module")
def dask_client():
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


def part(number, pause=0.0, fail=-1):
    import time

    time.sleep(pause)
    if number == fail:
        raise ValueError(f"partition {number} cannot be read")
    return TABLE.to_pandas().iloc[number::8]


def dask_frame(**options):
    import dask
    import dask.dataframe as dd

    made = dask.delayed(part)
    return dd.from_delayed([made(number, **options) for number in range(8)], meta=part(0).iloc[:0], verify_meta=False)


def delayed_read(path):
    import dask

    return dask.delayed(pd.read_parquet)(path)


def test_dask_gives_the_same_bits(dask_client):
    assert summarize_frame(dask_frame(), **NAMES, bins=7) == WHOLE
    near(summarize_frame(dask_frame(), outcome="s", prediction="p", weight="w"), summarize(SOFT, F, sample_weight=W))
    assert summarize_frame(dask_frame(), **NAMES, by="g")["a"] == summarize(Y[G == "a"], F[G == "a"])


@pytest.mark.parametrize("partitions", [1, 2, 7, 64])
def test_dask_partitions_shuffled_give_the_same_bits(dask_client, partitions):
    import dask.dataframe as dd

    shuffled = TABLE.to_pandas().sample(frac=1, random_state=partitions, ignore_index=True)
    assert summarize_frame(dd.from_pandas(shuffled, npartitions=partitions, sort=False), **NAMES, bins=7) == WHOLE


@pytest.mark.parametrize("held", [300, 1 << 22])
@pytest.mark.parametrize("weight", [None, "w"])
def test_dask_reads_the_rows_that_matter_again(dask_client, monkeypatch, weight, held):
    monkeypatch.setattr("trueness.engines.exact._IN_MEMORY", held)
    found = ecce(summarize_frame(dask_frame(), **NAMES, weight=weight, exact=True))
    assert found.bracket is None
    assert_exact(found, sample_weight=None if weight is None else W)


def test_a_frame_that_changes_between_the_passes(dask_client, tmp_path, monkeypatch):
    import dask.dataframe as dd

    frame = TABLE.to_pandas()
    frame.to_parquet(tmp_path / "a.parquet")
    keep = exact.exact_extremes

    def changed(summary, rows):
        frame.iloc[::2].to_parquet(tmp_path / "a.parquet")
        return keep(summary, rows)

    monkeypatch.setattr(exact, "exact_extremes", changed)
    with pytest.raises(InputError, match="the input changed"):
        summarize_frame(dd.from_delayed([delayed_read(tmp_path / "a.parquet")], meta=frame.iloc[:0]), **NAMES, exact=True)


def test_a_dask_worker_killed_in_the_middle_changes_nothing(dask_client):
    found = []
    victim = next(iter(dask_client.run(os.getpid).values()))
    thread = threading.Thread(target=lambda: found.append(summarize_frame(dask_frame(pause=1.0), **NAMES, bins=7)))
    thread.start()
    time.sleep(2.5)
    os.kill(victim, signal.SIGKILL)
    thread.join(timeout=120)
    assert found == [WHOLE]


def test_a_dask_partition_that_always_fails_fails_the_whole(dask_client):
    with pytest.raises(ValueError, match="partition 3 cannot be read"):
        summarize_frame(dask_frame(fail=3), **NAMES)


def test_dask_names_the_partition_of_a_bad_row(dask_client):
    import dask.dataframe as dd

    frame = pd.DataFrame({"y": [0, 1] * 50, "p": [0.5] * 99 + [7.0]})
    with pytest.raises(InputError, match=r"partition 4: column 'p': 1 of 20 values is outside"):
        summarize_frame(dd.from_pandas(frame, npartitions=5), **NAMES)


# PostgreSQL


@pytest.fixture(scope="module")
def postgres(tmp_path_factory):
    """A server of its own that listens on a socket in a folder of its own; it cannot be started by root."""
    binary = shutil.which("initdb") and Path(shutil.which("initdb")).resolve().parent
    if not binary or shutil.which("psql") is None:
        pytest.skip("needs PostgreSQL")
    folder = tmp_path_factory.mktemp("postgres")
    user = []
    if os.geteuid() == 0:
        user = ["runuser", "-u", "postgres", "--"]
        for place in (folder, *folder.parents[:3]):
            os.chmod(place, 0o711)  # noqa: S103 - the server's user must pass through
        shutil.chown(folder, "postgres")
    data = str(folder / "data")
    quiet = {"check": True, "capture_output": True, "cwd": "/", "timeout": 60}
    subprocess.run([*user, str(binary / "initdb"), "-D", data, "-A", "trust", "-U", "postgres"], **quiet)
    options = f"-k {folder} -c listen_addresses=''"
    log = str(folder / "log")
    start = [*user, str(binary / "pg_ctl"), "-D", data, "-w", "-l", log, "-o", options, "start"]
    subprocess.run(start, check=True, stdout=subprocess.DEVNULL, cwd="/", timeout=60)

    def ask(text, given=None):
        command = ["psql", "-h", str(folder), "-U", "postgres", "-X", "-q", "--csv", "-v", "ON_ERROR_STOP=1", "-c", text]
        done = subprocess.run(command, input=given, check=False, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout

    yield ask
    subprocess.run([*user, str(binary / "pg_ctl"), "-D", data, "-m", "immediate", "stop"], **quiet)


@pytest.mark.parametrize("weight", [None, "w"])
def test_postgres(postgres, weight):
    postgres("DROP TABLE IF EXISTS t; CREATE TABLE t (p double precision, y double precision, w double precision, g text)")
    text = io.StringIO()
    csv.writer(text).writerows(zip(map(repr, F.tolist()), Y.tolist(), W.tolist(), G.tolist(), strict=True))
    postgres("COPY t FROM STDIN WITH (FORMAT csv)", given=text.getvalue())
    answer = postgres(sql("postgres", source="t", **NAMES, weight=weight, bins=7))
    table = pd.read_csv(io.StringIO(answer), float_precision="round_trip")
    found = Summary.from_frame(table)
    if weight is None:
        assert found == WHOLE
    else:
        near(found, summarize(Y, F, sample_weight=W, bins=7))
