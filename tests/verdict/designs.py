"""designs.py COMP: what comp run says about designs whose truth is known by simulation: on the terminal, on the page and in scores.json. Speaks TAP.
Each design says which findings must be there, at which level, with which words, and which must not be there."""
import json
import math
import os
import random
import subprocess
import sys
import tempfile

from reading import on_page, on_terminal, page_data, plain

COMP = os.path.abspath(sys.argv[1])
GENES = 24
# Enough for findings that are right, and little enough for a test.
QUICK = ["--epochs", "100", "--hidden", "64", "--latent", "8", "--batch", "128", "--lr", "0.005", "--no-umap", "--no-diagnose"]

TABLE = ["--epochs", "100", "--hidden", "64", "--latent", "4", "--gamma", "3", "--batch", "256", "--lr", "0.003", "--no-umap", "--no-diagnose"]

SMALL = ["--epochs", "30", "--hidden", "32", "--latent", "4", "--batch", "128", "--lr", "0.005", "--no-umap", "--no-diagnose"]


def poisson(rng, mean):
    limit, product, n = math.exp(-mean), rng.random(), 0
    while product > limit:
        product *= rng.random()
        n += 1
    return n


def cells(name, groups, counts=False, effect=1.0, shuffled=False):
    """A table of measurements: `groups` is {(condition, label): cells}. Each label has markers of its own; a condition shifts genes that no label marks, the first condition none. `shuffled`: labels by chance."""
    rng = random.Random(7)
    conditions, labels = sorted({c for c, _ in groups}), sorted({l for _, l in groups})
    rows = []
    for (condition, label), n in groups.items():
        for _ in range(n):
            depth = rng.gauss(0, 0.1)
            values = []
            for g in range(GENES):
                level = 1.0 + depth + 1.5 * (g % 4 == labels.index(label) % 4 and g < GENES // 2) + 0.8 * (g == labels.index(label))
                if g >= GENES // 2 and conditions.index(condition) > 0:
                    level += effect * ((g + conditions.index(condition)) % 3 == 0)
                values.append(poisson(rng, math.exp(level)) if counts else round(max(0.0, rng.gauss(level + 1, 0.4)), 3))
            rows.append([condition, label, *values])
    rng.shuffle(rows)
    if shuffled:
        names = [row[1] for row in rows]
        rng.shuffle(names)
        rows = [[row[0], name, *row[2:]] for row, name in zip(rows, names)]
    path = os.path.join(folder.name, name + ".csv")
    with open(path, "w") as file:
        print("", "condition", "label", *(f"gene{g}" for g in range(GENES)), sep=",", file=file)
        for i, row in enumerate(rows):
            print(f"cell{i}", *row, sep=",", file=file)
    return path


def people(name, rows):
    """A table of people: income depends on skill and a little on sex, so that a classifier that does not see sex errs differently for both."""
    rng = random.Random(3)
    path = os.path.join(folder.name, name + ".csv")
    with open(path, "w") as file:
        print("age,hours,skill,travel,sex,income", file=file)
        for _ in range(rows):
            man, skill = rng.random() < 0.6, rng.random() + rng.random() + rng.random() - 1.5
            income = "high" if skill + 0.35 * man + 0.3 * rng.random() > 0.4 else "low"
            print(20 + 45 * rng.random(), 34 + 4 * man + 6 * skill + 8 * rng.random(), skill, 2 + 3 * man + 10 * rng.random(), "man" if man else "woman", income, sep=",", file=file)
    return path


def categories(name, rows):
    """A table of categories that have nothing to do with sex or with luck. Many rows are the same but for sex, so that an encoder that sees sex gives them away."""
    rng = random.Random(5)
    path = os.path.join(folder.name, name + ".csv")
    with open(path, "w") as file:
        print("job,town,car,sex,luck", file=file)
        for _ in range(rows):
            man = rng.random() < 0.55
            print(rng.choice("abcd"), rng.choice("pqrs"), rng.choice("xyz"), "man" if man else "woman", "yes" if rng.random() < 0.35 else "no", sep=",", file=file)
    return path


def even(conditions, labels, n):
    return {(c, l): n for c in conditions for l in labels}


TWO, LABELS = ["control", "treated"], ["alpha", "beta", "gamma", "delta"]


def run(name, path, *options):
    out = os.path.join(folder.name, name)
    done = subprocess.run([COMP, "run", "-i", path, "-o", out, *(() if "--epochs" in options else QUICK), *options], capture_output=True, text=True)
    return out, done


def as_omics(label="label"):
    return ["--as", "omics", "-c", "condition", *(["-l", label] if label else [])]


def judge(name, path, options, levels=(), words=(), absent=(), said=(), alone=0, advice=(), scored=()):
    """levels: {id: level}; words: {id: words of its text}; absent: ids; said: words on stderr; alone: predicted changes that the page cannot compare; advice: {id: words of it}; scored: ids that scores.json has, too."""
    out, done = run(name, path, *options)
    if done.returncode:
        return [done.stderr]
    page, (here, notes) = on_page(out), on_terminal(done.stdout)
    found = {f["id"]: f for f in page}
    problems = []
    shown = [(f["id"], f["level"], plain(f["text"])) for f in page if f["level"] != "note"]
    if [(i, l, plain(t)) for i, l, t in here] != shown:
        problems += [f"terminal {here}", f"page {shown}"]
    if notes != sum(f["level"] == "note" for f in page):
        problems.append(f"{notes} notes on the terminal")
    for key, level in dict(levels).items():
        if key not in found or found[key]["level"] not in level.split("|"):
            problems.append(f"{key} is {found[key]['level'] + ': ' + found[key]['text'] if key in found else 'not there'}, not {level}")
    problems += [f"{key}: '{found[key]['text'] if key in found else None}' lacks '{text}'" for key, text in dict(words).items() if key not in found or text not in found[key]["text"]]
    problems += [f"{key} is there: {found[key]['text']}" for key in absent if key in found]
    problems += [f"not said: {text}" for text in said if text not in done.stderr]
    if page_data(out)["effects"]["alone"] != alone:
        problems.append(f"the page says that {page_data(out)['effects']['alone']} predicted changes cannot be compared, not {alone}")
    scores = json.load(open(os.path.join(out, "scores.json")))
    problems += [f"advice of {key}: '{found[key]['advice'] if key in found else None}' lacks '{text}'" for key, text in dict(advice).items() if key not in found or text not in found[key]["advice"]]
    same = {f["id"]: (f["level"], f["text"], f["advice"]) for f in scores["findings"]}
    for key in scored:
        if key not in found or same.get(key) != tuple(found[key][k] for k in ("level", "text", "advice")):
            problems.append(f"{key}: {same.get(key)} in scores.json, {found.get(key)} on the page")
    for embedding in scores.get("embeddings", []):
        for metric, score in embedding["scores"].items():
            if score["low"] is not None and not score["low"] <= score["value"] <= score["high"]:
                problems.append(f"{metric} of {embedding['name']}: {score['value']} is not in {score['low']} .. {score['high']}")
    return problems


def refused(name, path, options, words):
    out, done = run(name, path, *options)
    problems = [] if done.returncode == 1 else [f"exit code {done.returncode}"]
    problems += [f"'{done.stderr}' lacks '{text}'" for text in words if text not in done.stderr]
    return problems + (["a folder was made"] if os.path.exists(out) else [])


def marked(name, path, label, condition):
    """A label that one condition lacks: diagnose counts its samples as unshared and no others, and the page can colour by it."""
    out, done = run(name, path, *as_omics())
    if done.returncode:
        return [done.stderr]
    problems = [] if any(c["name"] == "shared populations" for c in page_data(out)["columns"]) else ["the page has no column of shared populations"]
    done = subprocess.run([COMP, "diagnose", "-i", os.path.join(out, "data.h5ad"), "-m", os.path.join(out, "model.safetensors"), "-l", "label", "--json", "-"], capture_output=True, text=True)
    report = json.loads(done.stdout)
    for found in report["kept"]["unshared"]:
        samples, right = found["samples"], found["labels"].get(label, 0)
        if found["condition"] == condition and right < 100 or samples - right > 5:
            problems.append(f"unshared: {found}")
    findings = [f for f in report["findings"] if f["id"] == "unshared"]
    if [f["level"] for f in findings] != ["caution"] or f"{label} (" not in findings[0]["text"]:
        problems.append(f"findings: {findings}")
    return problems


GOOD = {"mixing": "ok", "labels-lost": "ok", "hidden": "ok"}
APART = {("control", "alpha"): 200, ("control", "beta"): 200, ("treated", "gamma"): 200, ("treated", "delta"): 200}
PART = {**even(TWO, ["alpha", "beta"], 130), ("control", "gamma"): 130, ("treated", "delta"): 130}
ABSENT = {k: n for k, n in even(TWO, LABELS, 110).items() if k != ("control", "delta")}
UNBALANCED = {(c, l): n for c, sizes in (("control", (300, 150, 60, 60)), ("treated", (60, 60, 150, 300))) for l, n in zip(LABELS, sizes)}
NEARLY, STRAYS = ({**APART, ("control", "gamma"): n, ("control", "delta"): n, ("treated", "alpha"): n, ("treated", "beta"): n} for n in (5, 1))
folder = tempfile.TemporaryDirectory(prefix="comp-designs-")

cases = [
    ("balanced", lambda: judge("balanced", cells("balanced", even(TWO, LABELS, 100)), as_omics(), {**GOOD, "predictions": "ok"}, absent=["confounded", "few-samples", "composition"],
                               said=["as if 'condition' were 'control', a control by its name", "values below 0 become 0"])),
    ("unbalanced", lambda: judge("unbalanced", cells("unbalanced", UNBALANCED), as_omics(), {"labels-lost": "ok", "composition": "note"}, {"mixing": "Within labels"}, absent=["confounded"])),
    ("confounded in part", lambda: judge("part", cells("part", PART), as_omics(), {"confounded": "problem"}, {"confounded": "2 of 4 labels are in one condition only"},
                                         said=["problem: 2 of 4 labels"])),
    ("fully confounded: refused", lambda: refused("apart", cells("apart", APART), as_omics(), ["Every label is in one condition only: alpha (control)", "No method can correct", "--force"])),
    ("fully confounded, with --force", lambda: judge("forced", cells("apart", APART), [*as_omics(), "--force"], {"confounded": "problem", "mixing": "caution|problem", "hidden": "caution|problem", "predictions": "caution"},
                                                     {"predictions": "no label is in two conditions"}, alone=2)),
    ("fully confounded but for single cells: refused", lambda: refused("strays", cells("strays", STRAYS), as_omics(), ["Every label is in one condition only, but for 4 samples, which are too few to learn from: alpha (control)", "--force"])),
    ("nearly confounded", lambda: judge("nearly", cells("nearly", NEARLY), as_omics(), {"confounded": "problem", "hidden": "caution|problem"}, {"confounded": "The label nearly determines the condition"}, said=["problem: The label nearly determines"])),
    ("no effect of the condition", lambda: judge("nothing", cells("nothing", even(TWO, LABELS, 100), effect=0.0), as_omics(), {"mixing": "ok", "predictions": "caution|problem"}, absent=["confounded"])),
    ("labels by chance", lambda: judge("chance", cells("chance", even(TWO, LABELS, 100), shuffled=True), as_omics(), {"labels-lost": "caution"}, {"labels-lost": "It cannot be judged whether labels were lost"}, absent=["confounded"])),
    ("a type that one condition lacks", lambda: judge("absent", cells("absent", ABSENT), as_omics(), {"confounded": "caution"}, {"confounded": "1 of 4 labels is in one condition only: delta (treated)"})),
    ("a type that one condition lacks, in z", lambda: marked("marked", cells("absent", ABSENT), "delta", "treated")),
    ("30 batches", lambda: judge("many", cells("many", even([f"batch{b:02}" for b in range(30)], LABELS[:2], 12), effect=0.3), as_omics(), {"predictions-some": "note"}, {"predictions-some": "8 of 30 conditions"},
                                 absent=["confounded"], said=["predictions are made for 8 of 30 conditions", "as if 'condition' were 'batch00', the first value"])),
    ("30 samples", lambda: judge("small", cells("small", {("control", "alpha"): 8, ("control", "beta"): 7, ("treated", "alpha"): 8, ("treated", "beta"): 7}), as_omics(),
                                 {"few-samples": "caution", "mixing": "caution|problem", "hidden": "caution|problem", "labels-lost": "caution|problem", "predictions": "caution|problem"})),
    ("no label", lambda: judge("unlabelled", cells("unlabelled", even(TWO, LABELS, 100)), as_omics(None), {"mixing": "ok", "hidden": "ok", "not-named": "note", "labels-lost": "note"}, absent=["confounded", "small-groups"])),
    ("a condition of one cell", lambda: refused("one", cells("one", {**even(TWO, LABELS, 50), ("other", "alpha"): 1}), as_omics(), ["condition 'other' (column 'condition') has 1 sample, and each condition needs 10 or more"])),
    ("three conditions", lambda: judge("three", cells("three", even(["control", "drug1", "drug2"], LABELS, 70)), as_omics(), {**GOOD, "predictions": "ok"}, {"predictions": "6 changes of condition"}, absent=["confounded", "predictions-some"])),
    ("a table with --protect", lambda: judge("people", people("people", 1500), [*TABLE, "-c", "sex", "--protect", "--target", "income"], {"hidden": "ok|caution", "target": "ok", "gaps": "ok|caution|problem"}, {"gaps": "groups of 'sex' differ by up to"},
                                             absent=["fairness", "labels-lost", "confounded", "predictions", "silhouette", "not-named"])),
    ("means that reveal more than the data", lambda: judge("reveals", categories("reveals", 800), [*SMALL, "-c", "sex", "--protect", "--target", "luck", "--preset", "default"], {"hidden": "problem", "reveals-more": "problem", "target": "caution"},
                                                           {"reveals-more": "X_comp reveals 'sex' more than the data itself", "target": "Nothing is predicted better than by the most common value"},
                                                           advice={"reveals-more": "Do not release it", "target": "choose another target"}, scored=["reveals-more", "target"])),
    ("the same with the preset for it", lambda: judge("reveals-not", categories("reveals", 800), [*SMALL, "-c", "sex", "--protect", "--target", "luck"], {"hidden": "ok", "target": "caution"}, absent=["reveals-more"], scored=["hidden", "target"])),
    ("counts", lambda: judge("counts", cells("counts", even(TWO, LABELS, 100), counts=True), as_omics(), {"mixing": "ok", "hidden": "ok", "labels-lost": "ok"}, said=["values below 0 become 0"])),
    ("logged data", lambda: judge("logged", cells("logged", even(TWO, LABELS, 100), effect=0.5), as_omics(), GOOD, said=["logarithms: taken as they are"])),
]

wanted = sys.argv[2:]
chosen = [case for case in cases if not wanted or case[0] in wanted]
print(f"1..{len(chosen)}")
for number, (name, body) in enumerate(chosen, 1):
    try:
        problems = body()
    except Exception as error:  # a case that breaks must not hide the others
        problems = [repr(error)]
    print(f"{'not ok' if problems else 'ok'} {number} - {name}", flush=True)
    for text in problems:
        for line in text.split("\n"):
            print("# " + line)
