# man.R: writes the help pages, man/*.Rd. Options come from the tables of the library, usage lines from the functions; the rest is below.
#
#   Rscript man.R            writes them
#   Rscript man.R --check    fails when they are not current (./dev r does this)
#
# The package must be installed. `./dev r man` installs it and runs this.

here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)))
inner <- asNamespace("comp")

# ---- What pages share

ARGUMENTS <- c(
  object = "the data: a Seurat or SingleCellExperiment object, a matrix of genes x cells (a \\code{dgCMatrix}, or any other matrix of numbers), or what \\code{\\link{readComp}}, \\code{\\link{simulateComp}} and \\code{\\link{prepareComp}} return.",
  condition = "the condition: a batch, a treatment, a group. The name of a column of the cells' data, or a vector with one value for each cell.",
  label = "what must be kept apart, such as cell types: the name of a column, or a vector with one value for each cell.",
  model = "a model of \\code{\\link{fitComp}}, or the path of a model file. Default: the model that \\code{\\link{runComp}} left in the object.",
  to = "the condition under which cells are decoded.",
  assay = "the assay to read (for \\code{readComp} data: the layer). The functions for prepared values read the assay \\code{prepared} of \\code{\\link{prepareComp}} if there is one, else the default assay (Seurat) or \\code{logcounts} (SingleCellExperiment). \\code{runComp} and \\code{prepareComp} read counts.",
  slot = "Seurat: the slot of the assay, \\code{\"counts\"} or \\code{\"data\"}.",
  threads = "number of threads. Default: \\code{getOption(\"comp.threads\")}, else all CPUs. Results do not depend on it.",
  progress = "whether to show progress. Default: \\code{getOption(\"comp.progress\")}, else on a terminal.",
  name = "the name of the result: of the reduction (Seurat), of the reduced dimensions, in capitals (SingleCellExperiment), or of the assay.",
  path = "the path of a file.",
  "..." = "options of the library, by name: see the section Options."
)

# ---- Pages

PAGES <- list(
  list(name = "runComp", functions = c("runComp", "RunComp"), title = "Everything at once, as comp run does it",
    description = "Looks at the data, prepares it, trains, embeds, draws maps, predicts each cell under each condition, scores and checks. \\code{RunComp} is the same function, with a name as Seurat's functions have it.",
    arguments = c(condition = NA, label = NA, output = "the folder for all results. Default: a temporary one, which goes with the session. After an interruption the same call with the same \\code{output} continues where it stopped."),
    value = "A Seurat object gets the reductions \\code{comp} and \\code{comp_umap}, a SingleCellExperiment the reduced dimensions \\code{COMP} and \\code{COMP_UMAP}. \\code{\\link{modelComp}} and \\code{\\link{findingsComp}} read the model and the findings from the object; scores, the folder and the page are in \\code{object@misc$comp} or \\code{metadata(object)$comp}. For a matrix the result is a list with \\code{folder}, \\code{report}, \\code{model}, \\code{scores}, \\code{findings}, \\code{embeddings} and \\code{data}. Values that were measured are never overwritten.",
    examples = "cells <- simulateComp(cells = 200, genes = 30)\nresult <- runComp(cells$x, cells$obs$condition, cells$obs$label, hidden = 16, latent = 3, epochs = 3,\n                  no_umap = TRUE, no_diagnose = TRUE)\nresult$findings$text[1]\nhead(result$embeddings$X_comp)"),
  list(name = "prepareComp", functions = "prepareComp", title = "Prepare counts for training",
    description = "Filters, normalises, takes logarithms and chooses genes, as \\code{comp prep} does, and records what was done, so that \\code{\\link{embedComp}} can do the same to other data.",
    arguments = c(condition = "the condition: \\code{to_counts} looks at each by itself, and \\code{hvg = \"auto\"} compares them. A column or a vector.", label = "cell types or the like: \\code{hvg = \"auto\"} also compares conditions within each of them. A column or a vector."),
    value = "Seurat: the object with an assay \\code{prepared} of the chosen genes. SingleCellExperiment: the object with the chosen genes and an assay \\code{prepared}. A matrix: a list of class \\code{comp_data} with \\code{x} (genes x cells), \\code{obs}, \\code{var} and \\code{record}. Cells that the options leave out are left out.",
    examples = "cells <- simulateComp(cells = 200, genes = 30)\nprepared <- prepareComp(cells, normalize_total = \"median\", log1p = TRUE)\nprepared"),
  list(name = "fitComp", functions = "fitComp", title = "Fit a model",
    description = "Trains a model on prepared values. The same data, options and seed give the same bytes at any number of threads.",
    arguments = c(features = "names of the genes to use. Default: all; of a Seurat object \\code{VariableFeatures(object)} is often a good choice.", on_epoch = "a function that is called after each epoch with its numbers, a list: \\code{epoch}, \\code{epochs}, \\code{train}, \\code{validation} and others. When it returns \\code{FALSE}, training ends."),
    details = "Ctrl-C stops training in good order. With \\code{checkpoint = FILE} its state is kept, and the same call with \\code{resume = TRUE} continues from there, to the same bytes.",
    value = "A model: a list of class \\code{comp_model} with \\code{condition}, \\code{conditions}, \\code{features}, \\code{config}, \\code{history} (a data frame, one row for each epoch), \\code{record}, \\code{kernel} and \\code{finished}. It can be kept with \\code{saveRDS} or \\code{\\link{saveComp}}.",
    examples = "cells <- prepareComp(simulateComp(cells = 200, genes = 30), normalize_total = \"median\", log1p = TRUE)\nmodel <- fitComp(cells, \"condition\", hidden = 16, latent = 3, epochs = 3)\nmodel\nmodel$history$train_total"),
  list(name = "embedComp", functions = "embedComp", title = "Embed cells with a model",
    description = "The embedding of every cell. The data need not be what the model was trained on: genes are found by name, and preparation is repeated where the record of the data does not say that it is done.",
    arguments = c(condition = "the condition of each cell, a column or a vector. Default: the column that the model was trained with."),
    value = "Seurat: the object with a reduction. SingleCellExperiment: the object with reduced dimensions. A matrix: a matrix of cells x dimensions.",
    examples = "cells <- prepareComp(simulateComp(cells = 200, genes = 30), normalize_total = \"median\", log1p = TRUE)\nmodel <- fitComp(cells, \"condition\", hidden = 16, latent = 3, epochs = 3)\nhead(embedComp(cells, model)$embeddings$X_comp)\nhead(embedComp(as.matrix(cells$x), model, condition = cells$obs$condition))"),
  list(name = "mapComp", functions = "mapComp", title = "Place new cells in a trained model",
    description = "For cells of a condition that the model does not know, such as a new batch, donor or technology. The weights of the model do not change: only what belongs to the new condition is fitted. Labels come from the reference, and cells whose population the reference lacks are marked.",
    arguments = c(object = "the new cells: an object or a matrix, as in \\code{\\link{embedComp}}.", reference = "cells that the model was trained on, with labels: an object or a matrix.", model = "a model of \\code{\\link{fitComp}}, or the path of a model file. Default: the model that \\code{\\link{runComp}} left in the reference.", label = "the labels of the reference, such as cell types: the name of a column, or a vector with one value for each cell. Default: no labels are transferred.", condition = "the condition of the new cells, a column or a vector. Default: the column that the model was trained with; \\code{as} names one new condition in its place.", reference_condition = "the same of the reference."),
    value = "A list: \\code{embedding} (cells x dimensions), \\code{obs} (a data frame with \\code{comp_distance}, \\code{comp_novelty}, \\code{comp_unknown} and, with labels, \\code{LABEL_predicted}, \\code{LABEL_probability} and \\code{LABEL_unknown}), \\code{model} (which knows the new conditions, too) and \\code{report} (conditions, features, labels).",
    examples = "cells <- prepareComp(simulateComp(cells = 300, genes = 30, conditions = 3), normalize_total = \"median\", log1p = TRUE)\nnew <- cells$obs$condition == \"treated2\"\nmodel <- fitComp(cells$x[, !new], cells$obs$condition[!new], hidden = 16, latent = 3, epochs = 3)\nmapped <- mapComp(cells$x[, new], cells$x[, !new], model, label = cells$obs$label[!new],\n                  reference_condition = cells$obs$condition[!new], as = \"treated2\", steps = 20)\nhead(mapped$obs)\nmapped$model"),
  list(name = "counterfactualComp", functions = "counterfactualComp", title = "Predict cells under another condition",
    description = "Encodes every cell under its own condition and decodes it under another.",
    arguments = c(condition = "the condition of each cell, a column or a vector. Default: the column that the model was trained with.", name = "the name of the assay. Default: \\code{counterfactual_} and the condition."),
    value = "Seurat: the object with a new assay that has the genes of the model. SingleCellExperiment: the object with a new assay, or an alternative experiment if the model has other genes. A matrix: the values, genes of the model x cells. With \\code{samples = N} there are also \\code{NAME_sd}, \\code{NAME_lower} and \\code{NAME_upper}; of a matrix the result is then a list.",
    examples = "cells <- prepareComp(simulateComp(cells = 200, genes = 30), normalize_total = \"median\", log1p = TRUE)\nmodel <- fitComp(cells, \"condition\", hidden = 16, latent = 3, epochs = 3)\ncells <- counterfactualComp(cells, \"treated\", model, from = \"control\")\ncells$layers$counterfactual_treated[1:3, 1:3]"),
  list(name = "correctComp", functions = "correctComp", title = "All cells as if they were of one condition",
    description = "Removes the effect of a condition, such as a batch, from the values of the genes.",
    arguments = c(condition = "the condition of each cell, a column or a vector. Default: the column that the model was trained with."),
    value = "As that of \\code{\\link{counterfactualComp}}.",
    examples = "cells <- prepareComp(simulateComp(cells = 200, genes = 30), normalize_total = \"median\", log1p = TRUE)\nmodel <- fitComp(cells, \"condition\", hidden = 16, latent = 3, epochs = 3)\ncorrectComp(cells, \"control\", model)$layers$corrected[1:3, 1:3]"),
  list(name = "scoreComp", functions = "scoreComp", title = "Score embeddings",
    description = "How well embeddings mix conditions and keep labels, and what classifiers predict from them.",
    arguments = c(object = "the data with embeddings: a Seurat or SingleCellExperiment object or \\code{comp_data}; or an embedding alone, a matrix of cells x dimensions, or a list of them with names.", use = "names of the embeddings to score. Default: \\code{comp}, else all."),
    value = "A data frame with one row for each embedding and metric: \\code{embedding}, \\code{metric}, \\code{title}, \\code{value}, \\code{low} and \\code{high} (95 \\% interval), \\code{better} (which values are better: lower, higher, zero). \\code{\\link{findingsComp}} says what the numbers mean.",
    examples = "cells <- prepareComp(simulateComp(cells = 200, genes = 30), normalize_total = \"median\", log1p = TRUE)\nmodel <- fitComp(cells, \"condition\", hidden = 16, latent = 3, epochs = 3)\nscores <- scoreComp(embedComp(cells, model), \"condition\", k = 20)\nscores[, c(\"embedding\", \"metric\", \"value\", \"better\")]\nfindingsComp(scores)$text"),
  list(name = "diagnoseComp", functions = "diagnoseComp", title = "Can a model be trusted?",
    description = "The paper's theory as checks of a model, each with a level, a reason and advice.",
    arguments = c(condition = "the condition of each cell, a column or a vector. Default: the column that the model was trained with.", model = "a model, or a list of models of the same data: of a list the first is judged, and the others, trained with other seeds, show whether it is stable. Default: the model that \\code{\\link{runComp}} left in the object.", against = "a model of the same data that was trained with \\code{gamma = 0}, to compare reconstructions with."),
    value = "A data frame with one row for each check: \\code{id}, \\code{level} (ok, note, caution, problem), \\code{question}, \\code{text} and \\code{advice}.",
    examples = "cells <- prepareComp(simulateComp(cells = 200, genes = 30), normalize_total = \"median\", log1p = TRUE)\nmodel <- fitComp(cells, \"condition\", hidden = 16, latent = 3, epochs = 3)\ndiagnoseComp(cells, model, permutations = 20)[1:3, c(\"id\", \"level\")]"),
  list(name = "auditComp", functions = "auditComp", title = "How well is an attribute hidden?",
    description = "Several attackers, each tuned by cross-validation, look for an attribute in an embedding, in draws from posteriors and in the data. With \\code{release} also an upper bound on what any attacker can find.",
    arguments = c(object = "the data with embeddings: a Seurat or SingleCellExperiment object or \\code{comp_data}; or an embedding alone, a matrix of samples x dimensions.", condition = "the attribute of each sample that must be hidden, a column or a vector.", target = "what the embedding is used to predict, a column or a vector.", use = "the name of the embedding. Default: \\code{comp}, else the first.", model = "a model: the data is embedded with it first, and draws are audited, too."),
    value = "A list: \\code{findings} (what the numbers mean), \\code{attacks} (a row for each attacker and source), \\code{certificates} (a row for each release: upper bounds), \\code{utility} (with a target, a row for each source: accuracy and gaps), \\code{document} (everything).",
    examples = "cells <- prepareComp(simulateComp(cells = 200, genes = 30), normalize_total = \"median\", log1p = TRUE)\nmodel <- fitComp(cells, \"condition\", hidden = 16, latent = 3, epochs = 3)\naudit <- auditComp(cells, \"condition\", \"label\", model = model, attackers = \"logistic\")\naudit$attacks[, c(\"source\", \"balanced_accuracy\")]"),
  list(name = "findingsComp", functions = "findingsComp", title = "What the numbers mean",
    description = "The findings of \\code{\\link{runComp}} or \\code{\\link{scoreComp}}: each with a level, a text and advice. They are made by the library, in the same words as on the terminal and on the page.",
    arguments = c(object = "an object that went through \\code{runComp}, its result for a matrix, or the scores of \\code{scoreComp}."),
    value = "A data frame with \\code{id}, \\code{level} (ok, note, caution, problem), \\code{question}, \\code{text} and \\code{advice}.",
    examples = "cells <- simulateComp(cells = 200, genes = 30)\nfindingsComp(scoreComp(cells, \"condition\", use = \"truth_state\", k = 20))$text"),
  list(name = "modelComp", functions = c("modelComp", "saveComp", "loadComp"), title = "Models: the one of an object, and model files",
    description = "\\code{modelComp} gives the model that \\code{\\link{runComp}} left in an object. \\code{saveComp} writes a model file, which the program \\code{comp} and other languages read too, and \\code{loadComp} reads one. A file appears complete or not at all.",
    arguments = c(object = "an object that went through \\code{runComp}.", model = "a model of \\code{\\link{fitComp}}."),
    value = "A model, as that of \\code{\\link{fitComp}}; \\code{saveComp} returns it invisibly.",
    examples = "cells <- prepareComp(simulateComp(cells = 200, genes = 30), normalize_total = \"median\", log1p = TRUE)\nmodel <- fitComp(cells, \"condition\", hidden = 16, latent = 3, epochs = 3)\npath <- tempfile(fileext = \".comp\")\nsaveComp(model, path)\nloadComp(path)"),
  list(name = "readComp", functions = "readComp", title = "Read data files",
    description = "Reads .h5ad files (AnnData), 10x .h5 files, MEX folders, .csv and .tsv files (also .gz).",
    arguments = c(path = "the file or folder."),
    value = "A list of class \\code{comp_data}: \\code{x} (genes x cells; a \\code{dgCMatrix} where the file is sparse), \\code{obs} and \\code{var} (data frames of cells and genes), \\code{embeddings} (matrices of cells x dimensions), \\code{layers} and \\code{record} (what comp did to the data, JSON text).",
    examples = "path <- tempfile(fileext = \".csv\")\nwrite.csv(data.frame(a = c(1, 2), b = c(3, 4), group = c(\"x\", \"y\")), path, row.names = FALSE)\nreadComp(path)"),
  list(name = "simulateComp", functions = "simulateComp", title = "Simulated cells whose truth is known",
    description = "Cells of several types under several conditions. What each cell would express under every condition is known.",
    arguments = c(),
    value = "A list of class \\code{comp_data}, as that of \\code{\\link{readComp}}: counts in \\code{x}, \\code{condition} and \\code{label} in \\code{obs}, and the truth in \\code{layers}.",
    examples = "simulateComp(cells = 100, genes = 20)")
)

# ---- Writing

escaped <- function(text) gsub("%", "\\%", gsub("([\\\\{}])", "\\\\\\1", text), fixed = TRUE)

wrapped <- function(text) paste(strwrap(text, 116), collapse = "\n")

usage <- function(name) {
  arguments <- formals(get(name, inner))
  shown <- vapply(names(arguments), function(n) {
    if (as.character(arguments[n]) == "") n else paste(n, "=", deparse(arguments[[n]])) # "": there is no default
  }, "")
  text <- paste0(name, "(", paste(shown, collapse = ", "), ")")
  paste(strwrap(text, 100, exdent = nchar(name) + 1L), collapse = "\n")
}

capital <- function(text) paste0(toupper(substr(text, 1L, 1L)), substring(text, 2L))

# What is known of an option: type, range, default, help.
option_text <- function(o) {
  known <- if (is.null(o$choices)) o$type else paste("one of", paste(unlist(o$choices), collapse = ", "))
  limit <- function(value) if (is.null(value)) "" else format(value, digits = 15L)
  if (!is.null(o$min) || !is.null(o$max)) known <- c(known, trimws(paste(limit(o$min), "to", limit(o$max))))
  if (!is.null(o$unset)) known <- c(known, paste("default:", o$unset))
  else if (!is.null(o$default)) known <- c(known, paste0("default: ", o$default, if (!is.null(o$varies)) paste0(" (", o$varies, ")")))
  helps <- if (is.null(o$choice_helps)) list() else setNames(o$choice_helps, unlist(o$choices))
  helps <- Filter(Negate(is.null), helps)
  told <- if (length(helps) > 0L) paste0(" ", paste(names(helps), unlist(helps), sep = ": ", collapse = "; "), ".") else ""
  inner$in_r(paste0(capital(o$help), ".", told, " (", paste(known, collapse = "; "), ")"))
}

options_section <- function(name) {
  rows <- inner$option_rows(name)
  items <- vapply(names(rows), function(n) paste0("\\item{\\code{", n, "}}{", wrapped(escaped(option_text(rows[[n]]))), "}"), "")
  c("\\section{Options}{", "Names and defaults are those of the program comp, with _ for -. Options that are not given, or are \\code{NULL}, have their default.",
    "\\describe{", items, "}", "}")
}

page <- function(p) {
  used <- unique(unlist(lapply(p$functions, function(f) names(formals(get(f, inner))))))
  texts <- setNames(ARGUMENTS[used], used)
  own <- p$arguments[!is.na(p$arguments) & names(p$arguments) %in% used]
  texts[names(own)] <- own
  if (anyNA(texts)) stop(p$name, ": no text for ", paste(used[is.na(texts)], collapse = ", "))
  c("% Made by man.R from the option tables of the library.", paste0("\\name{", p$name, "}"), paste0("\\alias{", p$functions, "}"),
    paste0("\\title{", p$title, "}"), "\\description{", wrapped(p$description), "}", "\\usage{", paste(vapply(p$functions, usage, ""), collapse = "\n\n"), "}",
    "\\arguments{", paste0("\\item{", ifelse(used == "...", "\\dots", used), "}{", vapply(texts, wrapped, ""), "}"), "}",
    if (!is.null(p$details)) c("\\details{", wrapped(p$details), "}"), "\\value{", wrapped(p$value), "}",
    if ("..." %in% used) options_section(p$name), "\\examples{", p$examples, "}")
}

# The page of the package itself.
PACKAGE <- c("% Made by man.R.", "\\name{comp-package}", "\\alias{comp-package}", "\\alias{comp}", "\\docType{package}", "\\title{Contrastive Mixture of Posteriors}",
  "\\description{", wrapped("Embeddings of cells or other samples that keep the biology and remove a condition, such as a batch or a treatment, and predictions of each sample under another condition. \\code{\\link{runComp}} does everything at once; \\code{\\link{prepareComp}}, \\code{\\link{fitComp}}, \\code{\\link{embedComp}}, \\code{\\link{mapComp}}, \\code{\\link{counterfactualComp}}, \\code{\\link{correctComp}}, \\code{\\link{scoreComp}} and \\code{\\link{diagnoseComp}} do it step by step."), "}",
  "\\details{", wrapped("Ctrl-C stops the library in good order, and the session stays usable. Failures are conditions of class \\code{comp_error}, and of a class for each kind: \\code{comp_argument_error}, \\code{comp_data_error}, \\code{comp_file_error}, \\code{comp_format_error}, \\code{comp_memory_error}, \\code{comp_numeric_error}, \\code{comp_unavailable_error}. Their message is that of the library."), "",
  "Options of R that all functions read:", "\\describe{", "\\item{\\code{comp.threads}}{number of threads; 0, the default: all CPUs}", "\\item{\\code{comp.progress}}{whether to show progress; default: on a terminal}",
  "\\item{\\code{comp.verbose}}{\\code{TRUE}: messages say what is being done, and what was decided for you}", "}", "}")

pages <- c(setNames(lapply(PAGES, page), vapply(PAGES, `[[`, "", "name")), list("comp-package" = PACKAGE))
stale <- character()
for (name in names(pages)) {
  path <- file.path(here, "man", paste0(name, ".Rd"))
  text <- paste0(paste(pages[[name]], collapse = "\n"), "\n")
  if (file.exists(path) && identical(readChar(path, file.size(path), useBytes = TRUE), text)) next
  stale <- c(stale, name)
  if (!"--check" %in% commandArgs()) cat(text, file = path)
}
unknown <- setdiff(sub("\\.Rd$", "", list.files(file.path(here, "man"))), names(pages))
if ("--check" %in% commandArgs() && length(c(stale, unknown)) > 0L)
  stop("help pages that are not current: ", paste(c(stale, unknown), collapse = ", "), "; run ./dev r man", call. = FALSE)
