#!/usr/bin/python3
"""Tests of normality against scipy, statsmodels and R; Mardia, Henze-Zirkler and energy against their formulas."""
import os
import shutil
import subprocess

from tap import BUILD, finish, ok, skip_all

DUMP = os.path.join(BUILD, "tests", "diagnose_dump")
try:
    import numpy as np
    from scipy import stats
    from scipy.spatial.distance import cdist
    from statsmodels.stats.diagnostic import lilliefors, normal_ad
except ImportError as error:
    skip_all(f"python module missing: {error.name}")
if not os.path.exists(DUMP):
    skip_all(f"{DUMP} is not built")


def near(a, b, tolerance=1e-6):
    return abs(a - b) <= tolerance * max(1, abs(b))


def dump(x):
    text = f"{x.shape[0]} {x.shape[1]}\n" + "\n".join(" ".join(repr(float(v)) for v in row) for row in x)
    out = subprocess.run([DUMP], input=text, capture_output=True, text=True, check=True).stdout
    found = {}
    for line in out.splitlines():
        name, *values = line.split()
        found.setdefault(name, []).append([float(v) for v in values])
    return found


def mardia(x):
    n, p = x.shape
    y = x - x.mean(0)
    g = y @ np.linalg.inv(y.T @ y / n) @ y.T
    b1, b2 = (g**3).sum() / n**2, (np.diag(g) ** 2).mean()
    k = (p + 1) * (n + 1) * (n + 3) / (n * ((n + 1) * (p + 1) - 6))
    skewness = n * k * b1 / 6
    mean = p * (p + 2) * (n - 1) / (n + 1)
    variance = 8 * p * (p + 2) * (n - 3) * (n - p - 1) * (n - p + 1) / ((n + 1) ** 2 * (n + 3) * (n + 5))
    z = (b2 - mean) / np.sqrt(variance)
    return [b1, skewness, stats.chi2.sf(skewness, p * (p + 1) * (p + 2) / 6)], [b2, z, 2 * stats.norm.sf(abs(z))]


def henze_zirkler(x):
    n, p = x.shape
    y = x - x.mean(0)
    inverse = np.linalg.inv(y.T @ y / n)
    own = np.einsum("ij,jk,ik->i", y, inverse, y)
    pairs = own[:, None] + own[None, :] - 2 * y @ inverse @ y.T
    b = 1 / np.sqrt(2) * ((2 * p + 1) / 4) ** (1 / (p + 4)) * n ** (1 / (p + 4))
    hz = n * (np.exp(-(b**2) / 2 * pairs).sum() / n**2
              - 2 * (1 + b**2) ** (-p / 2) * np.exp(-(b**2) / (2 * (1 + b**2)) * own).sum() / n
              + (1 + 2 * b**2) ** (-p / 2))
    wb, a = (1 + b**2) * (1 + 3 * b**2), 1 + 2 * b**2
    mu = 1 - a ** (-p / 2) * (1 + p * b**2 / a + p * (p + 2) * b**4 / (2 * a**2))
    si2 = (2 * (1 + 4 * b**2) ** (-p / 2)
           + 2 * a ** (-p) * (1 + 2 * p * b**4 / a**2 + 3 * p * (p + 2) * b**8 / (4 * a**4))
           - 4 * wb ** (-p / 2) * (1 + 3 * p * b**4 / (2 * wb) + p * (p + 2) * b**8 / (2 * wb**2)))
    pmu = np.log(np.sqrt(mu**4 / (si2 + mu**2)))
    psi = np.sqrt(np.log((si2 + mu**2) / mu**2))
    return [hz, stats.lognorm.sf(hz, psi, scale=np.exp(pmu))]


def energy(x):
    a, b = x[: len(x) // 2], x[len(x) // 2:]
    return 2 * cdist(a, b).mean() - cdist(a, a).mean() - cdist(b, b).mean()


def shapiro_r(columns):
    """W and p of R's shapiro.test, which computes in double precision; None without R."""
    if not shutil.which("Rscript"):
        return None
    code = 'x <- as.matrix(read.table(file("stdin"))); for (j in seq_len(ncol(x))) {t <- shapiro.test(x[, j]);' \
           'cat(sprintf("%.17g %.17g\\n", t$statistic, t$p.value))}'
    text = "\n".join(" ".join(repr(float(v)) for v in row) for row in columns)
    done = subprocess.run(["Rscript", "-e", code], input=text, capture_output=True, text=True)
    return [[float(v) for v in line.split()] for line in done.stdout.splitlines()] if done.returncode == 0 else None


rng = np.random.default_rng(7)
draws = {
    "normal": lambda size: rng.normal(3, 2, size),
    "uniform": lambda size: rng.random(size),
    "skewed": lambda size: rng.exponential(size=size),
    "mixture": lambda size: rng.normal(size=size) + 3 * rng.integers(0, 2, size),
    "far out": lambda size: rng.standard_t(2, size),
}
for name, draw in draws.items():
    for n, dims in ((10, 2), (11, 3), (25, 3), (300, 4), (2000, 3)):
        x = draw((n, dims)) @ (np.eye(dims) + 0.3 * rng.normal(size=(dims, dims)))
        what = f"{name}, {n} x {dims}"
        got = dump(x)
        expected = [normal_ad(column) for column in x.T]
        ok(all(near(g[0], e[0]) and near(g[1], e[1]) for g, e in zip(got["ad"], expected)), f"{what}: Anderson-Darling")
        ok(all(near(g[0], stats.anderson(c).statistic) for g, c in zip(got["ad"], x.T)), f"{what}: the same by scipy")
        expected = [lilliefors(column, pvalmethod="approx") for column in x.T]
        ok(all(near(g[0], e[0]) and (e[1] > 0.1 or near(g[1], e[1])) for g, e in zip(got["lilliefors"], expected)),
           f"{what}: Lilliefors")
        # The p beyond 0.1 are two approximations of one thing.
        ok(all(e[1] <= 0.1 or abs(g[1] - e[1]) < 0.1 or g[1] > 0.99 for g, e in zip(got["lilliefors"], expected)),
           f"{what}: Lilliefors, large p")
        expected = [stats.shapiro(column) for column in x.T]
        # scipy up to 1.10 computes in single precision, which shows most in the p of many values; R does not.
        ok(all(near(g[0], e[0], 5e-6) and near(g[1], e[1], 5e-3) for g, e in zip(got["shapiro"], expected)),
           f"{what}: Shapiro-Wilk by scipy")
        expected = shapiro_r(x)
        if expected is not None:
            ok(all(near(g[0], e[0], 1e-10) and near(g[1], e[1], 1e-8) for g, e in zip(got["shapiro"], expected)),
               f"{what}: Shapiro-Wilk by R")
        skewness, kurtosis = mardia(x)
        ok(all(near(g, e) for g, e in zip(got["skewness"][0], skewness)), f"{what}: Mardia skewness")
        ok(all(near(g, e) for g, e in zip(got["kurtosis"][0], kurtosis)), f"{what}: Mardia kurtosis")
        ok(all(near(g, e) for g, e in zip(got["hz"][0], henze_zirkler(x))), f"{what}: Henze-Zirkler")
        ok(near(got["energy"][0][0], energy(x)), f"{what}: energy")
finish()
