# Options by name, checked by the library's tables. The help pages list them (man.R).

# The kind of options that each function takes, and those that it makes from other arguments or that are for files.
OPTIONS <- list(
  runComp = list(kind = "run", without = c("input", "output", "condition", "label", "metadata", "layer", "raw", "transpose", "no-header", "names", "missing",
                                           "comment")),
  prepareComp = list(kind = "prep", without = c("condition", "label", "keep-counts", "keep-raw")),
  fitComp = list(kind = "train", without = c("condition", "memory", "stream", "stream-layer")),
  embedComp = list(kind = "embed", without = character()),
  mapComp = list(kind = "map", without = "label"),
  counterfactualComp = list(kind = "counterfactual", without = "to"),
  correctComp = list(kind = "counterfactual", without = c("to", "from", "samples", "interval", "seed", "borrow", "rarer", "cells")),
  scoreComp = list(kind = "score", without = c("use", "condition", "label", "counterfactual", "from", "to", "pair", "truth", "n-de", "n-top", "min-samples",
                                               "max-cells")),
  diagnoseComp = list(kind = "diagnose", without = c("label", "names", "against-name")),
  auditComp = list(kind = "audit", without = c("use", "condition", "target", "gammas", "preset", "epochs", "encoder-without-condition")),
  simulateComp = list(kind = "simulate", without = character()),
  readComp = list(kind = "read", without = c("skip-x", "skip-layers", "skip-slots", "skip-damaged", "copy"))
)

# As R can write it: min-dist is min_dist.
r_name <- function(name) gsub("-", "_", name, fixed = TRUE)

# The rows of a kind of options, by their R names; of NULL those of all kinds. The tables are read once.
kind_rows <- local({
  kinds <- NULL
  function(kind) {
    if (is.null(kinds)) kinds <<- jsonlite::fromJSON(.Call(r_options_describe), simplifyVector = FALSE)$kinds
    rows <- if (is.null(kind)) unlist(lapply(kinds, `[[`, "options"), recursive = FALSE) else Filter(function(k) k$name == kind, kinds)[[1L]]$options
    setNames(rows, r_name(vapply(rows, `[[`, "", "name")))
  }
})

# Those that a function takes.
option_rows <- function(fn) {
  rows <- kind_rows(OPTIONS[[fn]]$kind)
  rows[setdiff(names(rows), r_name(OPTIONS[[fn]]$without))]
}

# A value as the library reads it: "true", "0.5", "a".
text_of <- function(value) {
  if (is.logical(value)) tolower(as.character(value))
  else if (is.integer(value)) as.character(value)
  else if (is.numeric(value)) sprintf("%.17g", value)
  else enc2utf8(as.character(value))
}

check_names <- function(fn, names) {
  known <- names(option_rows(fn))
  for (name in setdiff(names, known)) {
    if (name == "") throw("argument", sprintf("%s(): an argument has no name", fn))
    throw("argument", sprintf("%s() has no argument '%s'%s", fn, name, .Call(r_hint, name, known)))
  }
}

# comp_options of a function: what the user gave (list(...)) and what the function decides; NULL leaves an option unset.
new_options <- function(fn, given, own = list()) {
  if (length(given) > 0L) check_names(fn, if (is.null(names(given))) "" else names(given))
  values <- Filter(Negate(is.null), c(given, own))
  kind <- OPTIONS[[fn]]$kind
  rows <- kind_rows(kind)
  texts <- lapply(setNames(nm = names(values)), function(name) {
    value <- values[[name]]
    if (length(value) == 0L || anyNA(value)) throw("argument", sprintf("the argument '%s' is empty or missing", name))
    if (rows[[name]]$type %in% c("texts", "names")) text_of(value) else paste(text_of(value), collapse = ",")
  })
  .Call(r_options_new, kind, vapply(rows[names(texts)], `[[`, "", "name"), unname(texts))
}
