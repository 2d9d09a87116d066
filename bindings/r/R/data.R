# Data of R as the library reads it, and where results go: matrices, comp_data, SingleCellExperiment, Seurat.
#
# Every kind of data has these methods:
#   source_of      a comp_data with what the functions need of it
#   add_prepared   the data with prepared values, of the cells and genes that are left
#   add_embedding  the data with an embedding [cells, dimensions]
#   add_values     the data with predicted values [genes, cells]
#   remember       the data with what is known of it beyond matrices (the model, records, scores)

# The assay with prepared values.
PREPARED <- "prepared"

# ---- comp_data: a list with x [genes, cells], obs, var, embeddings, layers, record, and what remember() keeps

new_data <- function(x, obs = NULL, var = NULL, embeddings = list(), layers = list(), record = NULL, memory = list()) {
  if (methods::is(x, "sparseMatrix")) { # C code reads the slots as they are
    problem <- methods::validObject(x, test = TRUE)
    if (!isTRUE(problem)) refuse("the sparse matrix is damaged: %s", problem[1L])
  }
  structure(list(x = x, obs = obs, var = var, embeddings = embeddings, layers = layers, record = record, memory = memory), class = "comp_data")
}

# What r_read(), r_simulate() and r_prep() return.
data_of <- function(parts) {
  named <- function(x) if (is.null(x)) NULL else {
    x <- r_matrix(x)
    dimnames(x) <- list(parts$features, parts$samples)
    x
  }
  cells <- function(z) {
    z <- t(z)
    rownames(z) <- parts$samples
    z
  }
  frame <- function(columns, names) {
    made <- data.frame(row.names = make.unique(names))
    made[names(columns)] <- columns
    made
  }
  new_data(named(parts$x), frame(parts$obs, parts$samples), frame(parts$var, parts$features), lapply(parts$embeddings, cells), lapply(parts$layers, named),
           parts$record)
}

# A matrix as C code made it: dense, or the slots of a dgCMatrix.
r_matrix <- function(x) {
  if (is.list(x)) new("dgCMatrix", i = x$i, p = x$p, x = x$x, Dim = x$Dim) else x
}

dim.comp_data <- function(x) dim(x$x)

print.comp_data <- function(x, ...) {
  cat(sprintf("comp_data: %d genes x %d cells\n", nrow(x), ncol(x)))
  for (part in c("obs", "var", "embeddings", "layers")) {
    if (length(x[[part]]) > 0L) cat(sprintf("  %s: %s\n", part, paste(names(x[[part]]), collapse = ", ")))
  }
  invisible(x)
}

# ---- source_of: `raw` asks for values as they were measured, for runComp() and prepareComp()

source_of <- function(object, ...) UseMethod("source_of")

source_of.default <- function(object, assay = NULL, slot = NULL, raw = FALSE) {
  if (length(dim(object)) != 2L) refuse("the data is of class %s, not a matrix of genes x cells or an object that comp knows", class(object)[1L])
  if (!is.null(assay) || !is.null(slot)) throw("argument", "a matrix has no assay or slot")
  new_data(object)
}

source_of.comp_data <- function(object, assay = NULL, slot = NULL, raw = FALSE) {
  if (!is.null(slot)) throw("argument", "comp_data has no slots")
  if (is.null(assay)) return(object)
  if (is.null(object$layers[[assay]])) refuse("there is no layer '%s'; there are: %s", assay, listed(names(object$layers)))
  object$x <- object$layers[[assay]]
  object["record"] <- list(NULL)
  object
}

source_of.SingleCellExperiment <- function(object, assay = NULL, slot = NULL, raw = FALSE) {
  if (!is.null(slot)) throw("argument", "a SingleCellExperiment has no slots; use assay=")
  there <- SummarizedExperiment::assayNames(object)
  wanted <- if (raw) "counts" else c(PREPARED, "logcounts")
  if (is.null(assay)) assay <- c(intersect(wanted, there), there)[1L]
  if (is.na(assay) || !assay %in% there) refuse("there is no assay '%s'; there are: %s", assay, listed(there))
  memory <- S4Vectors::metadata(object)$comp
  new_data(SummarizedExperiment::assay(object, assay), as.data.frame(SummarizedExperiment::colData(object), optional = TRUE),
           embeddings = lapply(as.list(SingleCellExperiment::reducedDims(object)), as.matrix), record = memory$records[[assay]], memory = memory)
}

source_of.Seurat <- function(object, assay = NULL, slot = NULL, raw = FALSE) {
  there <- SeuratObject::Assays(object)
  if (is.null(assay)) assay <- if (!raw && PREPARED %in% there) PREPARED else SeuratObject::DefaultAssay(object)
  if (!assay %in% there) refuse("there is no assay '%s'; there are: %s", assay, listed(there))
  if (is.null(slot)) slot <- if (raw && length(seurat_values(object, assay, "counts")) > 0L) "counts" else "data"
  names <- SeuratObject::Reductions(object)
  memory <- object@misc$comp
  new_data(seurat_values(object, assay, slot), object[[]], embeddings = lapply(setNames(nm = names), function(n) SeuratObject::Embeddings(object, n)),
           record = memory$records[[assay]], memory = memory)
}

# Version 5 of SeuratObject calls a slot a layer.
seurat_values <- function(object, assay, slot) {
  if (utils::packageVersion("SeuratObject") >= "5.0.0") SeuratObject::GetAssayData(object, assay = assay, layer = slot)
  else SeuratObject::GetAssayData(object, assay = assay, slot = slot)
}

listed <- function(names) if (length(names) > 0L) paste(names, collapse = ", ") else "none"

# ---- Results

add_prepared <- function(object, prepared) UseMethod("add_prepared")

add_prepared.default <- function(object, prepared) prepared

add_prepared.SingleCellExperiment <- function(object, prepared) {
  object <- object[rownames(prepared$x), colnames(prepared$x)]
  SummarizedExperiment::assay(object, PREPARED) <- prepared$x
  for (name in new_columns(object, prepared)) SummarizedExperiment::colData(object)[[name]] <- prepared$obs[[name]]
  remember(object, records = setNames(list(prepared$record), PREPARED))
}

add_prepared.Seurat <- function(object, prepared) {
  object <- object[, colnames(prepared$x)]
  object <- add_values(object, prepared$x, PREPARED)
  for (name in new_columns(object, prepared)) object[[name]] <- prepared$obs[[name]]
  remember(object, records = setNames(list(prepared$record), PREPARED))
}

# Columns of cells that the preparation has made.
new_columns <- function(object, prepared) setdiff(names(prepared$obs), names(source_of(object)$obs))

add_embedding <- function(object, z, name, ...) UseMethod("add_embedding")

add_embedding.default <- function(object, z, name, ...) z

add_embedding.comp_data <- function(object, z, name, ...) {
  object$embeddings[[paste0("X_", name)]] <- z
  object
}

add_embedding.SingleCellExperiment <- function(object, z, name, ...) {
  SingleCellExperiment::reducedDim(object, toupper(name)) <- z
  object
}

add_embedding.Seurat <- function(object, z, name, assay = NULL, ...) {
  key <- paste0(toupper(gsub("[^[:alnum:]]", "", name)), "_")
  dimnames(z) <- list(colnames(object), paste0(key, seq_len(ncol(z))))
  if (is.null(assay)) assay <- SeuratObject::DefaultAssay(object)
  object[[name]] <- SeuratObject::CreateDimReducObject(embeddings = z, key = key, assay = assay)
  object
}

add_values <- function(object, values, name) UseMethod("add_values")

add_values.default <- function(object, values, name) values

add_values.comp_data <- function(object, values, name) {
  if (!setequal(rownames(values), rownames(object$x)))
    refuse("the data has %d genes, the model %d: a layer needs the same genes in both; take those of the model, or give the matrix alone (x = data$x)",
           nrow(object), nrow(values))
  object$layers[[name]] <- values[rownames(object$x), , drop = FALSE]
  object
}

# The genes of a model are often some of those in the data: then the values are an alternative experiment.
add_values.SingleCellExperiment <- function(object, values, name) {
  if (setequal(rownames(values), rownames(object))) {
    SummarizedExperiment::assay(object, name) <- values[rownames(object), , drop = FALSE]
  } else {
    SingleCellExperiment::altExp(object, name) <- SingleCellExperiment::SingleCellExperiment(setNames(list(values), name))
  }
  object
}

add_values.Seurat <- function(object, values, name) {
  made <- SeuratObject::CreateAssayObject(data = values)
  SeuratObject::Key(made) <- paste0(tolower(gsub("[^[:alnum:]]", "", name)), "_")
  object[[name]] <- made
  object
}

remember <- function(object, ...) UseMethod("remember")

remember.default <- function(object, ...) object

# A list with some of its elements replaced; NULL removes one.
replaced <- function(list, ...) {
  list <- as.list(list)
  for (name in ...names()) list[[name]] <- list(...)[[name]]
  list
}

remember.comp_data <- function(object, ...) {
  object$memory <- replaced(object$memory, ...)
  object
}

remember.SingleCellExperiment <- function(object, ...) {
  S4Vectors::metadata(object)$comp <- replaced(S4Vectors::metadata(object)$comp, ...)
  object
}

remember.Seurat <- function(object, ...) {
  object@misc$comp <- replaced(object@misc$comp, ...)
  object
}

# ---- For the library

# A dgCMatrix or a matrix of numbers, with every value finite.
as_values <- function(x, what = "x") {
  if (inherits(x, "sparseMatrix") && !inherits(x, "dgCMatrix")) x <- as(as(as(x, "dMatrix"), "generalMatrix"), "CsparseMatrix")
  if (!inherits(x, "dgCMatrix") && !is.matrix(x)) x <- as.matrix(x)
  dense <- is.matrix(x)
  if (dense && !is.numeric(x) && !is.logical(x)) refuse("%s: values of type %s are not numbers", what, typeof(x))
  values <- if (dense) x else slot(x, "x")
  bad <- .Call(r_bad_value, values)
  if (bad > 0) {
    column <- if (dense) (bad - 1) %/% nrow(x) + 1 else findInterval(bad - 1, slot(x, "p"))
    row <- if (dense) (bad - 1) %% nrow(x) + 1 else slot(x, "i")[bad] + 1L
    refuse("%s: %s, %s: the value is %s; values must be finite and in the range of 32-bit numbers", what, place("row", rownames(x), row),
           place("column", colnames(x), column), format(values[bad]))
  }
  x
}

place <- function(what, names, i) if (is.null(names)) sprintf("%s %d", what, as.integer(i)) else sprintf("%s %d ('%s')", what, as.integer(i), names[i])

# The values of a column: by its name in obs, or as a vector with one value a cell.
column_values <- function(data, value, what) {
  cells <- ncol(data$x)
  if (is.character(value) && length(value) == 1L && !is.null(data$obs)) {
    if (!value %in% names(data$obs)) refuse("the data has no column '%s'%s", value, .Call(r_hint, value, names(data$obs)))
    value <- data$obs[[value]]
  }
  if (length(value) != cells)
    refuse("%s has %d values, but there are %d cells (columns of x); genes are rows%s", what, length(value), cells,
           if (length(value) == nrow(data$x)) ": t(x) may be what you want" else "")
  if (!usable(value)) refuse("%s is of type %s, which comp cannot use", what, class(value)[1L])
  value
}

usable <- function(value) is.factor(value) || (is.atomic(value) && !is.object(value) && (is.character(value) || is.logical(value) || is.numeric(value)))

# A data set of the library. `columns` are vectors by name.
new_dataset <- function(context, data, columns = list(), with_x = TRUE, cells = TRUE) {
  x <- if (with_x) as_values(data$x)
  if (anyDuplicated(rownames(data$x)) > 0L)
    refuse("names of genes repeat, such as '%s', but a model finds genes by name; make.unique() changes them", rownames(data$x)[anyDuplicated(rownames(data$x))])
  dataset <- .Call(r_dataset_new, context, x, if (cells || !with_x) cell_names(data$x), gene_names(data$x))
  for (name in names(columns)) .Call(r_dataset_add_column, dataset, name, columns[[name]])
  if (!is.null(data$record)) .Call(r_dataset_set_record, dataset, data$record)
  dataset
}

# The library counts from 0 where there are no names.
gene_names <- function(x) if (is.null(rownames(x))) as.character(seq_len(nrow(x)) - 1) else rownames(x)
cell_names <- function(x) if (is.null(colnames(x))) as.character(seq_len(ncol(x)) - 1) else colnames(x)

# All columns of obs that the library can use, and those that were asked for.
all_columns <- function(data, ...) {
  columns <- Filter(usable, as.list(data$obs))
  columns[names(list(...))] <- list(...)
  columns
}

# What the library calls a column: its own name, or what it stands for.
column_name <- function(value, what) if (is.character(value) && length(value) == 1L) value else what
