# check.R CONDITION LABEL: in the chroot of chroot.sh: RunComp on a Seurat object, and its embedding as bytes of 32-bit numbers, which is what the library has.
library(comp)
arguments <- commandArgs(TRUE)
cells <- readComp("/check/cells.h5ad")
object <- SeuratObject::CreateSeuratObject(cells$x, meta.data = cells$obs)
object <- RunComp(object, condition = arguments[1], label = arguments[2], hidden = 32, latent = 10, epochs = 2, hvg = "seurat:500",
                  no_umap = TRUE, no_diagnose = TRUE, no_counterfactual = TRUE, no_correct = TRUE)
print(findingsComp(object)[, c("level", "text")])
writeBin(writeBin(as.vector(t(SeuratObject::Embeddings(object, "comp"))), raw(), size = 4), "/check/r.bytes")
