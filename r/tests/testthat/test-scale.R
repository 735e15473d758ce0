# Ordered classes, points of a score, and judges.

scale_items <- function(n = 160) {
  set.seed(5)
  data.frame(id = sprintf("q%03d", seq_len(n)), x = round(rnorm(n), 3))
}
scale_votes <- function(d, raters = c("ann", "bob", "cyd")) {
  set.seed(6)
  v <- expand.grid(id = d$id, reader = raters, stringsAsFactors = FALSE)
  at <- pmin(3, pmax(1, round(2 + d$x[match(v$id, d$id)] + rnorm(nrow(v), 0, 0.6))))
  v$grade <- factor(c("poor", "fair", "good")[at], c("poor", "fair", "good", "superb"), ordered = TRUE)
  v
}

test_that("ordered factors are scales, with a score and points", {
  skip_without_binary()
  d <- scale_items()
  v <- scale_votes(d)
  fit <- quick(votes(id, reader, grade) ~ x, d, v)
  card <- credence:::run_card(fit$run)
  expect_true(card$ordered)
  expect_identical(card$classes, levels(v$grade)) # also the level without votes
  p <- predict(fit, d, score = TRUE, point = "wasserstein", votes_expected = 3)
  expect_named(p, c(paste0(".pred_", levels(v$grade)), paste0(".point_", levels(v$grade)), ".pred_score"))
  expect_identical(as.list(p)[1:4], as.list(predict(fit, d)))
  expect_equal(p$.pred_score, as.vector(as.matrix(p[1:4]) %*% 1:4), tolerance = 1e-12)
  expect_equal(rowSums(p[5:8]), rep(1, nrow(d)))
  expect_true(all(abs(3 * as.matrix(p[5:8]) - round(3 * as.matrix(p[5:8]))) < 1e-9)) # shares of three votes
  want <- direct(fit, d, point = "wasserstein", votes_expected = 3, wide = TRUE, level = c(0.5, 0.9), digits = "full")
  i <- predict(fit, d, type = "interval", score = TRUE, level = c(0.5, 0.9))
  expect_identical(p$.pred_score, want$score)
  expect_identical(p$.point_fair, want$point_fair)
  for (end in c("lower", "upper")) for (l in c("0.5", "0.9")) {
    expect_equal(i[[paste0(".pred_score_", end, "_", l)]], want[[paste0("score_", end, "_", l)]], tolerance = 1e-6)
  }
  missing <- predict(fit, data.frame(x = c(0.1, NA)), score = TRUE, point = "mean")
  expect_identical(is.na(missing$.pred_score), c(FALSE, TRUE))
  expect_identical(is.na(missing$.point_good), c(FALSE, TRUE))
  expect_named(predict(fit, d[0, ], type = "interval", score = TRUE)[9:10], c(".pred_score_lower", ".pred_score_upper"))
  expect_error(predict(fit, d, type = "class", score = TRUE), "`score`: expected type", class = "credence_input_error")
  expect_error(predict(fit, d, point = "emd"), "`point`: expected one of", class = "credence_input_error")
  expect_error(predict(fit, d, votes_expected = 3), "without `point`", class = "credence_input_error")
  more <- transform(v[1:20, ], reader = "eve")
  expect_true(credence:::run_card(suppressWarnings(update(fit, votes = more))$run)$ordered)
  expect_true(is.numeric(suppressWarnings(credence_check(votes(id, reader, grade) ~ 1, v))$alpha_ordinal$value))
})

test_that("orders that are denied, unknown or different", {
  skip_without_binary()
  d <- scale_items()
  v <- scale_votes(d)
  plain <- quick(votes(id, reader, grade) ~ x, d, v, ordered = FALSE)
  expect_false(isTRUE(credence:::run_card(plain$run)$ordered))
  expect_error(predict(plain, d, score = TRUE), "expected a model of ordered classes", class = "credence_input_error")
  expect_error(quick(votes(id, reader, grade) ~ x, d, transform(v, grade = as.character(grade)), ordered = TRUE), "whose order is not known", class = "credence_input_error")
  wide <- stats::reshape(v, direction = "wide", idvar = "id", timevar = "reader")
  names(wide) <- sub("grade.", "", names(wide), fixed = TRUE)
  wide <- merge(d, wide)
  expect_true(quick(ratings(ann, bob, cyd) ~ x, wide)$ordered)
  wide$bob <- factor(wide$bob, rev(levels(wide$bob)), ordered = TRUE)
  expect_error(quick(ratings(ann, bob, cyd) ~ x, wide), "column `bob`: expected an ordered factor with the levels of `ann`", class = "credence_input_error")
  wide[c("ann", "bob", "cyd")] <- lapply(wide[c("ann", "bob", "cyd")], function(g) c(poor = 1, fair = 9, good = 10)[as.character(g)])
  expect_identical(quick(ratings(ann, bob, cyd) ~ x, wide, ordered = TRUE)$classes, c("1", "9", "10"))
})

test_that("votes of judges are features", {
  skip_without_binary()
  d <- scale_items()
  v <- scale_votes(d, c("ann", "bob", "cyd", "gpt", "llama"))
  v$grade <- ifelse(v$grade == "poor", "bad", "good")
  judged <- v[v$reader %in% c("gpt", "llama"), ]
  fit <- quick(votes(id, reader, grade) ~ x, d, v, judges = c("gpt", "llama"))
  expect_equal(fit$metrics$votes, 480) # of people
  by_votes <- predict(fit, d, votes = judged)
  columns <- cbind(d, gpt = judged$grade[judged$reader == "gpt"], llama = judged$grade[judged$reader == "llama"])
  expect_identical(predict(fit, columns), by_votes)
  expect_identical(predict(fit, columns[7, ]), by_votes[7, ])
  expect_identical(predict(fit), by_votes)
  expect_warning(one <- predict(fit, columns[names(columns) != "llama"]), "llama")
  expect_false(identical(one, by_votes))
  expect_error(predict(fit, d), "expected votes of the judges gpt, llama", class = "credence_input_error")
  j <- credence_judges(fit, bootstrap = 50)
  expect_s3_class(j, "credence_judges")
  expect_identical(j$judges$judge, c("gpt", "llama"))
  people <- v[!v$reader %in% c("gpt", "llama"), ]
  agree <- mean(people$grade == columns$gpt[match(people$id, columns$id)])
  expect_equal(j$judges$agreement[[1]], agree, tolerance = 1e-9)
  expect_true(all(j$judges$effective_votes_lower <= j$judges$effective_votes_upper))
  expect_output(print(j), "2 judges on 160 items")
  expect_output(print(summary(fit)), "judges: gpt, llama")
  v$grade[v$reader == "gpt"][1:5] <- "refused"
  expect_identical(quick(votes(id, reader, grade) ~ x, d, v, judges = c("gpt", "llama"))$classes, c("bad", "good"))
  expect_error(quick(votes(id, reader, grade) ~ x, d, v, judges = "gtp"), "gtp", class = "credence_input_error")
  expect_error(quick(cbind(benign, malignant) ~ age, items, judges = "gpt"), "`judges`: expected votes with raters", class = "credence_input_error")
  expect_error(credence_judges(counts_fit()), "expected a model with judges", class = "credence_input_error")
  expect_error(credence_judges(fit, nonsense = 1), "nonsense")
})

test_that("levels are merged in the data, not by an option", {
  expect_error(credence(votes(id, reader, dx) ~ age, items, cast, merge = "Benign=benign"), "no argument `merge`", class = "credence_input_error")
  expect_error(credence_check(votes(id, reader, dx) ~ 1, cast, fold_case = TRUE), "no argument `fold_case`", class = "credence_input_error")
})

test_that("an updated model prints its call in a few lines", {
  skip_without_binary()
  updated <- suppressWarnings(update(votes_fit(), votes = data.frame(id = items$id, reader = "eve", dx = "benign")))
  expect_lt(length(capture.output(print(updated))), 10)
  expect_output(print(updated), "votes = <a data frame of 1200 rows and 3 columns>")
})

test_that("an interrupt keeps the best networks so far", {
  skip_without_binary()
  skip_on_cran()
  skip_on_os("windows")
  script <- tempfile(fileext = ".R")
  writeLines(c(
    sprintf(".libPaths(%s)", paste(deparse(.libPaths()), collapse = "")), "library(credence)", "options(warn = 1)", "set.seed(1)",
    "d <- data.frame(x = rnorm(240)); d$yes <- rbinom(240, 3, plogis(d$x)); d$no <- 3 - d$yes",
    "fit <- credence(cbind(no, yes) ~ x, d, ensemble = 2, epochs = 20000, patience = 0, verbose = TRUE)",
    "p <- predict(fit, d[1:3, ])", "cat('stopped', fit$stopped, 'sums', all(abs(rowSums(p) - 1) < 1e-9), 'networks', fit$metrics$networks, '\\n')"
  ), script)
  p <- processx::process$new(file.path(R.home("bin"), "Rscript"), script, stdout = "|", stderr = "|", cleanup_tree = TRUE)
  on.exit(p$kill_tree())
  err <- ""
  deadline <- Sys.time() + 120
  while (!grepl("[1-9][0-9]?%", err) && p$is_alive() && Sys.time() < deadline) {
    p$poll_io(200)
    err <- paste0(err, p$read_error())
  }
  expect_true(p$is_alive(), info = err)
  p$interrupt()
  out <- ""
  while ((p$is_alive() || p$is_incomplete_output()) && Sys.time() < deadline) {
    p$poll_io(200)
    out <- paste0(out, p$read_output())
    err <- paste0(err, p$read_error())
  }
  expect_match(out, "stopped TRUE sums TRUE networks 2", info = err)
  expect_match(err, "training was stopped: the best networks so far are kept")
})
