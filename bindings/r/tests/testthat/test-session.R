# What concerns a session: Ctrl-C, callbacks that fail, messages, memory.

test_that("Ctrl-C during training leaves the session usable, and training continues to the same bytes", {
  state <- tempfile()
  whole <- fit(ready(), "condition")
  tell <- function(e) {
    if (e$epoch == 2) tools::pskill(Sys.getpid(), tools::SIGINT)
    if (e$epoch >= 2) Sys.sleep(0.2)
  }
  found <- tryCatch(fit(ready(), "condition", checkpoint = state, checkpoint_minutes = 0, on_epoch = tell), interrupt = function(i) "interrupted")
  expect_equal(found, "interrupted")
  expect_true(file.exists(state))
  expect_identical(fit(ready(), "condition", checkpoint = state, resume = TRUE)$bytes, whole$bytes)
  expect_false(file.exists(state))
})

test_that("Ctrl-C stops work that calls nothing of R", {
  skip_on_os("windows")
  system(sprintf("(sleep 0.5; kill -INT %d) &", Sys.getpid()))
  found <- tryCatch(fitComp(ready(), "condition", epochs = 1e6), interrupt = function(i) "interrupted")
  expect_equal(found, "interrupted")
})

test_that("callbacks see epochs, can end training, and may fail", {
  seen <- list()
  model <- fit(ready(), "condition", on_epoch = function(e) {
    seen[[length(seen) + 1]] <<- e
    e$epoch < 2
  })
  expect_length(seen, 2)
  expect_equal(nrow(model$history), 2)
  expect_false(model$finished)
  expect_equal(unname(seen[[2]]$train["total"]), model$history$train_total[2], tolerance = 1e-5)
  expect_error(fit(ready(), "condition", on_epoch = function(e) stop("no more")), "no more")
  expect_error(fit(ready(), "condition", on_epoch = "f"), "function|apply")
})

test_that("messages are R's, and handlers may jump", {
  old <- options(comp.verbose = TRUE)
  on.exit(options(old))
  suppressMessages(expect_message(fit(ready(), "condition"), "300 samples"))
  expect_silent(suppressMessages(fit(ready(), "condition")))
  expect_equal(tryCatch(fit(ready(), "condition"), message = function(m) "caught"), "caught")
  expect_equal(tryCatch(embedComp(ready()$x[-1, ], fitted(), condition = ready()$obs$condition), warning = function(w) "caught"), "caught")
})

test_that("progress is shown where it is asked for", {
  lines <- capture.output(comp:::progress_line()("training", "steps", 3, 10, NULL, FALSE), type = "message")
  expect_match(lines, "training +3 of 10 steps")
  shown <- capture.output(fit(ready(), "condition", progress = TRUE), type = "message")
  expect_match(paste(shown, collapse = " "), "steps")
})

# In a process of its own: testthat keeps the traces of all errors.
CYCLES <- quote({
  library(comp)
  options(comp.threads = 1)
  cells <- prepareComp(simulateComp(cells = 300, genes = 40, seed = 3), normalize_total = "median", log1p = TRUE)
  memory <- function() {
    gc()
    as.numeric(gsub("[^0-9]", "", grep("VmRSS", readLines("/proc/self/status"), value = TRUE))) / 1024
  }
  cycles <- function(n) for (i in seq_len(n)) {
    model <- fitComp(cells, "condition", hidden = 8, latent = 2, epochs = 1)
    counterfactualComp(cells, "treated", model)
    try(fitComp(cells, "condition", latent = 0), silent = TRUE)
    try(fitComp(cells, "condition", hidden = 8, latent = 2, epochs = 2, on_epoch = function(e) stop("no")), silent = TRUE)
  }
  cycles(20)
  early <- memory()
  cycles(if (nzchar(Sys.getenv("COMP_LONG"))) 180 else 40)
  cat(early, memory())
})

# ./dev r --long: 200 cycles.
test_that("many cycles do not grow", {
  skip_if(!file.exists("/proc/self/status"), "there is no /proc")
  script <- tempfile(fileext = ".R")
  writeLines(deparse(CYCLES), script)
  found <- as.numeric(strsplit(system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", script), stdout = TRUE, env = "R_TESTS="), " ")[[1]])
  expect_length(found, 2)
  if (nzchar(Sys.getenv("COMP_LONG"))) cat(sprintf("\n%.1f MB after 20 cycles, %.1f MB after 200\n", found[1], found[2]))
  expect_lt(found[2] - found[1], 3)
})

test_that("handles of another session are refused, not followed", {
  handle <- unserialize(serialize(comp:::model_handle(fitted()), NULL))
  expect_error(.Call(comp:::r_model_info, handle), "earlier session")
  expect_error(.Call(comp:::r_model_info, comp:::new_context()), "a model of comp was expected")
  expect_error(.Call(comp:::r_model_info, 1), "a model of comp was expected")
})
