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

test_that("many cycles do not grow", {
  skip_if(!file.exists("/proc/self/status"), "there is no /proc")
  memory <- function() {
    gc(FALSE)
    as.numeric(gsub("[^0-9]", "", grep("VmRSS", readLines("/proc/self/status"), value = TRUE))) / 1024
  }
  cycles <- function(n) for (i in seq_len(n)) {
    model <- fitComp(ready(), "condition", hidden = 8, latent = 2, epochs = 1)
    counterfactualComp(ready(), "treated", model)
    try(fitComp(ready(), "condition", latent = 0), silent = TRUE)
    try(fitComp(ready(), "condition", hidden = 8, latent = 2, epochs = 2, on_epoch = function(e) stop("no")), silent = TRUE)
  }
  cycles(15)
  early <- memory()
  cycles(30)
  expect_lt(memory() - early, 5)
})

test_that("handles of another session are refused, not followed", {
  handle <- unserialize(serialize(comp:::model_handle(fitted()), NULL))
  expect_error(.Call(comp:::r_model_info, handle), "earlier session")
  expect_error(.Call(comp:::r_model_info, comp:::new_context()), "a model of comp was expected")
  expect_error(.Call(comp:::r_model_info, 1), "a model of comp was expected")
})
