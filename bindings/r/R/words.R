# Messages of the library as users of R read them: arguments and functions in place of the program's options and commands.
#
#   --min-dist 0.1                     min_dist = 0.1
#   Leave them out (--keep)            Leave them out (keep)
#   comp train --model vae --log1p     fitComp(model = "vae", log1p = TRUE)
#
# Every text of the library that users see goes through in_r(): errors, messages, findings, help pages. What is not in the tables of options, such as
# `comp score --json`, is of the program only and stays as it is.

FUNCTIONS <- c(prep = "prepareComp", train = "fitComp", embed = "embedComp", map = "mapComp", counterfactual = "counterfactualComp", correct = "correctComp",
               score = "scoreComp", diagnose = "diagnoseComp", audit = "auditComp", simulate = "simulateComp", run = "runComp")
NAME <- "[a-z][a-z0-9]*(?:-[a-z0-9]+)*"
START <- sprintf("(?<![\\w/.-])(?:comp (?:%s)\\b(?!-)|--%s|-m(?= |[.,;)]|$))", paste(names(FUNCTIONS), collapse = "|"), NAME)
OPTION <- sprintf("^ ?--%s", NAME)
VALUE <- "^ (?:'[^']*'|[A-Za-z0-9](?:[\\w.,:=-]*[A-Za-z0-9])?)"
NUMBERS <- c("int", "real", "bytes", "ints", "reals")

# Every option by its name; of several kinds with the same name the first, with the choices of all.
known_options <- local({
  known <- NULL
  function() {
    if (is.null(known)) {
      found <- list(against = list(type = "file", words = character())) # a file for the program, an argument of diagnoseComp()
      for (row in kind_rows(NULL)) {
        entry <- found[[row$name]]
        if (is.null(entry)) entry <- list(type = row$type, words = character())
        entry$words <- c(entry$words, unlist(row$choices), strsplit(if (is.null(row$metavar)) "" else row$metavar, "|", fixed = TRUE)[[1L]])
        found[[row$name]] <- entry
      }
      known <<- found
    }
    known
  }
})

# What the pattern matches at the beginning of the text; "" if nothing.
taken <- function(pattern, text) {
  at <- regexpr(pattern, text, perl = TRUE)
  if (at == 1L) substr(text, 1L, attr(at, "match.length")) else ""
}

# Whether the word behind an option is its value; else it is the next word of the sentence.
is_value <- function(option, word) {
  if (option$type == "bool" || word == "") return(FALSE)
  if (option$type %in% NUMBERS && grepl("^[0-9.,]+$", word)) return(TRUE)
  word %in% option$words || grepl("^'|,|^[A-Z][A-Z0-9_]+(=[A-Z,]+)?$", word)
}

# The option that the text begins with: its name as R has it, its value or NULL, and the text behind it. NULL: there is none, or it is of the program only.
read_option <- function(text) {
  found <- taken(OPTION, text)
  name <- sub("^ ?--", "", found)
  option <- if (name == "") NULL else known_options()[[name]]
  if (is.null(option)) return(NULL)
  rest <- substring(text, nchar(found) + 1L)
  value <- if (option$type == "bool") "TRUE"
  word <- taken(VALUE, rest)
  if (is_value(option, sub("^ ", "", word))) {
    rest <- substring(rest, nchar(word) + 1L)
    value <- sub("^ ", "", word)
    if (!option$type %in% NUMBERS && !startsWith(value, "'")) value <- dQuote(value, FALSE)
  }
  list(name = r_name(name), value = value, rest = rest)
}

# A command, and the options that the text behind it begins with.
read_call <- function(command, rest) {
  arguments <- character()
  while (taken(OPTION, rest) != "") {
    option <- read_option(rest)
    if (is.null(option)) return(NULL)
    arguments <- c(arguments, paste(option$name, "=", if (is.null(option$value)) "..." else option$value))
    rest <- option$rest
  }
  list(text = sprintf("%s(%s)", FUNCTIONS[[command]], paste(arguments, collapse = ", ")), rest = rest)
}

# The text with arguments and functions of R.
in_r <- function(text) {
  if (length(text) != 1L || is.na(text)) return(vapply(text, function(t) if (is.na(t)) NA_character_ else in_r(t), "", USE.NAMES = FALSE))
  out <- ""
  leading <- sub(":$", "", taken(sprintf("^%s:(?= )", NAME), text))
  if (leading != "" && !is.null(known_options()[[leading]])) { # "hvg-batch: it needs hvg"
    out <- r_name(leading)
    text <- substring(text, nchar(leading) + 1L)
  }
  repeat {
    at <- regexpr(START, text, perl = TRUE)
    if (at < 0L) return(paste0(out, text))
    word <- substr(text, at, at + attr(at, "match.length") - 1L)
    out <- paste0(out, substr(text, 1L, at - 1L))
    rest <- substring(text, at + nchar(word))
    if (word == "-m") {
      word <- "model"
    } else if (startsWith(word, "--")) {
      option <- read_option(substring(text, at))
      if (!is.null(option)) {
        word <- paste(c(option$name, option$value), collapse = " = ")
        rest <- option$rest
      }
    } else {
      call <- read_call(sub("^comp ", "", word), rest)
      if (!is.null(call)) {
        word <- call$text
        rest <- call$rest
      }
    }
    out <- paste0(out, word)
    text <- rest
  }
}
