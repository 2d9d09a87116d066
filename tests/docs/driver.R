# driver.R: runs R blocks for blocks.py. A line of input: folder, file with the block, file for what it prints, 1 for few epochs. The blocks of a folder share their variables.
suppressPackageStartupMessages(library(comp))
options(comp.threads = 1) # the least CPU time, the same bytes
shortened <- function(f, ...) {
  few <- list(epochs = 3, hidden = 16, latent = 4, ...)
  function(...) {
    given <- list(...)
    do.call(f, c(given, few[setdiff(names(few), names(given))]))
  }
}
page <- NULL
folder <- ""
input <- file("stdin", "r")
while (length(line <- readLines(input, 1)) == 1) {
  words <- strsplit(line, "\t")[[1]]
  if (words[1] != folder) {
    folder <- words[1]
    setwd(folder)
    page <- new.env()
    if (words[4] == "1") {
      page$RunComp <- shortened(comp::RunComp, no_diagnose = TRUE, no_umap = TRUE)
      page$runComp <- shortened(comp::runComp, no_diagnose = TRUE, no_umap = TRUE)
      page$fitComp <- shortened(comp::fitComp)
    }
  }
  status <- 0
  sink(words[3])
  tryCatch(suppressWarnings(suppressMessages(for (part in parse(words[2])) {
    value <- withVisible(eval(part, page))
    if (value$visible) print(value$value)
  })), error = function(e) {
    cat("Error:", conditionMessage(e), "\n")
    status <<- 1
  })
  sink()
  cat("done", status, "\n")
}
