#' Predict class probabilities of items, with their distributions
#'
#' @param object A model that [credence()] returned.
#' @param newdata A data frame of items; by default the data of training.
#' @param type What to return: see below.
#' @param level Levels of the intervals, for `type = "interval"`.
#' @param votes Votes that the items have already, to take into account: a frame as that of training (`item`, `rater`,
#'   `label`, the item being a column of `newdata`, too), or a matrix or frame of counts, a column per class and a row per item.
#' @param point Name of a score whose optimum to add, for `type = "prob"`: `"wasserstein"`, `"manhattan"`, `"absolute"`, `"zero-one"` or
#'   `"mean"`. The first and the third are for classes in order.
#' @param votes_expected Number of votes that the point will be compared with, by default the mean number in training; 0 for the
#'   probabilities themselves.
#' @param score Whether to add the expected score of ordered classes, for `type = "prob"`, or its interval, for `type = "interval"`. The values of
#'   the classes are their numbers, or 1, 2, ... for words.
#' @param draws Number of draws per item, for `type = "draws"`. They follow [set.seed()].
#' @param na.action What happens to items with missing features: `na.pass` returns them, with `NA` for a model that was
#'   trained on complete items only; `na.omit` leaves them out; `na.fail` raises an error.
#' @param ... Not used.
#' @return A tibble with a row per item in their order, with the column names of tidymodels:
#' * `"prob"`: `.pred_CLASS`, the mean of each class probability; with `point` also `.point_CLASS`, with `score` also `.pred_score`.
#' * `"class"`: `.pred_class`, a factor: the class of the largest mean.
#' * `"interval"`: `.pred_lower_CLASS` and `.pred_upper_CLASS`, the two-sided credible interval of each class
#'   probability; with several levels, their names end with `_LEVEL`. With `score` also `.pred_score_lower` and `.pred_score_upper`.
#' * `"mixture"`: `.pred_mixture`, a list of the distributions, each of the class `credence_mixture`; see [pdirichletmix()].
#' * `"draws"`: `.pred_draws`, a list of matrices of class probabilities, with a row per draw.
#'
#' A model with judges takes their votes from `votes`, or from columns of `newdata` with their names. A judge may be missing.
#'
#' Numbers are those of the program's verb `predict`, to the bit.
#' @seealso [credence_stop()] about the process that predicts.
#' @examplesIf credence_available()
#' set.seed(1)
#' d <- data.frame(x = rnorm(200))
#' d$yes <- rbinom(200, 3, plogis(d$x))
#' fit <- suppressWarnings(credence(cbind(no = 3 - yes, yes) ~ x, data = d, ensemble = 2, epochs = 5))
#' predict(fit, d[1:3, ])
#' predict(fit, d[1:3, ], type = "interval", level = c(0.5, 0.9))
#' predict(fit, d[1:3, ], votes = cbind(no = c(0, 1, 2), yes = c(2, 1, 0)))
#' @export
predict.credence <- function(object, newdata = NULL, type = c("prob", "class", "interval", "mixture", "draws"), level = 0.95,
                             votes = NULL, point = NULL, votes_expected = NULL, score = FALSE, draws = 1000L, na.action = stats::na.pass, ...) {
  where <- rlang::current_env()
  check_names(names(list(...)), character(), "predict()", where)
  type <- check_choice(type, c("prob", "class", "interval", "mixture", "draws"), "type", where)
  level <- check_level(level, where)
  draws <- check_count(draws, "draws", where)
  further <- further_fields(object, type, point, votes_expected, score, where)
  fields <- c(switch(type, prob = , class = "mean", interval = "interval", c("weights", "alpha")), further$fields)
  found <- predicted(object, newdata, fields, level, votes, na.action, where, further$options)
  switch(type,
    prob = tibble::new_tibble(c(prob_columns(object, found), point_columns(object, found), if (score) list(.pred_score = as.vector(found$score))), nrow = found$n),
    class = tibble::tibble(.pred_class = class_column(object, found)),
    interval = tibble::new_tibble(c(interval_columns(object, found, level), if (score) score_columns(found, level)), nrow = found$n),
    mixture = tibble::tibble(.pred_mixture = mixture_column(object, found)),
    draws = tibble::tibble(.pred_draws = lapply(mixture_column(object, found), function(m) if (!is.null(m)) rdirichletmix(draws, m)))
  )
}

# Returns the fields for `point` and `score`, and the options that they need.
further_fields <- function(object, type, point, votes_expected, score, call) {
  if (!is.logical(score) || length(score) != 1 || is.na(score)) stop_input(sprintf("`score`: expected TRUE or FALSE, found %s", describe(score)), arg = "score", call = call)
  if (score && !object$ordered) stop_input("`score`: expected a model of ordered classes, found one of classes without an order", "train on labels that are an ordered factor, or with ordered = TRUE", arg = "score", call = call)
  only <- function(arg, types) if (!type %in% types) stop_input(sprintf("`%s`: expected type = %s, found %s", arg, paste(quoted(types), collapse = " or "), quoted(type)), arg = arg, call = call)
  if (score) only("score", c("prob", "interval"))
  if (!is.null(point)) {
    only("point", "prob")
    check_choice(point, c("wasserstein", "manhattan", "absolute", "zero-one", "mean"), "point", call)
  }
  if (!is.null(votes_expected)) {
    if (is.null(point)) stop_input("`votes_expected` is given without `point`", arg = "votes_expected", call = call)
    if (!is.numeric(votes_expected) || length(votes_expected) != 1 || is.na(votes_expected) || votes_expected < 0 || votes_expected != round(votes_expected)) {
      stop_input(sprintf("`votes_expected`: expected a whole number from 0, found %s", describe(votes_expected)), arg = "votes_expected", call = call)
    }
  }
  list(
    fields = c(if (!is.null(point)) "point", if (score) switch(type, prob = "score", c("score_lower", "score_upper"))),
    options = Filter(Negate(is.null), list(point = point, `votes-expected` = votes_expected))
  )
}

# Returns the data of training, as far as they are there.
training_data <- function(object, call) {
  data <- tryCatch(eval(object$call$data, environment(object$formula)), error = function(e) NULL)
  if (!is.data.frame(data)) stop_input("`newdata`: expected a data frame; the data of training are not there", arg = "newdata", call = call)
  data
}

# Reads new items as those of training were: columns of features, names of items, and which rows are complete.
new_items <- function(object, newdata, arg, call, judges = FALSE) {
  data <- as.data.frame(newdata)
  data <- as_trained(data, object$terms, object$raw, call, arg)
  data <- blank_as_missing(data, names(object$raw), arg)
  frame <- model_frame(object$terms, data, arg = arg, call = call)
  if (nrow(frame) != nrow(data)) stop_input(sprintf("`%s` has %d rows, but the formula gives %d", arg, nrow(data), nrow(frame)), arg = arg, call = call)
  columns <- feature_columns(frame, object$terms, object$known, call)
  if (!identical(names(columns), names(object$features))) {
    stop_input(sprintf("`%s`: expected the features %s, found %s", arg, some(names(object$features)), some(names(columns))), arg = arg, call = call)
  }
  if (judges) columns <- c(columns, judge_columns(object, newdata, arg, call))
  list(columns = columns, items = row.names(data), complete = stats::complete.cases(frame), data = data)
}

# Returns the votes of judges that are columns of new items.
judge_columns <- function(object, newdata, arg, call) {
  there <- intersect(object$judges, names(newdata))
  if (length(object$judges) && !length(there)) {
    stop_input(sprintf("`votes`: expected votes of the judges %s, or columns of `%s` with their names, found neither", some(object$judges), arg), arg = "votes", call = call)
  }
  about <- if (length(there)) run_card(object$run)$features
  lapply(stats::setNames(there, there), function(name) {
    text <- label_text(newdata[[name]], sprintf("`%s`: column `%s`", arg, name), call)
    if (about$kind[about$name == name] != "numeric") return(text)
    number <- suppressWarnings(as.numeric(text))
    bad <- which(is.na(number) & !is.na(text))
    if (length(bad)) stop_input(sprintf("`%s`: column `%s`: expected numbers, as in training, found %s", arg, name, quoted(text[[bad[[1]]]])), arg = arg, call = call)
    number
  })
}

# Returns the votes of judges in training, for its items.
judged_in_training <- function(object, call) {
  votes <- call_value(object$call$votes, environment(object$formula), "votes", call)
  votes[id_text(votes[[object$response$rater]], "`votes`", call) %in% object$judges, , drop = FALSE]
}

# Predicts fields; a list of arrays by field, with the rows of missing items in them, and the number of items.
predicted <- function(object, newdata, fields, level, votes, na.action, call, options = list()) {
  if (!identical(fields, "mean") && object$method != "mixture") {
    stop_input(sprintf("`type`: the method %s has no distributions: expected \"prob\" or \"class\"", object$method), arg = "type", call = call)
  }
  if (is.null(newdata)) {
    newdata <- training_data(object, call)
    if (length(object$judges) && is.null(votes) && !is.null(object$call$votes)) votes <- judged_in_training(object, call)
  }
  if (!is.data.frame(newdata)) {
    stop_input(sprintf("`newdata`: expected a data frame, found %s", describe(newdata)), if (is.matrix(newdata)) "as.data.frame(newdata) makes one", arg = "newdata", call = call)
  }
  if (nrow(newdata) == 0) return(empty_fields(object, fields, level))
  new <- new_items(object, newdata, "newdata", call, judges = is.null(votes))
  keep <- if (object$passes) rep(TRUE, length(new$items)) else new$complete
  drop <- check_missing(na.action, new$complete, call)
  if (drop) keep <- new$complete
  rows <- which(keep)
  if (!length(rows)) return(fill_missing(empty_fields(object, fields, level), rows, if (drop) 0L else length(keep)))
  columns <- if (all(keep)) new$columns else lapply(new$columns, function(x) x[rows])
  cast <- NULL
  if (!is.null(votes)) {
    cast <- votes_on(object, votes, new, newdata, call)
    new$items <- cast$items
  }
  quick <- is.null(cast) && all(c(fields %in% c("mean", "interval", "weights", "alpha"), object$judges %in% names(columns))) && length(rows) <= small_prediction && length(level) == 1 && isTRUE(getOption("credence.process", TRUE))
  found <- if (quick) serve_prediction(object$run, columns, fields, level, call) else file_prediction(object$run, columns, new$items[rows], fields, level, cast$votes, object$method, options, call)
  if (all(keep) || drop) c(found, list(n = length(rows))) else fill_missing(found, rows, length(keep))
}

# Reports whether incomplete items are left out.
check_missing <- function(na.action, complete, call) {
  name <- if (is.character(na.action)) na.action[[1]] else if (is.null(na.action) || identical(na.action, stats::na.pass)) "na.pass" else if (identical(na.action, stats::na.omit)) "na.omit" else if (identical(na.action, stats::na.exclude)) "na.exclude" else if (identical(na.action, stats::na.fail)) "na.fail" else ""
  if (!name %in% c("na.pass", "na.omit", "na.exclude", "na.fail")) stop_input(sprintf("`na.action`: expected na.pass, na.omit, na.exclude or na.fail, found %s", describe(na.action)), arg = "na.action", call = call)
  if (name == "na.fail" && !all(complete)) stop_input(sprintf("`newdata`: missing values in row %d", which(!complete)[[1]]), arg = "newdata", call = call)
  name == "na.omit"
}

fill_missing <- function(found, rows, n) {
  found$n <- NULL
  filled <- lapply(found, function(x) {
    d <- if (is.null(dim(x))) length(x) else dim(x)
    out <- array(NA_real_, c(n, d[-1]))
    if (length(rows)) out[slice.index(out, 1) %in% rows] <- x
    out
  })
  c(filled, list(n = n))
}

empty_fields <- function(object, fields, level) {
  k <- length(object$classes)
  shapes <- list(mean = c(0L, k), interval = c(0L, k, length(level), 2L), weights = c(0L, 1L), alpha = c(0L, 1L, k), point = c(0L, k), score = 0L, score_lower = c(0L, length(level)), score_upper = c(0L, length(level)))
  c(lapply(shapes[fields], function(s) array(numeric(), s)), list(n = 0L))
}

# Reads votes on new items, and returns how items are named by them.
votes_on <- function(object, votes, new, newdata, call) {
  response <- object$response
  if (response$kind == "long" && is.data.frame(votes) && response$label %in% names(votes)) {
    need_columns(newdata, response$item, "newdata", call)
    items <- id_text(newdata[[response$item]], sprintf("`newdata`: column `%s`", response$item), call)
    if (anyNA(items) || anyDuplicated(items)) stop_input(sprintf("`newdata`: column `%s`: expected a different item in every row", response$item), arg = "newdata", call = call)
    return(list(items = items, votes = read_long(votes, response, items, object$classes, "votes", call, object$judges)))
  }
  if (response$kind == "wide" && is.data.frame(votes) && all(response$raters %in% names(votes))) {
    if (nrow(votes) != length(new$items)) stop_input(sprintf("`votes`: expected %d rows, one per item, found %d", length(new$items), nrow(votes)), arg = "votes", call = call)
    return(list(items = new$items, votes = read_wide(votes, response$raters, new$items, object$classes, "votes", call, object$judges)))
  }
  if (!is.data.frame(votes) && !is.matrix(votes)) {
    stop_input(sprintf("`votes`: expected a frame or matrix of counts with the columns %s%s, found %s", some(object$classes), if (response$kind == "long") sprintf(", or a frame with the columns %s", some(unlist(response[c("item", "rater", "label")]))) else "", describe(votes)), arg = "votes", call = call)
  }
  list(items = new$items, votes = read_counts(votes, new$items, object$classes, "votes", call))
}

# Predicts with a process of its own, through files.
file_prediction <- function(run, columns, items, fields, level, votes = NULL, method = "mixture", options = list(), call = rlang::caller_env()) {
  folder <- new_folder()
  on.exit(unlink(folder, recursive = TRUE))
  item <- free_name("item", names(columns))
  write_items(columns, items, item, folder)
  # Means alone are computed another way, whose last digits differ: asked for with another field, they are those of everything else.
  options <- c(options, list(item = item, only = if (identical(fields, "mean") && method == "mixture") c("mean", "sd") else fields, output = file.path(folder, "out.npy"), progress = 0))
  if (any(c("interval", "score_lower") %in% fields)) options$level <- level
  if (!is.null(votes)) options <- c(options, write_votes(votes, folder))
  run_binary(c("predict", run_folder(run), file.path(folder, "items.parquet"), as_flags(options)), names(options), call = call)
  found <- read_npy(options$output)
  if (NROW(found[[1]]) != length(items)) stop_input(sprintf("%d items, but %d predictions", length(items), NROW(found[[1]])), class = "credence_binary_error")
  found[fields]
}

prob_columns <- function(object, found) {
  mean <- matrix(found$mean, found$n, length(object$classes))
  tibble::new_tibble(stats::setNames(lapply(seq_along(object$classes), function(j) mean[, j]), paste0(".pred_", object$classes)), nrow = found$n)
}

point_columns <- function(object, found) {
  if (is.null(found$point)) return(NULL)
  point <- matrix(found$point, found$n, length(object$classes))
  stats::setNames(lapply(seq_along(object$classes), function(j) point[, j]), paste0(".point_", object$classes))
}

score_columns <- function(found, level) {
  out <- list()
  for (l in seq_along(level)) {
    tail <- if (length(level) > 1) paste0("_", format_number(level[[l]])) else ""
    for (end in c("lower", "upper")) out[[paste0(".pred_score_", end, tail)]] <- matrix(found[[paste0("score_", end)]], found$n, length(level))[, l]
  }
  out
}

class_column <- function(object, found) {
  mean <- matrix(found$mean, found$n, length(object$classes))
  best <- max.col(replace(mean, is.na(mean), 0), "first")
  best[is.na(mean[, 1])] <- NA
  factor(object$classes[best], object$classes)
}

interval_columns <- function(object, found, level) {
  out <- list()
  for (l in seq_along(level)) {
    tail <- if (length(level) > 1) paste0("_", format_number(level[[l]])) else ""
    for (j in seq_along(object$classes)) {
      for (end in 1:2) out[[paste0(".pred_", c("lower", "upper")[[end]], "_", object$classes[[j]], tail)]] <- as.vector(found$interval[, j, l, end])
    }
  }
  tibble::new_tibble(out, nrow = found$n)
}

mixture_column <- function(object, found) {
  lapply(seq_len(found$n), function(i) {
    w <- found$weights[i, ]
    if (anyNA(w)) return(NULL)
    alpha <- matrix(found$alpha[i, , ], length(w))
    new_mixture(w[w > 0], alpha[w > 0, , drop = FALSE], object$classes)
  })
}
