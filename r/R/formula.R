# Formulas: which columns are features, and what they are worth in new data.

# Terms of other packages that mean something no network here would do.
refused_terms <- c(
  s = "mgcv", te = "mgcv", ti = "mgcv", t2 = "mgcv", lo = "gam", strata = "survival", cluster = "survival",
  frailty = "survival", tt = "survival", `|` = "lme4", `||` = "lme4", Error = "aov", offset = "offset", random = "rpql"
)

called <- function(e) if (is.call(e)) c(if (is.name(e[[1]])) as.character(e[[1]]), unlist(lapply(as.list(e)[-1], called)))

check_terms <- function(rhs, call) {
  names <- called(rhs)
  bad <- intersect(names, names(refused_terms))
  if (!length(bad)) return(invisible())
  bad <- bad[[1]]
  hint <- switch(refused_terms[[bad]],
    mgcv = , gam = "networks find smooth effects by themselves: name the variable alone, or use ns(), bs() or poly()",
    lme4 = , rpql = "`group =` keeps related items on one side of every split; name the variable alone to use it as a feature",
    offset = "distributions have no linear predictor to add an offset to: use it as a feature, or leave it out",
    "name the variable alone to use it as a feature"
  )
  what <- if (bad %in% c("|", "||")) "a random effect (`|`)" else sprintf("`%s()`", bad)
  stop_input(sprintf("`formula`: expected features, found %s, which is not supported", what), hint, arg = "formula", call = call)
}

# Expands a formula over the columns of data but `excluded`, without its left side.
expand_formula <- function(formula, data, excluded, call) {
  rhs <- formula[[length(formula)]]
  check_terms(rhs, call)
  usable <- data[setdiff(names(data), excluded)]
  if ("." %in% all.vars(rhs)) check_dot(formula, usable, excluded, call)
  terms <- tryCatch(
    stats::terms(formula, data = usable),
    error = function(e) stop_input(paste0("`formula`: ", conditionMessage(e)), arg = "formula", call = call)
  )
  if (!is.null(attr(terms, "offset"))) check_terms(quote(offset(x)), call)
  if (attr(terms, "intercept") == 0) {
    stop_input("`formula`: expected features, found `0` or `- 1`: there is no intercept to leave out", arg = "formula", call = call)
  }
  if (!length(attr(terms, "term.labels"))) {
    stop_input("`formula`: expected at least one feature on its right side, found none", arg = "formula", call = call)
  }
  check_variables(terms, data, call)
  terms
}

# Refuses a `.` that would make a feature of something that names items.
check_dot <- function(formula, data, excluded, call) {
  named <- all.vars(formula)
  for (name in setdiff(names(data), named)) {
    x <- data[[name]]
    if (nrow(data) < 10 || is.matrix(x) || is.list(x) || anyDuplicated(x)) next
    text <- (is.factor(x) || is.character(x)) && !any(grepl("\\s\\S+\\s", x))
    counted <- is.numeric(x) && !anyNA(x) && all(x == round(x)) && (grepl("(^|[._ ])(id|nr|no|item|row|index|case)$", name, ignore.case = TRUE) || identical(as.numeric(x), as.numeric(seq_along(x))) || grepl("[a-z]ID$|Id$", name) || name == "X")
    if (text || counted) {
      stop_input(
        sprintf("`formula`: `.` contains the column `%s`, all of whose values are different: it names items", name),
        sprintf("leave it out (`. - %s`), or use it with votes(%s, rater, label)", name, name), arg = "formula", call = call
      )
    }
  }
}

# Refuses variables that are not in the data but somewhere else.
check_variables <- function(terms, data, call, arg = "data") {
  env <- environment(terms)
  for (name in all.vars(stats::delete.response(terms))) {
    if (name %in% names(data)) next
    outside <- get0(name, env, mode = "any")
    if (!is.null(outside) && !is.function(outside) && NROW(outside) != nrow(data)) next # a constant, such as degrees of freedom
    close <- names(data)[utils::adist(name, names(data), ignore.case = TRUE)[1, ] <= 2]
    stop_input(
      sprintf("`%s` has no column `%s`, which `formula` names%s", arg, name, if (is.null(outside) || is.function(outside)) "" else "; there is a variable of that name outside, which is not used"),
      if (length(close)) sprintf("did you mean `%s`?", close[[1]]) else sprintf("columns: %s", some(names(data), 12)), arg = arg, call = call
    )
  }
}

# What is known of the columns of data that a formula names, to read those of new data alike.
raw_columns <- function(terms, data) {
  names <- intersect(all.vars(stats::delete.response(terms)), names(data))
  lapply(stats::setNames(names, names), function(name) {
    x <- data[[name]]
    kind <- if (is.ordered(x)) "ordered" else if (is.factor(x)) "factor" else if (is.object(x) && !inherits(x, "AsIs")) "other" else if (is.character(x)) "character" else if (is.logical(x)) "logical" else if (is.numeric(x)) "numeric" else "other"
    list(kind = kind, levels = if (is.factor(x)) levels(x), class = class(x)[[1]])
  })
}

# Blank texts are missing to the binary, and therefore to na.action, too.
blank_as_missing <- function(data, names, arg) {
  found <- character()
  for (name in names) {
    x <- data[[name]]
    if (!is.character(x) && !is.factor(x)) next
    blank <- !is.na(x) & trimws(as.character(x)) == ""
    if (!any(blank)) next
    data[[name]][blank] <- NA
    found <- c(found, name)
  }
  if (length(found)) warn_input(sprintf("`%s`: blank texts in %s are missing values", arg, some(paste0("`", found, "`"))))
  data
}

# Reads the columns of new data as those of training were.
as_trained <- function(data, terms, raw, call, arg = "newdata") {
  check_variables(terms, data, call, arg)
  for (name in names(raw)) {
    if (!name %in% names(data)) stop_input(sprintf("`%s` has no column `%s`, which the model was trained with", arg, name), sprintf("columns: %s", some(names(data), 12)), arg = arg, call = call)
    x <- data[[name]]
    was <- raw[[name]]
    wrong <- function(expected) {
      stop_input(sprintf("`%s`: column `%s`: expected %s, as in training, found %s", arg, name, expected, describe(x)), arg = arg, call = call)
    }
    if (is.atomic(x) && is.null(dim(x)) && all(is.na(x))) {
      data[[name]] <- switch(was$kind, numeric = as.numeric(rep(NA, length(x))), logical = as.logical(rep(NA, length(x))),
        character = rep(NA_character_, length(x)), factor = factor(rep(NA, length(x)), was$levels), ordered = factor(rep(NA, length(x)), was$levels, ordered = TRUE), x)
      next
    }
    text <- is.factor(x) || is.character(x) && !is.object(x)
    if (was$kind == "factor") {
      if (!text) wrong("a factor or texts")
      x <- as.character(x)
      data[[name]] <- factor(x, union(was$levels, x[!is.na(x)]))
    } else if (was$kind == "ordered") {
      if (!text) wrong("an ordered factor")
      new <- setdiff(as.character(x), c(was$levels, NA))
      if (length(new)) {
        stop_input(sprintf("`%s`: column `%s`: expected levels among %s, found %s", arg, name, paste(was$levels, collapse = " < "), quoted(new[[1]])), "the place of a new level in the order is not known", arg = arg, call = call)
      }
      data[[name]] <- factor(as.character(x), was$levels, ordered = TRUE)
    } else if (was$kind == "character") {
      if (!text) wrong("texts")
      data[[name]] <- as.character(x)
    } else if (was$kind == "numeric") {
      if (!is.numeric(x) || is.object(x) && !inherits(x, "AsIs")) wrong("numbers")
    } else if (was$kind == "logical") {
      if (!is.logical(x)) wrong("TRUE and FALSE")
    } else if (!identical(class(x)[[1]], was$class)) {
      wrong(sprintf("the class %s", was$class))
    }
  }
  data
}

# Evaluates terms over data; `extra` are expressions or values to evaluate with them (weights, group, item).
model_frame <- function(terms, data, extra = list(), na.action = stats::na.pass, env = environment(terms), arg = "formula", call = rlang::caller_env()) {
  line <- as.call(c(list(quote(stats::model.frame), terms, data = quote(data)), extra, list(na.action = na.action, drop.unused.levels = FALSE)))
  inner <- new.env(parent = env)
  inner$data <- data
  tryCatch(eval(line, inner), error = function(e) {
    if (inherits(e, "credence_error")) stop(e)
    message <- sub("object '(.*)' not found", "`data` has no column `\\1`", conditionMessage(e))
    stop_input(paste0("`", arg, "`: ", message), arg = arg, call = call)
  })
}

# Refuses transformations whose value in a row depends on the other rows: new rows would get other values.
check_rowwise <- function(terms, frame, data, call) {
  variables <- vapply(as.list(attr(terms, "predvars"))[-1], is.call, NA)
  names <- intersect(vapply(as.list(attr(terms, "variables"))[-1], function(v) paste(deparse(v, 500L, backtick = TRUE), collapse = " "), "")[variables], names(frame))
  n <- nrow(frame)
  if (!length(names) || n < 4) return(invisible())
  rows <- seq_len(max(2L, min(50L, n %/% 3L)))
  part <- tryCatch(suppressWarnings(stats::model.frame(terms, data[match(row.names(frame)[rows], row.names(data)), , drop = FALSE], na.action = stats::na.pass)), error = function(e) NULL)
  for (name in names) {
    same <- !is.null(part) && isTRUE(all.equal(plain(part[[name]]), plain(as.matrix_rows(frame[[name]], rows)), check.attributes = FALSE))
    if (!same) {
      stop_input(
        sprintf("`formula`: the value of `%s` in a row depends on other rows, so that it would be another one for new items", name),
        "compute it before, with constants: for example cut(x, breaks) with given breaks, or scale(x)", arg = "formula", call = call
      )
    }
  }
}

as.matrix_rows <- function(x, rows) if (is.matrix(x)) x[rows, , drop = FALSE] else x[rows]
plain <- function(x) if (is.factor(x)) as.character(x) else if (is.matrix(x)) matrix(as.vector(x), nrow(x)) else as.vector(x)

# Returns the features of a frame: a named list of doubles, factors (categories) and characters.
feature_columns <- function(frame, terms, known = NULL, call = rlang::caller_env()) {
  factors <- attr(terms, "factors")
  columns <- list()
  for (label in colnames(factors)) {
    parts <- term_parts(frame, factors, label, call)
    columns <- c(columns, if (length(parts) == 1) parts[[1]] else interaction_columns(parts, label, known))
  }
  twice <- names(columns)[duplicated(names(columns))]
  if (length(twice)) stop_input(sprintf("`formula`: two features are named %s", quoted(twice[[1]])), arg = "formula", call = call)
  columns
}

# The columns of each variable of a term. Terms quote names that are no names of R, frames do not.
term_parts <- function(frame, factors, label, call) {
  lapply(rownames(factors)[factors[, label] > 0], function(v) {
    name <- if (v %in% names(frame)) v else gsub("^`|`$", "", v)
    as_columns(frame[[name]], name, call)
  })
}

as_columns <- function(x, name, call) {
  refuse <- function(what, hint = NULL) {
    stop_input(sprintf("`data`: column `%s`: expected numbers, a factor or texts, found %s", name, what), hint, arg = "data", call = call)
  }
  kinds <- class(x)
  if (is.list(x)) refuse(if (is.data.frame(x)) "a data frame" else "a list column", "unnest it, or compute numbers from it")
  if (inherits(x, c("Date", "POSIXt", "difftime"))) refuse(sprintf("the class %s", kinds[[1]]), "make numbers of times, such as as.numeric(date - start, units = \"days\")")
  if (inherits(x, "integer64")) refuse("the class integer64", "as.numeric(x) makes numbers of it")
  if (inherits(x, c("haven_labelled", "labelled"))) refuse(sprintf("the class %s", kinds[[1]]), "haven::as_factor() makes a factor of it, haven::zap_labels() numbers")
  if (is.ordered(x)) return(stats::setNames(list(as.numeric(x)), name))
  if (is.factor(x)) return(stats::setNames(list(factor(x, levels(x), ordered = FALSE)), name))
  if (is.character(x)) {
    if (is.matrix(x)) refuse("a matrix of texts")
    return(stats::setNames(list(as.vector(unclass(x))), name))
  }
  if (!is.numeric(x) && !is.logical(x)) refuse(sprintf("the class %s", kinds[[1]]))
  allowed <- c("numeric", "integer", "double", "logical", "matrix", "array", "AsIs", "poly", "ns", "bs", "basis", "scaled", "monoSpline", "rcs", "table")
  if (is.object(x) && !all(kinds %in% allowed)) refuse(sprintf("the class %s", kinds[[1]]), "as.numeric(x) makes numbers of it, if that is what it means")
  if (any(is.infinite(x))) {
    refuse(sprintf("%s in row %d", format(as.vector(x)[is.infinite(x)][[1]]), (which(is.infinite(x))[[1]] - 1L) %% NROW(x) + 1L), "a missing value is NA; others are finite")
  }
  if (!is.matrix(x)) return(stats::setNames(list(as.numeric(x)), name))
  labels <- colnames(x)
  if (is.null(labels)) labels <- seq_len(ncol(x))
  stats::setNames(lapply(seq_len(ncol(x)), function(j) as.numeric(x[, j])), paste0(name, labels))
}

# Products of numbers; combinations of categories; numbers within each category.
interaction_columns <- function(parts, label, known) {
  flat <- unlist(parts, recursive = FALSE)
  category <- vapply(flat, function(x) is.factor(x) || is.character(x), NA)
  if (any(vapply(parts, length, 1L) > 1)) {
    numbers <- parts[!vapply(parts, function(p) is.factor(p[[1]]) || is.character(p[[1]]), NA)]
    products <- Reduce(function(a, b) {
      pairs <- expand.grid(a = seq_along(a), b = seq_along(b))
      stats::setNames(Map(function(i, j) a[[i]] * b[[j]], pairs$a, pairs$b), paste(names(a)[pairs$a], names(b)[pairs$b], sep = ":"))
    }, numbers)
  } else {
    numbers <- flat[!category]
    products <- if (length(numbers)) stats::setNames(list(Reduce(`*`, numbers)), paste(names(numbers), collapse = ":"))
  }
  if (!any(category)) return(products)
  texts <- lapply(flat[category], as.character)
  combined <- do.call(paste, c(unname(texts), sep = ":"))
  combined[Reduce(`|`, lapply(texts, is.na))] <- NA
  if (is.null(products)) return(stats::setNames(list(factor(combined)), label))
  levels <- if (is.null(known[[label]])) sort(unique(combined[!is.na(combined)])) else known[[label]]
  out <- list()
  for (level in levels) {
    for (p in names(products)) out[[paste0(level, ":", p)]] <- products[[p]] * (combined == level)
  }
  attr(out, "levels") <- levels
  out
}

# The levels of categories within which numbers are taken, by term: new data are expanded alike.
interaction_levels <- function(frame, terms, call) {
  factors <- attr(terms, "factors")
  found <- list()
  for (label in colnames(factors)[colSums(factors > 0) > 1]) {
    parts <- term_parts(frame, factors, label, call)
    found[[label]] <- attr(interaction_columns(parts, label, NULL), "levels")
  }
  found
}
