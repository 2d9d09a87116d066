#!/usr/bin/python3
"""`comp baseline seurat-cca` against Seurat: the same anchors, nearly the same corrected matrix and neighbours, the same
mixing. Seurat finds neighbours approximately, comp exactly. Skips without R and Seurat."""
import json

import baseline_common as bc
import prep_common as pc
import seurat_common as sc
from baseline_common import COMP, ad, np, ok, os, subprocess

DUMP = os.path.join(pc.BUILD, "tests", "baseline_dump")


def dump(path, *arguments):
    where = pc.folder()
    result = subprocess.run([DUMP, path, "seurat-cca", "batch", where + "/embedding.bin", f"layer={where}/layer.bin",
                             f"anchors={where}/anchors.bin", *arguments], capture_output=True, text=True)
    return (where, "") if result.returncode == 0 else (None, result.stderr)


def anchors_of(where):
    table = np.fromfile(where + "/anchors.bin").reshape(-1, 3)
    return {(int(a), int(b)): score for a, b, score in table}


def kbet(a, embeddings):
    """By comp score, for each embedding."""
    for name, z in embeddings.items():
        a.obsm[name] = z.astype(np.float32)
    path = os.path.join(pc.folder(), "scored.h5ad")
    a.write_h5ad(path)
    result = subprocess.run([COMP, "score", "-q", "-i", path, "-c", "batch", "-m", "kbet", "-u", ",".join(embeddings),
                             "--json", "-"], capture_output=True, text=True)
    if result.returncode != 0:
        return {}
    return {e["name"]: e["scores"]["kbet"]["value"] for e in json.loads(result.stdout)["embeddings"]}


def check(name, path):
    theirs, message = sc.seurat(path, "batch")
    ok(message == "", f"{name}: Seurat runs {message}")
    mine, said = dump(path)
    ok(said == "", f"{name}: runs {said}")
    if message or said:
        return
    a = ad.read_h5ad(path)
    n, d = a.shape
    x = np.fromfile(theirs + "/x.bin").reshape(n, d)
    own, other = anchors_of(mine), anchors_of(theirs)
    other = {pair: score for pair, score in list(other.items())[:len(other) // 2]}  # the rest is each the other way round
    both = own.keys() & other.keys()
    equal = len(both) / len(own.keys() | other.keys())
    ok(equal > 0.98, f"{name}: {equal:.4f} of the anchors of either are equal ({len(own)}, Seurat {len(other)})")
    error = np.mean([abs(own[p] - other[p]) for p in both])
    ok(error < 0.01, f"{name}: their scores differ by {error:.4f} on average")
    z, peer = np.fromfile(mine + "/embedding.bin", np.float32).reshape(n, 30), np.fromfile(theirs + "/embedding.bin").reshape(n, 30)
    layer, expected = np.fromfile(mine + "/layer.bin", np.float32).reshape(n, d), np.fromfile(theirs + "/layer.bin").reshape(n, d)
    off = np.sqrt(((layer - expected) ** 2).mean() / ((expected - x) ** 2).mean())
    ok(off < 0.1, f"{name}: the corrected matrix is off by {off:.3f} of the correction (rms)")
    moved = [np.abs(y - x).max(1) > 1e-5 for y in (layer, expected)]
    ok((moved[0] == moved[1]).all(), f"{name}: the same samples move ({moved[0].sum()} of {n})")
    near = [np.sort(bc.neighbours(y, 30), 1) for y in (z, peer)]
    share = np.mean([len(np.intersect1d(p, q)) / 30 for p, q in zip(*near)])
    ok(share > 0.9, f"{name}: {share:.3f} of the 30 neighbours of a sample are the same")
    message = bc.comp("baseline", "pca", "-q", "-i", path, "-o", mine + "/pca.h5ad", "-c", "batch", "--components", "30")
    before = ad.read_h5ad(mine + "/pca.h5ad").obsm["X_pca"] if message == "" else z
    score = kbet(a, {"ours": z, "theirs": peer, "before": before})
    ok(score and abs(score["ours"] - score["theirs"]) < 0.03,
       f"{name}: kBET {score.get('ours', 9):.3f}, Seurat {score.get('theirs', 9):.3f}, uncorrected {score.get('before', 9):.3f}")
    for threads in (1, 7):
        again, _ = dump(path, f"threads={threads}")
        ok(all(open(f"{again}/{f}.bin", "rb").read() == open(f"{mine}/{f}.bin", "rb").read()
               for f in ("embedding", "layer", "anchors")), f"{name}: the same bytes with {threads} threads")


if not sc.there():
    pc.skip_all("R with Seurat is not installed")
for name, path in (("pbmc, two sets", sc.pbmc()), ("pbmc, three sets", bc.pbmc())):
    if path:
        check(name, path)
    else:
        pc.skip(name, "the data is not there (COMP_DATA)")
pc.done()
