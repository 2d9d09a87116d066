"""What tests and measurements of neighbours and UMAP share: points as files for knn_dump and umap_dump, and trustworthiness on a sample."""
import os
import subprocess

import numpy as np


def write_points(path, x):
    x = np.ascontiguousarray(x, np.float32)
    with open(path, "wb") as file:
        file.write(b"%d %d\n" % x.shape)
        file.write(x.tobytes())
    return path


def read_points(path):
    with open(path, "rb") as file:
        shape = tuple(map(int, file.readline().split()))
        return np.frombuffer(file.read(), np.float32).reshape(shape)


class Points:
    """Runs the programs of one build in one folder."""

    def __init__(self, build, folder):
        self.build, self.folder = build, folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def neighbors(self, x, k, metric="euclidean", search="exact", threads=0, queries=None):
        """Indices, distances, seconds, recall. self.cpu: the CPU seconds of all threads."""
        arguments = [os.path.join(self.build, "tests", "knn_dump"), write_points(self.path("points"), x), str(k), metric, search, str(threads),
                     self.path("out")]
        if queries is not None:
            arguments.append(write_points(self.path("queries"), queries))
        ran = subprocess.run(arguments, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        seconds, recall, self.cpu = map(float, ran.stdout.split())
        n = len(x) if queries is None else len(queries)
        raw = np.fromfile(self.path("out"), np.int32)
        return raw[:n * k].reshape(n, k), raw[n * k:].view(np.float32).reshape(n, k), seconds, recall

    def umap(self, x, neighbors=15, metric="euclidean", a=0, b=0, epochs=0, init="spectral", seed=0, threads=0):
        """Layout, seconds. a = 0: the default curve."""
        out = subprocess.run([os.path.join(self.build, "tests", "umap_dump"), "run", write_points(self.path("points"), x), str(neighbors), metric,
                              str(a), str(b), str(epochs), init, str(seed), str(threads), self.path("out")], check=True, stdout=subprocess.PIPE)
        return read_points(self.path("out")), float(out.stdout)

    def umap_print(self, *arguments):
        """The lines that umap_dump prints, as an array."""
        out = subprocess.run([os.path.join(self.build, "tests", "umap_dump"), *map(str, arguments)], check=True, stdout=subprocess.PIPE).stdout
        return np.array([list(map(float, line.split())) for line in out.decode().splitlines()])


def trustworthiness(x, y, k=15, sample=2000):
    """Of a layout y of x, as scikit-learn has it, on a sample of the rows."""
    n = len(x)
    rows = np.random.default_rng(0).permutation(n)[:sample]
    x, y = x.astype(np.float64), y.astype(np.float64)
    lengths, penalty = (x * x).sum(1), 0
    for first in range(0, len(rows), 100):
        q = rows[first:first + 100]
        far = lengths[None] + lengths[q][:, None] - 2 * x[q] @ x.T
        far[np.arange(len(q)), q] = -np.inf
        near = ((y[q][:, None] - y[None]) ** 2).sum(2)
        near[np.arange(len(q)), q] = np.inf
        chosen = np.argpartition(near, k, axis=1)[:, :k]
        for i in range(len(q)):
            rank = np.searchsorted(np.sort(far[i]), far[i][chosen[i]])
            penalty += np.maximum(0, rank - k).sum()
    return 1 - 2.0 * penalty / (len(rows) * k * (2 * n - 3 * k - 1))
