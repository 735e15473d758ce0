test_that("predictions have the bits of the program's", {
  skip_without_binary()
  fit <- counts_fit()
  want <- direct(fit, items)
  for (process in c(TRUE, FALSE)) {
    withr <- options(credence.process = process)
    p <- predict(fit, items)
    i <- predict(fit, items, type = "interval")
    options(withr)
    for (class in fit$classes) {
      rows <- want$class == class
      expect_identical(p[[paste0(".pred_", class)]], want$mean[rows])
      expect_equal(i[[paste0(".pred_lower_", class)]], want$lower[rows], tolerance = 2e-7)
      expect_equal(i[[paste0(".pred_upper_", class)]], want$upper[rows], tolerance = 2e-7)
    }
  }
})

test_that("the process, files and few rows give the same bits", {
  skip_without_binary()
  for (fit in list(counts_fit(), votes_fit(), quick(cbind(benign, malignant) ~ age + size, items))) {
    for (type in c("prob", "interval", "mixture")) {
      a <- predict(fit, items, type = type)
      options(credence.process = FALSE)
      b <- predict(fit, items, type = type)
      options(credence.process = NULL)
      expect_identical(a, b)
      expect_identical(predict(fit, items[17, ], type = type), a[17, ])
    }
  }
})

test_that("each type has its columns, one row per item", {
  skip_without_binary()
  fit <- counts_fit()
  expect_named(predict(fit, items[1:3, ]), c(".pred_benign", ".pred_malignant"))
  classes <- predict(fit, items, type = "class")$.pred_class
  expect_identical(levels(classes), c("benign", "malignant"))
  expect_identical(classes == "malignant", predict(fit, items)$.pred_malignant > 0.5)
  several <- predict(fit, items[1:3, ], type = "interval", level = c(0.5, 0.95))
  expect_named(several, paste0(".pred_", c("lower", "upper"), "_", rep(c("benign", "malignant"), each = 2), rep(c("_0.5", "_0.95"), each = 4)))
  expect_identical(several$.pred_lower_benign_0.95, predict(fit, items[1:3, ], type = "interval")$.pred_lower_benign)
  expect_true(all(several$.pred_lower_benign_0.95 < several$.pred_lower_benign_0.5))
  set.seed(1)
  draws <- predict(fit, items[1:2, ], type = "draws", draws = 4000)$.pred_draws
  expect_equal(dim(draws[[1]]), c(4000, 2))
  expect_equal(unname(colMeans(draws[[2]])), unlist(predict(fit, items[2, ]), use.names = FALSE), tolerance = 0.03) # 5 standard errors
  expect_equal(nrow(predict(fit, items[0, ], type = "interval")), 0)
  expect_named(predict(fit, items[0, ], type = "prob"), c(".pred_benign", ".pred_malignant"))
  m <- predict(fit, items[1, ], type = "mixture")$.pred_mixture[[1]]
  expect_equal(sum(m$weights), 1)
  expect_equal(unname(colSums(m$weights * m$alpha / rowSums(m$alpha))), unlist(predict(fit, items[1, ]), use.names = FALSE), tolerance = 1e-12)
})

test_that("votes that items have already move predictions", {
  skip_without_binary()
  fit <- counts_fit()
  before <- predict(fit, items[1:2, ])$.pred_malignant
  after <- predict(fit, items[1:2, ], votes = data.frame(malignant = c(0, 5), benign = c(5, 0)))$.pred_malignant
  expect_lt(after[[1]], before[[1]])
  expect_gt(after[[2]], before[[2]])
  named <- cbind(benign = c(5, 0), malignant = c(0, 5))
  rownames(named) <- row.names(items)[2:1]
  swapped <- predict(fit, items[1:2, ], votes = named)$.pred_malignant
  expect_gt(swapped[[1]], before[[1]])
  long <- votes_fit()
  expect_false(identical(predict(long, items, votes = cast), predict(long, items)))
  expect_identical(predict(long, items, votes = cast)[3:1, ], predict(long, items[3:1, ], votes = cast[1:12, ]))
  expect_warning(predict(long, items[3:1, ], votes = cast), "ignored")
})

test_that("saveRDS() carries the model, and update() continues it", {
  skip_without_binary()
  fit <- votes_fit()
  file <- tempfile(fileext = ".rds")
  saveRDS(fit, file)
  script <- tempfile(fileext = ".R")
  writeLines(c(
    sprintf(".libPaths(%s)", paste(deparse(.libPaths()), collapse = "")), "library(credence)", sprintf("fit <- readRDS(%s)", deparse(file)),
    "cat(sprintf('%.17g', predict(fit, data.frame(age = 61.5, site = 'lung'))$.pred_benign))"
  ), script)
  out <- processx::run(file.path(R.home("bin"), "Rscript"), script)$stdout
  expect_identical(as.numeric(out), predict(fit, data.frame(age = 61.5, site = "lung"))$.pred_benign)
  more <- data.frame(id = items$id, reader = "eve", dx = "malignant")
  w <- capture_warnings(updated <- update(fit, votes = more))
  expect_false(any(grepl("not at hand", w))) # items stay in the part that they were in
  expect_equal(updated$metrics$votes, 1200)
  w <- capture_warnings(again <- update(updated, votes = transform(more, reader = "fay")))
  expect_false(any(grepl("not at hand", w)))
  expect_equal(again$metrics$votes, 1440)
  w <- capture_warnings(update(fit, votes = more, data = transform(items, age = age + 1)))
  expect_false(any(grepl("not at hand", w)))
  changed <- fit
  changed$call$data <- quote(transform(items, age = age + 1))
  w <- capture_warnings(update(changed, votes = more))
  expect_match(w, "`start`: its data are not available: the data that it was trained on have changed", all = FALSE)
  expect_match(w, "not at hand", all = FALSE)
  expect_gt(mean(predict(updated, items)$.pred_malignant), mean(predict(fit, items)$.pred_malignant))
  counts <- suppressWarnings(update(counts_fit(), votes = cbind(benign = 0, malignant = rep(1, 240))))
  expect_equal(counts$metrics$votes, 1200)
  other <- suppressWarnings(update(fit, seed = 2))
  expect_equal(other$metrics$seed, 2)
  expect_named(suppressWarnings(update(fit, . ~ . + size))$features, c("age", "site", "size"))
})

test_that("a row takes less than 10 ms after the first", {
  skip_without_binary()
  skip_on_cran()
  fit <- counts_fit()
  predict(fit, items[1, ], type = "interval")
  times <- vapply(1:40, function(i) system.time(predict(fit, items[i, ], type = "interval"))[["elapsed"]], 1)
  expect_lt(min(times), 0.010) # the smallest: other programs may have the cores
})

test_that("a process that was killed is started again, and ends on demand", {
  skip_without_binary()
  fit <- counts_fit()
  want <- predict(fit, items[1, ])
  s <- credence:::server_of(fit$run)
  s$process$kill()
  expect_identical(predict(fit, items[1, ]), want)
  s <- credence:::server_of(fit$run)
  expect_gte(credence_stop(), 1)
  expect_false(s$process$is_alive())
})
