#!/usr/bin/python3
"""comp prep and comp de as a user runs them: from a file to a file, read back by anndata."""
import json
import os
import subprocess

import prep_common as pc
from prep_common import np, ok, pd, sp

COMP = os.path.join(pc.BUILD, "comp")
if not os.path.exists(COMP):
    pc.skip_all(f"{COMP} is not built")
try:
    import anndata
except ImportError:
    pc.skip_all("anndata is not here")


def comp(*arguments):
    return subprocess.run([COMP, *arguments, "-q"], capture_output=True, text=True)


def check_kang(path):
    out = pc.folder() + "/kang.h5ad"
    result = comp("prep", "-i", path, "-o", out, "--keep", "in_paper_set=True", "--drop-empty-genes",
                  "--normalize-total", "median", "--log1p", "--hvg", "seurat:2000", "--keep-counts")
    ok(result.returncode == 0, f"Kang: prep runs {result.stderr}")
    before, after = anndata.read_h5ad(path), anndata.read_h5ad(out)
    ok(after.shape == (4864, 2000), f"Kang: 4,864 x 2,000 (found {after.shape})")
    before = before[after.obs_names, after.var_names] if before.obs_names.is_unique else \
        before[before.obs["in_paper_set"].astype(bool).values][:, after.var_names]
    raw = sp.csr_matrix(before.X).toarray()
    ok((sp.csr_matrix(after.layers["counts"]).toarray() == raw).all(), "Kang: the counts are in layers/counts")
    totals = after.obs["comp_library_size"].values
    expected = np.log1p(raw * (np.median(totals) / totals)[:, None])
    ok(sp.issparse(after.X) and pc.near(after.X.toarray(), expected), "Kang: X is log-normalised, and sparse")
    ok(list(after.obs["stim"].astype(str)) == list(before.obs["stim"].astype(str)), "Kang: obs goes along")
    record = json.loads(str(after.uns["comp"]) if not isinstance(after.uns["comp"], dict) else
                        str(next(iter(after.uns["comp"].values()))))
    ok([s["step"] for s in record["prep"]["steps"]] == ["filter", "normalize_total", "log1p", "hvg", "subset"],
       "Kang: the record is in uns")
    result = comp("de", "-i", out, "-g", "stim", "-t", "STIM", "-r", "CTRL", "--label", "cell_type", "-n", "50")
    table = pd.read_csv(pd.io.common.StringIO(result.stdout), sep="\t")
    ok(result.returncode == 0 and table.groupby("label").size().eq(50).all(), f"Kang: de runs {result.stderr}")
    from scipy import stats
    good, x = True, after.X.toarray()
    for label, rows in table.groupby("label"):
        a = x[((after.obs["cell_type"] == label) & (after.obs["stim"] == "STIM")).values]
        b = x[((after.obs["cell_type"] == label) & (after.obs["stim"] == "CTRL")).values]
        for _, row in rows.iloc[::10].iterrows():
            j = after.var_names.get_loc(row["names"])
            z, p = stats.ranksums(a[:, j], b[:, j])
            good &= abs(z - row["scores"]) < 1e-6 * max(1, abs(z)) and abs(p - row["pvals"]) <= 1e-6 * p
    ok(good, "Kang: scores and p as scipy.stats.ranksums")
    in_place = pc.folder() + "/same.h5ad"
    open(in_place, "wb").write(open(path, "rb").read())
    result = comp("prep", "-i", in_place, "-o", in_place, "--normalize-total", "10000", "--log1p")
    same = anndata.read_h5ad(in_place)
    ok(result.returncode == 0 and same.shape == (4988, 14053) and
       abs(np.expm1(sp.csr_matrix(same.X).toarray().astype(float)).sum(1) - 10000).max() < 1,
       f"Kang: input and output may be one file {result.stderr}")


def check_adult(folder):
    out = pc.folder() + "/adult.h5ad"
    names = ("age,workclass,fnlwgt,education,education_num,marital_status,occupation,relationship,race,sex,capital_gain,"
             "capital_loss,hours_per_week,native_country,income")
    drop = [a for c in ("Holand-Netherlands", "Vietnam", "Yugoslavia") for a in ("--drop-feature", f"native_country_{c}")]
    result = comp("prep", "-i", folder + "/adult.data.gz", "-i", folder + "/adult.test.gz", "-o", out, "--no-header",
                  "--names", names, "--missing", "?", "--comment", "|", "--drop-missing", "--obs", "sex", "--obs",
                  "income", "--drop", "education", "--merge", "relationship=Wife,Husband:spouse", "--merge",
                  "income=<=50K.:<=50K", "--merge", "income=>50K.:>50K", *drop)
    ok(result.returncode == 0, f"Adult: prep runs {result.stderr}")
    adata = anndata.read_h5ad(out)
    ok(adata.shape == (45222, 82), f"Adult: 45,222 x 82 (found {adata.shape})")
    x = adata.X.astype(np.float64)
    ok(np.abs(x.mean(0)).max() < 1e-6 and np.abs(x.std(0) - 1).max() < 1e-6, "Adult: mean 0, variance 1")
    ok(sorted(adata.obs["income"].astype(str).value_counts()) == [11208, 34014], "Adult: two incomes")


kang, adult = pc.data_file("kang", "kang_ifnb.h5ad"), pc.data_file("adult")
check_kang(kang) if kang else pc.skip("Kang", "kang_ifnb.h5ad is not here (COMP_DATA)")
check_adult(adult) if adult else pc.skip("Adult", "the files are not here (COMP_DATA)")
pc.done()
