"""What the experiments share: linear worlds of known truth, training, counterfactuals and diagnoses by the program."""
import argparse
import json
import os
import subprocess
import sys

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COMP = os.environ.get("COMP", os.path.join(ROOT, "build", "comp"))
DIMS = 3
NOISE = 0.02
# A wide hidden layer and large batches: the penalty is a bound that tightens with the batch.
RECIPE = ["--latent", str(DIMS), "--hidden", "128", "--gamma", "5", "--beta", "0.1", "--lr", "0.01",
          "--select", "last", "--patience", "0", "--validation", "0"]
STEPS = 2000
BATCH = 2000
THREADS, REUSE = [], []  # set by arguments()


def arguments(what, sizes=None):
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("--out", default="theory-out", help="folder for data, models and the plot")
    parser.add_argument("--steps", type=int, default=STEPS, help="of training")
    parser.add_argument("--seeds", type=int, default=3, help="models to train")
    parser.add_argument("--threads", type=int, default=0, help="of the program; 0: all")
    parser.add_argument("--reuse", action="store_true", help="do not train models again that are in --out")
    if sizes:
        parser.add_argument("--sizes", type=lambda text: [int(n) for n in text.split(",")], default=list(sizes),
                            help="numbers of samples, increasing")
    options = parser.parse_args()
    THREADS[:] = ["--threads", str(options.threads)]
    REUSE[:] = [True] if options.reuse else []
    os.makedirs(options.out, exist_ok=True)
    return options


def comp(*words):
    done = subprocess.run([COMP, *map(str, words), *THREADS], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"comp {' '.join(map(str, words))}: {done.stderr}")
    return done.stdout


def sources(n, rng):
    """Independent, of mean 0 and variance 1, none of them normal, symmetric or like another."""
    skewed = rng.exponential(size=n) - 1
    two = np.where(rng.random(n) < 0.3, rng.normal(1.6, 0.4, n), rng.normal(-0.7, 0.4, n))
    far = np.where(rng.random(n) < 0.2, rng.normal(-2, 0.3, n), rng.normal(0.5, 0.3, n))
    two = (two + 0.01) / np.sqrt(0.3 * 0.7 * 2.3**2 + 0.4**2)
    return np.stack([skewed, two, far / np.sqrt(0.2 * 0.8 * 2.5**2 + 0.3**2)], 1)


def rotation(rng, angle):
    """A rotation by about `angle` around a random axis."""
    axis = rng.normal(size=3)
    x, y, z = axis / np.linalg.norm(axis)
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


class World:
    """x = A_c s + noise."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.a = [np.linalg.qr(rng.normal(size=(DIMS, DIMS)))[0] @ np.diag([0.8, 1, 1.2])]
        self.a.append(np.diag([1.3, 0.8, 1.0]) @ rotation(rng, 0.5) @ self.a[0])
        self.map = self.a[1] @ np.linalg.inv(self.a[0])  # from condition a to condition b
        self.rng = rng

    def draw(self, n, draw_sources):
        c = self.rng.integers(0, 2, n)
        s = draw_sources(n, self.rng)
        x = np.einsum("ijk,ik->ij", np.array(self.a)[c], s) + NOISE * self.rng.normal(size=(n, DIMS))
        return x, c


def write(path, x, c):
    with open(path, "w") as out:
        out.write("id,c," + ",".join(f"x{j}" for j in range(x.shape[1])) + "\n")
        for i, row in enumerate(x):
            out.write(f"s{i},{'ab'[c[i]]}," + ",".join(f"{v:.7g}" for v in row) + "\n")


def train(data, model, seed, n, steps, batch=BATCH):
    """Fits a model; the objective at the end of the training."""
    log = model + ".log"
    batch = min(batch, n)
    epochs = max(1, round(steps * batch / n))
    if not (REUSE and os.path.exists(model)):
        comp("train", "-q", "-i", data, "-o", model, "-c", "c", "--seed", seed, "--epochs", epochs, "--log", log,
             "--batch", batch, *RECIPE)
    return last_epoch(model)["total"]


def last_epoch(model):
    """What training logged at its end: total, likelihood, kl, penalty, all to be made small."""
    with open(model + ".log") as lines:
        return json.loads(lines.readlines()[-1])["train"]


def counterfactuals(data, model, to):
    """All samples, decoded under a condition."""
    comp("counterfactual", "-q", "-i", data, "-m", model, "-o", model + ".h5ad", "--to", to, "--key", "cf")
    comp("convert", "-q", "-i", model + ".h5ad", "--layer", "cf", "-o", model + ".npy")
    return np.load(model + ".npy")


def explained(data, model):
    """The share of the variance that decoding under the own condition explains, by comp diagnose."""
    comp("diagnose", "-q", "-i", data, "-m", model, "--json", model + ".json")
    with open(model + ".json") as text:
        return json.load(text)["kept"]["explained_variance"]


def linear_map(x, y):
    """The matrix M of the best fit y = M x + b."""
    design = np.hstack([x, np.ones((len(x), 1))])
    return np.linalg.lstsq(design, y, rcond=None)[0][: x.shape[1]].T


def error(found, truth):
    return float(np.linalg.norm(found - truth) / np.linalg.norm(truth))


def diagnose(data, models, out):
    """Levels by check, and the table."""
    words = ["diagnose", "-q", "-i", data, "--json", out]
    for model in models:
        words += ["-m", model]
    table = comp(*words)
    with open(out) as text:
        findings = json.load(text)["findings"]
    return {f["id"]: f["level"] for f in findings}, table


def finish(checks):
    for good, what in checks:
        print(("shown: " if good else "NOT SHOWN: ") + what)
    sys.exit(0 if all(good for good, _ in checks) else 1)
