# Runs the tests, of COMP_TESTS those in files whose name contains it, and prints how many there were; ./dev r reads the last line.
library(testthat)
library(comp)

only <- Sys.getenv("COMP_TESTS")
results <- as.data.frame(test_dir("testthat", package = "comp", load_package = "installed", filter = if (nzchar(only)) only, reporter = "check", stop_on_failure = FALSE))
failed <- results$failed > 0 | results$error
skipped <- results$skipped & !failed
cat(sprintf("tests: %d passed, %d failed, %d skipped\n", sum(!failed & !skipped), sum(failed), sum(skipped)))
if (any(failed)) stop("tests failed")
