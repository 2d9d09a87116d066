# The code of docs/r.md, run from top to bottom.

test_that("the tour runs", {
  lines <- readLines(repository("docs", "r.md"))
  skip_if_not_installed("SeuratObject")
  skip_if_not_installed("SingleCellExperiment")
  starts <- grep("^```r$", lines)
  ends <- vapply(starts, function(s) s + which(lines[-seq_len(s)] == "```")[1], 1)
  expect_gte(length(starts), 5)
  old <- setwd(tempdir())
  on.exit(setwd(old))
  on.exit(options(comp.verbose = NULL, comp.threads = 1, comp.progress = NULL), add = TRUE)
  names <- new.env()
  shown <- capture.output(suppressMessages(suppressWarnings(for (i in seq_along(starts)) {
    for (part in parse(text = lines[(starts[i] + 1):(ends[i] - 1)])) print(eval(part, names))
  })))
  expect_match(paste(shown, collapse = "\n"), "did you mean 'condition'")
  expect_true("comp" %in% SeuratObject::Reductions(names$object))
})
