#' Describe a model
#'
#' @param object,x A model that [credence()] returned.
#' @param digits Number of significant digits.
#' @param ... Not used.
#' @return `summary()` returns a list of the class `summary.credence`: the call, items, votes, classes, features, networks, calibration and the scores on
#'   held-out votes next to those of simple references.
#' @examplesIf credence_available()
#' set.seed(1)
#' d <- data.frame(x = rnorm(200))
#' d$yes <- rbinom(200, 3, plogis(d$x))
#' fit <- suppressWarnings(credence(cbind(no = 3 - yes, yes) ~ x, d, ensemble = 2, epochs = 5))
#' summary(fit)
#' @name summary.credence
#' @export
summary.credence <- function(object, ...) {
  card <- run_card(object$run)
  structure(list(
    call = object$call, classes = object$classes, features = object$features, items = object$metrics$items, votes = object$metrics$votes,
    judges = object$judges, read_as = card$votes, networks = object$metrics$networks, parameters = object$metrics$parameters, calibration = card$calibration,
    scores = held_out_scores(object), warnings = object$warnings, omitted = length(object$na.action), stopped = object$stopped
  ), class = "summary.credence")
}

# The call of a model as text; values that are not expressions, such as the votes of update(), by what they are.
shown_call <- function(call) {
  for (i in seq_along(call)[-1]) {
    value <- call[[i]]
    if (is.language(value) || is.atomic(value) && length(value) <= 10) next
    call[[i]] <- as.name(sprintf("<%s>", if (inherits(value, "credence")) "a model" else describe(value)))
  }
  gsub("`(<[^`]*>)`", "\\1", paste(deparse(call), collapse = "\n"))
}

score_names <- c(
  nll_per_vote = "this model", logistic_dm_nll_per_vote = "logistic regression with a concentration", logistic_nll_per_vote = "logistic regression",
  constant_dm_nll_per_vote = "one distribution for all items", constant_nll_per_vote = "one probability for all items"
)

held_out_scores <- function(object) {
  held <- object$metrics$held_out
  there <- intersect(names(score_names), names(held))
  tibble::tibble(method = unname(score_names[there]), nll_per_vote = vapply(held[there], as.numeric, 1, USE.NAMES = FALSE))
}

#' @rdname summary.credence
#' @export
print.summary.credence <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  cat("Call:\n", shown_call(x$call), "\n\n", sep = "")
  cat(x$read_as, "\n")
  if (x$omitted) cat(sprintf("(%d items deleted due to missingness)\n", x$omitted))
  kinds <- table(factor(unlist(x$features), c("number", "category", "text")))
  names(kinds) <- ifelse(kinds == 1, names(kinds), c("numbers", "categories", "texts"))
  kinds <- kinds[kinds > 0]
  cat(sprintf("features: %s\n", paste(sprintf("%d %s", kinds, names(kinds)), collapse = ", ")))
  if (length(x$judges)) cat(sprintf("judges: %s\n", some(x$judges, 8)))
  cat(sprintf("%d networks, %s parameters\n", x$networks, format(x$parameters, big.mark = ",")))
  if (!is.null(x$calibration$scale_se)) cat(sprintf("spread scaled by %s (standard error %s)\n", format(x$calibration$scale, digits = digits), format(x$calibration$scale_se, digits = digits)))
  cat("\nNegative log-likelihood per held-out vote, in nats; lower is better:\n")
  print(data.frame(` ` = format(x$scores$nll_per_vote, digits = digits), row.names = x$scores$method, check.names = FALSE))
  if (x$stopped) cat("\ntraining was stopped\n")
  for (w in x$warnings) cat("\nwarning:", strwrap(w, exdent = 2), sep = "\n")
  invisible(x)
}

#' @rdname summary.credence
#' @export
print.credence <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  cat("Call:\n", shown_call(x$call), "\n\n", sep = "")
  cat(sprintf("%d networks, trained on %s items with %s votes; classes: %s\n", x$metrics$networks, format(x$metrics$items, big.mark = ","), format(x$metrics$votes, big.mark = ","), some(x$classes, 8)))
  held <- x$metrics$held_out
  if (!is.null(held$nll_per_vote)) cat(sprintf("held-out votes: %s nats per vote, accuracy %s against the majority\n", format(held$nll_per_vote, digits = digits), format(held$accuracy, digits = digits)))
  if (length(x$na.action)) cat(sprintf("(%d items deleted due to missingness)\n", length(x$na.action)))
  invisible(x)
}

#' @export
nobs.credence <- function(object, ...) object$nobs

#' @export
formula.credence <- function(x, ...) x$formula

#' Tidy summaries of a model
#'
#' Methods for the generics of the package generics, which broom and tidymodels export.
#'
#' @param x A model that [credence()] returned; of `tidy()` also what [credence_evaluate()] returned.
#' @param new_data,data A data frame of items; by default the data of training.
#' @param level Level of the intervals.
#' @param votes Votes that the items have already, as in [predict.credence()].
#' @param ... Not used.
#' @return `tidy()`: a tibble with the scores on held-out votes: `term`, `estimate`, `std.error`. `glance()`: a
#'   tibble of one row. `augment()`: the data with the columns `.pred_class`, `.pred_CLASS`, `.pred_lower_CLASS` and
#'   `.pred_upper_CLASS`, which yardstick takes.
#' @examplesIf credence_available() && requireNamespace("generics", quietly = TRUE)
#' set.seed(1)
#' d <- data.frame(x = rnorm(200))
#' d$yes <- rbinom(200, 3, plogis(d$x))
#' fit <- suppressWarnings(credence(cbind(no = 3 - yes, yes) ~ x, d, ensemble = 2, epochs = 5))
#' generics::tidy(fit)
#' generics::glance(fit)
#' generics::augment(fit, d[1:3, ])
#' @name tidy.credence
#' @exportS3Method generics::tidy
tidy.credence <- function(x, ...) score_table(x$metrics$held_out)

#' @rdname tidy.credence
#' @exportS3Method generics::tidy
tidy.credence_evaluation <- function(x, ...) score_table(x)

#' @rdname tidy.credence
#' @exportS3Method generics::glance
glance.credence <- function(x, ...) {
  held <- x$metrics$held_out
  number <- function(v) if (is.null(v)) NA_real_ else as.numeric(v)
  tibble::tibble(
    items = as.integer(x$metrics$items), votes = as.integer(x$metrics$votes), classes = length(x$classes), networks = as.integer(x$metrics$networks), parameters = as.integer(x$metrics$parameters),
    nll_per_vote = number(held$nll_per_vote), constant_nll_per_vote = number(held$constant_dm_nll_per_vote), accuracy = number(held$accuracy), nobs = x$nobs
  )
}

#' @rdname tidy.credence
#' @exportS3Method generics::augment
augment.credence <- function(x, new_data = NULL, data = NULL, level = 0.95, votes = NULL, ...) {
  where <- rlang::current_env()
  level <- check_level(level, where)
  if (is.null(new_data)) new_data <- if (is.null(data)) training_data(x, where) else data
  ends <- x$method == "mixture"
  found <- predicted(x, new_data, c("mean", if (ends) "interval"), level, votes, stats::na.pass, where)
  pred <- c(list(.pred_class = class_column(x, found)), prob_columns(x, found), if (ends) interval_columns(x, found, level))
  clash <- intersect(names(new_data), names(pred))
  if (length(clash)) stop_input(sprintf("`new_data` has a column `%s` already", clash[[1]]), arg = "new_data")
  tibble::as_tibble(cbind(as.data.frame(new_data), as.data.frame(pred, check.names = FALSE)))
}

#' Train again, with further votes or other options
#'
#' With `votes`, training continues from the model: its networks start from those of `object`, all items stay in the part
#' that they were in, and the votes are those of `object` and the further ones. With anything else, the call is
#' repeated with the changes, as [stats::update()] does.
#'
#' @param object A model that [credence()] returned.
#' @param formula. Changes of the formula, as for [stats::update.formula()].
#' @param votes Further votes: a frame as the `votes` of `object`; of a model trained on counts, a matrix or frame
#'   of counts, with a row for each row of its data.
#' @param ... Arguments of [credence()] to change.
#' @param evaluate Whether to train, or to return the call.
#' @return A model of the class `credence`.
#' @examplesIf credence_available()
#' set.seed(1)
#' d <- data.frame(x = rnorm(200))
#' d$yes <- rbinom(200, 3, plogis(d$x))
#' d$no <- 3 - d$yes
#' fit <- suppressWarnings(credence(cbind(no, yes) ~ x, d, ensemble = 2, epochs = 5))
#' more <- cbind(no = rep(0, 200), yes = rep(1, 200))
#' suppressWarnings(update(fit, votes = more))
#' @export
update.credence <- function(object, formula., votes = NULL, ..., evaluate = TRUE) {
  where <- rlang::current_env()
  call <- object$call
  changes <- as.list(match.call(expand.dots = FALSE)$...)
  check_names(names(changes), unique(c(names(formals(credence)), names(formals(credence_options)))), "update()", where)
  if (!missing(formula.)) call$formula <- stats::update(object$formula, formula.)
  for (name in names(changes)) call[[name]] <- changes[[name]]
  if (!is.null(votes)) {
    if (!missing(formula.)) stop_input("`votes` continues the training of the same features: expected no `formula.`", arg = "formula.")
    env <- environment(object$formula)
    response <- object$response
    if (response$kind == "long" && !is.null(call$votes)) {
      votes <- check_frame(votes, "votes", where)
      columns <- unlist(response[c("item", "rater", "label", "count")])
      need_columns(votes, columns, "votes", where)
      old <- call_value(call$votes, env, "votes", where)
      call$votes <- rbind(as_plain(old[columns]), as_plain(votes[columns]))
      if (!"classes" %in% names(changes)) call$classes <- object$classes
      if (object$ordered && !"ordered" %in% names(changes)) call$ordered <- TRUE
    } else if (response$kind == "cbind") {
      call$data <- add_counts(object, call_value(call$data, env, "data", where), votes, where)
      call$formula <- object$formula
      call$formula[[2]] <- as.call(c(quote(cbind), lapply(stats::setNames(object$classes, object$classes), as.name)))
    } else {
      stop_input("`votes`: further votes are added to counts, or to votes of a frame of their own", "give all votes in `data`, and start = the model", arg = "votes")
    }
    call$start <- object
  }
  if (!evaluate) return(call)
  inner <- eval(call, list2env(list(credence = credence), parent = rlang::caller_env()))
  inner
}

# Evaluates an argument of the call that trained a model, as update() of R does.
call_value <- function(e, env, arg, call) {
  value <- tryCatch(eval(e, env), error = function(e) NULL)
  if (!is.data.frame(value)) stop_input(sprintf("`object`: the `%s` of its call are not there any more: `%s`", arg, paste(deparse(e, nlines = 1), collapse = "")), "train with all votes and start = the model", arg = "object", call = call)
  value
}

as_plain <- function(frame) {
  frame <- as.data.frame(frame)
  frame[] <- lapply(frame, function(x) if (is.factor(x)) as.character(x) else x)
  frame
}

# Adds counts to those that data have by the formula of a model, in columns named as the classes.
add_counts <- function(object, data, votes, call) {
  data <- as.data.frame(data)
  y <- eval(object$formula[[2]], data, environment(object$formula))
  old <- read_counts(y, row.names(data), object$classes, "data", call)
  new <- read_counts(votes, row.names(data), object$classes, "votes", call)
  for (j in seq_along(object$classes)) data[[object$classes[[j]]]] <- old$counts[, j] + new$counts[, j]
  data
}
