# Models and what they give, on simulated cells.

test_that("a model knows itself and prints", {
  model <- fitted()
  expect_equal(model$condition, "condition")
  expect_equal(model$conditions, c("control", "treated"))
  expect_equal(model$features, rownames(ready()$x))
  expect_equal(nrow(model$history), 4)
  expect_true(all(is.finite(model$history$train_total)))
  expect_true(model$finished)
  expect_output(print(model), "40 genes, 3 dimensions, condition 'condition' \\(control, treated\\)")
})

test_that("models survive files and saveRDS", {
  path <- tempfile(fileext = ".comp")
  saveComp(fitted(), path)
  expect_identical(readBin(path, "raw", 1e7), fitted()$bytes)
  z <- embedded()$embeddings$X_comp
  expect_identical(embedComp(ready(), loadComp(path))$embeddings$X_comp, z)
  expect_identical(embedComp(ready(), path)$embeddings$X_comp, z)
  saveRDS(fitted(), path)
  expect_identical(embedComp(ready(), readRDS(path))$embeddings$X_comp, z)
})

test_that("threads do not change results", {
  expect_identical(fit(ready(), "condition", threads = 7)$bytes, fit(ready(), "condition")$bytes)
})

test_that("other cells are prepared as those of the model were", {
  z <- embedded()$embeddings$X_comp
  new <- embedComp(counts()$x[40:1, 11:30], fitted(), condition = counts()$obs$condition[11:30])
  expect_equal(dim(new), c(20, 3))
  expect_equal(new, z[11:30, ], tolerance = 1e-4, ignore_attr = TRUE)
  expect_warning(embedComp(ready()$x[-(1:5), ], fitted(), condition = ready()$obs$condition), "filled with their training mean|taken as normalised")
})

test_that("predictions have the genes of the model, in the order of the data", {
  values <- counterfactualComp(ready(), "treated", fitted(), from = "control", samples = 3, seed = 1)
  expect_named(values$layers, paste0("counterfactual_treated", c("", "_sd", "_lower", "_upper")))
  layer <- values$layers$counterfactual_treated
  own <- ready()$obs$condition == "treated"
  expect_equal(layer[, own], as.matrix(ready()$x)[, own], tolerance = 1e-6)
  expect_true(all(values$layers$counterfactual_treated_sd[, own] == 0) && all(values$layers$counterfactual_treated_sd[, !own] > 0))
  expect_true(all(values$layers$counterfactual_treated_lower <= values$layers$counterfactual_treated_upper))
  turned <- ready()
  turned$x <- turned$x[40:1, ]
  expect_equal(counterfactualComp(turned, "treated", fitted(), from = "control", samples = 3, seed = 1)$layers$counterfactual_treated, layer[40:1, ], tolerance = 1e-5)
  plain <- suppressWarnings(counterfactualComp(ready()$x, "treated", fitted(), from = "control", samples = 3, seed = 1, condition = ready()$obs$condition))
  expect_identical(plain$values, layer)
  corrected <- correctComp(ready(), "control", fitted())$layers$corrected
  expect_equal(dim(corrected), c(40, 300))
  expect_identical(corrected, counterfactualComp(ready(), "control", fitted())$layers$counterfactual_control)
  fewer <- ready()
  fewer$x <- fewer$x[-1, ]
  expect_refused(suppressWarnings(correctComp(fewer, "control", fitted())), "39 genes, the model 40")
})

test_that("scores are a data frame, and findings say what they mean", {
  scores <- scoreComp(embedded(), "condition", "label", k = 20, small_labels = "shrink", min_label = 10, predict = "condition")
  expect_s3_class(scores, "data.frame")
  expect_named(scores, c("embedding", "metric", "title", "value", "low", "high", "chance", "better"))
  mixing <- scores$metric %in% c("kbet", "m_kbet")
  expect_true(all(is.finite(scores$chance[mixing & is.finite(scores$value)])))
  expect_true(all(is.na(scores$chance[!mixing])))
  expect_true(all(c("kbet", "m_kbet", "predict_condition_logistic") %in% scores$metric))
  expect_true(all(scores$value[scores$metric == "kbet"] <= 1))
  expect_true("mixing" %in% findingsComp(scores)$id)
  alone <- scoreComp(embedded()$embeddings$X_comp, ready()$obs$condition, k = 20)
  expect_equal(alone$value[alone$metric == "kbet"], scores$value[scores$metric == "kbet"])
  two <- scoreComp(list(a = embedded()$embeddings$X_comp, b = counts()$embeddings$truth_state), ready()$obs$condition, k = 20)
  expect_equal(unique(two$embedding), c("a", "b"))
  full <- scoreComp(embedded(), "condition", "label", metrics = "pcr", k = 20)
  expect_equal(full$metric, "pcr")
  expect_refused(scoreComp(embedded()$embeddings$X_comp, ready()$obs$condition, metrics = "pcr"), "need the values of the genes")
})

test_that("a model can be diagnosed", {
  checks <- diagnoseComp(ready(), fitted(), "label", permutations = 20)
  expect_true(all(c("normality", "prediction") %in% checks$id))
  expect_true(all(checks$level %in% c("ok", "note", "caution", "problem")))
  two <- diagnoseComp(ready(), list(fitted(), fitComp(ready(), "condition", hidden = 16, latent = 3, epochs = 4, seed = 2)), permutations = 20)
  expect_false(identical(two$text, checks$text))
  expect_refused(diagnoseComp(ready(), fitted(), against = fitted(), permutations = 20), "the same model", class = "comp_argument_error")
})

test_that("a model can be compared with one without a penalty, as the advice says", {
  train <- function(gamma) fitComp(ready(), "condition", hidden = 16, latent = 3, epochs = 60, seed = 1, gamma = gamma)
  of <- function(...) subset(diagnoseComp(ready(), train(1), ..., permutations = 20), id == "reconstruction")
  expect_match(of()$advice, "give that model with against", fixed = TRUE)
  compared <- of(against = train(0))
  expect_no_match(compared$text, "not known")
  expect_no_match(compared$advice, "against")
})

test_that("tables of every kind come back", {
  path <- tempfile(fileext = ".csv")
  write.csv(data.frame(a = c(1.5, 2, 3), b = 3:1, group = c("x", NA, "y"), yes = c(TRUE, FALSE, TRUE)), path, row.names = FALSE)
  data <- readComp(path)
  expect_equal(as.matrix(data$x), rbind(a = c(1.5, 2, 3), b = 3:1), ignore_attr = TRUE)
  expect_equal(as.character(data$obs$group), c("x", NA, "y"))
  expect_equal(as.logical(data$obs$yes), c(TRUE, FALSE, TRUE))
  expect_output(print(counts()), "40 genes x 300 cells.*obs: condition, label")
})

test_that("an attribute is audited", {
  audit <- auditComp(ready(), "condition", "label", model = fitted(), attackers = "logistic", release = "draws", points = 500)
  expect_setequal(audit$attacks$source, c("means", "draws", "data"))
  expect_true(all(audit$attacks$balanced_accuracy >= audit$attacks$balanced_accuracy_low))
  expect_true(audit$certificates$balanced_accuracy <= 1)
  expect_equal(audit$utility$source, c("means", "draws", "data"))
  expect_equal(audit$utility$accuracy, vapply(audit$document$utility, function(u) u$accuracy, 0))
  expect_type(audit$utility$parity_gap, "double")
  expect_true("attack" %in% audit$findings$id)
  alone <- auditComp(embedded()$embeddings$X_comp, ready()$obs$condition, attackers = "logistic")
  expect_equal(unique(alone$attacks$source), "means")
  expect_null(alone$utility)
  expect_refused(auditComp(embedded(), "condition", use = "nothing"), "there is no embedding")
})

test_that("new cells are mapped, and the model of before stays as it is", {
  cells <- keep("three", prepareComp(simulateComp(cells = 300, genes = 40, conditions = 3, seed = 3), normalize_total = "median", log1p = TRUE))
  new <- cells$obs$condition == "treated2"
  some <- function(which) cells$x[, which]
  condition <- as.character(cells$obs$condition)
  model <- fit(some(!new), condition[!new])
  mapped <- mapComp(some(new), some(!new), model, label = cells$obs$label[!new], condition = condition[new], reference_condition = condition[!new], steps = 5)
  expect_identical(mapped$model$conditions, c("control", "treated1", "treated2"))
  expect_identical(model$conditions, c("control", "treated1"))
  expect_identical(dim(mapped$embedding), c(sum(new), 3L))
  expect_identical(rownames(mapped$obs), colnames(cells$x)[new])
  expect_setequal(names(mapped$obs), c("comp_distance", "comp_novelty", "comp_unknown", "label_predicted", "label_probability", "label_unknown"))
  expect_identical(levels(mapped$obs$label_predicted), levels(cells$obs$label))
  expect_identical(floats(embedComp(some(!new), mapped$model, condition = condition[!new])), floats(embedComp(some(!new), model, condition = condition[!new])))
  expect_refused(mapComp(some(new), some(!new), model, reference_condition = condition[!new]), "as = \"NAME\"")
  expect_error(mapComp(some(new), some(!new), model, reference_condition = condition[!new], as = "control"), "already", class = "comp_argument_error")
  known <- cells
  known$x <- some(!new)
  known$obs <- data.frame(condition = condition[!new])
  expect_refused(mapComp(some(new), known, model, label = "label", condition = condition[new]), "the reference has no column 'label'")
})
