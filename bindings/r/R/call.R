# Calls that compute: threads, messages, progress and Ctrl-C, and failures as conditions. src/call.c runs the callbacks.

# By the number of the status (comp/status.h).
STATUSES <- c("argument", "memory", "file", "format", "data", "numeric", "interrupted", "unavailable")

# Raises a condition of class comp_KIND_error. C code calls it with the number of a status, and a message of the library.
throw <- function(status, message) {
  kind <- if (is.character(status)) status else STATUSES[status]
  if (!is.character(status)) message <- in_r(message)
  stop(structure(class = c(paste0("comp_", kind, "_error"), "comp_error", "error", "condition"), list(message = message, call = NULL)))
}

refuse <- function(...) throw("data", sprintf(...))

# Messages of the library: warnings (1) are R's warnings, others are R's messages. "$ comp ..." is a command for a shell, on files that runComp() removes.
on_log <- function(level, message) {
  if (startsWith(message, "$ ")) return(invisible())
  message <- in_r(message)
  if (level == 1L) warning(message, call. = FALSE) else message(message)
}

# One line, written again and again.
progress_line <- function() {
  width <- 0L
  function(task, unit, done, total, note, finished) {
    count <- if (total > 0) sprintf("%.0f of %.0f", done, total) else sprintf("%.0f", done)
    line <- if (finished) "" else paste(c(task, paste(count, unit), note), collapse = "  ")
    line <- strtrim(line, getOption("width"))
    cat("\r", formatC(line, width = -width, flag = " "), if (finished) "\r", sep = "", file = stderr())
    width <<- nchar(line, "width")
  }
}

wants_progress <- function(progress) {
  if (is.null(progress)) progress <- getOption("comp.progress")
  if (is.null(progress)) interactive() && isatty(stderr()) else isTRUE(progress)
}

# A context serves one call of a function and is freed with it.
new_context <- function(threads = NULL, progress = NULL, on_epoch = NULL) {
  if (is.null(threads)) threads <- getOption("comp.threads", 0)
  level <- if (isTRUE(getOption("comp.verbose"))) "info" else "warning"
  .Call(r_context_new, text_of(threads), level, list(on_log, if (wants_progress(progress)) progress_line(), on_epoch))
}

free <- function(handle) invisible(.Call(r_free, handle))

.onLoad <- function(libname, pkgname) {
  found <- .Call(r_version)
  if (found$number < 200L || found$number >= 300L) stop(sprintf("the package comp %s needs libcomp 0.2, and found %s", "0.2.0", found$version), call. = FALSE)
}
