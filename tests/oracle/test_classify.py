#!/usr/bin/python3
"""Classifiers against scikit-learn's on the same samples: Adult (sex and income from the 82 encoded columns), and cell types of Kang carried
from one condition to the other."""
import os
import subprocess
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
import prep_common as pc
from prep_common import np, ok

COMP = os.environ.get("COMP", os.path.join(pc.BUILD, "comp"))
DUMP = os.path.join(pc.BUILD, "tests", "classify_dump")
try:
    import anndata
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import balanced_accuracy_score, recall_score
    from sklearn.model_selection import StratifiedKFold, cross_val_score, train_test_split
    from sklearn.preprocessing import StandardScaler
except ImportError as error:
    pc.skip_all(f"python module missing: {error.name}")
if not os.path.exists(DUMP):
    pc.skip_all(f"{DUMP} is not built")

NAMES = ("age,workclass,fnlwgt,education,education_num,marital_status,occupation,relationship,race,sex,capital_gain,"
         "capital_loss,hours_per_week,native_country,income")
DROPPED = ("Holand-Netherlands", "Vietnam", "Yugoslavia")


def dump(*arguments, threads=2):
    started = time.time()
    result = subprocess.run([DUMP, *arguments], capture_output=True, text=True, env={**os.environ, "THREADS": str(threads)})
    if result.returncode:
        print("#", result.stdout.strip(), result.stderr.strip())
    return result.stdout, time.time() - started


def values(text):
    return {line.split()[0]: float(line.split()[1]) for line in text.splitlines() if line.split()[0] not in ("level", "group")}


def models():
    return {"logistic": LogisticRegression(max_iter=1000), "forest": RandomForestClassifier(100, random_state=0)}


def write(path, x, obs):
    anndata.AnnData(np.ascontiguousarray(x, dtype=np.float32), obs=obs).write_h5ad(path)


def carry(path, what, x, y, train, test, condition, names, label, tolerance=0.01):
    """Trains on some samples and tests on others, both here and there."""
    scaler = StandardScaler().fit(x[train])
    for name, model in models().items():
        inputs = scaler.transform(x) if name == "logistic" else x
        predicted = model.fit(inputs[train], y[train]).predict(inputs[test])
        expected = (predicted == y[test]).mean()
        text, seconds = dump(path, name, "transfer", condition, *names, label)
        got = values(text)
        ok(abs(got["accuracy"] - expected) <= tolerance,
           f"{what}, {name}: accuracy {got['accuracy']:.4f}, scikit-learn {expected:.4f} ({seconds:.1f} s)")
        expected = balanced_accuracy_score(y[test], predicted)
        ok(abs(got["balanced"] - expected) <= 2 * tolerance,
           f"{what}, {name}: balanced accuracy {got['balanced']:.4f}, scikit-learn {expected:.4f}")
        if name == "logistic" and len(set(y)) == 2:
            found = [float(line.split()[-2]) for line in text.splitlines() if line.startswith("level")]
            wanted = recall_score(y[test], predicted, average=None)
            ok(np.abs(np.array(found) - wanted).max() <= 0.002, f"{what}, {name}: found of each level {found} {wanted}")


def adult():
    parts = [pc.data_file("adult", name) for name in ("adult.data.gz", "adult.test.gz")]
    if None in parts:
        return pc.skip("Adult", "the data is not here")
    where = pc.folder()
    arguments = ["prep", "-q", "-i", parts[0], "-i", parts[1], "-o", where + "/adult.h5ad", "--no-header", "--names", NAMES,
                 "--comment", "|", "--missing", "?", "--obs", "sex", "--obs", "income", "--drop", "education", "--drop-missing",
                 "--merge", "relationship=Wife,Husband:spouse", "--merge", "income=<=50K.:<=50K", "--merge", "income=>50K.:>50K"]
    for country in DROPPED:
        arguments += ["--drop-feature", f"native_country_{country}"]
    subprocess.run([COMP, *arguments], check=True)
    a = anndata.read_h5ad(where + "/adult.h5ad")
    x = np.asarray(a.X)
    ok(x.shape == (45222, 82), f"Adult: 45,222 x 82 (found {x.shape})")
    for column in ("sex", "income"):
        y = a.obs[column].astype(str).values
        train, test = train_test_split(np.arange(len(y)), test_size=0.3, stratify=y, random_state=0)
        part = np.full(len(y), "train", dtype=object)
        part[test] = "test"
        a.obs["part"] = part
        write(where + "/parts.h5ad", x, a.obs)
        carry(where + "/parts.h5ad", f"Adult, {column}", x, y, train, test, "part", ("train", "test"), column)
    path = where + "/adult.h5ad"
    for column in ("sex", "income"):
        y = a.obs[column].astype(str).values
        got = values(dump(path, "logistic", "cross", column)[0])
        expected = cross_val_score(LogisticRegression(max_iter=1000), x, y, cv=StratifiedKFold(5, shuffle=True, random_state=0))
        ok(abs(got["accuracy"] - expected.mean()) < 0.005,
           f"Adult, {column}: cross-validated {got['accuracy']:.4f}, scikit-learn {expected.mean():.4f}")
        ok(abs(got["majority"] - max((y == level).mean() for level in set(y))) < 1e-12, f"Adult, {column}: majority")
    for name in ("logistic", "forest", "boosted"):
        texts = {dump(path, name, "fairness", "income", "sex", threads=threads)[0] for threads in (1, 2, 7)}
        ok(len(texts) == 1, f"Adult: fairness, {name}: the same bytes with 1, 2 and 7 threads")
        got = values(texts.pop())
        ok(0.05 < got["parity_gap"] < 0.4 and got["odds_gap"] > 0,
           f"Adult: incomes are predicted by sex: parity gap {got['parity_gap']:.3f}, odds gap {got['odds_gap']:.3f}, {name}")


def kang():
    path = pc.data_file("kang", "kang_ifnb.h5ad")
    if not path:
        return pc.skip("Kang", "the data is not here")
    where = pc.folder()
    subprocess.run([COMP, "prep", "-q", "-i", path, "-o", where + "/kang.h5ad", "--keep", "in_paper_set=True", "--normalize-total",
                    "median", "--log1p", "--hvg", "seurat:2000"], check=True)
    subprocess.run([COMP, "pca", "-q", "-i", where + "/kang.h5ad", "-o", where + "/pca.h5ad", "-n", "20"], check=True,
                   stdout=subprocess.DEVNULL)
    a = anndata.read_h5ad(where + "/pca.h5ad")
    x, y = np.asarray(a.obsm["X_pca"]), a.obs["cell_type"].astype(str).values
    side = a.obs["stim"].astype(str).values
    write(where + "/z.h5ad", x, a.obs[["stim", "cell_type"]])
    # Within one condition first; carried over to the other, samples lie where nothing was learnt, and seeds matter more.
    inside = np.flatnonzero(side == "CTRL")
    train, test = train_test_split(inside, test_size=0.3, stratify=y[inside], random_state=0)
    obs = a.obs[["stim", "cell_type"]].copy()
    part = np.full(len(y), "other", dtype=object)
    part[train], part[test] = "train", "test"
    obs["part"] = part
    write(where + "/parts.h5ad", x, obs)
    carry(where + "/parts.h5ad", "Kang, cell types", x, y, train, test, "part", ("train", "test"), "cell_type", 0.015)
    text, _ = dump(where + "/z.h5ad", "forest", "transfer", "stim", "CTRL", "STIM", "cell_type")
    got = values(text)
    expected = [(RandomForestClassifier(100, random_state=seed).fit(x[inside], y[inside]).predict(x[side == "STIM"])
                 == y[side == "STIM"]).mean() for seed in range(5)]
    ok(min(expected) - 0.03 <= got["accuracy"] <= max(expected) + 0.03,
       f"Kang: from CTRL to STIM {got['accuracy']:.3f}, scikit-learn {min(expected):.3f} to {max(expected):.3f}")
    got = values(dump(where + "/z.h5ad", "logistic", "cross", "stim", "19")[0])
    ok(got["p"] == 0.05 and got["accuracy"] > 0.9 and abs(got["permuted"] - 0.5) < 0.03,
       f"Kang: the condition is predicted from the data, accuracy {got['accuracy']:.3f}, shuffled {got['permuted']:.3f}, p {got['p']}")


adult()
kang()
pc.done()
