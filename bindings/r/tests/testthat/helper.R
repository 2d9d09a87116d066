# What the tests share: small simulated data, the program, real data where it is there.

SMALL <- list(hidden = 16, latent = 3, epochs = 4, seed = 1)
options(comp.threads = 1) # quick on a busy machine; a test compares 1 with 7

# Made when it is first asked for, and kept.
kept <- new.env()
keep <- function(name, make) {
  if (is.null(kept[[name]])) kept[[name]] <- make
  kept[[name]]
}

counts <- function() keep("counts", simulateComp(cells = 300, genes = 40, seed = 3))
ready <- function() keep("ready", prepareComp(counts(), normalize_total = "median", log1p = TRUE))
fitted <- function() keep("fitted", fit(ready(), "condition"))
embedded <- function() keep("embedded", embedComp(ready(), fitted()))

fit <- function(object, condition, ...) do.call(fitComp, c(list(object, condition), SMALL, list(...)))

# Bytes of 32-bit numbers: all that the library knows of a value.
floats <- function(z) writeBin(as.vector(t(z)), raw(), size = 4)

expect_refused <- function(call, text, class = "comp_data_error") {
  error <- expect_error(call, class = class)
  expect_s3_class(error, "comp_error")
  expect_match(conditionMessage(error), text)
}

# Runs the program comp, quietly.
program <- function(...) {
  status <- system2(Sys.getenv("COMP"), c(shQuote(c(...)), "-q"), stdout = FALSE)
  expect_equal(status, 0)
}

skip_without_program <- function() skip_if(!file.exists(Sys.getenv("COMP")), "the variable COMP names no program")

repository <- function(...) {
  path <- file.path(Sys.getenv("COMP_ROOT", "."), ...)
  skip_if(!file.exists(path), "the repository is not there (COMP_ROOT)")
  path
}

kang <- function() {
  path <- file.path(Sys.getenv("COMP_DATA", file.path(Sys.getenv("COMP_ROOT", "."), "..", "shared", "data")), "kang", "kang_ifnb.h5ad")
  skip_if(!file.exists(path), "the real data is not there (COMP_DATA)")
  path
}

seurat <- function(data = counts()) {
  skip_if_not_installed("SeuratObject")
  SeuratObject::CreateSeuratObject(data$x, meta.data = data$obs)
}

experiment <- function(data = counts()) {
  skip_if_not_installed("SingleCellExperiment")
  suppressPackageStartupMessages(requireNamespace("SingleCellExperiment"))
  SingleCellExperiment::SingleCellExperiment(list(counts = data$x), colData = data$obs)
}
