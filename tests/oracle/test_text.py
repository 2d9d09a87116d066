"""Text formats against pandas, scipy and numpy, on the real files and on made ones. TAP on stdout.

COMP_BUILD: the build folder (default: that of $COMP, or build); COMP_DATA: the real data (tests on it are skipped
without).
"""
import gzip
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import pandas as pd
import scipy.io
import scipy.sparse

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("COMP_BUILD") or os.path.dirname(os.environ.get("COMP", "")) or os.path.join(ROOT, "build")
DUMP = os.path.join(BUILD, "tests", "text_dump")
DATA = os.environ.get("COMP_DATA") or next(
    (d for d in (os.path.join(ROOT, "..", "shared", "data"),) if os.path.isdir(d)), "")

tests = []


def test(needs=""):
    def add(function):
        tests.append((function, needs))
        return function
    return add


def dump(mode, path, out, *options):
    """Runs text_dump; returns its seconds."""
    done = subprocess.run([DUMP, mode, path, out, *options], capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(done.stderr.strip())
    return float(done.stdout)


def names(path):
    with open(path, encoding="utf-8") as file:
        return file.read().split("\n")[:-1]


def load_csr(out, columns):
    indptr = np.fromfile(out + ".indptr", np.int64)
    return scipy.sparse.csr_matrix(
        (np.fromfile(out + ".values", np.float32), np.fromfile(out + ".indices", np.int32), indptr),
        shape=(len(indptr) - 1, columns))


def load_table(out):
    """The columns as text, and their kinds."""
    table = pd.read_csv(out + ".table", sep="\t", dtype=str, keep_default_na=False, quoting=3)
    kinds = {c.rsplit(":", 1)[0]: c.rsplit(":", 1)[1] for c in table.columns}
    table.columns = list(kinds)
    return table, kinds


def same_table(ours, theirs):
    """A table of ours, as text, against a data frame: numbers as numbers, the others as text, missing as empty."""
    table, kinds = ours
    assert list(table.columns) == [str(c) for c in theirs.columns], (list(table.columns), list(theirs.columns))
    for column, other in zip(table.columns, theirs.columns):
        expected = theirs[other]
        if kinds[column] in ("number", "integer"):
            got = np.array([float(v or "nan") for v in table[column]])
            assert np.array_equal(got, expected.to_numpy(float), equal_nan=True), column
        else:
            got = list(table[column])
            want = ["" if v is None or v != v else str(v) for v in expected]
            assert got == want, (column, [p for p in zip(got, want) if p[0] != p[1]][:3])


def timed(function):
    best, value = 1e9, None
    for _ in range(2):
        start = time.perf_counter()
        value = function()
        best = min(best, time.perf_counter() - start)
    return best, value


def ratio(what, ours, theirs, other):
    print(f"# {what}: {ours:.3f} s, {other} {theirs:.3f} s: {theirs / ours:.1f} times as fast")


@test(needs="kang/kang_ifnb_mex")
def kang_mex_is_what_scipy_reads(tmp):
    folder = os.path.join(DATA, "kang/kang_ifnb_mex")
    ours = dump("mex", folder, tmp + "/k", "--repeat", "5", "--metadata", folder + "/cells.tsv")
    seconds, matrix = timed(lambda: scipy.io.mmread(folder + "/matrix.mtx.gz"))
    ratio("mtx.gz", ours, seconds, "scipy.io.mmread")
    x = load_csr(tmp + "/k", matrix.shape[0])
    expected = matrix.T.tocsr().astype(np.float32)
    expected.sort_indices()
    assert x.shape == expected.shape
    assert np.array_equal(x.indptr, expected.indptr)
    assert np.array_equal(x.indices, expected.indices)
    assert np.array_equal(x.data, expected.data)
    barcodes = pd.read_csv(folder + "/barcodes.tsv.gz", header=None, sep="\t")[0]
    features = pd.read_csv(folder + "/features.tsv.gz", header=None, sep="\t", keep_default_na=False)[1]
    assert names(tmp + "/k.obs") == list(barcodes)
    assert names(tmp + "/k.var") == list(features)
    cells = pd.read_csv(folder + "/cells.tsv", sep="\t", keep_default_na=False)
    same_table(load_table(tmp + "/k"), cells.drop(columns="barcode"))


@test(needs="tcga_paired/expr.tsv.gz")
def tcga_is_what_pandas_reads(tmp):
    path = os.path.join(DATA, "tcga_paired/expr.tsv.gz")
    samples = os.path.join(DATA, "tcga_paired/samples.tsv.gz")
    ours = dump("csv", path, tmp + "/t", "--repeat", "5", "--metadata", samples)
    seconds, frame = timed(lambda: pd.read_csv(path, sep="\t", index_col=0))
    ratio("expr.tsv.gz", ours, seconds, "pandas.read_csv")
    plain = tmp + "/expr.tsv"
    with open(plain, "wb") as file:
        file.write(gzip.open(path).read())
    ours = dump("csv", plain, tmp + "/u", "--repeat", "5")
    seconds, _ = timed(lambda: pd.read_csv(plain, sep="\t", index_col=0))
    ratio("expr.tsv", ours, seconds, "pandas.read_csv")
    ours = dump("csv", plain, tmp + "/u", "--repeat", "5", "--threads", "1")
    print(f"# expr.tsv: {os.path.getsize(plain) / ours / 1e6:.0f} MB/s on one thread")
    x = np.load(tmp + "/t.npy")
    assert x.dtype == np.float32 and x.flags.c_contiguous
    assert np.array_equal(x, pd.read_csv(path, sep="\t", index_col=0, float_precision="round_trip").to_numpy(np.float32))
    assert names(tmp + "/t.obs") == list(frame.index)
    assert names(tmp + "/t.var") == list(frame.columns)
    same_table(load_table(tmp + "/t"), pd.read_csv(samples, sep="\t", index_col=0).loc[frame.index])


def adult(tmp, name, comment):
    columns = ["age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation",
               "relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income"]
    path = os.path.join(DATA, "adult", name)
    options = ["--no-header", "--missing", "?", "--names", ",".join(columns)] + (["--comment", "|"] if comment else [])
    dump("table", path, tmp + "/a", *options)
    expected = pd.read_csv(path, header=None, names=columns, skipinitialspace=True, na_values="?", keep_default_na=False,
                           comment="|" if comment else None)
    same_table(load_table(tmp + "/a"), expected)
    assert len(expected) == (16281 if comment else 32561)


@test(needs="adult/adult.data.gz")
def adult_data_is_what_pandas_reads(tmp):
    adult(tmp, "adult.data.gz", False)


@test(needs="adult/adult.test.gz")
def adult_test_is_what_pandas_reads(tmp):
    adult(tmp, "adult.test.gz", True)


@test()
def quoted_tables_are_what_pandas_reads(tmp):
    rng = np.random.default_rng(1)
    words = ["plain", 'with "quotes"', "with, comma", "two\nlines", " space ", "naïve β", "x;y|z", "semi;colon"]
    frame = pd.DataFrame({
        "text, one": rng.choice(words, 5000),
        "n": rng.integers(-1000, 1000, 5000),
        "x": rng.normal(size=5000) * 10.0 ** rng.integers(-30, 30, 5000),
        "with gaps": np.where(rng.random(5000) < 0.3, np.nan, rng.normal(size=5000)),
        "flag": rng.random(5000) < 0.5,
    })
    frame["text, one"] = frame["text, one"].str.replace("\n", "/")  # the dump is one line a row
    for suffix, sep, quoting in ((".csv", ",", 0), (".tsv", "\t", 0), (".csv", ";", 1), (".csv.gz", ",", 1)):
        path = tmp + "/q" + suffix
        frame.to_csv(path, sep=sep, quoting=quoting, index=False)
        dump("table", path, tmp + "/q")
        table, kinds = load_table(tmp + "/q")
        assert list(kinds.values()) == ["string", "integer", "number", "number", "bool"], kinds
        same_table((table, kinds), frame)


@test()
def numbers_are_what_pandas_reads_to_the_bit(tmp):
    rng = np.random.default_rng(2)
    bits = rng.integers(0, 2**63, 20000, dtype=np.int64).view(np.float64)
    frame = pd.DataFrame({"i": np.arange(20000), "x": np.where(np.isfinite(bits), bits, 1.0), "y": rng.random(20000)})
    frame.to_csv(tmp + "/n.csv", index=False)
    dump("table", tmp + "/n.csv", tmp + "/n")
    same_table(load_table(tmp + "/n"), frame)


@test()
def made_mtx_files_are_what_scipy_reads(tmp):
    rng = np.random.default_rng(3)
    for kind in ("integer", "real", "pattern"):
        matrix = scipy.sparse.random(300, 200, 0.1, "coo", random_state=4)
        if kind == "integer":
            matrix.data = rng.integers(1, 100000, matrix.nnz)
        folder = f"{tmp}/{kind}"
        os.mkdir(folder)
        scipy.io.mmwrite(folder + "/s_matrix.mtx", matrix, field=kind, precision=17)  # in no order
        for name, n in (("barcodes", 200), ("genes", 300)):
            with open(f"{folder}/s_{name}.tsv", "w") as file:
                file.writelines(f"{name}{i}\n" for i in range(n))
        dump("mex", folder, tmp + "/m")
        expected = scipy.io.mmread(folder + "/s_matrix.mtx").T.tocsr()
        assert abs(load_csr(tmp + "/m", 300) - expected.astype(np.float32)).nnz == 0


@test()
def what_is_written_is_read_by_pandas_and_numpy(tmp):
    rng = np.random.default_rng(5)
    x = (rng.normal(size=(700, 300)) * 10.0 ** rng.integers(-12, 12, (700, 300))).astype(np.float32)
    frame = pd.DataFrame(x.astype(float), index=[f"row, {i}" for i in range(700)], columns=[f'g"{i}' for i in range(300)])
    frame.insert(0, "kind", rng.choice(["a", "b,c"], 700))
    frame.insert(1, "obs:n", np.arange(700))
    frame.to_csv(tmp + "/w.csv")
    for suffix, sep in ((".csv", ","), (".tsv", "\t"), (".csv.gz", ","), (".tsv.gz", "\t")):
        dump("convert", tmp + "/w.csv", tmp + "/o" + suffix)
        back = pd.read_csv(tmp + "/o" + suffix, sep=sep, index_col=0, float_precision="round_trip")
        assert list(back.columns) == list(frame.columns)
        assert list(back.index) == list(frame.index)
        assert list(back["kind"]) == list(frame["kind"]) and list(back["obs:n"]) == list(frame["obs:n"])
        assert np.array_equal(back.iloc[:, 2:].to_numpy(np.float32), x)
    dump("convert", tmp + "/w.csv", tmp + "/o.npy")
    assert np.array_equal(np.load(tmp + "/o.npy"), x)
    with open(tmp + "/o.csv") as file:
        written = [v for line in file.readlines()[1:] for v in line.rsplit(",", 300)[1:]]
    shortest = [len(np.format_float_scientific(v, unique=True, trim="-")) for v in x.ravel()]
    longer = sum(len(a.rstrip("\n")) > b + 4 for a, b in zip(written, shortest))
    assert longer == 0, longer


@test()
def bgzf_like_files_are_read(tmp):
    text = b"id,a,b\n" + b"".join(b"r%d,%d,%d.5\n" % (i, i, i) for i in range(50000))
    with open(tmp + "/b.csv.gz", "wb") as file:
        for at in range(0, len(text), 65280):
            file.write(gzip.compress(text[at:at + 65280]))
        file.write(gzip.compress(b""))
    dump("csv", tmp + "/b.csv.gz", tmp + "/b")
    assert np.array_equal(np.load(tmp + "/b.npy"), pd.read_csv(tmp + "/b.csv.gz", index_col=0).to_numpy(np.float32))


def main():
    print(f"1..{len(tests)}")
    failed = False
    for number, (function, needs) in enumerate(tests, 1):
        name = function.__name__.replace("_", " ")
        if needs and not os.path.exists(os.path.join(DATA, needs)):
            print(f"ok {number} - {name} # SKIP no {needs}")
            continue
        with tempfile.TemporaryDirectory() as tmp:
            try:
                function(tmp)
                print(f"ok {number} - {name}")
            except Exception as error:  # noqa: BLE001 a failure is a line of TAP
                failed = True
                print(f"not ok {number} - {name}")
                print("# " + f"{type(error).__name__}: {error}".replace("\n", "\n# ")[:2000])
        sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
