test_that("check, evaluate, next, raters and report work on frames", {
  skip_without_binary()
  fit <- votes_fit()
  check <- credence_check(votes(id, reader, dx) ~ 1, cast)
  expect_equal(check$votes, 960)
  expect_output(print(check), "Agreement between votes")
  expect_equal(credence_check(cbind(benign, malignant) ~ 1, items)$votes, 960)
  e <- suppressWarnings(credence_evaluate(fit, items, cast, bootstrap = 20))
  expect_equal(e$votes, 960)
  expect_output(print(e), "nll_per_vote")
  e2 <- suppressWarnings(credence_evaluate(counts_fit(), items, bootstrap = 20))
  expect_equal(e2$votes, 960)
  plan <- credence_next(fit, items, budget = 7, votes = cast)
  expect_s3_class(plan, "tbl_df")
  expect_equal(sum(plan$votes), 7)
  expect_true(all(plan$item %in% items$id))
  expect_equal(attr(plan, "summary")$budget, 7)
  raters <- credence_raters(fit)
  expect_setequal(raters$rater, c("ann", "bob", "cyd", "dee"))
  expect_equal(sum(raters$votes), 960)
  page <- tempfile(fileext = ".html")
  expect_identical(credence_report(fit, page), page)
  expect_match(readLines(page, warn = FALSE)[[1]], "html", ignore.case = TRUE)
  expect_error(credence_report(fit, page), "exists already", class = "credence_input_error")
  suppressWarnings(credence_report(fit, page, items, cast, overwrite = TRUE, bootstrap = 20))
  expect_gt(file.size(page), 10000)
})

test_that("tidy(), glance() and augment() are tibbles", {
  skip_without_binary()
  skip_if_not_installed("generics")
  fit <- counts_fit()
  expect_named(generics::tidy(fit), c("term", "estimate", "std.error"))
  expect_true("nll_per_vote" %in% generics::tidy(fit)$term)
  g <- generics::glance(fit)
  expect_equal(c(nrow(g), g$items, g$votes), c(1, 240, 960))
  a <- generics::augment(fit, items[1:5, ])
  expect_identical(a$.pred_malignant, predict(fit, items[1:5, ])$.pred_malignant)
  expect_true(all(c("age", ".pred_class", ".pred_lower_benign", ".pred_upper_malignant") %in% names(a)))
  expect_error(generics::augment(fit, transform(items, .pred_class = 1)), "already")
})

test_that("plots are drawn with ggplot2 and without", {
  skip_without_binary()
  skip_if_not_installed("ggplot2")
  fit <- counts_fit()
  expect_s3_class(plot(fit, items[1:3, ]), "ggplot")
  e <- suppressWarnings(credence_evaluate(fit, items, bootstrap = 20))
  expect_s3_class(plot(e), "ggplot")
  file <- tempfile(fileext = ".pdf")
  grDevices::pdf(file)
  drawn <- plot(fit, items[1:3, ], ggplot = FALSE)
  plot(e, ggplot = FALSE)
  grDevices::dev.off()
  expect_gt(file.size(file), 1000)
  mass <- tapply(drawn$density, drawn$item, mean) * 0.996
  expect_equal(unname(as.vector(mass)), rep(1, 3), tolerance = 0.02)
})

test_that("verbs are functions on files", {
  skip_without_binary()
  expect_match(verb_version(json = TRUE), "\"version\"")
  expect_match(paste(verb_mixture(alpha = "2,5", level = c(0.5, 0.9)), collapse = "\n"), "mean")
  expect_error(verb_inspect("no such run"), "no such run", class = "credence_error")
  expect_error(verb_inspect("x", jason = TRUE), "did you mean `json`")
})

test_that("the generated functions are those of the program", {
  skip_without_binary()
  generate <- file.path("..", "..", "generate.R")
  skip_if_not(file.exists(generate), "not in the source tree")
  done <- processx::run(file.path(R.home("bin"), "Rscript"), c(generate, "--check", credence_path()), error_on_status = FALSE)
  expect_equal(done$status, 0, info = done$stderr)
})

test_that("a missing binary is an error by itself, not at load", {
  old <- Sys.getenv("CREDENCE_BINARY")
  on.exit(Sys.setenv(CREDENCE_BINARY = old))
  Sys.setenv(CREDENCE_BINARY = tempfile())
  expect_false(credence_available())
  expect_error(credence_path(), "CREDENCE_BINARY", class = "credence_binary_error")
  Sys.setenv(CREDENCE_BINARY = file.path(R.home("bin"), "Rscript"))
  expect_error(install_credence(quiet = TRUE), "states no version", class = "credence_binary_error")
  expect_error(install_credence(tempfile()), "no file or folder")
})

test_that("install_credence() installs a binary for the user", {
  skip_without_binary()
  binary <- credence_path()
  old <- Sys.getenv(c("CREDENCE_BINARY", "R_USER_DATA_DIR"))
  on.exit(do.call(Sys.setenv, as.list(old)))
  Sys.setenv(R_USER_DATA_DIR = tempfile(), CREDENCE_BINARY = "")
  expect_message(path <- install_credence(binary), "installed")
  expect_identical(path, normalizePath(credence:::installed_binary()))
  expect_error(install_credence(tempdir()), "cmd/credence")
})

test_that("parsnip gets an engine for mlp()", {
  # parsnip is not there everywhere: a stand-in records the calls.
  calls <- list()
  record <- function(name) function(...) {
    calls[[length(calls) + 1]] <<- c(list(name), list(...))
    invisible()
  }
  p <- as.environment(sapply(c("set_model_engine", "set_dependency", "set_model_arg", "set_fit", "set_encoding", "set_pred"), record, simplify = FALSE))
  p$get_model_env <- function() list(mlp = data.frame(engine = "nnet", mode = "classification"))
  credence:::register_parsnip(p)
  names <- vapply(calls, `[[`, "", 1)
  expect_equal(as.vector(table(factor(names, unique(names)))), c(1, 1, 5, 1, 1, 4))
  fit <- calls[[which(names == "set_fit")]]$value
  expect_equal(fit$interface, "formula")
  expect_true(exists(fit$func[["fun"]], asNamespace(fit$func[["pkg"]])))
  expect_true(all(fit$protect %in% names(formals(credence))))
  original <- vapply(calls[names == "set_model_arg"], `[[`, "", "original")
  expect_true(all(original %in% names(formals(credence_options))))
  p$get_model_env <- function() list(mlp = data.frame(engine = "credence", mode = "classification"))
  calls <- list()
  credence:::register_parsnip(p)
  expect_length(calls, 0)
})

test_that("what parsnip calls to predict returns what it expects", {
  skip_without_binary()
  preds <- list()
  p <- as.environment(sapply(c("set_model_engine", "set_dependency", "set_model_arg", "set_fit", "set_encoding"), function(n) function(...) invisible(), simplify = FALSE))
  p$get_model_env <- function() list(mlp = data.frame(engine = "nnet"))
  p$set_pred <- function(model, mode, eng, type, value) preds[[type]] <<- value
  credence:::register_parsnip(p)
  object <- list(fit = counts_fit())
  new_data <- items[1:4, ]
  level <- 0.9
  answer <- function(type) {
    x <- eval(as.call(c(as.name(preds[[type]]$func[["fun"]]), preds[[type]]$args)))
    if (is.null(preds[[type]]$post)) x else preds[[type]]$post(x, object)
  }
  expect_s3_class(answer("class"), "factor")
  expect_named(answer("prob"), c(".pred_benign", ".pred_malignant"))
  expect_identical(answer("conf_int"), predict(object$fit, new_data, type = "interval", level = 0.9))
})
