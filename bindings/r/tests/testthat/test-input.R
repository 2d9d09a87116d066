# Input that is wrong or unusual: an error that names it, or the same result.

matrix_of <- function(cells = 60, genes = 12) {
  set.seed(1)
  matrix(runif(cells * genes), genes, dimnames = list(paste0("g", seq_len(genes)), paste0("c", seq_len(cells))))
}
pair <- function(n = 60) rep(c("a", "b"), length.out = n)
tiny <- function(x, condition, ...) fitComp(x, condition, hidden = 8, latent = 2, epochs = 1, ...)

test_that("a wrong column is named, with the nearest", {
  expect_refused(tiny(ready(), "conditoin"), "no column 'conditoin'; did you mean 'condition'")
  expect_refused(scoreComp(embedded(), "condition", "labl"), "no column 'labl'; did you mean 'label'")
  expect_refused(runComp(counts(), "conditoin"), "did you mean 'condition'")
  expect_refused(tiny(ready(), "condition", features = c("gene1", "lost")), "no gene 'lost'")
  expect_refused(tiny(ready(), "condition", assay = "lost"), "no layer 'lost'")
  expect_refused(scoreComp(embedded(), "condition", use = "lost"), "no embedding 'lost'; there are: X_comp")
})

test_that("a damaged sparse matrix is refused before C code reads it", {
  x <- as(matrix_of(), "dgCMatrix")
  for (slot in c("p", "x", "i")) {
    bad <- x
    attr(bad, slot) <- attr(x, slot)[1:5]
    expect_refused(tiny(bad, pair()), "the sparse matrix is damaged")
  }
  expect_refused(loadComp(NA_character_), "not the name of a model file", "comp_argument_error")
})

test_that("values that are missing, infinite or too large are named", {
  for (bad in c(NA, NaN, Inf, 1e300)) {
    x <- matrix_of()
    x[4, 8] <- bad
    expect_refused(tiny(x, pair()), "row 4 \\('g4'\\), column 8 \\('c8'\\)")
    expect_refused(tiny(as(x, "dgCMatrix"), pair()), "row 4 \\('g4'\\), column 8 \\('c8'\\)")
  }
  x <- matrix(1:720, 12)
  x[3, 5] <- NA
  expect_refused(tiny(x, pair()), "row 3, column 5: the value is NA")
  z <- matrix(replace(1:120, 67, NA), 60)
  expect_refused(scoreComp(z, pair(), k = 10), "embedding 'embedding': row 7, column 2: the value is NA")
})

test_that("conditions that cannot be used are refused", {
  expect_refused(tiny(matrix_of(), rep("a", 60)), "condition")
  missing <- replace(pair(), c(4, 5), NA)
  for (condition in list(missing, factor(missing), as.numeric(factor(missing)), missing == "a")) {
    expect_warning(model <- tiny(matrix_of(), condition), "2 samples have no value in 'condition' and are left out")
    expect_refused(embedComp(matrix_of(), model, condition = condition), "2 of 60|2 samples|no value")
  }
  expect_refused(tiny(matrix_of(), Sys.Date() + 1:60), "type Date")
  expect_refused(tiny(matrix_of(), as.list(pair())), "type list")
  other <- ready()
  levels(other$obs$condition)[2] <- "dosed"
  expect_refused(embedComp(other, fitted()), "'dosed' is not a condition that the model knows")
  expect_refused(counterfactualComp(ready(), "dosed", fitted()), "dosed", class = "comp_error")
})

test_that("lengths that do not match are refused", {
  expect_refused(tiny(matrix_of(), pair(59)), "condition has 59 values, but there are 60 cells")
  expect_refused(tiny(t(matrix_of()), pair()), "60 values, but there are 12 cells.*t\\(x\\)")
  expect_refused(tiny(matrix_of(), "a"), "condition has 1 values")
  expect_refused(scoreComp(matrix(0, 60, 2), pair(), label = 1:7), "label has 7 values")
  expect_refused(scoreComp(list(a = matrix(0, 60, 2), b = matrix(0, 50, 2)), pair()), "different numbers of rows")
})

test_that("empty data is refused", {
  expect_error(tiny(matrix(0, 12, 0), character()), class = "comp_error")
  expect_error(tiny(matrix(0, 0, 60), pair()), class = "comp_error")
  expect_error(runComp(Matrix::sparseMatrix(i = integer(), j = integer(), x = numeric(), dims = c(5, 0)), character()), class = "comp_error")
})

test_that("what is no matrix of numbers is refused", {
  expect_refused(tiny(matrix("x", 12, 60), pair()), "type character are not numbers")
  expect_refused(tiny(matrix(1i, 12, 60), pair()), "type complex are not numbers")
  expect_refused(tiny(NULL, pair()), "the data is of class NULL, not a matrix")
  expect_refused(tiny(1:60, pair()), "the data is of class integer, not a matrix")
  x <- matrix_of()
  rownames(x)[2] <- "g1"
  expect_refused(tiny(x, pair()), "names of genes repeat, such as 'g1'")
  expect_refused(embedComp(ready()), "no model", class = "comp_argument_error")
  expect_refused(embedComp(ready(), 7), "not a model", class = "comp_argument_error")
})

test_that("files that are missing or damaged are conditions of their own", {
  expect_refused(loadComp(file.path(tempdir(), "lost.comp")), "lost.comp", class = "comp_file_error")
  path <- tempfile()
  writeBin(c(fitted()$bytes[1:2000], as.raw(0)), path)
  expect_error(loadComp(path), class = "comp_format_error")
})

test_that("all layouts of a matrix give the same embedding", {
  x <- ready()$x
  condition <- ready()$obs$condition
  expected <- floats(embedComp(x, fit(x, condition), condition = condition))
  expect_identical(floats(embedComp(x, fit(as(x, "RsparseMatrix"), condition), condition = condition)), expected)
  expect_identical(floats(embedComp(as(x, "TsparseMatrix"), fit(x, condition), condition = condition)), expected)
  dense <- floats(embedComp(as.matrix(x), fit(as.matrix(x), condition), condition = condition))
  expect_identical(floats(embedComp(as.data.frame(as.matrix(x)), fit(as(x, "denseMatrix"), condition), condition = condition)), dense)
  whole <- as.matrix(counts()$x)
  expect_identical(fit(whole, condition)$bytes, fit(structure(as.integer(whole), dim = dim(whole), dimnames = dimnames(whole)), condition)$bytes)
})

test_that("kinds of conditions name the same groups", {
  codes <- rep(0:1, 30)
  for (condition in list(codes, as.numeric(codes), as.character(codes), factor(codes, 0:2))) expect_equal(tiny(matrix_of(), condition)$conditions, c("0", "1"))
  expect_length(tiny(matrix_of(), codes == 1)$conditions, 2)
  expect_equal(sort(tiny(matrix_of(), ifelse(codes == 1, "x", "\u00e4"))$conditions), sort(c("x", "\u00e4")))
})
