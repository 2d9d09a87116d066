"""What the oracle and the benchmark of seurat-cca share: Seurat on the samples and genes of a file."""
import baseline_common as bc
from baseline_common import ad, np, os, sp

SEURAT = """
args <- commandArgs(TRUE)
suppressMessages(library(Seurat))
options(warn = -1)
where <- args[1]
shape <- scan(file.path(where, "shape.txt"), quiet = TRUE)
x <- matrix(readBin(file.path(where, "x.bin"), "double", shape[1] * shape[2]), shape[2], shape[1])
batch <- readLines(file.path(where, "batch.txt"))
dimnames(x) <- list(paste0("g", seq_len(shape[2])), paste0("c", seq_len(shape[1])))
x <- as(x, "dgCMatrix")
sets <- lapply(readLines(file.path(where, "levels.txt")),
               function(b) CreateSeuratObject(CreateAssayObject(data = x[, batch == b])))
start <- proc.time()
anchors <- FindIntegrationAnchors(sets, anchor.features = rownames(x), verbose = FALSE)
both <- IntegrateData(anchors, verbose = FALSE)
both <- RunPCA(ScaleData(both, verbose = FALSE), npcs = 30, verbose = FALSE)
took <- proc.time() - start
memory <- as.numeric(sub("[^0-9]*([0-9]+).*", "\\\\1", grep("VmHWM", readLines("/proc/self/status"), value = TRUE))) / 1024
cat(took[["elapsed"]], took[["user.self"]] + took[["sys.self"]], memory, file = file.path(where, "cost.txt"))
cells <- lapply(sets, function(s) as.integer(sub("c", "", colnames(s))) - 1)
a <- anchors@anchors
row <- function(set, cell) mapply(function(s, i) cells[[s]][i], set, cell)
writeBin(as.numeric(rbind(row(a$dataset1, a$cell1), row(a$dataset2, a$cell2), a$score)),
         file.path(where, "anchors.bin"))
writeBin(as.vector(t(Embeddings(both[["pca"]])[colnames(x), ])), file.path(where, "embedding.bin"))
writeBin(as.vector(as.matrix(GetAssayData(both, assay = "integrated", slot = "data")[rownames(x), colnames(x)])),
         file.path(where, "layer.bin"))
"""


def there():
    return bc.rscript("library(Seurat)") == ""


def pbmc():
    """The cells of two protocols, logged, 2,000 genes that vary in either: a path, or None."""
    raw = bc.pc.data_file("pbmc_protocols", "v2_vs_5p_6500.h5ad")
    if not raw:
        return None
    path = os.path.join(bc.pc.folder(), "two.h5ad")
    message = bc.comp("prep", "-q", "-i", raw, "--hvg", "vst:2000", "--hvg-batch", "batch", "--normalize-total", "median",
                      "--log1p", "-o", path)
    return path if message == "" else None


def seurat(path, condition, **settings):
    """Seurat's integration, sets in the order of the categories: a folder of results, or what R said."""
    a = ad.read_h5ad(path)
    x = a.X.toarray() if sp.issparse(a.X) else a.X
    where = bc.pc.folder()
    x.astype(np.float64).tofile(where + "/x.bin")
    np.savetxt(where + "/shape.txt", x.shape, fmt="%d")
    for name, values in (("batch", a.obs[condition]), ("levels", a.obs[condition].cat.categories)):
        with open(f"{where}/{name}.txt", "w") as file:
            file.write("".join(f"{v}\n" for v in values))
    message = bc.rscript(SEURAT, where, **settings)
    return (where, "") if message == "" else (None, message)
