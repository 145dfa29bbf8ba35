"""Files of summaries and records: what comes back, and what is refused."""

import base64
import hashlib
import io
import json
import os
import tracemalloc
import zipfile
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from trueness import Record, Summary, ecce, smooth_ece, summarize
from trueness.errors import SummaryError, TruenessError
from trueness.summary.file import decode, encode, read


def data(n=500, seed=0, *, soft=False, weights=False):
    rng = np.random.default_rng(seed)
    f = np.concatenate([rng.random(n), rng.beta(0.2, 0.2, n).round(2), [0.0, 1.0, 0.5]])
    y = rng.random(len(f)) if soft else (rng.random(len(f)) < f).astype(float)
    return y, f, rng.exponential(size=len(f)) if weights else None


def kinds():
    return [data(), data(soft=True), data(weights=True), data(soft=True, weights=True)]


def mixed_record(**settings):
    """Integer and float sums, rejected rows, notes and keys of every type in one record."""
    keys = [
        *("de", "", "naïve 😀", None, True, 7, 2**70, 0.5, float("inf"), -0.1),
        *(date(2026, 1, 2), datetime(2026, 1, 2, 3, 4, 5, 6), datetime(2026, 1, 2, tzinfo=UTC), time(23, 59, 1)),
        *(timedelta(days=-3, microseconds=1), Decimal("1.50")),
    ]
    made = [
        lambda y, f, w: summarize(y, f),
        lambda y, f, w: summarize(y, f.astype(np.float32), sample_weight=w),
        lambda y, f, w: summarize(np.append(y, np.nan), np.append(f, 0.5), nan="drop", exact=True),
    ]
    summaries = {key: made[k % 3](*data(20, seed=k, weights=True)) for k, key in enumerate(keys)}
    return Record(summaries, axes=["key"], **settings)


@pytest.mark.parametrize(("y", "f", "w"), kinds())
@pytest.mark.parametrize("bins", [(), (12, 37)])
@pytest.mark.parametrize("exact", [False, True])
def test_a_file_gives_the_summary_back(tmp_path, y, f, w, bins, exact):
    summary = (
        summarize(np.append(y, np.nan), np.append(f, 0.1), nan="drop", bins=bins, exact=exact)
        if w is None
        else summarize(y, f, sample_weight=w, bins=bins, exact=exact)
    )
    path = tmp_path / "day.tns"
    summary.save(path)
    back = Summary.load(str(path))
    assert back == summary
    assert back.n == summary.n
    assert back.notes == summary.notes
    assert dict(back.rejected) == dict(summary.rejected)
    assert smooth_ece(back) == smooth_ece(summary)
    assert ecce(back) == ecce(summary)
    assert path.read_bytes() == encode(summary)
    assert os.listdir(tmp_path) == ["day.tns"]


def test_a_file_gives_the_record_back(tmp_path):
    record = mixed_record()
    record.save(tmp_path / "a.tns")
    back = Record.load(tmp_path / "a.tns")
    assert back == record
    assert back.digest == record.digest
    assert back.axes == ("key",)
    assert [(type(key), key) for key in sorted(back, key=repr)] == [(type(key), key) for key in sorted(record, key=repr)]
    for key, summary in record.items():
        assert back[key].notes == summary.notes
        assert back[key].rejected == summary.rejected
        assert back[key].extremes == summary.extremes
    assert encode(back) == encode(record) == (tmp_path / "a.tns").read_bytes()
    other_way = Record(dict(reversed(list(record.items()))), axes=["key"])
    assert encode(other_way) == encode(record)
    assert other_way.digest == record.digest


def test_the_extremes_of_all_rows_come_back(tmp_path):
    y, f, _ = data()
    whole = summarize(y, f, exact=True)
    parts = {k: summarize(y[k::3], f[k::3]) for k in range(3)}
    record = Record(parts, axes=["k"], extremes=whole.extremes)
    record.save(tmp_path / "a.tns")
    assert Record.load(tmp_path / "a.tns").total() == whole
    assert record.digest != Record(parts, axes=["k"]).digest
    wrong = Record(parts, axes=["k"], extremes=summarize(1 - y, f, exact=True).extremes)
    with pytest.raises(SummaryError, match="extremes of the cumulative differences lie outside"):
        read(encode(wrong), "a.tns")


def test_several_axes(tmp_path):
    summaries = {("de", 1): summarize([0], [0.2]), ("de", None): summarize([1], [0.2]), (None, 1): summarize([1], [0.9])}
    record = Record(summaries, axes=["country", "device"])
    record.save(tmp_path / "a.tns")
    assert Record.load(tmp_path / "a.tns") == record


def test_the_wrong_kind_is_said(tmp_path):
    record = Record({"a": summarize([0], [0.5])}, axes=["g"])
    record.save(tmp_path / "record.tns")
    summarize([0], [0.5]).save(tmp_path / "summary.tns")
    with pytest.raises(SummaryError, match=r"record.tns': holds a record of 1 summaries by g.*Record\.load.*\.total\(\)"):
        Summary.load(tmp_path / "record.tns")
    with pytest.raises(SummaryError, match=r"summary.tns': holds one summary.*Summary\.load"):
        Record.load(tmp_path / "summary.tns")


@pytest.mark.parametrize(
    ("key", "what"),
    [
        (b"bytes", "is a bytes"),
        (Fraction(1, 3), "is a Fraction"),
        (float("nan"), "is not a value"),
        (("a", "b"), "is a tuple"),
        ("\ud800", "not valid Unicode"),
        (np.datetime64("2026-01-01T00:00:00.000000001"), "is a datetime64"),
    ],
)
def test_keys_that_no_file_keeps_are_named(tmp_path, key, what):
    record = Record({"a": summarize([0], [0.5]), key: summarize([0], [0.5])}, axes=["g"])
    with pytest.raises(SummaryError, match=what) as error:
        record.save(tmp_path / "a.tns")
    assert f"key {key!r}" in str(error.value)
    assert not os.listdir(tmp_path)


def test_keys_of_numpy_and_pandas_come_back_as_pythons_own():
    pd = pytest.importorskip("pandas")
    part = summarize([0], [0.5])
    keys = [np.str_("a"), np.int8(3), np.float32(0.5), np.bool_(True), np.datetime64("2026-01-01T00:00:00.5", "ns")]
    keys += [pd.Timestamp("2027-01-01"), pd.Timedelta("3h")]
    back = read(encode(Record(dict.fromkeys(keys, part), axes=["g"])), "x").value
    assert set(back) == {
        *("a", 3, 0.5, True, datetime(2026, 1, 1, microsecond=500_000), datetime(2027, 1, 1), timedelta(hours=3)),
    }
    assert {type(key) for key in back} <= {str, int, float, bool, datetime, timedelta}
    with pytest.raises(SummaryError, match="finer than a microsecond"):
        encode(Record({pd.Timestamp("2026-01-01T00:00:00.000000001"): part}, axes=["g"]))


# Version 1

OLD = (
    "P)h>@EdT%j2mk;8ApirB6B+;i|NsC0|NjaA6aZ*tVPs`;E^csn0RRvHbO8VW00000_y7O^00000osdmV#4rqnhb^awvMD2VLE21z<^b$KY*?TXLTT&"
    "_LDQs)lM$%QDY!6c;RJa1o}WM2{(gA6e|)~$oHug;NIDdIR(vH<l&mm5#Gu@(4}gn*r%r^~r#CfW);E=u<+fxO_V2o$`CuLKJv)f%rDR;6>@*={<2Ea>"
    "N2HhqR|18UM#@&3UW?XX+i4>^Eo24tF!VLZ7Hb0?f`A?L3I?IOq3Qdk-Bk_GH2j#nLl^(x`MgoB@E8(0Bx01tQH9SX9Pk}=TsN7yPf`03*=UKZJ2D@b^"
    "N|_rY{Z-pmpnn<EHv}`r7Tm>OY^YYb;dx}yEXd*P)h>@EdT%j2mk;8ApqLDEeHSq|NsC0|NjX96aZsoY;1EbZg6=401yC}000000000`000000001+>="
    ")`A5Xs0;#!#)El3JWxq;934Zj))DuA`uymS0p-l$aNvUzCyx5_e0?DNY577iT0EqyqUG#yXlh3bhIp0InzA3}7Ig1EK#_KxhC^O9KQg000080000X05c-"
    "E<^TWx|NsC0{|EpS0CI14b1rUhc>w?r0GI#(0000007(D<000000GsR=>KhQr$WX>mt)7xvoLr=CrJ!z;X`!y8pq`drR8o|f7oT60k_r-cOUx-w1&SAEB"
    "o?Fs`5MMLnmP)#3KRe?Mg|B#rvXq)0|YGq000O8001EXn@#LQ|NsC0|NsC02mllSb9HTVE^csn0RRvH&;bAd00000djJ3c00000o9q|r8xYCJP{vTLo|0"
    "OeT%>NLpl*|Cp{}E#o|a!!Qk0k%pI?-c3KDlq%qdO<iWg@j7Ni3C8ipo13dWi`3bhL40xm`d(m)yzkfL6`^>rXA>V3>R9r4LCqS1r^%)MvNobe$>J<Poi"
    "t3>pOQ4e!($m6BbAQ}KrO928c11$gm00;m803iSakrNsC0001V0RR9B00000000000001h0RR910BB`lWMy(LZg6=}O928c11$gm00;m803iU{yDbM$00"
    "01(0000900000000000001h0W<*s0AporY;!JdaCuNm0Rk-pEdT%j2mk;8ApkQXxaCOz005W(000O80000000000004jizX1RMa&LEYE^csnP)h*<Edwn"
    "8000O8001EXn@#LQdjJ3c&;bAd2mk;80000000000fB`}R0047!ZF4SeaCuNm1qJ{B000C41OVFr008#_002M$WH~Z6I50D1F=RPpHeoPiVr4gBGB-11H"
    "Doq6HZx>1GGs9`H#apfW;9}CGB7q_VmC81IWuK5FfcY`FflSY"
)


def test_files_of_version_1_are_read():
    old = read(base64.b85decode(OLD), "old.tns")
    assert old.version == 1
    expected = summarize([0, 1, np.nan, 1], [0.2, 0.7, 0.3, 0.9], nan="drop", bins=12)
    assert old.value == expected
    assert old.value.notes == expected.notes
    assert old.value.rejected == expected.rejected
    assert read(encode(old.value), "new.tns").version == 2


# What is refused


def test_every_flipped_or_missing_byte_is_an_error():
    content = encode(summarize([0, 1, 1], [0.2, 0.7, 0.3]))
    for i in range(len(content)):
        flipped = bytearray(content)
        flipped[i] ^= 0x5A
        with pytest.raises(SummaryError):
            decode(bytes(flipped), "x")
        with pytest.raises(SummaryError):
            decode(content[:i], "x")
    with pytest.raises(SummaryError):
        decode(content + b"0", "x")


@pytest.mark.parametrize("content", [b"", b"PK", b"not a summary at all", b"{}" * 100, b"PK" + bytes(200)])
def test_foreign_files_are_errors(tmp_path, content):
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises(SummaryError, match=r"other.*not a trueness summary"):
        Summary.load(path)


def signed(members):
    """An archive of these members with the digest that closes a file."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, member in members.items():
            archive.writestr(name, member)
        archive.comment = b"0" * 64
    return sealed(buffer.getvalue())


def sealed(content):
    return content[:-64] + hashlib.sha256(content[:-64]).hexdigest().encode()


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def resigned(change, value=None):
    """A file whose content was changed and whose digest was made to fit again."""
    value = summarize([0, 1, 1], [0.2, 0.7, 0.3]) if value is None else value
    with np.load(io.BytesIO(encode(value))) as archive:
        arrays = {k: archive[k] for k in archive.files}
    texts = {k: json.loads(arrays.pop(k).tobytes()) for k in ("header", "keys")}
    change(texts, arrays)
    arrays |= {k: np.frombuffer(json.dumps(text).encode(), dtype=np.uint8) for k, text in texts.items()}
    return signed({f"{k}.npy": npy(array) for k, array in arrays.items()})


def header(**fields):
    return lambda t, a: t["header"].update(fields)


def array(name, change):
    return lambda t, a: a.update({name: change(a[name])})


def at(place, value):
    def changed(array):
        array = array.copy()
        array[place] = value
        return array

    return changed


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (header(version=3), "version 3"),
        (header(version="2"), "version '2'"),
        (header(version=True), "version True"),
        (header(format="other"), "format 'other'"),
        (header(bins=[0]), "bins: 0"),
        (header(bins=[2]), "not those of a ruler"),
        (header(bins=["12"]), "not a list of whole numbers"),
        (header(bins=[16383] * 300), "more bins"),
        (header(digest="0" * 64), "not those of its digest"),
        (header(sources=[["a", {"b": 1}]]), "not a list of texts"),
        (header(sources=[["\ud800"]]), "not a trueness summary"),
        (header(sources=[]), "notes that are not there"),
        (header(axes=["g"]), "not a key of 1 values"),
        (lambda t, a: t.update(keys=[]), "keys without axes"),
        (lambda t, a: t.update(keys=[[], []]), "keys without axes"),
        (lambda t, a: t.update(keys=[["a"]]), "keys without axes"),
        (lambda t, a: t.update(keys={}), "no list"),
        (lambda t, a: a.pop("rows"), "other arrays"),
        (lambda t, a: t["header"].pop("bins"), "not a trueness summary"),
        (lambda t, a: a.update(more=np.zeros(1)), "other arrays"),
        (array("cells", lambda x: x[::-1]), "do not ascend"),
        (array("cells", lambda x: x + 50_000), "no such cell"),
        (array("cells", lambda x: x + 1), "not those of its digest"),
        (array("rows", lambda x: x + 1), "not as many as its rows"),
        (array("rows", lambda x: x * 0), "holds no rows"),
        (array("rows", lambda x: x.astype(np.float64)), "of another type"),
        (array("offsets", lambda x: x + 1), "do not follow"),
        (array("offsets", lambda x: x * 2), "has shape"),
        (array("integer", lambda x: x * 0), "has shape"),
        (array("soft", lambda x: x + 1), "soft labels in integer sums"),
        (array("soft", lambda x: x + 2), "neither 0 nor 1"),
        (array("exponent", lambda x: x + 3), "scaled so"),
        (array("exponent", lambda x: x + 2**40), "scaled so"),
        (array("clipped", lambda x: x - 1), "count below 0"),
        (array("clipped", lambda x: x + 7), "more values clipped than the rows have"),
        (header(reasons=["a"]), "rejected has shape"),
        (header(reasons=["a", "a"]), "a reason occurs twice"),
        (header(reasons=[1]), "not a list of texts"),
        (header(reasons={"a": 1}), "not a list of texts"),
        (header(sources=["note"]), "not a list of texts"),
        (array("source", lambda x: x - 1), "notes that are not there"),
        (array("integers", lambda x: x[:5]), "has shape"),
        (array("integers", lambda x: -x), "below 0"),
        (array("integers", lambda x: x + 1), "not as many as its rows"),
        (array("integers", lambda x: x.astype(np.float64) * np.nan), "of another type"),
        (array("integers", at((2, 0), 2**31)), "numerator is 2"),
        (array("integers", at((1, 0), 2)), "outside its cell"),
        (array("integers", at((4, 0), 2**30)), "spread wider"),
        (array("integers", at((6, 0), 2**30)), "third power"),
        (array("starts", lambda x: np.array([0, 0])), "edges"),
        (array("starts", lambda x: np.array([5])), "edges"),
        (array("total_extremes", np.zeros_like), "not those of its rows"),
        (array("extremes", np.ones_like), "not those of its rows"),
    ],
)
def test_contents_that_no_reduction_produces_are_errors(change, message):
    with pytest.raises(TruenessError, match=message):
        decode(resigned(change), "x")


FLOATS = ("w", "wr", "wr2", "we", "wer", "wer2", "wy2", "we_positive", "w2", "w2_binomial", "w2e2")


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("value", [-1.0, 1e6, np.inf])
def test_float_sums_that_no_rows_have(name, soft, value):
    y, f, w = data(30, soft=soft, weights=True)
    change = array("floats", at((FLOATS.index(name), 3), value))
    with pytest.raises(SummaryError, match="do not fit together"):
        decode(resigned(change, summarize(y, f, sample_weight=w)), "x")


@pytest.mark.parametrize(
    ("name", "times", "message"),
    [
        ("w", 0.0, "a weight is 0"),
        ("wr2", 0.5, "spread wider"),
        ("wer", -1.0, "residuals do not fit the scores"),
        ("wer2", -1.0, "residuals do not fit the scores"),
        ("wy2", 0.5, "squares of the outcomes do not fit their sum"),
        ("we_positive", 1.2, "residuals do not fit"),
        ("w2", 2.0, "squares of the weights"),
        ("w2_binomial", 0.5, "a variance does not fit the weights"),
        ("w2_binomial", 2.0, "a variance does not fit the weights"),
        ("w2e2", 0.1, "squares of the residuals do not fit their sum"),
        ("w2e2", 10.0, "squares of the residuals do not fit the weights"),
    ],
)
def test_float_sums_that_do_not_fit_the_others(name, times, message):
    y, f, w = data(30, weights=True)

    def scaled(floats):
        floats = floats.copy()
        floats[FLOATS.index(name)] *= times
        return floats

    with pytest.raises(SummaryError, match=message):
        decode(resigned(array("floats", scaled), summarize(y, f, sample_weight=w)), "x")


@pytest.mark.parametrize("seed", range(12))
def test_sums_of_rows_are_never_refused(seed):
    """However far apart scores and weights are, and however sums were added or merged."""
    rng = np.random.default_rng(seed)
    n = (1, 5, 300)[seed % 3]
    f = (10.0 ** rng.uniform(-320, 0, n), 1 - 10.0 ** rng.uniform(-17, 0, n), rng.beta(0.05, 0.05, n).round(2))[seed // 4]
    y = rng.random(n) if seed % 2 else (rng.random(n) < f).astype(float)
    hard = summarize((rng.random(n) < f).astype(int), f)
    for w in (10.0 ** rng.uniform(-300, 300, n), 10.0 ** rng.uniform(-323, -300, n), rng.exponential(size=n)):
        whole = summarize(y, f, sample_weight=w, exact=True)
        for summary in (whole, whole + hard, sum([whole] * 20), (whole + hard).coarsen(min_rows=min(n, 7)), hard.as_float()):
            assert decode(encode(summary), "x") == summary


def test_no_file_counts_more_rows_than_an_int64():
    record = Record({"a": summarize([0], [0.5]), "b": summarize([0], [0.5])}, axes=["g"])

    def many(texts, arrays):
        arrays["rows"] = np.full_like(arrays["rows"], 2**62)
        arrays["integers"] = arrays["integers"] * 2**62

    with pytest.raises(SummaryError, match=r"more than 2\^63 - 1 rows"):
        read(resigned(many, record), "x")
    dropped = summarize([0, np.nan], [0.5, 0.5], nan="drop")
    with pytest.raises(SummaryError, match=r"more than 2\^63 - 1 rows"):
        read(resigned(array("rejected", lambda x: x * (2**63 - 1)), dropped), "x")


def test_notes_from_elsewhere_are_shown_with_escapes():
    dropped = summarize([0, np.nan], [0.5, 0.5], nan="drop")
    content = resigned(header(sources=[["\x1b[2Jred\u202e"]], reasons=["\x07bell\r\n"]), dropped)
    back = decode(content, "x")
    assert back.source == (r"\x1b[2Jred\u202e",)
    assert all(note.isprintable() for note in back.notes)
    assert list(back.rejected) == [r"\x07bell\r\n"]
    for notes in ([["\ud800"]], [[{"a": 1}]], [{"a": "b"}], [[None]]):
        with pytest.raises(SummaryError, match="not a trueness summary"):
            decode(resigned(header(sources=notes), dropped), "x")
    named = Record({"a": dropped}, axes=["\x1b[31mcountry"])
    assert repr(named).isprintable()
    with pytest.raises(SummaryError) as error:
        decode(encode(named), "x")
    assert str(error.value).isprintable()


def test_extremes_that_no_rows_have():
    summary = summarize(*data(30)[:2], exact=True)

    def changed(place, value):
        def change(texts, arrays):
            for name, where in (("extremes", (0, place)), ("total_extremes", place)):
                arrays[name] = at(where, value)(arrays[name])

        return change

    for place, value in ((0, 0.9), (0, np.nan), (1, -0.5), (2, 1.5), (3, 0.0), (3, -np.inf), (4, 2.0), (5, -1.0)):
        with pytest.raises(SummaryError, match="the extremes of"):
            decode(resigned(changed(place, value), summary), "x")


@pytest.mark.parametrize(
    "key",
    [0.5, [1], {}, {"float": "nan"}, {"float": 0.5}, {"date": "x"}, {"decimal": "x"}, {"uuid": "x"}, {"timedelta": 10**30}],
)
def test_keys_that_are_none(key):
    record = Record({"a": summarize([0], [0.5])}, axes=["g"])
    with pytest.raises(SummaryError, match="do not fit together"):
        read(resigned(lambda t, a: t.update(keys=[[key]]), record), "x")


def test_a_record_whose_axes_are_taken_away_is_no_summary():
    record = Record({"a": summarize([0], [0.5]), "b": summarize([0], [0.5])}, axes=["g"])
    for keys in ([[], []], [[]]):
        with pytest.raises(SummaryError, match="do not fit together"):
            read(resigned(lambda t, a, keys=keys: (t.update(keys=keys), t["header"].update(axes=[])), record), "x")
    with pytest.raises(SummaryError, match="do not follow each other"):
        read(resigned(lambda t, a: t.update(keys=[]), record), "x")


def test_equal_keys():
    record = Record({"a": summarize([0], [0.5]), "b": summarize([0], [0.5])}, axes=["g"])
    with pytest.raises(SummaryError, match="two keys are equal"):
        read(resigned(lambda t, a: t.update(keys=[["a"], ["a"]]), record), "x")
    for keys in ([["b"], ["a"]], [["a"], [{"float": "0.50"}]]):
        with pytest.raises(SummaryError, match="not in their order"):
            read(resigned(lambda t, a, keys=keys: t.update(keys=keys), record), "x")


def deep(depth):
    content = ("[" * depth + "]" * depth).encode()
    return {"header.npy": npy(np.frombuffer(content, dtype=np.uint8))}


def bomb():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("header.npy", "w") as member:
        for _ in range(100):
            member.write(bytes(1 << 20))
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.comment = b"0" * 64
    return sealed(buffer.getvalue())


def damaged_stream():
    content = bytearray(encode(summarize(*data()[:2])))
    content[200:220] = bytes(20)
    return sealed(bytes(content))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (lambda: signed(deep(100_000)), "nested too deeply"),
        (bomb, "would inflate to"),
        (damaged_stream, "not a trueness summary"),
        (lambda: signed({"header.npy": b"\x93NUMPY\x01\x00"}), "a form that is not read"),
        (lambda: signed({"header.npy": npy(np.array([os.getcwd], dtype=object))}), "a form that is not read"),
        (lambda: signed({"header.npy": npy(np.zeros(3, dtype="U5"))}), "a form that is not read"),
        (lambda: signed({"header.npy": npy(np.zeros(3, np.uint8)).replace(b"(3,)", b"(9,)")}), "not a trueness summary"),
        (lambda: signed({"other": b""}), "not a trueness summary"),
    ],
)
def test_archives_that_are_something_else(content, message):
    with pytest.raises(SummaryError, match=message):
        decode(content(), "x")


def first_version(**fields):
    """A file of version 1 with other fields in its header."""
    with np.load(io.BytesIO(base64.b85decode(OLD))) as archive:
        arrays = {k: archive[k] for k in archive.files}
    fields = json.loads(arrays["header"].tobytes()) | fields
    arrays["header"] = np.frombuffer(json.dumps(fields).encode(), dtype=np.uint8)
    return signed({f"{k}.npy": npy(array) for k, array in arrays.items()})


@pytest.mark.parametrize("exponent", [10**400, 2**63, "7", 1.5, None, True, [3], {"a": 1}])
def test_exponents_that_are_none(exponent):
    assert decode(first_version(), "x").n == 3
    with pytest.raises(SummaryError, match=r"not a trueness summary|do not fit together"):
        decode(first_version(exponent=exponent), "x")


def test_keys_nested_too_deeply():
    record = Record({"a": summarize([0], [0.5])}, axes=["g"])
    with np.load(io.BytesIO(encode(record))) as archive:
        arrays = {k: archive[k] for k in archive.files}
    arrays["keys"] = np.frombuffer(b"[" * 100_000 + b"]" * 100_000, dtype=np.uint8)
    with pytest.raises(SummaryError, match="nested too deeply"):
        read(signed({f"{k}.npy": npy(array) for k, array in arrays.items()}), "x")


def test_sizes_that_lie_do_not_inflate_further():
    """An archive that says 10 bytes and holds a hundred million gives 10."""
    content = bytearray(bomb())
    size = (100 << 20).to_bytes(4, "little")
    while (place := content.find(size)) >= 0:
        content[place : place + 4] = (10).to_bytes(4, "little")
    tracemalloc.start()
    try:
        with pytest.raises(SummaryError, match="not a trueness summary"):
            decode(sealed(bytes(content)), "x")
        assert tracemalloc.get_traced_memory()[1] < 20 << 20
    finally:
        tracemalloc.stop()


def test_a_bomb_is_not_inflated(monkeypatch):
    content = bomb()

    def never(*_):
        raise AssertionError("inflated")

    monkeypatch.setattr(zipfile.ZipFile, "open", never)
    with pytest.raises(SummaryError, match="would inflate"):
        decode(content, "x")


def test_a_record_of_many_equal_groups_is_no_bomb(monkeypatch):
    monkeypatch.setattr("trueness.summary.file._most_bytes", lambda size: 2 * size)
    record = Record(dict.fromkeys(range(3000), summarize([0], [0.5])), axes=["g"])
    assert read(encode(record), "x").value == record


def test_saving_replaces_atomically_and_keeps_the_old_file_on_failure(tmp_path, monkeypatch):
    path = tmp_path / "s.tns"
    summarize([0], [0.5]).save(path)
    old = path.read_bytes()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        summarize([1], [0.5]).save(path)
    with pytest.raises(OSError, match="No space"):
        mixed_record().save(path)
    assert path.read_bytes() == old
    assert os.listdir(tmp_path) == ["s.tns"]


def test_a_symlink_itself_is_replaced(tmp_path):
    target = tmp_path / "target"
    target.write_text("precious")
    link = tmp_path / "s.tns"
    link.symlink_to(target)
    summarize([0], [0.5]).save(link)
    assert target.read_text() == "precious"
    assert not link.is_symlink()


def test_a_directory_is_not_overwritten(tmp_path):
    with pytest.raises(IsADirectoryError, match="directory"):
        summarize([0], [0.5]).save(tmp_path)
