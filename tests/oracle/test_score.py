#!/usr/bin/python3
"""comp score against restatements with scipy and scikit-learn: the chi-square tail, kBET and local silhouettes sample by sample, every metric of
the table on simulated points, Kang (2 conditions) and PBMC (3 batches). Embeddings are principal components made here, so nothing is trained."""
import json
import os
import subprocess

import prep_common as pc
from prep_common import np, ok, pd, sp

try:
    import anndata
    from scipy import stats
    from scipy.sparse.csgraph import connected_components
    from sklearn.cluster import KMeans
    from sklearn.decomposition import PCA
    from sklearn.linear_model import LinearRegression
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score, silhouette_samples
except ImportError as error:
    pc.skip_all(f"python module missing: {error.name}")

COMP = os.path.join(pc.BUILD, "comp")
DUMP = os.path.join(pc.BUILD, "tests", "score_dump")
if not os.path.exists(DUMP):
    pc.skip_all(f"{DUMP} is not built")

# ------------------------------------------------------------------------------------------------------ restatements


def pairwise(points):
    """Distances in float64, by differences: the products of the usual formula lose digits."""
    x = points.astype(np.float64)
    out = np.empty((len(x), len(x)))
    for i in range(len(x)):
        out[i] = np.sqrt(((x - x[i]) ** 2).sum(1))
    return out


def nearest(distances, k):
    """The k nearest others, ties by index, and whether the k-th could as well be another one in single precision."""
    d = distances.copy()
    np.fill_diagonal(d, np.inf)
    order = np.argsort(d, axis=1, kind="stable")
    sorted_d = np.take_along_axis(d, order, 1)
    last, beyond = sorted_d[:, k - 1], sorted_d[:, k] if d.shape[0] > k else np.full(len(d), np.inf)
    return order[:, :k], sorted_d[:, :k], (beyond - last) <= 1e-6 * last


def kbet_p(index, condition, population):
    """One test a row, as METHOD states it: scipy for each row."""
    levels = np.unique(population)
    share = np.array([(population == c).mean() for c in levels])
    out = np.empty(len(index))
    for i, row in enumerate(index):
        observed = np.array([(condition[row] == c).sum() + (condition[i] == c) for c in levels])
        expected = len(row) * share + (levels == condition[i])
        out[i] = stats.chi2.sf(((observed - expected) ** 2 / expected).sum(), len(levels) - 1)
    return out


def local_silhouette(index, distance, condition):
    out = np.empty(len(index))
    for i, row in enumerate(index):
        own = condition[row] == condition[i]
        if own.all() or not own.any():
            out[i] = 1 if own.any() else -1 if len(row) else 0
            continue
        a, b = distance[i][own].mean(), distance[i][~own].mean()
        out[i] = (b - a) / max(a, b) if max(a, b) > 0 else 0
    return out


def lisi(index, distance, group, k=90):
    n = len(index)
    k = min(k, n)
    perplexity = np.floor(k / 3)
    out = np.empty(n)
    levels = np.unique(group)
    for i in range(n):
        d, g = distance[i][:k - 1], group[index[i][:k - 1]]  # the sample itself is counted, but has no weight
        low, high, beta = -np.inf, np.inf, 1.0
        for step in range(51):
            p = np.exp(-d * beta)
            h = np.log(p.sum()) + beta * (d * p).sum() / p.sum()
            difference = h - np.log(perplexity)
            if abs(difference) <= 1e-5:
                break
            if difference > 0:
                low, beta = beta, beta * 2 if np.isinf(high) else (beta + high) / 2
            else:
                high, beta = beta, beta / 2 if np.isinf(low) else (beta + low) / 2
        p /= p.sum()
        out[i] = 1 / sum(p[g == level].sum() ** 2 for level in levels)
    return out


def pcr(x, condition):
    """As scib-metrics: a regression of every principal component on the condition."""
    x = x.toarray() if sp.issparse(x) else x
    scores = PCA(min(x.shape), svd_solver="full").fit_transform(x.astype(np.float64))
    keep = scores.var(0) > 1e-12
    scores = scores[:, keep]
    onehot = pd.get_dummies(condition).values[:, 1:].astype(float)  # all of them and a constant would lack rank
    r2 = [LinearRegression().fit(onehot, column).score(onehot, column) for column in scores.T]
    return (np.array(r2) * scores.var(0)).sum() / scores.var(0).sum()


def mmd(points, condition):
    scales = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 5, 10, 15, 20, 25, 30, 35, 100, 1e3, 1e4, 1e5, 1e6]
    d2 = pairwise(points) ** 2
    k = sum(np.exp(-d2 / s) for s in scales) / len(scales)
    levels = np.unique(condition)
    out = []
    for i, a in enumerate(levels):
        for b in levels[i + 1:]:
            x, y = condition == a, condition == b
            out.append(k[np.ix_(x, x)].mean() + k[np.ix_(y, y)].mean() - 2 * k[np.ix_(x, y)].mean())
    return np.mean(out)


def restate(x, points, condition, label, k, alpha, shrink=None, scope="label"):
    """Every metric but those of clusterings: {name: value}, and {(name, label, condition): value} of the parts."""
    value, part = {}, {}
    d = pairwise(points)
    index, distance, doubtful = nearest(d, max(k, 89))
    p = kbet_p(index[:, :k], condition, condition)
    s = local_silhouette(index[:, :k], distance[:, :k], condition)
    value["kbet"], value["s"] = (p < alpha).mean(), s.mean()
    for c in np.unique(condition):
        part["s", None, c] = s[condition == c].mean()
        part["kbet", None, c] = (p < alpha)[condition == c].mean()
    for l in np.unique(label):
        here = np.flatnonzero(label == l)
        n = len(here)
        kl = min(k, n // 4) if shrink else k
        if len(np.unique(condition[here])) < 2 or (n < shrink if shrink else n < 4 * k):
            continue
        if scope == "label":
            i_l, d_l, _ = nearest(d[np.ix_(here, here)], kl)
            c_l = condition[here]
            p_l, s_l = kbet_p(i_l, c_l, c_l), local_silhouette(i_l, d_l, c_l)
        else:
            rows = [[j for j in index[i][:kl] if label[j] == l] for i in here]
            p_l, s_l = np.empty(n), np.empty(n)
            levels = np.unique(condition[here])
            share = np.array([(condition[here] == c).mean() for c in levels])
            for m, (i, row) in enumerate(zip(here, rows)):
                row = np.array(row, int)
                observed = np.array([(condition[row] == c).sum() + (condition[i] == c) for c in levels])
                expected = len(row) * share + (levels == condition[i])
                p_l[m] = stats.chi2.sf(((observed - expected) ** 2 / expected).sum(), len(levels) - 1) if len(row) else 1
                own = condition[row] == condition[i]
                if not len(row) or own.all() or not own.any():
                    s_l[m] = 0 if not len(row) else 1 if own.any() else -1
                else:
                    a, b = d[i][row][own].mean(), d[i][row][~own].mean()
                    s_l[m] = (b - a) / max(a, b)
        part["m_kbet", l, None], part["s_label", l, None] = (p_l < alpha).mean(), s_l.mean()
        for c in np.unique(condition[here]):
            part["s_label", l, c] = s_l[condition[here] == c].mean()
    for name in ("m_kbet", "s_label"):
        found = [v for (m, l, c), v in part.items() if m == name and l and not c]
        value[name] = np.mean(found) if found else np.nan
    value["ilisi"] = (np.median(lisi(index, distance, condition)) - 1) / (len(np.unique(condition)) - 1)
    labels = np.unique(label)
    value["clisi"] = (len(labels) - np.median(lisi(index, distance, label))) / (len(labels) - 1)
    votes = np.stack([(label[index[:, :15]] == l).sum(1) for l in labels], 1)
    right = votes[np.arange(len(label)), np.searchsorted(labels, label)] == votes.max(1)
    value["label_knn"] = right.mean()
    for l in labels:
        part["label_knn", l, None] = right[label == l].mean()
    silhouettes = silhouette_samples(d, label, metric="precomputed")
    value["asw_label"] = (silhouettes.mean() + 1) / 2
    widths, connected, accepted = [], [], []
    edges = sp.csr_matrix((np.ones(14 * len(points)), index[:, :14].ravel(), np.arange(0, 14 * len(points) + 1, 14)))
    for l in labels:
        here = np.flatnonzero(label == l)
        c = condition[here]
        inner = d[np.ix_(here, here)]
        comps = connected_components(edges[here][:, here], connection="strong")[1]
        connected.append(np.bincount(comps).max() / len(here))
        if len(np.unique(c)) < 2:
            continue
        if len(np.unique(c)) < len(here):
            widths.append((1 - np.abs(silhouette_samples(inner, c, metric="precomputed"))).mean())
        if len(here) >= 10:
            k0 = min(max(10, int(pd.Series(c).value_counts().mean() // 4)), 70, len(here) - 1)
            accepted.append((kbet_p(nearest(inner, k0)[0], c, c) >= 0.05).mean())
    value["asw_batch"], value["graph_connectivity"], value["kbet_label"] = np.mean(widths), np.mean(connected), np.mean(accepted)
    batches = pd.DataFrame({"l": label, "c": condition}).drop_duplicates().groupby("l")["c"].count()
    value["isolated"] = np.mean([(silhouettes[label == l].mean() + 1) / 2 for l in batches.index[batches == batches.min()]])
    before = pcr(x, condition)
    value["pcr"] = max(0, (before - pcr(points, condition)) / before)
    value["mmd"] = mmd(points, condition)
    return value, part, (p, s, lisi(index, distance, condition), doubtful)


EXCHANGES = 40


def failing(rows, own, condition, alpha):
    """The share of neighbourhoods that fail, over all samples of `own`; a row lists neighbours of each, which may be none."""
    levels = np.unique(condition[own])
    share = np.array([(condition[own] == c).mean() for c in levels])
    one = np.array([condition == c for c in levels]).T.astype(float)
    sizes = np.array([len(row) for row in rows], float)
    observed = np.array([one[row].sum(0) for row in rows]) + one[own]
    expected = sizes[:, None] * share + one[own]
    p = np.where(sizes > 0, stats.chi2.sf(((observed - expected) ** 2 / expected).sum(1), len(levels) - 1), 1)
    return (p < alpha).mean()


def perfect_mixing(points, condition, label, k, alpha, shrink, scope):
    """{name: mean}, {name: deviation} of kBET and m-kBET over random exchanges of the conditions, with the same neighbourhoods."""
    random = np.random.default_rng(0)
    d = pairwise(points)
    everyone = nearest(d, k)[0]
    groups = [(np.arange(len(points)), list(everyone))]
    for l in np.unique(label):
        here = np.flatnonzero(label == l)
        if len(np.unique(condition[here])) < 2 or (len(here) < shrink if shrink else len(here) < 4 * k):
            continue
        kl = min(k, len(here) // 4) if shrink else k
        inner = list(here[nearest(d[np.ix_(here, here)], kl)[0]])
        among = [np.array([j for j in everyone[i][:kl] if label[j] == l], int) for i in here]
        groups.append((here, inner if scope == "label" else among))
    values = []
    for _ in range(EXCHANGES):
        shares = []
        for here, rows in groups:
            exchanged = condition.copy()
            exchanged[here] = random.permutation(condition[here])
            shares.append(failing(rows, here, exchanged, alpha))
        values.append([shares[0], np.mean(shares[1:]) if shares[1:] else np.nan])
    values = np.array(values)
    return dict(zip(("kbet", "m_kbet"), values.mean(0))), dict(zip(("kbet", "m_kbet"), values.std(0, ddof=1)))


# ------------------------------------------------------------------------------------------------------- comparisons


def run(*arguments):
    result = subprocess.run([COMP, "score", "-q", *arguments, "--json", "-"], capture_output=True, text=True)
    if result.returncode:
        return None, result.stderr
    return json.loads(result.stdout), ""


def check(what, x, points, condition, label, k, alpha, shrink=None, scope="label", deep=True):
    where = pc.folder()
    path = os.path.join(where, "data.h5ad")
    obs = pd.DataFrame({"condition": condition, "label": label}, index=[f"c{i}" for i in range(len(points))])
    a = anndata.AnnData(sp.csr_matrix(x, dtype=np.float32), obs=obs)
    a.obsm["X_points"] = points
    a.write_h5ad(path)
    arguments = ["-i", path, "-u", "X_points", "-c", "condition", "-l", "label", "-m", "all", "-k", str(k), "--alpha", str(alpha)]
    arguments += ["--small-labels", "shrink", "--min-label", str(shrink)] if shrink else []
    arguments += ["--neighbors", scope]
    got, message = run(*arguments)
    ok(got is not None, f"{what}: runs {message}")
    if got is None:
        return
    scores = got["embeddings"][0]["scores"]
    value, part, (p, s, simpson, doubtful) = restate(x, points, condition, label, k, alpha, shrink, scope)
    slack = doubtful.mean()  # neighbours that single precision may exchange
    for name, expected in value.items():
        found = scores[name]["value"]
        found = np.nan if found is None else found
        tolerance = 1e-6 if name in ("kbet", "m_kbet", "s", "s_label", "kbet_label") else 1e-5
        tolerance += 0 if name in ("asw_label", "asw_batch", "isolated", "pcr", "mmd") else slack
        same = (np.isnan(found) and np.isnan(expected)) or abs(found - expected) <= tolerance
        ok(same, f"{what}: {name} {found:.8f}, restated {expected:.8f}")
    seen = {(m, q["label"], q["condition"]): q["value"] for m in scores for q in scores[m]["parts"] if q["left_out"] is None}
    wrong = [key for key, v in part.items() if key not in seen or abs(seen[key] - v) > 1e-6 + slack * 10]
    left_out = {q["label"] for q in scores["m_kbet"]["parts"] if q["left_out"]}
    ok(not wrong, f"{what}: {len(part)} parts {wrong[:3]}")
    ok(left_out == set(label) - {l for (m, l, c) in part if m == "m_kbet" and l}, f"{what}: left out {sorted(left_out)}")
    expected, deviation = perfect_mixing(points, condition, label, k, alpha, shrink, scope)
    for name in ("kbet", "m_kbet"):
        if np.isnan(expected[name]):
            ok("chance" not in scores[name], f"{what}: {name} has no value, and perfect mixing has none")
            continue
        found = scores[name]["chance"]
        ok(abs(found - expected[name]) <= 4 * deviation[name] * np.sqrt(1 / 20 + 1 / EXCHANGES) + 1e-9,
           f"{what}: perfect mixing has {name} {found:.4f}, restated {expected[name]:.4f} (one exchange varies by {deviation[name]:.4f})")
    ok(all("chance" not in scores[name] for name in scores if name not in ("kbet", "m_kbet")), f"{what}: no other metric has a chance")
    mean = lambda names: np.mean([scores[n]["value"] for n in names])
    batch = mean(["ilisi", "kbet_label", "asw_batch", "graph_connectivity", "pcr"])
    bio = mean(["clisi", "asw_label", "isolated", "nmi_kmeans", "ari_kmeans"])
    ok(abs(scores["total"]["value"] - 0.4 * batch - 0.6 * bio) < 1e-12, f"{what}: total")
    if not deep:
        return
    out = subprocess.run([DUMP, "samples", path, "X_points", "condition", str(k)], capture_output=True, text=True, check=True).stdout
    rows = np.array([line.split() for line in out.splitlines()], float)
    sure = ~doubtful
    ok(slack < 0.01, f"{what}: {doubtful.sum()} of {len(p)} neighbourhoods depend on rounding")
    relative = np.abs(rows[sure, 0] - p[sure]) / np.maximum(p[sure], 1e-300)
    ok(relative.max() <= 1e-8, f"{what}: p-values within {relative.max():.1e}, lowest {p.min():.1e}")
    ok(np.abs(rows[sure, 1] - s[sure]).max() <= 1e-6, f"{what}: silhouettes within {np.abs(rows[sure, 1] - s[sure]).max():.1e}")
    ok(np.abs(rows[:, 2] - simpson).max() <= 1e-3 and np.median(np.abs(rows[:, 2] - simpson)) <= 1e-6,
       f"{what}: LISI within {np.abs(rows[:, 2] - simpson).max():.1e}")
    out = subprocess.run([DUMP, "kmeans", path, "X_points", str(len(set(label)))], capture_output=True, text=True, check=True).stdout.split()
    inertia, clusters = float(out[0]), np.array(out[1:], int)
    reference = KMeans(len(set(label)), n_init=10, random_state=0).fit(points.astype(np.float64))
    ok(inertia <= reference.inertia_ * 1.02, f"{what}: k-means inertia {inertia:.6g}, scikit-learn {reference.inertia_:.6g}")
    centres = np.array([points[clusters == c].astype(float).mean(0) for c in np.unique(clusters)])
    ok(abs(((points - centres[np.searchsorted(np.unique(clusters), clusters)]) ** 2).sum() / inertia - 1) < 1e-6,
       f"{what}: inertia is that of the clusters")
    ok(abs(scores["nmi_kmeans"]["value"] - normalized_mutual_info_score(label, clusters)) < 1e-9, f"{what}: NMI of the same clusters")
    ok(abs(scores["ari_kmeans"]["value"] - adjusted_rand_score(label, clusters)) < 1e-9, f"{what}: ARI of the same clusters")
    texts = set()
    for threads in ("1", "2", "7"):
        texts.add(subprocess.run([COMP, "score", "-q", *arguments, "--json", "-", "--threads", threads], capture_output=True).stdout)
    ok(len(texts) == 1, f"{what}: the same bytes at 1, 2 and 7 threads")
    if "nmi_leiden" in scores:
        connectivity(what, path, points)
        ok(0 <= scores["nmi_leiden"]["value"] <= 1 and scores["nmi_leiden"]["value"] > scores["nmi_kmeans"]["value"] - 0.35,
           f"{what}: NMI of Leiden {scores['nmi_leiden']['value']:.4f}, of k-means {scores['nmi_kmeans']['value']:.4f}")


def connectivity(what, path, points):
    """The graph that Leiden clusters against umap-learn's."""
    try:
        import umap.umap_ as umap
    except ImportError:
        pc.skip(f"{what}: graph", "no umap-learn")
        return
    index, distance, _ = nearest(pairwise(points), 14)
    n = len(points)
    graph = umap.fuzzy_simplicial_set(sp.coo_matrix((n, n)), 15, np.random.RandomState(0), "euclidean",
                                      knn_indices=np.hstack([np.arange(n)[:, None], index]).astype(np.int32),
                                      knn_dists=np.hstack([np.zeros((n, 1)), distance]).astype(np.float32))[0].tocsr()
    out = subprocess.run([DUMP, "connectivity", path, "X_points", "14"], capture_output=True, text=True, check=True).stdout
    rows = np.array([line.split() for line in out.splitlines()], float)
    mine = sp.csr_matrix((rows[:, 2], (rows[:, 0].astype(int), rows[:, 1].astype(int))), shape=(n, n))
    difference = abs(mine + mine.T - graph)
    ok(difference.max() < 1e-4, f"{what}: connectivities within {difference.max():.1e} of umap-learn's")


def tail():
    lines, expected = [], []
    for dof in (1, 2, 3, 4, 5, 7, 10, 29, 100, 999):
        for p in 10.0 ** -np.concatenate([np.linspace(0.0001, 2, 60), np.linspace(2, 300, 120)]):
            x = stats.chi2.isf(p, dof)
            if np.isfinite(x) and x > 0:
                lines.append(f"{x!r} {dof}")
                expected.append(stats.chi2.sf(x, dof))
    out = subprocess.run([DUMP, "tail"], input="\n".join(lines), capture_output=True, text=True, check=True).stdout
    got, expected = np.array(out.split(), float), np.array(expected)
    error = np.abs(got - expected) / expected
    ok(len(got) == len(expected) and error.max() <= 1e-8,
       f"chi-square tail: {len(got)} values from {expected.min():.0e} to {expected.max():.6f} within {error.max():.1e} of scipy")


def logged(path, keep=None):
    a = anndata.read_h5ad(path)
    if keep:
        a = a[a.obs[keep].astype(bool).values].copy()
    x = sp.csr_matrix(a.X, dtype=np.float64)
    totals = np.asarray(x.sum(1)).ravel()
    x = sp.diags(np.median(totals) / totals) @ x
    x.data = np.log1p(x.data)
    x = np.asarray(x.todense())
    x = x[:, np.argsort(-x.var(0), kind="stable")[:300]].astype(np.float32)
    return x, a.obs


def integrated(x, condition):
    """Components after most of what the conditions differ by is taken off: mixed, but not all of it."""
    x = x.astype(np.float64)
    for c in np.unique(condition):
        x[condition == c] -= 0.9 * (x[condition == c].mean(0) - x.mean(0))
    return PCA(20, random_state=0).fit_transform(x).astype(np.float32)


tail()
rng = np.random.default_rng(3)
n = 700
condition, label = rng.choice(["u", "v", "w"], n, p=[0.5, 0.3, 0.2]), rng.choice(["a", "b", "c", "d"], n, p=[0.5, 0.3, 0.17, 0.03])
condition[label == "d"] = "u"
centre = {"a": 0, "b": 3, "c": -3, "d": 6}
x = np.abs(rng.normal(size=(n, 12)) + np.array([centre[l] for l in label])[:, None] * rng.normal(size=12) / 3 + (condition == "u")[:, None] * 0.7)
points = (x @ rng.normal(size=(12, 5)) / 2).astype(np.float32)
check("random", x.astype(np.float32), points, condition, label, 25, 0.05)
check("random, shrunk", x.astype(np.float32), points, condition, label, 60, 0.1, shrink=100, deep=False)
check("random, global", x.astype(np.float32), points, condition, label, 30, 0.1, scope="global", deep=False)

path = pc.data_file("kang", "kang_ifnb.h5ad")
if path is None:
    pc.skip("Kang", "kang_ifnb.h5ad is not here (COMP_DATA)")
else:
    x, obs = logged(path, "in_paper_set")
    x, obs = x[::2], obs.iloc[::2]  # half of the cells: the restatement is N x N in Python
    points = integrated(x, obs["stim"].astype(str).values)
    check("Kang", x, points, obs["stim"].astype(str).values, obs["cell_type"].astype(str).values, 100, 0.1, shrink=75)
path = pc.data_file("pbmc_protocols", "symphony_1500x1764.h5ad")
if path is None:
    pc.skip("PBMC", "symphony_1500x1764.h5ad is not here (COMP_DATA)")
else:
    x, obs = logged(path)
    points = integrated(x, obs["batch"].astype(str).values)
    check("PBMC", x, points, obs["batch"].astype(str).values, obs["cell_type"].astype(str).values, 50, 0.05)
pc.done()
