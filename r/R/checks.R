# Checks of arguments.

describe <- function(x) {
  if (is.null(x)) return("NULL")
  if (is.data.frame(x)) return(sprintf("a data frame of %d rows and %d columns", nrow(x), ncol(x)))
  if (is.matrix(x)) return(sprintf("a matrix of %d rows and %d columns", nrow(x), ncol(x)))
  if (is.atomic(x) && length(x) == 1) return(paste(if (is.character(x)) quoted(x) else format(x)))
  kind <- class(x)[[1]]
  sprintf("%s %s%s", if (grepl("^[aeiou]", kind)) "an" else "a", kind, if (is.atomic(x)) sprintf(" of length %d", length(x)) else "")
}

check_text <- function(x, arg, call = rlang::caller_env()) {
  if (!is.character(x) || length(x) != 1 || is.na(x) || !nzchar(x)) {
    stop_input(sprintf("`%s`: expected one text, found %s", arg, describe(x)), arg = arg, call = call)
  }
  x
}

check_frame <- function(x, arg, call = rlang::caller_env()) {
  if (missing(x) || !is.data.frame(x)) {
    stop_input(
      sprintf("`%s`: expected a data frame, found %s", arg, if (missing(x)) "nothing" else describe(x)),
      if (!missing(x) && is.matrix(x)) sprintf("as.data.frame(%s) makes one", arg), arg = arg, call = call
    )
  }
  if (nrow(x) == 0) stop_input(sprintf("`%s`: expected at least one row, found none", arg), arg = arg, call = call)
  twice <- unique(names(x)[duplicated(names(x))])
  if (length(twice)) stop_input(sprintf("`%s`: several columns are named %s", arg, quoted(twice[[1]])), "names(data) <- make.unique(names(data)) makes them different", arg = arg, call = call)
  as.data.frame(x)
}

check_level <- function(level, call = rlang::caller_env()) {
  if (!is.numeric(level) || !length(level) || anyNA(level) || any(level <= 0 | level >= 1)) {
    hint <- if (is.numeric(level) && all(is.finite(level)) && all(level >= 1 & level < 100)) sprintf("%g percent is level = %g", level[[1]], level[[1]] / 100)
    stop_input(sprintf("`level`: expected numbers between 0 and 1, found %s", some(format(level))), hint, arg = "level", call = call)
  }
  if (anyDuplicated(level)) stop_input("`level`: expected different numbers, found one twice", arg = "level", call = call)
  level
}

# Finds one of several choices, exactly.
check_choice <- function(x, choices, arg, call = rlang::caller_env()) {
  if (identical(x, choices)) return(choices[[1]])
  if (!is.character(x) || length(x) != 1 || !x %in% choices) {
    stop_input(sprintf("`%s`: expected one of %s, found %s", arg, paste(quoted(choices), collapse = ", "), describe(x)), arg = arg, call = call)
  }
  x
}

check_count <- function(x, arg, call = rlang::caller_env()) {
  if (!is.numeric(x) || length(x) != 1 || is.na(x) || x < 1 || x != round(x)) {
    stop_input(sprintf("`%s`: expected a whole number from 1, found %s", arg, describe(x)), arg = arg, call = call)
  }
  as.integer(x)
}

# Refuses names that are not options, with the closest one.
check_names <- function(given, known, what, call = rlang::caller_env()) {
  if (is.null(given)) return(invisible())
  if (any(!nzchar(given))) stop_input(sprintf("%s: expected options by name, found a value without one", what), call = call)
  unknown <- setdiff(given, known)
  if (length(unknown)) {
    close <- known[utils::adist(unknown[[1]], known)[1, ] <= 2]
    stop_input(
      sprintf("%s has no argument `%s`", what, unknown[[1]]),
      if (length(close)) sprintf("did you mean `%s`?", close[[1]]), arg = unknown[[1]], call = call
    )
  }
  twice <- given[duplicated(given)]
  if (length(twice)) stop_input(sprintf("%s: `%s` is given twice", what, twice[[1]]), arg = twice[[1]], call = call)
}
