# Scores and findings as data frames.

findings_of <- function(items) {
  text <- function(name) vapply(items, function(item) as.character(item[[name]]), "")
  data.frame(id = text("id"), level = text("level"), question = text("question"), text = in_r(text("text")), advice = in_r(text("advice")))
}

number <- function(value) if (is.null(value)) NA_real_ else as.numeric(value)

# One row for each embedding and metric, and for each embedding, predicted column and classifier. `names`: what users call the embeddings.
scores_of <- function(json, names = NULL) {
  document <- jsonlite::fromJSON(json, simplifyVector = FALSE)
  known <- setNames(document$metrics, vapply(document$metrics, `[[`, "", "name"))
  called <- function(embedding) if (embedding %in% names(names)) names[[embedding]] else embedding
  row <- function(embedding, metric, title, s, better) {
    data.frame(embedding = called(embedding), metric = metric, title = title, value = number(s$value), low = number(s$low), high = number(s$high), chance = number(s$chance), better = better)
  }
  rows <- list()
  for (e in document$embeddings) for (m in names(e$scores))
    rows[[length(rows) + 1L]] <- row(e$name, m, .Call(r_metric_titles, m), e$scores[[m]], known[[m]]$better)
  for (p in document$predict) for (k in p$classifiers) {
    title <- sprintf("accuracy of %s by %s (most common value: %.3f)", p$column, k$classifier, p$majority)
    accuracy <- list(value = k$accuracy, low = k$low, high = k$high)
    rows[[length(rows) + 1L]] <- row(p$embedding, paste("predict", p$column, k$classifier, sep = "_"), title, accuracy, NA)
  }
  made <- do.call(rbind, rows)
  structure(made, findings = findings_of(document$findings), predictions = predictions_of(document))
}

# Scores of predictions of another condition: one row for each change, label and predictor.
predictions_of <- function(document) {
  changes <- c(if (!is.null(document$counterfactual)) list(document$counterfactual), document$more_counterfactuals)
  rows <- list()
  for (change in changes) for (part in c(change$labels, list(c(change$mean, label = "mean")))) for (predictor in names(Filter(is.list, part)))
    rows[[length(rows) + 1L]] <- data.frame(from = change$from, to = change$to, label = part$label, predictor = predictor, lapply(part[[predictor]], number))
  if (length(rows) > 0L) do.call(rbind, rows)
}

findingsComp <- function(object) {
  found <- if (is.data.frame(object)) attr(object, "findings") else if (inherits(object, "comp_run")) object$findings else source_of(object)$memory$findings
  if (is.null(found)) throw("argument", "there are no findings: run runComp(), scoreComp() or diagnoseComp() first")
  found
}
