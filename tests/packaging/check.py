"""check.py CONDITION LABEL: in the chroot of chroot.sh: comp.run on an AnnData object, a figure, and the embeddings of the program and of Python as bytes."""
import pathlib
import sys

import anndata
import comp
import numpy as np

condition, label = sys.argv[1:]
folder = pathlib.Path("/check")
adata = anndata.read_h5ad(folder / "cells.h5ad")
result = comp.run(adata, condition=condition, label=label, hidden=[32], latent=10, epochs=2, hvg="seurat:500",
                  no_umap=True, no_diagnose=True, no_counterfactual=True, no_correct=True)
print(result)
comp.pl.scores(result.scores).savefig(folder / "scores.png")
program = anndata.read_h5ad(folder / "cli" / "data.h5ad")
assert list(program.obs_names) == list(adata.obs_names)
for name, z in (("cli", program.obsm["X_comp"]), ("python", adata.obsm["X_comp"])):
    (folder / f"{name}.bytes").write_bytes(np.ascontiguousarray(z, dtype=np.float32).tobytes())
