# Options by name, as the tables have them.

test_that("an unknown option is an error with the nearest name", {
  expect_refused(fitComp(ready(), "condition", gama = 3), "no argument 'gama'; did you mean 'gamma'", class = "comp_argument_error")
  expect_refused(fitComp(ready(), "condition", epo = 3), "no argument 'epo'; did you mean 'epochs'", class = "comp_argument_error")
  expect_refused(fitComp(ready(), "condition", xyz = 3), "no argument 'xyz'$", class = "comp_argument_error")
  expect_refused(fitComp(ready(), "Conditio"), "no column 'Conditio'; did you mean 'condition'")
  expect_refused(fitComp(ready(), "condition", memory = "2G"), "no argument 'memory'", class = "comp_argument_error")
  expect_refused(fitComp(ready(), "condition", 3), "no name", class = "comp_argument_error")
  expect_refused(correctComp(ready(), "control", fitted(), samples = 3), "no argument 'samples'", class = "comp_argument_error")
})

test_that("a bad value has the message of the library", {
  expect_refused(fitComp(ready(), "condition", latent = 0), "latent", class = "comp_argument_error")
  expect_refused(fitComp(ready(), "condition", schedule = "linear"), "schedule.*'linear'", class = "comp_argument_error")
  expect_refused(fitComp(ready(), "condition", epochs = "many"), "epochs", class = "comp_argument_error")
  expect_refused(fitComp(ready(), "condition", epochs = NA), "'epochs' is empty or missing", class = "comp_argument_error")
})

test_that("values of every type arrive", {
  model <- fitComp(ready(), "condition", hidden = c(8, 9), latent = 2L, gamma = 0.1, learn_scale = TRUE, blur = c(1.5, 0.5), epochs = 1, seed = NULL)
  expect_equal(model$config$hidden, c(8, 9))
  expect_equal(model$config$latent, 2)
  expect_equal(model$config$gamma, 0.1)
  expect_true(model$config$learn_scale)
  kept <- prepareComp(counts(), keep = c("label=type1,type2", "condition=control"))
  expect_setequal(as.character(unique(kept$obs$label)), c("type1", "type2"))
  expect_setequal(as.character(unique(kept$obs$condition)), "control")
})

test_that("every option of the tables is on a help page", {
  pages <- tools::Rd_db("comp")
  for (fn in names(comp:::OPTIONS)) {
    text <- paste(as.character(pages[[paste0(fn, ".Rd")]]), collapse = "")
    for (name in names(comp:::option_rows(fn))) expect_true(grepl(name, text, fixed = TRUE), paste(fn, name))
  }
})

test_that("the package and the library have one version", {
  expect_equal(.Call(comp:::r_version)$version, as.character(utils::packageVersion("comp")))
  meson <- paste(readLines(repository("meson.build")), collapse = "\n")
  expect_match(meson, sprintf("version: '%s'", utils::packageVersion("comp")), fixed = TRUE)
})
