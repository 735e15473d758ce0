# Calls of verbs, for the functions that generate.R writes.

# Runs a verb of the command line on files.
run_verb <- function(verb, arguments, options, call = rlang::caller_env()) {
  what <- paste0("verb_", gsub("[ -]", "_", verb), "()")
  unknown <- setdiff(names(arguments), "")
  if (length(unknown)) check_names(unknown, gsub("-", "_", names(options)), what, call)
  paths <- vapply(arguments, function(a) {
    if (!is.character(a) || length(a) != 1 || is.na(a)) stop_input(sprintf("%s: expected paths, found %s", what, describe(a)), call = call)
    path.expand(a)
  }, "")
  flags <- as_flags(check_values(options, call))
  out <- run_binary(c(strsplit(verb, " ", fixed = TRUE)[[1]], flags, "--", paths), call = call)
  structure(out, class = "credence_output")
}

# Refuses values that no option of the command line takes.
check_values <- function(options, call) {
  for (name in names(options)) {
    value <- options[[name]]
    if (is.null(value)) next
    if (is.factor(value)) options[[name]] <- value <- as.character(value)
    if (!is.atomic(value) || is.complex(value) || is.raw(value) || is.object(value) || !length(value) || anyNA(value) || is.numeric(value) && any(is.infinite(value))) {
      stop_input(sprintf("`%s`: expected numbers or texts, none missing, found %s", gsub("-", "_", name), describe(value)), arg = gsub("-", "_", name), call = call)
    }
  }
  options
}

#' @export
print.credence_output <- function(x, ...) {
  writeLines(unclass(x))
  invisible(x)
}

# Returns the options of training that are given, of the types that they have.
given_options <- function(options, call = rlang::caller_env(2)) {
  if (is.list(options$setting)) options$setting <- paste0(names(options$setting), "=", vapply(options$setting, as_text, ""))
  if (is.list(options$network)) options$network <- as.character(jsonlite::toJSON(options$network, auto_unbox = TRUE, digits = NA))
  options <- check_values(Filter(Negate(is.null), options), call)
  options <- Filter(Negate(isFALSE), options)
  for (name in names(options)) {
    type <- option_types[[name]]
    value <- options[[name]]
    arg <- gsub("-", "_", name)
    several <- endsWith(type, " list")
    wrong <- function(expected) stop_input(sprintf("`%s`: expected %s, found %s", arg, expected, describe(value)), arg = arg, call = call)
    if (!several && length(value) != 1) wrong("one value")
    kind <- sub(" list", "", type)
    if (kind == "integer") {
      if (!is.numeric(value) || any(value != round(value))) wrong(if (several) "whole numbers" else "a whole number")
    } else if (kind == "number") {
      if (!is.numeric(value)) wrong(if (several) "numbers" else "a number")
    } else if (kind == "boolean") {
      if (!is.logical(value)) wrong("TRUE or FALSE")
    } else if (!is.character(value)) {
      value <- as_text(value)
    }
    options[[name]] <- if (several) I(value) else value
  }
  options
}
