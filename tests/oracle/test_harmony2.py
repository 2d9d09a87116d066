#!/usr/bin/python3
"""`comp baseline harmony2` against a restatement of Harmony 2 in numpy, from the same centroids and order of updates, with one and two columns, and
with levels that are absent from clusters; the same bytes at any number of threads; mixing and label purity on Kang and PBMC."""
import baseline_common as bc
import prep_common as pc
from baseline_common import ad, np, ok, os, pd, subprocess

DUMP = os.path.join(pc.BUILD, "tests", "baseline_dump")
STEPS = 60


def dump(path, method, condition, *arguments):
    out = os.path.join(pc.folder(), "out.bin")
    result = subprocess.run([DUMP, path, method, condition, out, *arguments], capture_output=True, text=True)
    if result.returncode != 0:
        return None, result.stderr
    rows, cols = (int(v) for v in result.stdout.split()[1:3])
    return np.fromfile(out, np.float32).reshape(rows, cols), ""


def unit(x):
    length = np.linalg.norm(x, axis=1, keepdims=True)
    return x / np.where(length > 0, length, 1)


class Harmony2:
    """In double precision, samples in rows. After Patikas et al. 2026 and the R package harmony 2.0: the formulas, not the code."""
    sigma, theta, alpha, prune, block = 0.1, 2.0, 0.2, 1e-5, 0.05

    def __init__(self, z, obs, centroids, orders):
        self.z, self.corrected, self.orders = z.astype(np.float64), z.astype(np.float64), iter(orders)
        self.columns = [pd.get_dummies(obs[c]).to_numpy(np.float64) for c in obs]
        self.phi = np.hstack(self.columns)
        self.column = np.repeat(np.arange(len(self.columns)), [c.shape[1] for c in self.columns])
        self.sizes = self.phi.sum(0)
        self.share = self.sizes / len(z)
        self.y, self.pruned, self.skipped, self.steps, self.rises = unit(centroids.astype(np.float64)), 0, 0, 0, 0

    def assign(self, weight=None, rows=slice(None)):
        """Soft assignment by cosine distance, with the weight of a cluster for each sample."""
        score = -self.distance[rows] / self.sigma
        if weight is not None:
            score = score + np.log(weight)
        score -= score.max(1, keepdims=True)
        r = np.exp(score)
        return r / r.sum(1, keepdims=True)

    def counts(self, rows=slice(None)):
        """Samples of each level in each cluster, and those expected if levels were spread evenly: [levels, clusters]."""
        return self.phi[rows].T @ self.r[rows], np.outer(self.share, self.r[rows].sum(0))

    def objective(self):
        o, e = self.counts()
        entropy = np.where(self.r > 0, self.r * np.log(np.where(self.r > 0, self.r, 1)), 0).sum()
        return (self.r * self.distance).sum() + self.sigma * entropy + self.sigma * self.theta * (o * np.log((o + e + 1) / (2 * e + 1))).sum()

    def cluster(self, first):
        if not first:
            self.distance = 2 * (1 - unit(self.corrected) @ self.y.T)
            self.r = self.assign()
        n = len(self.z)
        o, e = self.counts()
        blocks, size = int(np.ceil(1 / self.block)), int(n * self.block)
        for _ in range(4):
            order = next(self.orders)
            self.steps += 1
            for b in range(blocks):
                rows = order[b * size:(b + 1) * size if b < blocks - 1 else n]
                for sign in (-1, 1):  # the block is taken out, assigned by what the others do, and put back
                    if sign == 1:
                        self.r[rows] = self.assign(self.phi[rows] @ ((2 * e + 1) / (o + e + 1)) ** self.theta, rows)
                    own = self.counts(rows)
                    o, e = o + sign * own[0], e + sign * own[1]

    def correct(self):
        o, e = self.counts()
        self.corrected = self.z.copy()
        centroids = self.y.copy()
        for k in range(len(self.y)):
            keep = o[:, k] / self.sizes > self.prune
            for c in range(len(self.columns)):
                if keep[self.column == c].sum() < 2:
                    keep[self.column == c] = False
            self.pruned += (~keep).sum()
            if not keep.any():
                self.skipped += 1
                continue
            rows = self.phi[:, keep].any(1)
            design = np.hstack([np.ones((rows.sum(), 1)), self.phi[rows][:, keep]])
            weighted = design * self.r[rows, k:k + 1]
            ridge = np.diag(np.concatenate([[0], self.alpha * e[keep, k]]))
            w = np.linalg.solve(weighted.T @ design + ridge, weighted.T @ self.z[rows])
            centroids[k] = w[0]
            self.corrected[rows] -= weighted[:, 1:] @ w[1:]
        self.y = unit(centroids)

    def run(self, rounds=10, tolerance=1e-2):
        self.distance = 2 * (1 - unit(self.corrected) @ self.y.T)
        self.r = self.assign()
        last = self.objective()
        for t in range(rounds):
            self.cluster(t == 0)
            now = self.objective()
            self.correct()
            drop, last = (last - now) / abs(last), now
            self.rises += drop < 0
            if 0 <= drop < tolerance:
                break
        return self.corrected


def compare(name, path, columns, clusters):
    """path: a file with obsm/X_pca."""
    a = ad.read_h5ad(path)
    z, obs = a.obsm["X_pca"], a.obs[columns].astype(str)
    where = pc.folder()
    chosen = np.random.default_rng(1).choice(len(z), clusters, replace=False)
    unit(z)[chosen].astype(np.float32).tofile(where + "/centroids.bin")
    more = ["covariate=" + columns[1]] if len(columns) > 1 else []
    same = ["rep=X_pca", f"clusters={clusters}", f"centroids={where}/centroids.bin", *more]
    got, message = dump(path, "harmony2", columns[0], *same, f"orders={STEPS}:{where}/orders.bin")
    ok(message == "", f"{name}: runs {message}")
    if message:
        return
    orders = np.fromfile(where + "/orders.bin", np.int64).reshape(STEPS, len(z))
    theirs = Harmony2(z, obs, unit(z)[chosen].astype(np.float32), orders)
    expected = theirs.run()
    error = np.abs(got - expected).max() / np.abs(expected).max()
    moved = np.sqrt(((z - expected) ** 2).mean() / (expected ** 2).mean())
    ok(error < 1e-3, f"{name}: as the restatement (worst {error:.1e} of the largest; the correction itself is {moved:.2f}; {theirs.steps} steps, "
                     f"{theirs.pruned} levels of clusters pruned, {theirs.skipped} clusters left alone, {theirs.rises} rises)")
    for threads in (1, 7):
        again, _ = dump(path, "harmony2", columns[0], *same, f"threads={threads}")
        ok((again == got).all(), f"{name}: the same bytes with {threads} threads")
    return theirs


def islands():
    """Two batches that share two of four populations, which lie far apart: clusters of the others hold one batch alone."""
    rng = np.random.default_rng(5)
    centre = 12 * np.eye(4, 10)
    population = np.repeat(np.arange(4), 150)
    batch = np.where(population == 2, "a", np.where(population == 3, "b", rng.choice(["a", "b"], 600)))
    z = centre[population] + rng.normal(size=(600, 10)) + 2.0 * (batch == "b")[:, None] * np.eye(1, 10, 5)
    path = os.path.join(pc.folder(), "islands.h5ad")
    a = ad.AnnData(z.astype(np.float32), obs=pd.DataFrame({"batch": batch, "population": population.astype(str)},
                                                         index=[f"s{i}" for i in range(600)]))
    a.obsm["X_pca"] = z.astype(np.float32)
    a.write_h5ad(path)
    return path


def purity(z, label, k=15):
    """The mean share of the k nearest that have the same label."""
    codes = pd.Categorical(label).codes
    return float((codes[bc.neighbours(z, k)] == codes[:, None]).mean())


def behaves(name, path, condition, label):
    a = ad.read_h5ad(path)
    z, batch = a.obsm["X_pca"], a.obs[condition].astype(str)
    labelled = a.obs[label].notna().to_numpy()
    rows = {"uncorrected": z}
    for method in ("harmony", "harmony2"):
        rows[method], message = dump(path, method, condition, "rep=X_pca")
        ok(message == "", f"{name}: {method} runs from its own start {message}")
        if message:
            return
    score = {m: (bc.kbet(x, batch), bc.ilisi(x, batch), purity(x[labelled], a.obs[label][labelled])) for m, x in rows.items()}
    for m, (kbet, ilisi, pure) in score.items():
        print(f"# {name}, {m}: kBET {kbet:.3f}, iLISI {ilisi:.3f}, label purity {pure:.3f}")
    ok(score["harmony2"][0] < score["uncorrected"][0] - 0.1 and score["harmony2"][1] > score["uncorrected"][1] + 0.05,
       f"{name}: mixes (kBET {score['uncorrected'][0]:.3f} -> {score['harmony2'][0]:.3f})")
    ok(score["harmony2"][2] > score["uncorrected"][2] - 0.03, f"{name}: keeps the labels (purity {score['uncorrected'][2]:.3f} -> "
                                                               f"{score['harmony2'][2]:.3f})")


def with_pca(path, condition):
    out = os.path.join(pc.folder(), "pca.h5ad")
    message = bc.comp("baseline", "pca", "-q", "-i", path, "-o", out, "-c", condition, "--components", "30")
    ok(message == "", f"principal components {message}")
    return out


theirs = compare("islands", islands(), ["batch"], 20)
ok(theirs is not None and theirs.skipped > 0, "islands: clusters of one batch are left alone")
compare("islands, two columns", islands(), ["batch", "population"], 20)
for name, path, columns, label in (("kang", bc.kang(), ["stim"], "cell_type"), ("pbmc", bc.pbmc(), ["batch"], "cell_type"),
                                   ("tcga, two columns", bc.tcga(), ["condition", "tissue"], None)):
    if not path:
        pc.skip(name, "the data is not there (COMP_DATA)")
        continue
    pca = with_pca(path, columns[0])
    compare(name, pca, columns, int(min(np.round(len(ad.read_h5ad(pca)) / 30), 100)))
    if label:
        behaves(name, pca, columns[0], label)
pc.done()
