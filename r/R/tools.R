# Verbs of the program on models and data frames.

# Further options of a verb, by the names that its function has.
verb_options <- function(verb, dots, without, call) {
  known <- setdiff(names(formals(verb)), c("...", without))
  check_names(names(dots), known, sprintf("credence_%s()", sub("^verb_", "", deparse(substitute(verb)))), call)
  names(dots) <- gsub("_", "-", names(dots))
  check_values(dots, call)
}

file_options <- c("votes", "votes_form", "votes_item", "votes_sheet", "label", "rater", "count", "total", "vote_columns", "item", "array", "layout", "image_column",
  "images_inside", "volume_cache", "sheet", "na", "merge", "fold_case", "output", "overwrite", "format", "json", "digits", "csv_safe", "kernel")

# Writes items and the votes on them; returns the paths and how they are read. Votes come from `votes` or, as in
# training, from the left side of the formula.
write_judged <- function(object, newdata, votes, folder, need_votes, call) {
  if (!inherits(object, "credence")) stop_input(sprintf("`object`: expected a model of credence(), found %s", describe(object)), arg = "object", call = call)
  newdata <- check_frame(newdata, "newdata", call)
  response <- object$response
  if (is.null(votes) && need_votes) {
    if (response$kind == "long") {
      if (!all(unlist(response[c("item", "rater", "label", "count")]) %in% names(newdata))) stop_input("`votes`: expected a frame of votes on the items of `newdata`, found none", arg = "votes", call = call)
      votes <- newdata
      newdata <- one_row_per_item(object$formula, newdata, response, unlist(response[-1]), call)
    } else if (response$kind == "wide") {
      votes <- newdata
    } else {
      if (response$kind == "cbind") check_cbind(object$formula[[2]], newdata, environment(object$formula), call)
      y <- tryCatch(eval(object$formula[[2]], newdata, environment(object$formula)), error = function(e) {
        stop_input(sprintf("`newdata`: expected votes, `%s`, as in training: %s", paste(deparse(object$formula[[2]]), collapse = ""), conditionMessage(e)), "or give them as `votes`", arg = "newdata", call = call)
      })
      cast <- read_response(y, object$formula, row.names(newdata), object$classes, call)
    }
  }
  new <- new_items(object, newdata, "newdata", call, judges = is.null(votes) && !need_votes)
  if (!is.null(votes)) {
    found <- votes_on(object, votes, new, newdata, call)
    cast <- found$votes
    new$items <- found$items
  } else if (!need_votes) {
    cast <- NULL
    if (response$kind == "long" && response$item %in% names(newdata)) new$items <- id_text(newdata[[response$item]], "`newdata`", call)
  }
  keep <- object$passes | new$complete
  if (!all(keep)) warn_input(sprintf("`newdata`: %s with missing features are left out", rows_of(sum(!keep))))
  if (!any(keep)) stop_input("`newdata`: every item has missing features", arg = "newdata", call = call)
  item <- free_name("item", names(new$columns))
  write_items(lapply(new$columns, function(x) x[keep]), new$items[keep], item, folder)
  options <- list(item = item)
  if (!is.null(cast)) {
    if (cast$kind == "counts") cast$counts <- cast$counts[keep, , drop = FALSE]
    in_kept <- cast$item %in% new$items[keep]
    for (part in setdiff(c("item", "rater", "label", "count"), NULL)) if (!is.null(cast[[part]])) cast[[part]] <- cast[[part]][in_kept]
    options <- c(options, write_votes(cast, folder))
  }
  list(items = file.path(folder, "items.parquet"), options = options)
}

#' Check votes before training
#'
#' Reports how far raters agree, whether the votes support intervals, and how many items with how many votes would.
#'
#' @param formula Votes on the left side, as for [credence()]; its right side is not used: `votes(item, rater, label) ~ 1`.
#' @param data A data frame with the votes.
#' @param ... Further options of the verb `check`, such as `plan_items`.
#' @return A list of the class `credence_check` with all numbers; printing it shows the report.
#' @examplesIf credence_available()
#' d <- expand.grid(item = 1:30, rater = c("a", "b", "c"))
#' d$label <- ifelse(d$item < 15 | d$rater == "a", "yes", "no")
#' check <- credence_check(votes(item, rater, label) ~ 1, d)
#' check$pair_agreement
#' @export
credence_check <- function(formula, data, ...) {
  where <- rlang::current_env()
  options <- verb_options(verb_check, list(...), c(file_options, "data"), where)
  response <- parse_response(formula, where)
  data <- check_frame(data, "data", where)
  items <- row.names(data)
  cast <- switch(response$kind,
    long = {
      need_columns(data, unlist(response[c("item", "rater", "label", "count")]), "data", where)
      read_long(data, response, unique(id_text(data[[response$item]], "`data`", where)), NULL, "data", where)
    },
    wide = read_wide(data, response$raters, items, NULL, "data", where),
    {
      if (response$kind == "cbind") check_cbind(formula[[2]], data, environment(formula), where)
      y <- tryCatch(eval(formula[[2]], data, environment(formula)), error = function(e) stop_input(paste0("`formula`: ", conditionMessage(e)), arg = "formula", call = where))
      read_response(y, formula, items, NULL, where)
    }
  )
  folder <- new_folder()
  on.exit(unlink(folder, recursive = TRUE))
  how <- write_votes(cast, folder)
  path <- how$votes
  how$votes <- NULL
  if (cast$ordered && is.null(options$ordered)) options$ordered <- TRUE
  line <- c("check", path, as_flags(c(how, list(classes = cast$classes, na = no_missing), options)))
  found <- parse_json(run_binary(c(line, "--json")))
  found$text <- gsub(path, "the votes", suppressWarnings(run_binary(line)), fixed = TRUE)
  structure(found, class = "credence_check")
}

#' @export
print.credence_check <- function(x, ...) {
  writeLines(x$text)
  invisible(x)
}

#' Evaluate a model on votes that it has not seen
#'
#' @param object A model that [credence()] returned.
#' @param newdata A data frame of items.
#' @param votes Votes on them, as in [predict.credence()]; by default what the left side of the formula is in `newdata`.
#' @param ... Further options of the verb `evaluate`, such as `bootstrap` or `level`.
#' @return A list of the class `credence_evaluation`: scores with standard errors, calibration and coverage.
#'   [tidy()][tidy.credence] makes a tibble of the scores, [plot()][plot.credence] draws the calibration.
#' @examplesIf credence_available()
#' set.seed(1)
#' d <- data.frame(x = rnorm(400))
#' d$yes <- rbinom(400, 3, plogis(d$x))
#' fit <- suppressWarnings(
#'   credence(cbind(no = 3 - yes, yes) ~ x, d[1:300, ], ensemble = 2, epochs = 5)
#' )
#' credence_evaluate(fit, d[301:400, ], bootstrap = 50)
#' @export
credence_evaluate <- function(object, newdata, votes = NULL, ...) {
  where <- rlang::current_env()
  options <- verb_options(verb_evaluate, list(...), c(file_options, "out"), where)
  folder <- new_folder()
  on.exit(unlink(folder, recursive = TRUE))
  judged <- write_judged(object, newdata, votes, folder, TRUE, where)
  found <- parse_json(run_binary(c("evaluate", run_folder(object$run), judged$items, as_flags(c(judged$options, options)), "--json"), names(options)))
  structure(found, class = "credence_evaluation")
}

# Scores of an evaluation or of training, with standard errors.
score_table <- function(x) {
  names <- names(x)[vapply(x, function(v) is.numeric(v) && length(v) == 1, NA)]
  terms <- names[paste0(names, "_se") %in% names | names == "accuracy" | grepl("nll_per_vote$", names)]
  value <- function(n) if (is.null(x[[n]])) NA_real_ else as.numeric(x[[n]])
  tibble::tibble(term = terms, estimate = vapply(terms, value, 1, USE.NAMES = FALSE), std.error = vapply(paste0(terms, "_se"), value, 1, USE.NAMES = FALSE))
}

#' @export
print.credence_evaluation <- function(x, ...) {
  cat(sprintf("%d items with %s votes\n", x$voted_items, format(x$votes, big.mark = ",")))
  table <- score_table(x)
  print(data.frame(estimate = table$estimate, std.error = table$std.error, row.names = table$term), digits = 4)
  for (w in x$warnings) cat("warning:", w, "\n")
  invisible(x)
}

#' Rank items by the value of another vote
#'
#' Allocates a budget of further votes to items, so that the class probabilities are known as precisely as possible afterwards.
#'
#' @inheritParams credence_evaluate
#' @param budget Number of votes to allocate; with `raters`, in the unit of their costs.
#' @param votes Votes that the items have already, as in [predict.credence()].
#' @param raters A data frame with the columns `rater` and `cost`, to choose raters as well.
#' @param ... Further options of the verb `next`, such as `max_votes` or `all`.
#' @return A tibble of the plan, best items first; its attribute `summary` has the total gain and what it is compared with.
#' @examplesIf credence_available()
#' set.seed(1)
#' d <- data.frame(x = rnorm(200))
#' d$yes <- rbinom(200, 3, plogis(d$x))
#' fit <- suppressWarnings(credence(cbind(no = 3 - yes, yes) ~ x, d, ensemble = 2, epochs = 5))
#' credence_next(fit, d, budget = 5)
#' @export
credence_next <- function(object, newdata, budget, votes = NULL, raters = NULL, ...) {
  where <- rlang::current_env()
  options <- verb_options(verb_next, list(...), c(file_options, "budget", "raters"), where)
  if (missing(budget) || !is.numeric(budget) || length(budget) != 1 || is.na(budget) || budget <= 0) {
    stop_input(sprintf("`budget`: expected a number of votes above 0, found %s", if (missing(budget)) "nothing" else describe(budget)), arg = "budget")
  }
  folder <- new_folder()
  on.exit(unlink(folder, recursive = TRUE))
  judged <- write_judged(object, newdata, votes, folder, FALSE, where)
  if (!is.null(raters)) {
    raters <- check_frame(raters, "raters", where)
    need_columns(raters, c("rater", "cost"), "raters", where)
    if (!is.numeric(raters$cost)) stop_input(sprintf("`raters`: column `cost`: expected numbers, found %s", describe(raters$cost)), arg = "raters")
    options$raters <- file.path(folder, "raters.parquet")
    write_parquet(list(rater = id_text(raters$rater, "`raters`", where), cost = as.numeric(raters$cost)), options$raters)
  }
  lines <- run_binary(c("next", run_folder(object$run), judged$items, as_flags(c(judged$options, options, list(budget = budget))), "--json"))
  found <- parse_json(lines)
  plan <- tibble::as_tibble(as.data.frame(found$plan))
  attr(plan, "summary") <- found[setdiff(names(found), "plan")]
  plan
}

#' Show the raters: votes, bias, guess rate, agreement
#'
#' @param object A model that [credence()] returned, trained on votes with raters.
#' @param ... Not used.
#' @return A tibble with a row per rater: `rater`, `votes`, `agreement` with other raters, `expected` agreement, and `bias` and
#'   `guess` rate with standard errors, `NA` where the model has no rater model; the attribute `reason` states why.
#' @examplesIf credence_available()
#' set.seed(1)
#' d <- data.frame(item = 1:200, x = rnorm(200))
#' v <- expand.grid(item = 1:200, rater = c("ann", "bob", "eve"))
#' v$label <- ifelse(runif(600) < plogis(d$x[v$item]), "yes", "no")
#' fit <- suppressWarnings(credence(votes(item, rater, label) ~ x, d, v, ensemble = 2, epochs = 5))
#' credence_raters(fit)
#' @export
credence_raters <- function(object, ...) {
  where <- rlang::current_env()
  check_names(names(list(...)), character(), "credence_raters()", where)
  if (!inherits(object, "credence")) stop_input(sprintf("`object`: expected a model of credence(), found %s", describe(object)), arg = "object")
  found <- parse_json(run_binary(c("raters", run_folder(object$run), "--format", "json")), simplifyVector = FALSE)
  number <- function(x) if (is.null(x)) NA_real_ else as.numeric(x)
  column <- function(get) vapply(found$raters, function(r) number(get(r)), 1)
  out <- tibble::tibble(
    rater = vapply(found$raters, function(r) as.character(r$rater), ""), votes = as.integer(column(function(r) r$votes)),
    agreement = column(function(r) r$agreement), expected = column(function(r) r$expected),
    bias = column(function(r) r$lean$value), bias_se = column(function(r) r$lean$se),
    guess = column(function(r) r$guess$value), guess_se = column(function(r) r$guess$se)
  )
  attr(out, "modelled") <- found$modelled
  attr(out, "reason") <- found$reason
  out
}

#' Write a report on a model as an HTML page
#'
#' @inheritParams credence_evaluate
#' @param file Path of the page, which ends with .html.
#' @param newdata A data frame of items to report on; by default the report is that of training.
#' @param overwrite Whether to replace a file that exists.
#' @param ... Further options of the verb `report`, such as `title` or `level`.
#' @return The path, invisibly.
#' @examplesIf credence_available()
#' set.seed(1)
#' d <- data.frame(x = rnorm(200))
#' d$yes <- rbinom(200, 3, plogis(d$x))
#' fit <- suppressWarnings(credence(cbind(no = 3 - yes, yes) ~ x, d, ensemble = 2, epochs = 5))
#' credence_report(fit, tempfile(fileext = ".html"))
#' @export
credence_report <- function(object, file, newdata = NULL, votes = NULL, overwrite = FALSE, ...) {
  where <- rlang::current_env()
  options <- verb_options(verb_report, list(...), file_options, where)
  if (!inherits(object, "credence")) stop_input(sprintf("`object`: expected a model of credence(), found %s", describe(object)), arg = "object")
  if (missing(file)) stop_input("`file`: expected the path of a page, found nothing", arg = "file")
  file <- path.expand(check_text(file, "file", where))
  if (file.exists(file) && !isTRUE(overwrite)) stop_input(sprintf("`file`: %s exists already", file), "choose another name, or replace it with overwrite = TRUE", arg = "file")
  if (!dir.exists(dirname(file))) stop_input(sprintf("`file`: there is no folder %s", dirname(file)), arg = "file")
  if (is.null(newdata)) {
    if (length(options)) stop_input(sprintf("`%s` is given without `newdata`: the report of training is already written", gsub("-", "_", names(options)[[1]])), arg = "newdata")
    page <- object$run$files[["report.html"]]
    if (is.null(page)) stop_input("the model has no report of its training", "credence_report(fit, file, newdata) writes one on other items", arg = "newdata")
    writeBin(page, file)
    return(invisible(file))
  }
  folder <- new_folder()
  on.exit(unlink(folder, recursive = TRUE))
  judged <- write_judged(object, newdata, votes, folder, TRUE, where)
  options <- c(judged$options, options, list(output = file, overwrite = isTRUE(overwrite)))
  run_binary(c("report", run_folder(object$run), judged$items, as_flags(options)), names(options))
  invisible(file)
}

#' Show how far machine judges can be trusted
#'
#' Of a model that was trained with the option `judges`, compares the votes of each judge with those of people: how often they agree,
#' how many votes by people a vote of the judge is worth, and the alternative annotator test (Calderon, Reichart and Dror 2025).
#'
#' @inheritParams credence_evaluate
#' @param newdata A data frame of items; by default the data of training.
#' @param votes Votes of people and judges on them, as in [predict.credence()]; by default those of training.
#' @param ... Further options of the verb `judges`, such as `epsilon` or `bootstrap`.
#' @return A list of the class `credence_judges`: `judges`, a tibble with a row per judge (`agreement` and `effective_votes` with 95%
#'   bootstrap intervals, winning rate `omega` and advantage `rho` of the test, and what they are made of as list columns); `panel`,
#'   all judges together; `people_agreement` and more.
#' @examplesIf credence_available()
#' set.seed(1)
#' d <- data.frame(item = 1:120, x = rnorm(120))
#' v <- expand.grid(item = 1:120, rater = c("ann", "bob", "eve", "model-a", "model-b"))
#' v$label <- ifelse(runif(600) < plogis(2 * d$x[v$item]), "good", "bad")
#' fit <- suppressWarnings(credence(
#'   votes(item, rater, label) ~ x, d, v,
#'   judges = c("model-a", "model-b"), ensemble = 2, epochs = 5
#' ))
#' credence_judges(fit, bootstrap = 50)
#' new <- data.frame(x = 0.3, `model-a` = "good", `model-b` = "bad", check.names = FALSE)
#' predict(fit, new)
#' @export
credence_judges <- function(object, newdata = NULL, votes = NULL, ...) {
  where <- rlang::current_env()
  if (!inherits(object, "credence")) stop_input(sprintf("`object`: expected a model of credence(), found %s", describe(object)), arg = "object")
  if (!length(object$judges)) stop_input("`object`: expected a model with judges, found one without", "credence(..., judges = names) trains one", arg = "object")
  options <- verb_options(verb_judges, list(...), file_options, where)
  if (is.null(newdata)) {
    newdata <- training_data(object, where)
    if (is.null(votes) && !is.null(object$call$votes)) votes <- call_value(object$call$votes, environment(object$formula), "votes", where)
  }
  folder <- new_folder()
  on.exit(unlink(folder, recursive = TRUE))
  judged <- write_judged(object, newdata, votes, folder, TRUE, where)
  found <- parse_json(run_binary(c("judges", run_folder(object$run), judged$items, as_flags(c(judged$options, options)), "--json"), names(options)))
  found$judges <- judge_table(found$judges)
  structure(found, class = "credence_judges")
}

# One row per judge; a number with its interval is three columns.
judge_table <- function(x) {
  several <- function(name) {
    v <- x[[name]]
    column <- function(part) if (is.null(v[[part]])) rep(NA_real_, nrow(x)) else as.numeric(v[[part]])
    stats::setNames(lapply(c("value", "lo", "hi"), column), paste0(name, c("", "_lower", "_upper")))
  }
  test <- x$alt_test
  number <- function(v) if (is.null(v)) rep(NA_real_, nrow(x)) else as.numeric(v)
  parts <- function(v) if (is.null(v)) vector("list", nrow(x)) else v
  tibble::new_tibble(c(
    list(judge = as.character(x$name), items = as.integer(x$items)), several("agreement"), several("effective_votes"),
    list(omega = number(test$winning_rate), rho = number(test$advantage), by_class = parts(x$agreement_by_class), people = parts(test$people), strata = parts(x$strata))
  ), nrow = nrow(x))
}

#' @export
print.credence_judges <- function(x, ...) {
  cat(sprintf("%d judges on %s items with votes of people", nrow(x$judges), format(x$items, big.mark = ",")))
  if (isTRUE(x$unvoted > 0)) cat(sprintf("; %s more have votes of judges only", format(x$unvoted, big.mark = ",")))
  people <- x$people_agreement
  if (!is.null(people$value)) cat(sprintf("\ntwo people agree on %.1f%% (%.1f%% to %.1f%%)", 100 * people$value, 100 * people$lo, 100 * people$hi))
  cat("\n\n")
  print(as.data.frame(x$judges[setdiff(names(x$judges), c("by_class", "people", "strata"))]), digits = 3, row.names = FALSE)
  all <- x$panel$effective_votes
  if (!is.null(all$value)) cat(sprintf("\nall judges together (%s): %.2f effective votes (%.2f to %.2f)\n", x$panel$method, all$value, all$lo, all$hi))
  shared <- x$panel$shared_errors
  if (!is.null(shared$p_value)) cat(sprintf("shared errors of the judges: tetrad p = %.2g\n", shared$p_value))
  invisible(x)
}
