"""bench/embed.py: embeddings of sparse samples against PyTorch.

COMP_CELLS x 2,000 samples, 5 % filled; medians of 3 rounds. Both go from CSR in memory to latent means in memory. PyTorch runs with its best settings and all threads, in every way that its
version offers (batches made dense; sparse products, COO and CSR), at several batch sizes; the fastest of them is what the bar refers to. Another row has
its embedding_bag with weights, which is no matrix product, but does the same faster.
"""
import json
import statistics

import bench_common as bench

BAR = 5.0

PEER = r"""
import json, resource, sys, time
import numpy as np, scipy.sparse as sp, torch, torch.nn.functional as F
rows, threads, ways = json.loads(sys.argv[1])
torch.set_num_threads(threads)
torch.manual_seed(0)
rng = np.random.default_rng(0)
features, width, latent, filled = 2000, 512, 40, 100
step = features // filled
indices = (np.arange(filled) * step + rng.integers(0, step, (rows, filled))).astype(np.int32).ravel()
x = sp.csr_matrix((rng.random(rows * filled, np.float32) + 0.5, indices, np.arange(rows + 1) * filled), shape=(rows, features))
c = torch.arange(rows) % 2
def weight(n, m): return (torch.rand(n, m) * 2 - 1) * n ** -0.5
w = [weight(features + 2, width), weight(width, width), weight(width, width)]
wm, bm = weight(width, latent), torch.zeros(latent)
# In eval mode batch normalisation is one scale and one shift a column: folded into the weights, as one does for inference.
shift = [torch.zeros(width) for _ in w]
def rest(h):
    h = F.leaky_relu_(h, 0.01)
    for l in (1, 2):
        h = F.leaky_relu_(torch.addmm(shift[l], h, w[l]), 0.01)
    return torch.addmm(bm, h, wm)
def dense(batch):
    out = torch.empty(rows, latent)
    buffer = np.zeros((batch, features), np.float32)
    for i in range(0, rows, batch):
        part = x[i:i + batch]
        n = part.shape[0]
        part.toarray(out=buffer[:n])
        first = (w[0][features:] + shift[0])[c[i:i + n]]
        out[i:i + n] = rest(torch.addmm(first, torch.from_numpy(buffer[:n]), w[0][:features]))
    return out
def coo(batch):
    out = torch.empty(rows, latent)
    for i in range(0, rows, batch):
        part = x[i:i + batch]
        n = part.shape[0]
        row = np.repeat(np.arange(n), np.diff(part.indptr))
        s = torch.sparse_coo_tensor(torch.from_numpy(np.stack([row, part.indices])), torch.from_numpy(part.data), part.shape)
        s = s._coalesced_(True)
        first = (w[0][features:] + shift[0])[c[i:i + n]]
        out[i:i + n] = rest(torch.sparse.addmm(first, s, w[0][:features]))
    return out
def csr(batch):
    out = torch.empty(rows, latent)
    for i in range(0, rows, batch):
        part = x[i:i + batch]
        n = part.shape[0]
        s = torch.sparse_csr_tensor(torch.from_numpy(part.indptr), torch.from_numpy(part.indices), torch.from_numpy(part.data), part.shape)
        first = (w[0][features:] + shift[0])[c[i:i + n]]
        out[i:i + n] = rest(first + s @ w[0][:features])
    return out
def bag(batch):
    # A sparse product as a sum of weight rows: torch's fastest kernel for it.
    out = torch.empty(rows, latent)
    for i in range(0, rows, batch):
        part = x[i:i + batch]
        n = part.shape[0]
        first = (w[0][features:] + shift[0])[c[i:i + n]]
        h = F.embedding_bag(torch.from_numpy(part.indices), w[0][:features], torch.from_numpy(part.indptr[:-1]), mode="sum", per_sample_weights=torch.from_numpy(part.data))
        out[i:i + n] = rest(h.add_(first))
    return out
result = {}
with torch.inference_mode():
    for way, batch in ways:
        try:
            function = globals()[way]
            if rows <= 20000: function(batch)
            start = time.perf_counter()
            function(batch)
            result[f"{way} {batch}"] = time.perf_counter() - start
        except RuntimeError as error:
            result[f"{way} {batch}"] = None
            print(way, str(error)[:200], file=sys.stderr)
print(json.dumps(dict(seconds=result, peak_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)))
"""


def peer(rows, ways):
    return json.loads(bench.peer_python(PEER, json.dumps([rows, bench.THREADS, ways])))


def fastest(tried, ways):
    """Of some ways the fastest, as [way, batch]."""
    seconds, name = min((t, name) for name, t in tried.items() if t and name.split()[0] in ways)
    way, batch = name.split()
    return [way, int(batch)]


def embed():
    rows, few = bench.CELLS, min(bench.CELLS, 20000)
    # Which batch suits each way best, on fewer rows.
    tried = peer(few, [[way, batch] for way in ("dense", "coo", "csr", "bag") for batch in (1024, 4096, 16384)])["seconds"]
    bench.say(f"PyTorch, {few:,} rows: " + ", ".join(f"{name} {t:.3f} s" for name, t in tried.items() if t))
    ways = {"product": fastest(tried, ("dense", "coo", "csr")), "embedding_bag": fastest(tried, ("bag",))}
    mine, theirs = {"f32": [], "bf16": []}, []
    for _ in range(bench.repeats(3)):
        for precision, runs in mine.items():
            runs.append(bench.ours_json("bench/embed_rows", rows, precision, 1, bench.THREADS))
        theirs.append(peer(rows, list(ways.values())))
    for precision, runs in mine.items():
        case = f"embedding, {rows:,} x 2,000, {precision}"
        if None in runs:
            bench.absent(case, "this CPU has no bf16 kernel")
            continue
        for what, (way, batch) in ways.items():
            bench.report(case, [t for run in runs for t in run["seconds"]], f"PyTorch, {what}",
                         [run["seconds"][f"{way} {batch}"] for run in theirs], of=statistics.median, bar=BAR if what == "product" else None,
                         comp_mb=runs[0]["peak_mb"], peer_mb=theirs[0]["peak_mb"], note=f"{way}, batches of {batch}")


bench.main({"embed": embed})
