# Everything at once.

runComp <- function(object, condition, label = NULL, ..., output = NULL, assay = NULL, slot = NULL, threads = NULL, progress = NULL) {
  data <- source_of(object, assay = assay, slot = slot, raw = TRUE)
  named <- named_columns(data, condition = condition, label = label)
  folder <- if (is.null(output)) tempfile("comp-") else path.expand(output)
  options <- new_options("runComp", list(...), c(named$options, list(input = "data", output = folder)))
  context <- new_context(threads, progress)
  on.exit(free(context))
  dataset <- new_dataset(context, data, do.call(all_columns, c(list(data), named$columns)))
  on.exit(free(dataset), add = TRUE, after = FALSE)
  result <- run_of(.Call(r_run, context, dataset, options))
  if (is.null(data$obs)) result else add_run(object, result, assay)
}

RunComp <- runComp

run_of <- function(texts) {
  made <- readComp(file.path(texts[1L], "data.h5ad"), progress = FALSE)
  scores <- scores_of(texts[4L])
  structure(list(folder = texts[1L], report = texts[2L], model = loadComp(file.path(texts[1L], "model.safetensors")), scores = scores,
                 findings = findings_of(jsonlite::fromJSON(texts[5L], simplifyVector = FALSE)), embeddings = made$embeddings, data = made), class = "comp_run")
}

# Embeddings go to the data when every cell has one.
add_run <- function(object, result, assay) {
  z <- result$embeddings
  if (nrow(z$X_comp) == ncol(object)) {
    object <- add_embedding(object, z$X_comp, "comp", assay = assay)
    if (!is.null(z$X_umap)) object <- add_embedding(object, z$X_umap, "comp_umap", assay = assay)
  } else warning("cells were left out, so the embedding is in the folder of the run only: readComp(file.path(FOLDER, \"data.h5ad\"))", call. = FALSE)
  remember(object, model = result$model, scores = result$scores, findings = result$findings, folder = result$folder, report = result$report)
}

print.comp_run <- function(x, ...) {
  scores <- x$scores[!is.na(x$scores$better), ]
  print(round(tapply(scores$value, list(factor(scores$title, unique(scores$title)), scores$embedding), mean), 4L))
  shown <- x$findings[x$findings$level != "note", ]
  cat(sprintf("\n%-8s %s", shown$level, shown$text), sep = "")
  cat(sprintf("\n\nreport: %s\n", x$report))
  invisible(x)
}
