# Everything at once, and the program's bytes.

SHORT <- list(no_diagnose = TRUE, no_umap = TRUE)
SHORTER <- c(SHORT, no_counterfactual = TRUE, no_correct = TRUE)

test_that("runComp gives the bytes of comp run, from every kind of data", {
  skip_without_program()
  folder <- tempfile("run-")
  dir.create(folder)
  file <- file.path(folder, "cells.h5ad")
  program("simulate", "-o", file, "--cells", "300", "--genes", "40", "--seed", "3")
  program("run", "-i", file, "-o", file.path(folder, "out"), "-c", "condition", "-l", "label", "--hidden", "16", "--latent", "3", "--epochs", "4", "--seed", "1",
          "--no-diagnose", "--no-umap")
  expected <- floats(readComp(file.path(folder, "out", "data.h5ad"))$embeddings$X_comp)
  data <- readComp(file)
  expect_identical(data$x, counts()$x)
  for (store in c("cells.zarr", "cells.zarr.zip")) {
    program("convert", "-i", file, "-o", file.path(folder, store), "--zarr", "3")
    expect_identical(readComp(file.path(folder, store)), data)
  }

  result <- do.call(runComp, c(list(data$x, data$obs$condition, data$obs$label), SMALL, SHORT))
  expect_identical(floats(result$embeddings$X_comp), expected)
  expect_s3_class(result$scores, "data.frame")
  expect_true(all(c("X_comp", "X_pca") %in% result$scores$embedding))
  expect_true(is.data.frame(attr(result$scores, "predictions")))
  expect_output(print(result), "report: ")
  expect_true(file.exists(result$report))
  expect_true(all(c("counterfactual_treated", "corrected") %in% names(result$data$layers)))
  expect_identical(findingsComp(result), result$findings)

  object <- do.call(RunComp, c(list(seurat(data), "condition", "label"), SMALL, SHORTER))
  expect_identical(floats(SeuratObject::Embeddings(object, "comp")), expected)
  expect_s3_class(modelComp(object), "comp_model")
  expect_true("mixing" %in% findingsComp(object)$id)
  path <- tempfile()
  saveRDS(object, path)
  expect_equal(dim(SeuratObject::GetAssayData(correctComp(readRDS(path), "control", slot = "counts"), assay = "corrected")), c(40, 300))

  cells <- do.call(runComp, c(list(experiment(data), "condition", "label"), SMALL, SHORTER))
  expect_identical(floats(SingleCellExperiment::reducedDim(cells, "COMP")), expected)
})

test_that("real data: step by step, the bytes of the program", {
  path <- kang()
  skip_without_program()
  folder <- tempfile("kang-")
  dir.create(folder)
  at <- function(name) file.path(folder, name)
  all <- readComp(path)
  program("prep", "-i", path, "-o", at("ready.h5ad"), "--keep", "cell_type=B,NK", "--normalize-total", "median", "--log1p", "--hvg", "seurat:300")
  program("train", "-i", at("ready.h5ad"), "-o", at("model.comp"), "-c", "stim", "--hidden", "32", "--latent", "8", "--epochs", "5")
  program("embed", "-i", at("ready.h5ad"), "-m", at("model.comp"), "-o", at("out.h5ad"))
  data <- prepareComp(all, keep = "cell_type=B,NK", normalize_total = "median", log1p = TRUE, hvg = "seurat:300")
  model <- fitComp(data, "stim", hidden = 32, latent = 8, epochs = 5)
  expect_identical(model$bytes, readBin(at("model.comp"), "raw", 1e8))
  expect_identical(floats(embedComp(data, model)$embeddings$X_comp), floats(readComp(at("out.h5ad"))$embeddings$X_comp))
  object <- prepareComp(seurat(all), keep = "cell_type=B,NK", normalize_total = "median", log1p = TRUE, hvg = "seurat:300")
  object <- embedComp(object, fitComp(object, "stim", hidden = 32, latent = 8, epochs = 5))
  expect_identical(floats(SeuratObject::Embeddings(object, "comp")), floats(readComp(at("out.h5ad"))$embeddings$X_comp))
})
