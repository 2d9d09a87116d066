"""measures.py: how good an embedding is, for every method of the suite the same. It knows nothing of comp: numpy, scipy and
scikit-learn only, so that a mistake in the program's own metrics cannot hide itself.

A type is unshared when at least one condition has fewer than MISSING cells of it; all other types are shared."""
import numpy as np
from scipy.stats import chi2
from sklearn.neighbors import NearestNeighbors

PURITY_K = 15       # neighbours of purity and of label transfer
MIXING_K = 100      # neighbours of kBET and s, at most a tenth of the cells
MIN_LABEL = 40      # m-kBET leaves smaller types out; k is at most a quarter of the type's cells
ALPHA = 0.05
MISSING = 3

# name, heading, which way is better, what it is. The verdicts of table.py use the second half.
MEASURES = [
    ("purity_unshared", "purity unshared", +1, "share of the 15 nearest neighbours that have the cell's type; mean over cells of unshared types"),
    ("purity_shared", "purity shared", +1, "the same over cells of shared types"),
    ("m_kbet", "m-kBET", -1, "kBET within each shared type (alpha 0.05, k = 100 or a quarter of the type), mean over types; 0 is best"),
    ("kbet", "kBET", -1, "kBET over all cells of shared types; differs from 0 when compositions differ"),
    ("s", "s", 0, "local silhouette of the condition over cells of shared types; 0 is best"),
    ("transfer", "transfer", +1, "accuracy of 15 nearest neighbours, trained on one condition, on the others; mean over conditions; shared types"),
    ("transfer_balanced", "transfer bal.", +1, "the same with every type weighted equally (mean recall)"),
]


def split_types(label, condition):
    """The names of shared and of unshared types."""
    shared, unshared = [], []
    for name in np.unique(label):
        counts = [np.sum((label == name) & (condition == c)) for c in np.unique(condition)]
        (unshared if min(counts) < MISSING else shared).append(str(name))
    return shared, unshared


def neighbors(points, k):
    """Distances and indices of the k nearest others."""
    search = NearestNeighbors(n_neighbors=min(k, len(points) - 1), algorithm="brute").fit(points)
    return search.kneighbors()


def purity(index, label):
    """One value a cell: the share of its neighbours with its label."""
    return (label[index] == label[:, None]).mean(1)


def kbet(index, condition, alpha=ALPHA):
    """The share of cells whose neighbours, with the cell itself, fail the chi-square test (METHOD.md, section 7)."""
    levels, code = np.unique(condition, return_inverse=True)
    if len(levels) < 2:
        return np.nan
    own = np.eye(len(levels))[code]
    observed = own + np.stack([(code[index] == c).sum(1) for c in range(len(levels))], 1)
    expected = own + index.shape[1] * np.bincount(code) / len(code)
    p = chi2.sf(((observed - expected) ** 2 / expected).sum(1), len(levels) - 1)
    return float((p < alpha).mean())


def silhouette(distance, index, condition):
    """Mean of (b - a) / max(a, b): a, b the mean distances to neighbours of the own and of other conditions."""
    own = condition[index] == condition[:, None]
    n_own, n_other = own.sum(1), (~own).sum(1)
    a = np.where(own, distance, 0).sum(1) / np.maximum(n_own, 1)
    b = np.where(own, 0, distance).sum(1) / np.maximum(n_other, 1)
    top = np.maximum(a, b)
    value = np.divide(b - a, top, out=np.zeros_like(top), where=top > 0)
    return float(np.where(n_other == 0, 1, np.where(n_own == 0, -1, value)).mean())


def mixing_within(points, label, condition, names):
    """m-kBET: mean over the types that are large enough, and how many these are."""
    values = []
    for name in names:
        rows = label == name
        if rows.sum() >= MIN_LABEL:
            _, index = neighbors(points[rows], min(MIXING_K, rows.sum() // 4))
            values.append(kbet(index, condition[rows]))
    return float(np.mean(values)) if values else np.nan


def transfer(points, label, condition):
    """Accuracy and balanced accuracy, mean over the conditions that are trained on. Ties go to the nearer neighbours."""
    levels, code = np.unique(label, return_inverse=True)
    plain, balanced = [], []
    for c in np.unique(condition):
        train, test = condition == c, condition != c
        k = min(PURITY_K, train.sum())
        _, index = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(points[train]).kneighbors(points[test])
        # A small weight for rank breaks ties without ever outweighing a vote.
        weight = 1 + 1e-3 * (k - np.arange(k)) / k
        votes = np.stack([((code[train][index] == t) * weight).sum(1) for t in range(len(levels))], 1)
        right = votes.argmax(1) == code[test]
        plain.append(right.mean())
        balanced.append(np.mean([right[code[test] == t].mean() for t in np.unique(code[test])]))
    return float(np.mean(plain)), float(np.mean(balanced))


def measure(points, label, condition):
    """All measures of one embedding, as a dictionary; a measure that the design does not have is NaN."""
    points = np.asarray(points, np.float64)
    label, condition = np.asarray(label).astype(str), np.asarray(condition).astype(str)
    if len(points) != len(label) or not np.isfinite(points).all():
        raise ValueError(f"the embedding has {len(points)} rows for {len(label)} cells, or values that are not finite")
    shared, unshared = split_types(label, condition)
    of_shared = np.isin(label, shared)
    pure = purity(neighbors(points, PURITY_K)[1], label)
    inner, inner_label, inner_condition = points[of_shared], label[of_shared], condition[of_shared]
    distance, index = neighbors(inner, min(MIXING_K, max(5, len(inner) // 10)))
    plain, balanced = transfer(inner, inner_label, inner_condition)
    return {
        "purity_unshared": float(pure[~of_shared].mean()) if unshared else np.nan,
        "purity_shared": float(pure[of_shared].mean()),
        "m_kbet": mixing_within(inner, inner_label, inner_condition, shared),
        "kbet": kbet(index, inner_condition),
        "s": silhouette(distance, index, inner_condition),
        "transfer": plain,
        "transfer_balanced": balanced,
    }
