# Conditions: what the binary reports, in the words of a caller from R.

# Messages of the binary name flags and files; callers gave arguments and frames.
as_arguments <- function(text) {
  text <- gsub("\\S*/(items|votes|raters)\\.parquet", "`\\1`", text)
  text <- gsub("`items`", "`data`", text, fixed = TRUE)
  # What the formula and other arguments decide in R.
  text <- gsub("--from \\S+/run:", "`start`:", text)
  text <- gsub("the files that \\S+/run was trained on", "the data that it was trained on", text)
  text <- gsub("--item-weights", "`weights`", text, fixed = TRUE)
  text <- gsub("--ignore (\\S+)", "`- \\1` in the formula", text)
  text <- gsub("--categorical (\\S+)", "factor(\\1) in the formula", text)
  text <- gsub("--numeric (\\S+)", "as.numeric(\\1) in the formula", text)
  named <- gregexpr("\\S*/options\\.yaml:\\d+:\\d+: [a-z-]+", text)
  regmatches(text, named) <- lapply(regmatches(text, named), function(at) paste0("`", gsub("-", "_", sub(".*: ", "", at)), "`"))
  found <- gregexpr("--[a-z][a-z-]*[a-z]", text)
  regmatches(text, found) <- lapply(regmatches(text, found), function(flags) {
    paste0("`", gsub("-", "_", substring(flags, 3)), "`")
  })
  text
}

# Raises an error; `arg` is the argument that is to blame, `hint` what to do about it.
stop_input <- function(message, hint = NULL, arg = NULL, class = "credence_input_error", code = 1L, call = rlang::caller_env()) {
  rlang::abort(
    c(message, if (!is.null(hint) && nzchar(hint)) c(i = hint)),
    class = c(class, "credence_error"),
    hint = hint, arg = arg, code = code, call = call
  )
}

warn_input <- function(message, hint = NULL) {
  rlang::warn(c(message, if (!is.null(hint)) c(i = hint)), class = "credence_warning")
}

# Raises the error that the messages of a binary describe which ended with `code`.
stop_messages <- function(lines, code, call = rlang::caller_env()) {
  message <- hint <- ""
  at <- which(startsWith(lines, "credence: error: "))
  if (length(at)) {
    at <- at[[length(at)]]
    later <- which(startsWith(lines, "credence: ") & seq_along(lines) > at)
    end <- if (length(later)) later[[1]] - 1L else length(lines)
    message <- paste(c(sub("credence: error: ", "", lines[[at]], fixed = TRUE), lines[seq_len(end - at) + at]), collapse = "\n")
  }
  hints <- lines[startsWith(lines, "credence: hint: ")]
  if (length(hints)) hint <- sub("credence: hint: ", "", hints[[length(hints)]], fixed = TRUE)
  if (code < 0) {
    message <- paste0("credence was ended by signal ", -code, if (nzchar(message)) paste0(": ", message))
    hint <- if (code == -9) "the kernel ends programs when memory runs out (signal 9)" else ""
    stop_input(message, hint, class = "credence_binary_error", code = code, call = call)
  }
  if (!nzchar(message)) {
    last <- if (length(lines)) lines[[length(lines)]] else "no message"
    stop_input(sprintf("credence ended with exit code %d: %s", code, last), class = "credence_binary_error", code = code, call = call)
  }
  disk <- grepl("no space left on device|disk quota exceeded|read-only file system|permission denied", message, ignore.case = TRUE)
  class <- if (disk) "credence_file_error" else if (code == 3) "credence_binary_error" else "credence_input_error"
  arg <- regmatches(as_arguments(message), regexpr("`[a-z_]+`", as_arguments(message)))
  stop_input(as_arguments(message), as_arguments(hint), arg = gsub("`", "", arg), class = class, code = code, call = call)
}

# Passes on the warnings among messages of the binary.
warn_messages <- function(lines) {
  for (line in lines[startsWith(lines, "credence: warning: ")]) {
    warn_input(as_arguments(sub("credence: warning: ", "", line, fixed = TRUE)))
  }
}

quoted <- function(x) paste0("\"", x, "\"")

# Lists the first few of some names.
some <- function(x, most = 5L) {
  paste0(paste(utils::head(x, most), collapse = ", "), if (length(x) > most) sprintf(" and %d more", length(x) - most))
}
