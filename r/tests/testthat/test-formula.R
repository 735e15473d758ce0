test_that("features are what the formula says", {
  skip_without_binary()
  fit <- counts_fit()
  expect_s3_class(fit, "credence")
  expect_equal(unlist(fit$features), c(age = "number", `log(size)` = "number", site = "category", grade = "number", smoker = "number"))
  expect_equal(fit$classes, c("benign", "malignant"))
  expect_equal(nobs(fit), 240)
  expect_output(print(fit), "classes: benign, malignant")
  expect_output(print(summary(fit)), "this model")
})

test_that("the dot is every other column, without those that are used otherwise", {
  skip_without_binary()
  d <- items[c("age", "site", "benign", "malignant", "patient")]
  fit <- quick(cbind(benign, malignant) ~ ., d, group = patient)
  expect_named(fit$features, c("age", "site"))
  long <- quick(votes(id, reader, dx) ~ ., items[c("id", "age", "site")], cast)
  expect_named(long$features, c("age", "site"))
})

test_that("interactions are products, combinations and numbers within levels", {
  skip_without_binary()
  fit <- quick(cbind(benign, malignant) ~ age:size + site:hospital + age:site, items)
  expect_equal(unname(unlist(fit$features)), c("number", "category", "number", "number", "number"))
  frame <- model.frame(fit$terms, items)
  columns <- credence:::feature_columns(frame, fit$terms, fit$known)
  expect_identical(columns[["age:size"]], items$age * items$size)
  expect_identical(as.character(columns[["site:hospital"]]), paste(items$site, items$hospital, sep = ":"))
  expect_identical(columns[["skin:age"]], items$age * (items$site == "skin"))
  one <- predict(fit, items[items$site == "skin", ][1, ])
  expect_identical(one, predict(fit, items)[which(items$site == "skin")[[1]], ])
})

test_that("splines and polynomials keep the basis of training", {
  skip_without_binary()
  skip_if_not_installed("splines")
  fit <- quick(cbind(benign, malignant) ~ splines::ns(age, 3) + poly(size, 2) + scale(age), items)
  expect_length(fit$features, 6)
  all <- predict(fit, items)
  expect_equal(predict(fit, items[5:9, ]), all[5:9, ], tolerance = 1e-6)
})

test_that("ordered factors are their ranks, and unordered ones categories", {
  skip_without_binary()
  a <- quick(cbind(benign, malignant) ~ grade, items)
  b <- quick(cbind(benign, malignant) ~ grade, transform(items, grade = as.numeric(grade)))
  expect_identical(predict(a, items), predict(b, transform(items, grade = as.numeric(grade))))
})

test_that("weights, groups, subsets and missing values are used as in lm()", {
  skip_without_binary()
  w <- rep(c(1, 0), 120)
  weighted <- quick(cbind(benign, malignant) ~ age, items, weights = w)
  expect_false(identical(predict(weighted, items), predict(quick(cbind(benign, malignant) ~ age, items), items)))
  part <- quick(cbind(benign, malignant) ~ age, items, subset = site == "lung")
  expect_identical(predict(part, items), predict(quick(cbind(benign, malignant) ~ age, items[items$site == "lung", ]), items))
  gaps <- items
  gaps$age[c(3, 7)] <- NA
  omitted <- quick(cbind(benign, malignant) ~ age, gaps)
  expect_equal(nobs(omitted), 238)
  expect_output(print(omitted), "2 items deleted due to missingness")
  p <- predict(omitted, gaps)
  expect_equal(which(is.na(p$.pred_benign)), c(3, 7))
  expect_equal(nrow(predict(omitted, gaps, na.action = na.omit)), 238)
  expect_error(predict(omitted, gaps, na.action = na.fail), "row 3")
  expect_error(quick(cbind(benign, malignant) ~ age, gaps, na.action = na.fail), "missing values")
  passed <- quick(cbind(benign, malignant) ~ age, gaps, na.action = na.pass)
  expect_equal(nobs(passed), 240)
  expect_false(anyNA(predict(passed, gaps)))
})

test_that("votes in all forms are the same votes", {
  skip_without_binary()
  wide <- items
  for (r in unique(cast$reader)) wide[[r]] <- cast$dx[cast$reader == r][match(items$id, cast$id[cast$reader == r])]
  long <- quick(votes(id, reader, dx) ~ age, items, cast)
  inside <- quick(votes(id, reader, dx) ~ age, merge(items, cast))
  expect_equal(long$metrics$votes, 960)
  expect_identical(predict(quick(ratings(ann, bob, cyd, dee) ~ age, wide), items), predict(quick(votes(id, reader, dx) ~ age, items, cast[order(match(cast$reader, c("ann", "bob", "cyd", "dee"))), ]), items))
  expect_equal(inside$metrics$votes, 960)
  shuffled <- quick(votes(item = id, label = dx, rater = reader) ~ age, items, cast)
  expect_identical(predict(shuffled, items), predict(long, items))
  many <- aggregate(n ~ id + dx, transform(cast, n = 1), sum)
  counted <- quick(votes(id, label = dx, count = n) ~ age, items, many)
  expect_equal(counted$metrics$votes, 960)
})

test_that("levels of new data that training did not have are a warning, and levels by name", {
  skip_without_binary()
  fit <- counts_fit()
  new <- items[1:4, ]
  new$site <- factor(c("lung", "skin", "brain", "liver"))
  expect_warning(p <- predict(fit, new), "brain|unknown|level")
  expect_equal(nrow(p), 4)
  texts <- transform(items[1:4, ], site = as.character(site))
  expect_identical(predict(fit, texts), predict(fit, items[1:4, ]))
})
