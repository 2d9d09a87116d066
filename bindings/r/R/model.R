# Models: objects that survive saveRDS() and Seurat's own files, since they hold the bytes of their file.

model_of <- function(handle) {
  info <- .Call(r_model_info, handle)
  json <- function(text, ...) if (!is.null(text)) jsonlite::fromJSON(text, ...)
  info$config <- json(info$config)
  info$history <- as.data.frame(json(info$history, flatten = TRUE))
  names(info$history) <- gsub(".", "_", names(info$history), fixed = TRUE)
  info$record <- json(info$record)
  info$bytes <- .Call(r_model_bytes, handle)
  info$session <- list2env(list(handle = handle), parent = emptyenv())
  structure(info, class = "comp_model")
}

# The handle of the library; in a new session it is made again.
model_handle <- function(model) {
  if (identical(model$session$handle, new("externalptr"))) model$session$handle <- .Call(r_model_from_bytes, model$bytes)
  model$session$handle
}

print.comp_model <- function(x, ...) {
  cat(sprintf("comp model (%s, preset %s): %d genes, %d dimensions, condition '%s' (%s)\n", x$config$model, x$config$preset, length(x$features),
              as.integer(x$config$latent), x$condition, paste(x$conditions, collapse = ", ")))
  invisible(x)
}

# The model that was given, or the one that runComp() left in the data.
given_model <- function(model, data) {
  if (is.null(model)) model <- data$memory$model
  if (is.null(model)) throw("argument", "there is no model: give model =, as fitComp() makes it")
  if (is.character(model)) model <- loadComp(model)
  if (!inherits(model, "comp_model")) throw("argument", sprintf("model is a %s, not a model of comp", class(model)[1L]))
  model
}

modelComp <- function(object) given_model(NULL, source_of(object))

saveComp <- function(model, path) {
  .Call(r_model_save, model_handle(given_model(model)), enc2utf8(path.expand(path)))
  invisible(model)
}

loadComp <- function(path) {
  if (!is.character(path) || length(path) != 1L || is.na(path)) throw("argument", "path is not the name of a model file")
  model_of(.Call(r_model_load, enc2utf8(path.expand(path))))
}
