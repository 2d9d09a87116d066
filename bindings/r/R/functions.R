# What users call, step by step: prepare, fit, embed, predict, correct, score, check.

simulateComp <- function(..., threads = NULL, progress = NULL) {
  options <- new_options("simulateComp", list(...))
  context <- new_context(threads, progress)
  on.exit(free(context))
  data_of(.Call(r_simulate, context, options))
}

readComp <- function(path, ..., threads = NULL, progress = NULL) {
  options <- new_options("readComp", list(...))
  context <- new_context(threads, progress)
  on.exit(free(context))
  data_of(.Call(r_read, context, enc2utf8(path.expand(path)), options))
}

prepareComp <- function(object, condition = NULL, label = NULL, ..., assay = NULL, slot = NULL, threads = NULL, progress = NULL) {
  data <- source_of(object, assay = assay, slot = slot, raw = TRUE)
  named <- named_columns(data, condition = condition, label = label)
  options <- new_options("prepareComp", list(...), named$options)
  context <- new_context(threads, progress)
  on.exit(free(context))
  dataset <- new_dataset(context, data, do.call(all_columns, c(list(data), named$columns)))
  on.exit(free(dataset), add = TRUE, after = FALSE)
  add_prepared(object, data_of(.Call(r_prep, context, dataset, options)))
}

fitComp <- function(object, condition, ..., features = NULL, assay = NULL, slot = NULL, on_epoch = NULL, threads = NULL, progress = NULL) {
  data <- source_of(object, assay = assay, slot = slot)
  data$x <- some_genes(data$x, features)
  named <- named_columns(data, condition = condition)
  options <- new_options("fitComp", list(...), named$options)
  context <- new_context(threads, progress, on_epoch)
  on.exit(free(context))
  dataset <- new_dataset(context, data, named$columns)
  on.exit(free(dataset), add = TRUE, after = FALSE)
  model <- model_of(.Call(r_train, context, dataset, options))
  if (model$finished && !is.null(list(...)$checkpoint)) unlink(list(...)$checkpoint)
  model
}

embedComp <- function(object, model = NULL, ..., condition = NULL, name = "comp", assay = NULL, slot = NULL, threads = NULL, progress = NULL) {
  data <- source_of(object, assay = assay, slot = slot)
  model <- given_model(model, data)
  options <- new_options("embedComp", list(...))
  context <- new_context(threads, progress)
  on.exit(free(context))
  dataset <- new_dataset(context, data, condition_for(model, data, condition), cells = FALSE)
  on.exit(free(dataset), add = TRUE, after = FALSE)
  z <- t(.Call(r_embed, context, model_handle(model), dataset, options))
  rownames(z) <- colnames(data$x)
  add_embedding(object, z, name, assay = assay)
}

mapComp <- function(object, reference, model = NULL, label = NULL, ..., condition = NULL, reference_condition = NULL, assay = NULL, slot = NULL, threads = NULL,
                    progress = NULL) {
  data <- source_of(object, assay = assay, slot = slot)
  known <- source_of(reference, assay = assay, slot = slot)
  model <- given_model(model, known)
  named <- named_columns(known, label = label, whose = "the reference")
  options <- new_options("mapComp", list(...), named$options)
  context <- new_context(threads, progress)
  on.exit(free(context))
  query <- new_dataset(context, data, condition_for(model, data, condition), cells = FALSE)
  on.exit(free(query), add = TRUE, after = FALSE)
  trained <- new_dataset(context, known, c(condition_for(model, known, reference_condition), named$columns), cells = FALSE)
  on.exit(free(trained), add = TRUE, after = FALSE)
  found <- .Call(r_map, context, model_handle(model), trained, query, options)
  z <- t(found$z)
  rownames(z) <- colnames(data$x)
  list(embedding = z, obs = data.frame(found$obs, row.names = cell_names(data$x), check.names = FALSE), model = model_of(found$model),
       report = jsonlite::fromJSON(found$report))
}

counterfactualComp <- function(object, to, model = NULL, ..., condition = NULL, name = NULL, assay = NULL, slot = NULL, threads = NULL, progress = NULL) {
  if (is.null(name)) name <- .Call(r_layer_name, text_of(to))
  predict_as("counterfactualComp", object, to, model, list(...), condition, name, assay, slot, threads, progress)
}

correctComp <- function(object, to, model = NULL, ..., condition = NULL, name = "corrected", assay = NULL, slot = NULL, threads = NULL, progress = NULL) {
  predict_as("correctComp", object, to, model, list(...), condition, name, assay, slot, threads, progress)
}

# What the two share. Draws give three matrices more.
predict_as <- function(fn, object, to, model, given, condition, name, assay, slot, threads, progress) {
  data <- source_of(object, assay = assay, slot = slot)
  model <- given_model(model, data)
  options <- new_options(fn, given, list(to = to))
  context <- new_context(threads, progress)
  on.exit(free(context))
  dataset <- new_dataset(context, data, condition_for(model, data, condition), cells = FALSE)
  on.exit(free(dataset), add = TRUE, after = FALSE)
  found <- Filter(Negate(is.null), .Call(r_counterfactual, context, model_handle(model), dataset, options))
  found <- lapply(found, function(values) {
    dimnames(values) <- list(model$features, cell_names(data$x))
    values
  })
  names <- sub("_values$", "", paste(name, names(found), sep = "_"))
  if (is.null(data$obs)) return(if (length(found) == 1L) found$values else found)
  for (i in seq_along(found)) object <- add_values(object, found[[i]], names[i])
  object
}

scoreComp <- function(object, condition, label = NULL, ..., use = NULL, assay = NULL, slot = NULL, threads = NULL, progress = NULL) {
  data <- if (is_embedding(object)) embeddings_alone(object) else source_of(object, assay = assay, slot = slot)
  known <- library_names(names(data$embeddings))
  if (is.null(use)) use <- if ("X_comp" %in% known) names(known)[known == "X_comp"][1L] else names(known)
  for (name in setdiff(use, names(known))) refuse("there is no embedding '%s'; there are: %s", name, listed(names(known)))
  named <- named_columns(data, condition = condition, label = label)
  options <- new_options("scoreComp", list(...), c(named$options, list(use = unname(known[use]))))
  needs_x <- .Call(r_scores_need_x, options)
  if (needs_x && is_embedding(object)) refuse("these metrics need the values of the genes: give the object, not the embedding alone")
  context <- new_context(threads, progress)
  on.exit(free(context))
  dataset <- new_dataset(context, data, do.call(all_columns, c(list(data), named$columns)), with_x = needs_x)
  on.exit(free(dataset), add = TRUE, after = FALSE)
  for (name in use) {
    z <- as_values(data$embeddings[[name]], sprintf("embedding '%s'", name))
    .Call(r_dataset_set_matrix, context, dataset, "obsm", known[[name]], t(as.matrix(z)))
  }
  scores_of(.Call(r_scores, context, dataset, options), setNames(names(known), known))
}

diagnoseComp <- function(object, model = NULL, label = NULL, ..., against = NULL, condition = NULL, assay = NULL, slot = NULL, threads = NULL, progress = NULL) {
  data <- source_of(object, assay = assay, slot = slot)
  models <- if (inherits(model, "comp_model") || !is.list(model)) list(model) else model
  models <- lapply(models, given_model, data)
  against <- if (!is.null(against)) model_handle(given_model(against, data))
  named <- named_columns(data, label = label)
  options <- new_options("diagnoseComp", list(...), named$options)
  context <- new_context(threads, progress)
  on.exit(free(context))
  dataset <- new_dataset(context, data, c(condition_for(models[[1L]], data, condition), named$columns))
  on.exit(free(dataset), add = TRUE, after = FALSE)
  findings_of(jsonlite::fromJSON(.Call(r_diagnose, context, dataset, lapply(models, model_handle), against, options), simplifyVector = FALSE)$findings)
}

auditComp <- function(object, condition, target = NULL, ..., use = NULL, model = NULL, assay = NULL, slot = NULL, threads = NULL, progress = NULL) {
  data <- if (is_embedding(object)) embeddings_alone(object) else source_of(object, assay = assay, slot = slot)
  if (is_embedding(object) && !is.null(model)) refuse("a model needs the values of the features: give the object, not the embedding alone")
  known <- library_names(names(data$embeddings))
  key <- "X_comp"
  if (is.null(model)) {
    if (is.null(use)) use <- if ("X_comp" %in% known) names(known)[known == "X_comp"][1L] else names(known)[1L]
    if (!use %in% names(known)) refuse("there is no embedding '%s'; there are: %s", use, listed(names(known)))
    key <- known[[use]]
  } else if (!is.null(use)) refuse("use: the model makes the embedding that is audited")
  named <- named_columns(data, condition = condition, target = target)
  options <- new_options("auditComp", list(...), c(named$options, list(use = key)))
  context <- new_context(threads, progress)
  on.exit(free(context))
  dataset <- new_dataset(context, data, do.call(all_columns, c(list(data), named$columns)), with_x = !is_embedding(object))
  on.exit(free(dataset), add = TRUE, after = FALSE)
  handle <- NULL
  if (is.null(model)) {
    z <- as_values(data$embeddings[[use]], sprintf("embedding '%s'", use))
    .Call(r_dataset_set_matrix, context, dataset, "obsm", key, t(as.matrix(z)))
  } else handle <- model_handle(given_model(model, data))
  document <- jsonlite::fromJSON(.Call(r_audit, context, dataset, handle, options), simplifyVector = FALSE)
  attacks <- do.call(rbind, lapply(document$attacks, function(entry) do.call(rbind, lapply(entry$attackers, function(a) {
    measured <- function(name) setNames(lapply(a[[name]], number), paste0(name, c("", "_low", "_high")))
    data.frame(source = entry$source, of = entry$of, attacker = a$attacker, setting = a$setting, measured("accuracy"), measured("balanced_accuracy"),
               measured("auroc"))
  }))))
  certificates <- do.call(rbind, lapply(document$certificates, function(c) {
    data.frame(release = c$release, delta = c$delta, samples = c$samples, balanced_accuracy = number(c$balanced_accuracy$upper),
               accuracy = number(c$accuracy$upper), parity_gap = number(c$parity_gap$upper))
  }))
  utility <- do.call(rbind, lapply(document$utility, function(u) {
    data.frame(lapply(u, function(value) if (is.character(value)) value else number(value)))
  }))
  list(findings = findings_of(document$findings), attacks = attacks, certificates = certificates, utility = utility, document = document)
}

# ---- Columns and genes

# Columns that arguments name: their values by name, and the options that tell the library of them.
named_columns <- function(data, ..., whose = "the data") {
  given <- Filter(Negate(is.null), list(...))
  names <- Map(column_name, given, names(given))
  values <- Map(function(value, what) column_values(data, value, what, whose), given, names(given))
  list(columns = setNames(values, unlist(names)), options = names)
}

# The condition of cells for a model: what was given, or the column that the model was trained with, if there is one.
condition_for <- function(model, data, condition) {
  if (is.null(condition) && model$condition %in% names(data$obs)) condition <- model$condition
  if (is.null(condition)) list() else setNames(list(column_values(data, condition, "condition")), model$condition)
}

some_genes <- function(x, features) {
  if (is.null(features)) return(x)
  lost <- setdiff(features, rownames(x))
  if (length(lost) > 0L) refuse("the data has no gene '%s'", lost[1L])
  x[features, , drop = FALSE]
}

# ---- Embeddings

# An embedding, or a list of embeddings, without anything else: matrices [cells, dimensions].
is_embedding <- function(object) is.matrix(object) || is.data.frame(object) || (is.list(object) && !inherits(object, "comp_data"))

embeddings_alone <- function(object) {
  list <- if (is.matrix(object) || is.data.frame(object)) list(embedding = object) else object
  if (length(list) == 0L || is.null(names(list)) || any(names(list) == "")) throw("argument", "a list of embeddings needs names")
  if (!all(vapply(list, function(z) length(dim(z)) == 2L, NA))) refuse("an embedding is a matrix of cells x dimensions")
  rows <- vapply(list, nrow, 1L)
  if (length(unique(rows)) > 1L) refuse("embeddings have different numbers of rows (cells): %s", paste(rows, collapse = ", "))
  new_data(matrix(0, 0L, rows[1L]), embeddings = lapply(list, as.matrix))
}

# Names of embeddings as the library has them: "comp" and "COMP" are X_comp. It knows what X_comp and X_pca are.
library_names <- function(names) {
  short <- sub("^X_", "", names)
  setNames(paste0("X_", make.unique(tolower(short))), names)
}
