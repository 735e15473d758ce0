#' Train a model on items with several votes each
#'
#' Trains an ensemble of networks whose output is the distribution of an item's class probabilities: a mixture of Beta
#' distributions for two classes, of Dirichlet distributions for more. Credible intervals are calibrated on held-out
#' votes. Results are those of the program's verb `train` on the same data, to the bit.
#'
#' # Votes
#' The left side of the formula describes the votes:
#' * `cbind(benign, malignant) ~ ...`: a column of counts for each class, one row per item. Its row names identify items.
#' * `votes(item, rater, label) ~ ...`: single votes, in the frame `votes`; `item` is a column of `data`, too. Leave out
#'   `rater` if raters have no names; `count = n` names a column of numbers of votes. Without `votes`, `data` itself
#'   has one row per vote, with the features repeated in each row of an item.
#' * `ratings(reader1, reader2, reader3) ~ ...`: a column of labels for each rater, `NA` where one did not vote.
#' * `label ~ ...`: one label per item, which is refused unless `force = TRUE`: intervals mean nothing without items that
#'   have two votes or more.
#'
#' Labels that are an ordered factor are the points of a scale, as by the option `ordered`: raters may be biased along it, and
#' [predict.credence()] has its expected score. `ordered = FALSE` takes them as classes without an order. The option `judges` names
#' raters that are machines: their votes are features, and the classes are the labels of people; see [credence_judges()].
#'
#' # Features
#' The right side names features: numbers, factors, texts, logical values. `.` is all columns of `data` that are not
#' used otherwise (by the left side, `weights` or `group`); columns that identify items are refused. An ordered factor
#' is the number of its level. Of interactions, `a:b` is the product of numbers, the combination of factors, or a number within each level
#' of a factor; networks find most interactions by themselves. Transformations are those of R: `log(x)`, `poly(x, 2)`, `splines::ns(x, 3)`
#' and `scale(x)` are repeated on new data with the values of training. A transformation whose value in a row depends on
#' other rows (`cut(x, 3)`, `rank(x)`) is refused, as are `offset()`, smooth terms of other packages and random effects.
#'
#' @param formula Votes on the left, features on the right; see below.
#' @param data A data frame of items.
#' @param votes A data frame of single votes, for `votes(item, rater, label)`.
#' @param ... Options of training: see [credence_options()].
#' @param weights Weights of the items, at least 0, evaluated in `data`.
#' @param group Groups whose items stay on one side of every split, such as the patient, evaluated in `data`.
#' @param subset Rows of `data` to use, evaluated in `data`.
#' @param na.action What happens to items with missing values, `na.omit` by default as in [lm()]. With `na.pass` the model
#'   learns from missing features, and predicts where they are missing.
#' @param start A model to start from, for further votes on the same features: see [update.credence()].
#' @param verbose Whether to show a progress bar.
#' @return A model of the class `credence`, which `saveRDS()` stores whole. See [predict.credence()], [summary.credence()],
#'   [plot.credence()], [update.credence()] and [tidy.credence()].
#' @details An interrupt (Ctrl-C, Esc) stops training; the best networks so far are kept, with a warning. A second one gives up.
#'
#'   Randomness follows the option `seed` (default 1), not [set.seed()]: the same seed gives the same model on any number of cores.
#' @examplesIf credence_available()
#' set.seed(1)
#' d <- data.frame(age = rnorm(200), site = factor(sample(c("a", "b"), 200, TRUE)))
#' d$malignant <- rbinom(200, 3, plogis(d$age))
#' fit <- suppressWarnings(
#'   credence(
#'     cbind(benign = 3 - malignant, malignant) ~ age + site,
#'     data = d, ensemble = 2, epochs = 5
#'   )
#' )
#' fit
#' predict(fit, d[1:3, ], type = "interval", level = 0.9)
#' @export
credence <- function(formula, data, votes = NULL, ..., weights, group, subset, na.action = getOption("na.action"), start = NULL, verbose = FALSE) {
  call <- match.call()
  where <- rlang::current_env()
  dots <- list(...)
  if (any(names(dots) == "offset")) check_terms(quote(offset(x)), where)
  check_names(names(dots), names(formals(credence_options)), "credence()", where)
  options <- do.call(credence_options, dots)
  response <- parse_response(formula, where)
  if (missing(data)) stop_input("`data`: expected a data frame of items, found nothing", arg = "data")
  data <- check_frame(data, "data", where)
  if (!is.null(votes) && response$kind != "long") {
    stop_input("`votes` is given, but `formula` has no votes(item, rater, label) on its left side", arg = "votes")
  }
  if (!is.logical(verbose) || length(verbose) != 1 || is.na(verbose)) stop_input(sprintf("`verbose`: expected TRUE or FALSE, found %s", describe(verbose)), arg = "verbose")
  na.action <- check_na_action(na.action, where)
  beside <- as.list(call)[intersect(c("weights", "group", "subset"), names(call))]
  taken <- read_items(formula, data, response, votes, beside, na.action, options$classes, options$judges, parent.frame(), where)
  options$ordered <- check_ordered(taken$cast, dots$ordered, where)

  folder <- new_folder()
  on.exit(unlink(folder, recursive = TRUE))
  all <- training_options(taken, options, folder)
  if (!is.null(start)) all$from <- start_folder(start, file.path(folder, "start"), where)
  done <- train_run(all, folder, verbose, where)
  warn_messages(done$messages)
  if (done$stopped) warn_input("training was stopped: the best networks so far are kept")
  new_credence(call, formula, taken, done, options, start)
}

# Returns whether classes are the points of a scale: those of ordered factors are, unless `given` denies it.
check_ordered <- function(cast, given, call) {
  if (is.null(given)) return(if (cast$ordered) TRUE)
  if (isTRUE(given) && !cast$sorted) {
    stop_input(sprintf("`ordered`: expected classes in order, found %s, whose order is not known", some(quoted(cast$classes))), "make an ordered factor of the labels, factor(x, levels, ordered = TRUE), or name `classes` in order", arg = "ordered", call = call)
  }
  if (isTRUE(given)) TRUE
}

check_na_action <- function(action, call) {
  if (is.null(action)) return(stats::na.pass)
  if (is.character(action) && length(action) == 1) {
    action <- tryCatch(match.fun(action), error = function(e) stop_input(sprintf("`na.action`: there is no function %s", quoted(action)), arg = "na.action", call = call))
  }
  if (!is.function(action)) stop_input(sprintf("`na.action`: expected a function such as na.omit, found %s", describe(action)), arg = "na.action", call = call)
  action
}

# Reads items, votes, weights and groups.
read_items <- function(formula, data, response, votes, beside, na.action, classes, judges, env, call) {
  used <- unlist(lapply(beside[c("weights", "group")], all.vars))
  rows <- NULL
  if (response$kind == "long") {
    inside <- is.null(votes)
    used <- c(used, response$item, if (inside) unlist(response[c("rater", "label", "count")]))
    need_columns(data, response$item, "data", call)
    if (inside) {
      need_columns(data, unlist(response[c("rater", "label", "count")]), "data", call)
      votes <- data
      data <- one_row_per_item(formula, data, response, used, call)
    }
  } else if (response$kind == "wide") {
    need_columns(data, response$raters, "data", call)
    used <- c(used, response$raters)
  } else {
    used <- c(used, all.vars(formula[[2]]))
    if (response$kind == "cbind") check_cbind(formula[[2]], data, env, call)
  }
  rhs <- formula
  if (response$kind %in% c("long", "wide")) rhs[[2]] <- NULL
  terms <- expand_formula(rhs, data, used, call)
  data <- blank_as_missing(data, intersect(all.vars(stats::delete.response(terms)), names(data)), "data")
  raw <- raw_columns(terms, data)
  ids <- if (response$kind == "long") id_text(data[[response$item]], sprintf("`data`: column `%s`", response$item), call) else row.names(data)
  if (anyNA(ids)) stop_input(sprintf("`data`: column `%s`: expected an item in every row, found NA in row %d", response$item, which(is.na(ids))[[1]]), arg = "data", call = call)
  twice <- ids[duplicated(ids)]
  if (length(twice)) stop_input(sprintf("`data`: item %s is there twice", quoted(twice[[1]])), "one row per item; or leave out `votes`, if each row is a vote", arg = "data", call = call)
  row.names(data) <- ids
  frame <- model_frame(terms, data, beside, na.action, env, call = call)
  if (nrow(frame) == 0) stop_input("no items are left after `subset` and `na.action`", "na.action = na.pass keeps items with missing values", arg = "data", call = call)
  terms <- attr(frame, "terms")
  omitted <- attr(frame, "na.action")
  inner <- stats::delete.response(terms)
  attr(inner, ".Environment") <- environment(formula)
  check_rowwise(inner, frame, data, call)
  items <- row.names(frame)
  known <- interaction_levels(frame, inner, call)
  columns <- feature_columns(frame, inner, known, call)
  constant <- names(columns)[vapply(columns, function(x) length(unique(x)) < 2, NA)]
  if (length(constant) == length(columns)) stop_input("`data`: no feature varies between items", arg = "data", call = call)

  cast <- switch(response$kind,
    long = read_long(votes, response, items, classes, if (identical(votes, data)) "data" else "votes", call, judges),
    wide = read_wide(data[items, , drop = FALSE], response$raters, items, classes, "data", call, judges),
    read_response(stats::model.response(frame), formula, items, classes, call)
  )
  if (!is.null(judges) && is.null(cast$rater)) stop_input("`judges`: expected votes with raters, found votes without them", "votes(item, rater, label) or ratings(reader1, reader2, ...) names them", arg = "judges", call = call)
  voted <- if (cast$kind == "counts") cast$classes[colSums(cast$counts) > 0] else unique(as.character(if (is.null(judges)) cast$label else cast$label[!cast$rater %in% judges]))
  if (length(voted) < 2) stop_input(sprintf("expected votes for at least two classes, found %s", if (length(voted)) paste("only", quoted(voted)) else "none"), arg = "formula", call = call)
  list(
    columns = columns, items = items, cast = cast, response = response, terms = inner, raw = raw, known = known, omitted = omitted,
    weights = check_weights(frame[["(weights)"]], call), group = check_group(frame[["(group)"]], call),
    passes = any(vapply(columns, anyNA, NA))
  )
}

# The arguments of cbind() are counts each: it makes codes of factors without a word.
check_cbind <- function(lhs, data, env, call) {
  args <- as.list(lhs)[-1]
  for (i in seq_along(args)) {
    value <- tryCatch(eval(args[[i]], data, env), error = function(e) NULL)
    if (is.null(value)) next # model.frame() reports it
    if (is.factor(value) || is.character(value)) check_counts(value, sprintf("`formula`: `%s`", paste(deparse(args[[i]]), collapse = "")), call)
  }
}

read_response <- function(y, formula, items, classes, call) {
  what <- sprintf("`formula`: `%s`", paste(deparse(formula[[2]]), collapse = ""))
  if (is.null(y)) stop_input("`formula`: expected votes on its left side, found none", arg = "formula", call = call)
  if (is.matrix(y) && !inherits(y, "Surv")) {
    rownames(y) <- NULL
    cast <- read_counts(y, items, NULL, "formula", call)
    if (!is.null(classes) && !setequal(classes, cast$classes)) stop_input(sprintf("`classes`: expected %s, the columns of counts, found %s", some(quoted(cast$classes)), some(quoted(classes))), arg = "classes", call = call)
    return(if (is.null(classes)) cast else read_counts(`colnames<-`(cast$counts, cast$classes), items, as.character(classes), "formula", call))
  }
  if (is.numeric(y) && !is.object(y)) {
    stop_input(sprintf("%s: expected votes, found numbers", what), "cbind(no, yes) takes counts, votes(item, rater, label) single votes, factor(y) a label per item", arg = "formula", call = call)
  }
  if (!is.factor(y) && !is.character(y) && !is.logical(y)) stop_input(sprintf("%s: expected votes, found %s", what, describe(y)), arg = "formula", call = call)
  label <- label_factor(y, classes, what, call)
  if (anyNA(label)) stop_input(sprintf("%s: expected a label in every row, found NA in row %d", what, which(is.na(label))[[1]]), "na.action = na.omit leaves such rows out", arg = "formula", call = call)
  list(kind = "long", classes = levels(label), item = items, label = label, ordered = is.ordered(label), sorted = is.ordered(label) || !is.null(classes))
}

# Takes the first row of each item of a frame with a row per vote, whose features must agree.
one_row_per_item <- function(formula, data, response, used, call) {
  id <- id_text(data[[response$item]], sprintf("`data`: column `%s`", response$item), call)
  first <- match(id, id)
  names <- all.vars(formula[[3]])
  names <- if ("." %in% names) setdiff(names(data), used) else intersect(names, names(data))
  for (name in names) {
    x <- data[[name]]
    if (is.list(x) || is.matrix(x)) next
    differs <- which(!(x == x[first] | is.na(x) & is.na(x[first])) | is.na(x) != is.na(x[first]))
    if (length(differs)) {
      stop_input(
        sprintf("`data`: item %s has different values of `%s`: %s and %s", quoted(id[[differs[[1]]]]), name, format(x[first][[differs[[1]]]]), format(x[[differs[[1]]]])),
        "features belong to items: without `votes`, every row of an item repeats them", arg = "data", call = call
      )
    }
  }
  data[!duplicated(id), , drop = FALSE]
}

check_weights <- function(w, call) {
  if (is.null(w)) return(NULL)
  if (!is.numeric(w) || anyNA(w) || any(!is.finite(w) | w < 0)) {
    bad <- if (is.numeric(w)) format(w[is.na(w) | !is.finite(w) | w < 0][[1]]) else describe(w)
    stop_input(sprintf("`weights`: expected numbers from 0, found %s", bad), arg = "weights", call = call)
  }
  if (!any(w > 0)) stop_input("`weights`: expected at least one above 0, found none", arg = "weights", call = call)
  as.numeric(w)
}

check_group <- function(g, call) {
  if (is.null(g)) return(NULL)
  text <- id_text(g, "`group`", call)
  if (anyNA(text)) stop_input(sprintf("`group`: expected a group for every item, found NA in row %d", which(is.na(text))[[1]]), arg = "group", call = call)
  text
}

# Missing values are NA in R: no text means one, except a blank.
no_missing <- paste0("keep:", c("NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "None", "none", "-", ".", "?"))

# Writes the files of training and returns its options.
training_options <- function(taken, options, folder) {
  columns <- taken$columns
  item <- free_name("item", names(columns))
  beside <- list()
  if (!is.null(taken$weights)) beside[[free_name("weight", c(item, names(columns)))]] <- taken$weights
  if (!is.null(taken$group)) beside[[free_name("group", c(item, names(columns), names(beside)))]] <- taken$group
  write_items(columns, taken$items, item, folder, beside)
  all <- list(data = I(file.path(folder, "items.parquet")), item = item, na = I(no_missing), features = I(names(columns)), classes = I(taken$cast$classes))
  number <- vapply(columns, is.numeric, NA)
  category <- vapply(columns, is.factor, NA)
  if (any(number)) all$numeric <- I(names(columns)[number])
  if (any(category)) all$categorical <- I(names(columns)[category])
  if (!is.null(taken$weights)) all$`item-weights` <- names(beside)[[1]]
  if (!is.null(taken$group)) all$group <- names(beside)[[length(beside)]]
  cast <- write_votes(taken$cast, folder)
  cast$votes <- I(cast$votes)
  if (!is.null(cast$`vote-columns`)) cast$`vote-columns` <- I(cast$`vote-columns`)
  all <- c(all, cast)
  all[names(options)] <- options
  # A label that only judges use is no class, which the program finds by itself.
  judged <- is.null(options$classes) && is.null(options$ordered) && !all(taken$cast$label %in% taken$cast$classes)
  all$classes <- if (!judged) I(taken$cast$classes)
  all
}

write_items <- function(columns, items, item, folder, beside = list()) {
  write_parquet(c(stats::setNames(list(items), item), columns, beside), file.path(folder, "items.parquet"))
}

# Returns the folder of a model to start from. With the data that it was trained on, which are written to `folder`, items
# stay in the part that they were in; without them, the program warns.
start_folder <- function(start, folder, call) {
  if (inherits(start, "credence")) {
    restored <- tryCatch(suppressWarnings(restore_run(start, folder, call)), error = function(e) NULL)
    return(if (is.null(restored)) run_folder(start$run) else restored)
  }
  path <- path.expand(check_text(start, "start", call))
  if (!file.exists(path)) stop_input(sprintf("`start`: there is no run %s", path), arg = "start", call = call)
  path
}

# Writes a run and, from the call that trained it, its data. The program compares their checksum with that in the model.
restore_run <- function(object, folder, call) {
  env <- environment(object$formula)
  value <- function(name) eval(object$call[[name]], env)
  beside <- as.list(object$call)[intersect(c("weights", "group", "subset"), names(object$call))]
  action <- check_na_action(if (is.null(object$call$na.action)) getOption("na.action") else value("na.action"), call)
  taken <- read_items(object$formula, check_frame(value("data"), "data", call), object$response, value("votes"), beside, action, object$options$classes, object$options$judges, env, call)
  dir.create(file.path(folder, "run"), recursive = TRUE)
  files <- training_options(taken, object$options, folder)
  for (name in names(object$run$files)) writeBin(object$run$files[[name]], file.path(folder, "run", name))
  config <- file.path(folder, "run", "config.yaml")
  lines <- readLines(config, encoding = "UTF-8")
  paths <- c(data = files$data, votes = files$votes, if (!is.null(object$call$start)) c(from = start_folder(value("start"), file.path(folder, "start"), call)))
  for (name in names(paths)) {
    path <- as.character(jsonlite::toJSON(jsonlite::unbox(unname(paths[[name]]))))
    lines[startsWith(lines, paste0(name, ": "))] <- paste0(name, ": ", if (name == "from") path else paste0("[", path, "]"))
  }
  writeLines(lines, config, useBytes = TRUE)
  file.path(folder, "run")
}

new_credence <- function(call, formula, taken, done, options, start) {
  method <- if (!is.null(options$method)) options$method else if (is.null(start)) "mixture" else run_card(done$run)$head$kind
  structure(
    list(
      call = call, formula = formula, terms = taken$terms, response = taken$response, classes = if (length(options$judges)) run_card(done$run)$classes else taken$cast$classes,
      features = lapply(taken$columns, function(x) if (is.numeric(x)) "number" else if (is.factor(x)) "category" else "text"),
      raw = taken$raw, known = taken$known, passes = taken$passes, na.action = taken$omitted, nobs = length(taken$items),
      raters = !is.null(taken$cast$rater), judges = as.character(options$judges), ordered = isTRUE(options$ordered), options = options, method = method, stopped = done$stopped,
      warnings = sub("credence: warning: ", "", done$messages[startsWith(done$messages, "credence: warning: ")], fixed = TRUE),
      metrics = run_json(done$run, "metrics.json"), run = done$run
    ),
    class = "credence"
  )
}
