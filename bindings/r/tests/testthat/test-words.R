# Messages of the library name arguments and functions of R.

test_that("options become arguments, and commands functions", {
  words <- c(
    "Train longer (--epochs) or raise --gamma." = "Train longer (epochs) or raise gamma.",
    "Use --align all: it mixes" = "Use align = \"all\": it mixes",
    "Add it, or name the new condition with --as NAME" = "Add it, or name the new condition with as = \"NAME\"",
    "Train with --gamma 0 and a larger --alpha." = "Train with gamma = 0 and a larger alpha.",
    "raise --gamma only if samples are not mixed (comp score: m_kbet)." = "raise gamma only if samples are not mixed (scoreComp(): m_kbet).",
    "X does not look logged: comp prep --normalize-total median --log1p makes it so" =
      "X does not look logged: prepareComp(normalize_total = \"median\", log1p = TRUE) makes it so",
    "comp run --all-counterfactuals predicts all; comp counterfactual --to VALUE one." =
      "runComp(all_counterfactuals = TRUE) predicts all; counterfactualComp(to = \"VALUE\") one.",
    "Train with other seeds (comp train --seed) and give all models with -m." = "Train with other seeds (fitComp(seed = ...)) and give all models with model.",
    "Train with --gamma 0 and give that model with --against." = "Train with gamma = 0 and give that model with against.",
    "hvg-batch: it needs hvg" = "hvg_batch: it needs hvg",
    # What is not in the tables, and what only looks like an option, stays.
    "as comp score --json writes" = "as comp score --json writes",
    "comp umap makes X_umap" = "comp umap makes X_umap",
    "my--gamma/x--seed.h5ad: no such file" = "my--gamma/x--seed.h5ad: no such file"
  )
  for (text in names(words)) expect_equal(comp:::in_r(text), words[[text]])
  expect_equal(comp:::in_r(names(words)[1:2]), unname(words[1:2]))
  expect_equal(comp:::in_r(character()), character())
})

test_that("errors, messages and findings are such texts", {
  part <- ready()$x[, 1:50]
  expect_refused(mapComp(part, ready(), fitted()), "with as = \"NAME\"")
  expect_refused(prepareComp(counts(), hvg_batch = "label"), "^hvg_batch: ", class = "comp_argument_error")
  found <- diagnoseComp(ready(), fitted(), permutations = 20)
  expect_false(any(grepl("(^| |\\()--", c(found$text, found$advice))))
})

test_that("commands for a shell are not shown", {
  said <- character()
  old <- options(comp.verbose = TRUE)
  on.exit(options(old))
  withCallingHandlers(runComp(counts(), "condition", hidden = 16, latent = 3, epochs = 2, no_diagnose = TRUE, no_umap = TRUE),
                      message = function(m) { said <<- c(said, conditionMessage(m)); invokeRestart("muffleMessage") })
  expect_true(length(said) > 0L)
  expect_false(any(grepl("^\\$ |-i /", said)))
})
