"""same_findings.py COMP: what comp run prints at the end and what its page shows are the same findings: ids, levels and sentences. Speaks TAP.
Real data is looked for in COMP_DATA, else in ../shared/data; without it these cases are skipped."""
import json
import os
import random
import subprocess
import sys
import tempfile

from reading import on_page, on_terminal, plain

COMP = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.environ.get("COMP_DATA") or os.path.join(HERE, "..", "..", "..", "shared", "data")
LEVELS = ("ok", "caution", "problem")
# Enough for findings of every kind, and little enough for a test.
QUICK = ["--epochs", "4", "--hidden", "16", "--latent", "4", "--no-umap", "--no-correct"]
FEW_GENES = ["--hvg", "variance:60"]


def simulate(name, *options):
    path = os.path.join(folder.name, name + ".h5ad")
    subprocess.run([COMP, "simulate", "-q", "-o", path, "--cells", "600", "--genes", "60", *options], check=True)
    return path


def apart():
    """Four labels, each in one condition only: a table of text, since comp simulate leaves out one group at most."""
    rng = random.Random(1)
    path = os.path.join(folder.name, "apart.csv")
    with open(path, "w") as file:
        print("", "condition", "label", *(f"gene{g}" for g in range(20)), sep=",", file=file)
        for i in range(600):
            label = i % 4
            values = [f"{max(0, rng.gauss(2 + (g % 4 == label), 0.5)):.3f}" for g in range(20)]
            print(f"cell{i}", "control" if label < 2 else "treated", f"type{label + 1}", *values, sep=",", file=file)
    return path


def run(name, path, condition, label, *options):
    out = os.path.join(folder.name, name)
    done = subprocess.run([COMP, "run", "-q", "-i", path, "-c", condition, "-l", label, "-o", out, *QUICK, *options], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return out, done.stdout


def compare(name, path, condition, label, *options, expected=None):
    out, printed = run(name, path, condition, label, *options)
    page = on_page(out)
    here, notes = on_terminal(printed)
    there = [(f["id"], f["level"], plain(f["text"])) for f in page if f["level"] in LEVELS]
    problems = []
    if not here:
        problems.append("the terminal shows no findings")
    if [(i, l, plain(t)) for i, l, t in here] != there:
        problems.append(f"terminal {here}")
        problems.append(f"page {there}")
    if notes != sum(f["level"] == "note" for f in page):
        problems.append(f"{notes} notes on the terminal")
    scores = json.load(open(os.path.join(out, "scores.json")))["findings"]
    shown = {(f["id"], f["level"], f["text"]) for f in page}
    problems += [f"only in scores.json: {f}" for f in scores if (f["id"], f["level"], f["text"]) not in shown]
    levels = {f["id"]: f["level"] for f in page}
    problems += [f"{k} is {levels.get(k)}, not {v}" for k, v in (expected or {}).items() if levels.get(k) != v]
    return problems


def real(*parts):
    path = os.path.join(DATA, *parts)
    return path if os.path.exists(path) else None


folder = tempfile.TemporaryDirectory(prefix="comp-verdict-")
kang, pbmc = real("kang", "kang_ifnb.h5ad"), real("pbmc_protocols", "symphony_1500x1764.h5ad")
cases = [
    ("the demo, with the checks of the model", lambda: compare("demo", simulate("cells"), "condition", "label")),
    ("the integration tutorial", lambda: compare("integrated", simulate("batches", "--conditions", "3", "--composition", "0.5"), "condition", "label",
                                                "--no-diagnose", "--compare", "harmony,combat", expected={"composition": "note"})),
    ("the tutorial of an unseen group", lambda: compare("unseen", simulate("hole", "--absent", "type3:treated"), "condition", "label", "--no-diagnose",
                                                        "--from", "control", "--to", "treated", expected={"confounded": "caution"})),
    ("every label in one condition only", lambda: compare("confounded", apart(), "condition", "label", "--no-diagnose", "--as", "omics", "--force",
                                                          expected={"confounded": "problem"})),
    ("Kang", kang and (lambda: compare("kang", kang, "stim", "cell_type", "--no-diagnose", "--keep", "cell_type=B,NK,DC,Mk,Eryth", *FEW_GENES))),
    ("PBMC", pbmc and (lambda: compare("pbmc", pbmc, "batch", "cell_type", "--no-diagnose", "--keep", "cell_type=B,DC,NK,T_CD8,MK", *FEW_GENES))),
]
print(f"1..{len(cases)}")
for number, (name, body) in enumerate(cases, 1):
    if not body:
        print(f"ok {number} - {name} # SKIP no data in {DATA}")
        continue
    try:
        problems = body()
    except Exception as error:  # a case that breaks must not hide the others
        problems = str(error).split("\n")
    print(f"{'not ok' if problems else 'ok'} {number} - {name}: the same findings on terminal and page")
    for line in problems:
        print("# " + line)
