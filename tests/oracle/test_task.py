#!/usr/bin/python3
"""comp embed, counterfactual and correct as a user runs them: against encoder and decoder restated in PyTorch, and what becomes of the file."""
import json
import os
import struct
import subprocess
import sys

import prep_common as pc
from prep_common import np, ok, pd, sp

COMP = os.path.join(pc.BUILD, "comp")
if not os.path.exists(COMP):
    pc.skip_all(f"{COMP} is not built")
try:
    import anndata
    import torch
except ImportError as error:
    pc.skip_all(f"python module missing: {error.name}")
sys.path.insert(0, os.path.dirname(__file__))
import reference_torch as reference  # noqa: E402

FOLDER = pc.folder()


def path(name):
    return os.path.join(FOLDER, name)


def comp(*arguments, quiet=True):
    return subprocess.run([COMP, *arguments, *(["-q"] if quiet else [])], capture_output=True, text=True)


def must(*arguments):
    result = comp(*arguments)
    if result.returncode != 0:
        raise SystemExit(f"comp {' '.join(arguments)}: {result.stderr}")


def load(name):
    data = open(path(name), "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    header, arrays = json.loads(data[8:8 + size]), {}
    for key, entry in header.items():
        if key != "__metadata__":
            begin, end = entry["data_offsets"]
            raw = np.frombuffer(data[8 + size + begin:8 + size + end], np.float32)
            arrays[key] = torch.tensor(raw.reshape(entry["shape"]).astype(np.float64))
    meta = header["__metadata__"]
    return arrays, json.loads(meta["config"]), json.loads(meta["levels"]), json.loads(meta["features"]), meta


def read(name):
    return anndata.read_h5ad(path(name))


def dense(x):
    return (x.toarray() if sp.issparse(x) else np.asarray(x)).astype(np.float64)


def write(adata, name):
    adata.write_h5ad(path(name))


# ---- Data: counts and logged, two and three conditions; sparse, and the same dense ----
for k in (2, 3):
    must("simulate", "-o", path(f"cells{k}.h5ad"), "--cells", "700", "--genes", "130", "--conditions", str(k), "--seed", "3")
    must("prep", "-i", path(f"cells{k}.h5ad"), "-o", path(f"ready{k}.h5ad"), "--normalize-total", "median", "--log1p", "--hvg", "seurat:90", "--keep-counts")
    adata = read(f"ready{k}.h5ad")
    adata.X = adata.X.toarray()
    write(adata, f"dense{k}.h5ad")
SMALL = ["--hidden", "33,20", "--latent", "5", "--epochs", "4", "--precision", "f32", "--condition", "condition"]


def encoder_input(x, meta, nb):
    if not nb:
        return x, None
    library = np.maximum(x.sum(1), 1.0)
    return np.log1p(x * (float(meta["library_target"]) / library)[:, None]), library


def check_lacking(what, p, config, source, data, layer, c, k, meta, nb):
    """Of a centred model, features that the data lacks are read as the mean of the condition: they tell nothing of it."""
    kept = np.arange(source.n_vars) % 7 != 2
    fewer = source[:, kept].copy()
    for form in ("sparse", "dense"):
        if form == "dense":
            fewer.X = dense(fewer.X)
            fewer.layers["counts"] = dense(fewer.layers["counts"])
        write(fewer, "fewer.h5ad")
        must("embed", "-i", path("fewer.h5ad"), "-m", path("model.comp"), "-o", path("zf.h5ad"), *layer)
        x = dense(source.layers["counts"] if nb else source.X).copy()
        x[:, ~kept] = p["feature_means"].numpy().flatten()[~kept]
        inputs, _ = encoder_input(x, meta, nb)
        inputs[:, ~kept] = p["centre"].numpy()[c.numpy()][:, ~kept]
        mean, _ = reference.encode(p, config, torch.tensor(inputs), c, k)
        got = read("zf.h5ad").obsm["X_comp"]
        ok(pc.near(got, mean, 1e-5), f"{what}: features that are lacking, {form}, get the centre of the condition (off by {pc.worst(got, mean):.1e})")


def mutual(a, b):
    """Pairs of rows that are among each other's nearest, and their distances."""
    number = lambda rows: max(3, min(15, len(rows) // 8))
    d = np.sqrt(np.maximum(0, (a * a).sum(1)[:, None] + (b * b).sum(1) - 2 * a @ b.T))
    near_b = np.argsort(d, 1, kind="stable")[:, :number(b)]
    near_a = np.argsort(d, 0, kind="stable")[:number(a)]
    of_a, of_b = np.zeros(d.shape, bool), np.zeros(d.shape, bool)
    np.put_along_axis(of_a, near_b, True, 1)
    np.put_along_axis(of_b, near_a, True, 0)
    i, j = np.nonzero(of_a & of_b)
    return i, j, d[i, j]


def centres(x, codes, k):
    """What maths.md, section 2, says of the centres of conditions."""
    centre = np.stack([x[codes == c].mean(0) for c in range(k)])
    rows = x - centre[codes]
    axes = np.linalg.svd(rows - rows.mean(0), full_matrices=False)[2][:30]
    moved = 1
    for _ in range(20):
        if moved <= 0.005:
            break
        places, step, total = rows @ axes.T, np.zeros_like(centre), np.zeros(k)
        for a in range(k):
            for b in range(a + 1, k):
                first, second = np.flatnonzero(codes == a), np.flatnonzero(codes == b)
                i, j, d = mutual(places[first], places[second])
                w = np.exp(-0.5 * d * d / np.median(d * d))
                pull = w @ (rows[second[j]] - rows[first[i]])
                step[a] += pull
                step[b] -= pull
                total[[a, b]] += w.sum()
        step /= 2 * total[:, None]
        moved = (np.linalg.norm(step @ axes.T, axis=1) / np.sqrt((places ** 2).sum(1).mean())).max()
        rows, centre = rows + step[codes], centre - step
    return centre + rows.mean(0)


def check_model(what, k, options):
    nb = "nb" in options
    data = f"ready{k}.h5ad"
    layer = ["--layer", "counts"] if nb else []
    must("train", "-i", path(data), "-o", path("model.comp"), *SMALL, *options, *layer)
    must("embed", "-i", path(data), "-m", path("model.comp"), "-o", path("z.h5ad"), "--scales", *layer)
    p, config, levels, features, meta = load("model.comp")
    source, z = read(data), read("z.h5ad")
    x = dense(source.layers["counts"] if nb else source.X)
    inputs, library = encoder_input(x, meta, nb)
    c = torch.tensor([levels.index(v) for v in source.obs["condition"].astype(str)])
    if config["centred"]:
        expected = centres(np.asarray(inputs, np.float64), c.numpy(), k)
        off = np.linalg.norm(p["centre"].numpy() - expected) / np.linalg.norm(expected)
        ok(off < 1e-3, f"{what}: the centres of the conditions are numpy's (off by {off:.1e})")
        check_lacking(what, p, config, source, data, layer, c, k, meta, nb)
    mean, scale = reference.encode(p, config, torch.tensor(inputs), c, k)
    ok(pc.near(z.obsm["X_comp"], mean, 1e-5) and pc.near(z.obsm["X_comp_scale"], scale, 1e-5),
       f"{what}: posteriors as PyTorch's (off by {pc.worst(z.obsm['X_comp'], mean):.1e}, {pc.worst(z.obsm['X_comp_scale'], scale):.1e})")
    to = levels[1]
    lib = None if library is None else torch.tensor(library)
    swapped = reference.decode(p, config, mean, torch.full_like(c, 1), k, lib).numpy()
    own = reference.decode(p, config, mean, c, k, lib).numpy()
    must("counterfactual", "-i", path(data), "-m", path("model.comp"), "-o", path("cf.h5ad"), "--to", to, *layer)
    got = read("cf.h5ad").layers[f"counterfactual_{to}"]
    ok(pc.near(got, swapped, 1e-5), f"{what}: counterfactuals as PyTorch's (off by {pc.worst(got, swapped):.1e})")
    must("correct", "-i", path(data), "-m", path("model.comp"), "-o", path("cf.h5ad"), "--to", to, "--residual", *layer)
    got = read("cf.h5ad").layers["corrected"]
    ok(pc.near(got, x + swapped - own, 1e-5), f"{what}: corrected, with residuals (off by {pc.worst(got, x + swapped - own):.1e})")
    if not nb:
        must("embed", "-i", path(f"dense{k}.h5ad"), "-m", path("model.comp"), "-o", path("zd.h5ad"))
        ok(pc.near(read("zd.h5ad").obsm["X_comp"], z.obsm["X_comp"], 1e-5), f"{what}: dense and sparse the same")


check_model("vae", 2, ["--model", "vae"])
check_model("vae learned", 3, ["--model", "vae", "--learn-scale"])
check_model("cvae", 3, ["--model", "cvae"])
check_model("vfae learned", 2, ["--model", "vfae", "--learn-scale"])
check_model("trvae", 3, ["--model", "trvae"])
check_model("comp nb", 3, ["--model", "comp", "--likelihood", "nb"])
check_model("comp learned", 2, ["--model", "comp", "--learn-scale"])
check_model("comp decoder only", 2, ["--encoder-without-condition"])
check_model("comp centred", 3, ["--centre"])
check_model("comp centred decoder only nb", 2, ["--centre", "--encoder-without-condition", "--likelihood", "nb"])
check_model("comp", 2, ["--model", "comp"])  # the last one: what follows uses it
P, CONFIG, LEVELS, FEATURES, META = load("model.comp")
Z = read("z.h5ad").obsm["X_comp"]
READY = read("ready2.h5ad")
CODES = torch.tensor([LEVELS.index(v) for v in READY.obs["condition"].astype(str)])
TO, FROM = LEVELS[1], LEVELS[0]

# ---- Threads ----
for command, extra in (("embed", ["--sample", "--seed", "3"]), ("counterfactual", ["--to", TO, "--samples", "7", "--residual"])):
    files = []
    for threads in ("1", "2", "7"):
        must(command, "-i", path("ready2.h5ad"), "-m", path("model.comp"), "-o", path("t.h5ad"), *extra, "--threads", threads)
        t = read("t.h5ad")
        files.append([np.ascontiguousarray(m).tobytes() for m in [*t.obsm.values(), *(dense(v) for k, v in t.layers.items() if "counterf" in k)]])
    ok(files[0] == files[1] == files[2] and len(files[0]) > 1, f"{command}: the same bytes at 1, 2 and 7 threads")

# ---- Draws ----
must("embed", "-i", path("ready2.h5ad"), "-m", path("model.comp"), "-o", path("s.h5ad"), "--sample", "--seed", "1")
eps = (read("s.h5ad").obsm["X_comp"] - Z) / CONFIG["scale"]
ok(abs(eps.mean()) < 0.06 and abs(eps.std() - 1) < 0.06, "embed --sample: draws from the posterior")
draws, n = [], 40
must("counterfactual", "-i", path("ready2.h5ad"), "-m", path("model.comp"), "-o", path("mc.h5ad"), "--to", TO, "--samples", "400", "--interval", "0.8", "--from", FROM)
mc = read("mc.h5ad")
key = f"counterfactual_{TO}"
torch.manual_seed(0)
for _ in range(400):
    z = torch.tensor(Z.astype(np.float64)[:n]) + CONFIG["scale"] * torch.randn(n, Z.shape[1], dtype=torch.float64)
    draws.append(reference.decode(P, CONFIG, z, torch.ones(n, dtype=torch.long), 2).numpy())
draws = np.array(draws)
rows = np.flatnonzero(CODES[:n].numpy() == 0)
sd = draws.std(0, ddof=1)[rows]
error = np.abs(mc.layers[key][rows] - draws.mean(0)[rows]) / (sd / 20 + 1e-9)
ok(error.mean() < 2, f"draws: their mean ({error.mean():.2f} standard errors off)")
ok(np.abs(mc.layers[key + "_sd"][rows] / sd - 1).mean() < 0.06, "draws: their spread")
low, high = np.quantile(draws, [0.1, 0.9], axis=0)
ok((np.abs(mc.layers[key + "_lower"][rows] - low[rows]) / sd).mean() < 0.15 and
   (np.abs(mc.layers[key + "_upper"][rows] - high[rows]) / sd).mean() < 0.15, "draws: their quantiles")
predicted = mc.obs[key + "_predicted"].values.astype(bool)
ok((predicted == (mc.obs["condition"] == FROM).values).all() and np.array_equal(mc.layers[key][~predicted], dense(mc.X)[~predicted].astype(np.float32))
   and (mc.layers[key + "_sd"][~predicted] == 0).all(), "--from: the others keep their values, and a column says which they are")

# ---- The user's file ----
extra = READY.copy()
extra.uns["mine"] = {"a": np.arange(3), "b": "text"}
extra.obsm["X_mine"] = np.random.default_rng(0).normal(size=(extra.n_obs, 2))
extra.obsp["graph"] = sp.random(extra.n_obs, extra.n_obs, 0.01, "csr", random_state=0)
extra.varm["loadings"] = np.ones((extra.n_vars, 3))
extra.raw = extra
write(extra, "mine.h5ad")
must("embed", "-i", path("mine.h5ad"), "-m", path("model.comp"), "-o", path("mine.h5ad"))
must("counterfactual", "-i", path("mine.h5ad"), "-m", path("model.comp"), "-o", path("mine.h5ad"), "--to", TO)
after = read("mine.h5ad")
ok(np.array_equal(after.obsm["X_comp"], Z) and np.array_equal(after.obsm["X_mine"], extra.obsm["X_mine"]) and (after.obsp["graph"] != extra.obsp["graph"]).nnz == 0
   and np.array_equal(after.varm["loadings"], extra.varm["loadings"]) and np.array_equal(after.uns["mine"]["a"], np.arange(3)) and after.raw is not None
   and (after.X != extra.X).nnz == 0 and after.obs[list(extra.obs)].equals(extra.obs) and after.var.equals(extra.var)
   and set(after.layers) == set(extra.layers) | {key}, "in place: all else in the file is as it was")

# ---- Features ----
shuffled = READY[:, np.random.default_rng(1).permutation(READY.n_vars)].copy()
write(shuffled, "shuffled.h5ad")
must("counterfactual", "-i", path("shuffled.h5ad"), "-m", path("model.comp"), "-o", path("o.h5ad"), "--to", TO)
o = read("o.h5ad")
ok(list(o.var_names) == list(shuffled.var_names) and pc.near(o[:, READY.var_names].layers[key], after.layers[key], 1e-5), "genes in another order")
must("embed", "-i", path("cells2.h5ad"), "-m", path("model.comp"), "-o", path("o.h5ad"))
o = read("o.h5ad")
ok(o.n_vars == 130 and pc.near(o.obsm["X_comp"], Z, 1e-5), "raw counts of all genes are prepared as the model's were")
result = comp("counterfactual", "-i", path("cells2.h5ad"), "-m", path("model.comp"), "-o", path("o.h5ad"), "--to", TO, quiet=False)
o = read("o.h5ad")
ok("gets the model's features only" in result.stderr and list(o.var_names) == FEATURES and pc.near(o.layers[key], after.layers[key], 1e-5)
   and pc.near(dense(o.X), dense(READY.X), 1e-6) and list(o.var["response_" + TO]) == list(READY.var["response_" + TO]), "other genes: a new file with the model's")
result = comp("counterfactual", "-i", path("cells2.h5ad"), "-m", path("model.comp"), "-o", path("cells2.h5ad"), "--to", TO)
ok(result.returncode == 2 and "must not replace the input" in result.stderr and read("cells2.h5ad").n_vars == 130, "which never replaces the input")
keep = np.random.default_rng(2).permutation(READY.n_vars)[:60]
for kind in ("sparse", "dense"):
    some = READY[:, keep].copy()
    if kind == "dense":
        some.X = some.X.toarray()
    write(some, "some.h5ad")
    result = comp("embed", "-i", path("some.h5ad"), "-m", path("model.comp"), "-o", path("o.h5ad"), quiet=False)
    x = P["centre"].numpy()[CODES.numpy()].copy()  # the model is centred
    x[:, keep] = dense(READY.X)[:, keep]
    mean, _ = reference.encode(P, CONFIG, torch.tensor(x), CODES, 2)
    ok("30 of the model's 90 features are not in the data" in result.stderr and pc.near(read("o.h5ad").obsm["X_comp"], mean, 1e-5),
       f"{kind}: features that are lacking get the mean of their condition")
    result = comp("counterfactual", "-i", path("some.h5ad"), "-m", path("model.comp"), "-o", path("o.h5ad"), "--to", TO)
    o = read("o.h5ad")
    expected = reference.decode(P, CONFIG, mean, torch.ones_like(CODES), 2).numpy()
    ok(result.returncode == 0 and o.shape == READY.shape and pc.near(o.layers[key], expected, 1e-5) and pc.near(dense(o.X), x, 1e-6)
       and o.var["comp_in_data"].sum() == 60, f"{kind}: and a counterfactual of all of the model's")

# ---- Tables ----
rng = np.random.default_rng(5)
table = pd.DataFrame({"age": rng.normal(40, 9, 200).round(1), "job": rng.choice(["a", "b", "c"], 200), "sex": rng.choice(["F", "M"], 200)})
table.to_csv(path("people.csv"), index=False)
must("prep", "-i", path("people.csv"), "-o", path("people.h5ad"), "--obs", "sex")
must("train", "-i", path("people.h5ad"), "-o", path("people.comp"), "--hidden", "8", "--latent", "2", "--epochs", "2", "--condition", "sex")
must("embed", "-i", path("people.h5ad"), "-m", path("people.comp"), "-o", path("a.h5ad"))
must("embed", "-i", path("people.csv"), "-m", path("people.comp"), "-o", path("b.h5ad"))
ok(pc.near(read("a.h5ad").obsm["X_comp"], read("b.h5ad").obsm["X_comp"], 1e-6), "a text table is encoded as the model's was")
must("counterfactual", "-i", path("people.csv"), "-m", path("people.comp"), "-o", path("b.h5ad"), "--to", "F")
ok(read("b.h5ad").layers["counterfactual_F"].shape == (200, 4), "and predicted")


# ---- What cannot work ----
def refused(what, text, *arguments, model="model.comp", data="ready2.h5ad", code=1):
    if os.path.exists(path("no.h5ad")):
        os.remove(path("no.h5ad"))
    result = comp(*arguments, "-i", path(data), "-m", path(model), "-o", path("no.h5ad"))
    ok(result.returncode == code and text in result.stderr and not os.path.exists(path("no.h5ad")), f"refused: {what} ({result.stderr.strip()[-160:]})")


few = READY[:, :40].copy()
write(few, "few.h5ad")
refused("fewer than half of the features", "only 40 of the model's 90 features", "embed", data="few.h5ad")
other = READY.copy()
other.obs["condition"] = other.obs["condition"].astype(str).replace({TO: TO + "x"})
write(other, "other.h5ad")
refused("an unseen level", f"did you mean '{TO}'?", "embed", data="other.h5ad")
renamed = READY.copy()
renamed.obs = renamed.obs.rename(columns={"condition": "conditions"})
write(renamed, "renamed.h5ad")
refused("no such column", "there is no column 'condition'; did you mean 'conditions'?", "embed", data="renamed.h5ad")
refused("to an unknown condition", f"did you mean '{TO}'?", "counterfactual", "--to", TO[:-1], code=2)
bad = READY.copy()
bad.X = bad.X.toarray()
bad.X[5, 7] = np.nan
write(bad, "bad.h5ad")
refused("NaN", "not a finite", "embed", data="bad.h5ad")
refused("a data file as a model", "", "embed", model="ready2.h5ad")
must("train", "-i", path("ready2.h5ad"), "-o", path("nb.comp"), *SMALL, "--likelihood", "nb", "--layer", "counts")
refused("logs for a model of counts", "--layer", "embed", model="nb.comp")
pc.done()
