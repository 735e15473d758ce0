# Typical mistakes of R users. Each is an error that names the argument, or a warning, and none is silent or wrong.

f <- cbind(benign, malignant) ~ age
refuses <- function(code, ...) expect_error(code, ..., class = "credence_input_error")

test_that("01 one factor for several readers in cbind()", {
  d <- transform(items, r1 = factor("x"), r2 = factor("y"))
  refuses(credence(cbind(r1, r2) ~ age, d), "`r1`: expected counts of votes, found a factor")
})
test_that("02 shares in place of counts", {
  refuses(credence(cbind(p, q) ~ age, transform(items, p = malignant / 4, q = benign / 4)), "whole numbers of votes")
})
test_that("03 a computed column of counts without a name", {
  refuses(credence(cbind(malignant, 4 - malignant) ~ age, items), "expected a name for each column")
})
test_that("04 one class alone", {
  refuses(credence(cbind(malignant) ~ age, items), "expected votes, found numbers")
})
test_that("05 negative counts", {
  refuses(credence(cbind(benign, m = malignant - 3) ~ age, items), "counts from 0.*found -")
})
test_that("06 missing counts with na.pass", {
  d <- items
  d$benign[5] <- NA
  refuses(credence(f, d, na.action = na.pass), "found NA in row 5")
})
test_that("07 a 0/1 response", {
  refuses(credence(y ~ age, transform(items, y = as.numeric(malignant > 2))), "expected votes, found numbers")
})
test_that("08 one label per item", {
  skip_without_binary()
  refuses(credence(y ~ age, transform(items, y = factor(malignant > 2))), "`force`")
})
test_that("09 a survival response", {
  y <- structure(cbind(time = 1, status = rep(1, 240)), class = "Surv")
  d <- items
  d$y <- y
  refuses(credence(y ~ age, d), "expected votes")
})
test_that("10 no left side", {
  refuses(credence(~age, items), "votes on its left side")
})
test_that("11 a text in place of a formula", {
  refuses(credence("malignant ~ age", items), "expected a formula")
})
test_that("12 formula and data exchanged", {
  refuses(credence(items, f), "`formula`: expected a formula.*found a data frame")
})
test_that("13 no data", {
  refuses(credence(f), "`data`.*found nothing")
})
test_that("14 a matrix as data", {
  refuses(credence(f, as.matrix(items[c("age", "benign", "malignant")])), "expected a data frame, found a matrix")
})
test_that("15 a misspelt column", {
  refuses(credence(cbind(benign, malignant) ~ agee, items), "no column `agee`.*did you mean `age`")
})
test_that("16 a column that is a variable outside", {
  height <- rnorm(nrow(items))
  refuses(credence(cbind(benign, malignant) ~ height, items), "no column `height`.*outside")
})
test_that("17 ids in a dot", {
  refuses(credence(cbind(benign, malignant) ~ ., items), "`.` contains the column `id`")
})
test_that("18 row numbers in a dot", {
  d <- transform(items[c("age", "benign", "malignant")], X = seq_len(240))
  refuses(credence(cbind(benign, malignant) ~ ., d), "contains the column `X`")
})
test_that("19 an offset in the formula", {
  refuses(credence(cbind(benign, malignant) ~ age + offset(size), items), "`offset\\(\\)`")
})
test_that("20 an offset as an argument", {
  refuses(credence(f, items, offset = items$size), "`offset\\(\\)`")
})
test_that("21 a random effect", {
  refuses(credence(cbind(benign, malignant) ~ age + (1 | patient), items), "random effect.*group =")
})
test_that("22 a smooth term", {
  refuses(credence(cbind(benign, malignant) ~ s(age), items), "`s\\(\\)`.*ns\\(\\)")
})
test_that("23 no intercept", {
  refuses(credence(cbind(benign, malignant) ~ age - 1, items), "no intercept")
})
test_that("24 no features", {
  refuses(credence(cbind(benign, malignant) ~ 1, items), "at least one feature")
})
test_that("25 a transformation of all rows", {
  refuses(credence(cbind(benign, malignant) ~ cut(age, 3), items), "depends on other rows")
})
test_that("26 centred by hand", {
  refuses(credence(cbind(benign, malignant) ~ I(age - mean(age)), items), "depends on other rows")
})
test_that("27 dates", {
  refuses(credence(cbind(benign, malignant) ~ day, transform(items, day = Sys.Date() + seq_len(240))), "column `day`.*the class Date")
})
test_that("28 times", {
  refuses(credence(cbind(benign, malignant) ~ at, transform(items, at = Sys.time() + seq_len(240))), "POSIXct")
})
test_that("29 durations", {
  refuses(credence(cbind(benign, malignant) ~ wait, transform(items, wait = as.difftime(seq_len(240), units = "days"))), "difftime")
})
test_that("30 a list column", {
  d <- items
  d$all <- lapply(seq_len(240), function(i) i)
  refuses(credence(cbind(benign, malignant) ~ all, d), "a list column|list")
})
test_that("31 labelled codes of haven", {
  d <- items
  d$code <- structure(rep(1:2, 120), labels = c(a = 1, b = 2), class = c("haven_labelled", "vctrs_vctr", "integer"))
  refuses(credence(cbind(benign, malignant) ~ code, d), "haven_labelled|invalid type")
})
test_that("32 infinite values", {
  refuses(credence(cbind(benign, malignant) ~ log(z), transform(items, z = c(0, seq_len(239)))), "-Inf in row 1")
})
test_that("33 complex numbers", {
  refuses(credence(cbind(benign, malignant) ~ z, transform(items, z = complex(real = age, imaginary = 1))), "complex")
})
test_that("34 blank texts and character NA", {
  skip_without_binary()
  d <- items
  d$hospital[1:3] <- ""
  d$hospital[4] <- NA
  w <- capture_warnings(fit <- credence(cbind(benign, malignant) ~ age + hospital, d, ensemble = 2, epochs = 2))
  expect_match(w, "blank texts in `hospital` are missing values", all = FALSE)
  expect_equal(nobs(fit), 236)
})
test_that("35 a level named NA is a level", {
  skip_without_binary()
  d <- transform(items, site = factor(c(lung = "NA", liver = "none", skin = "TRUE")[as.character(site)]))
  fit <- quick(cbind(benign, malignant) ~ site, d)
  expect_equal(nobs(fit), 240)
  expect_length(unique(predict(fit, d)$.pred_benign), 3)
  expect_warning(predict(fit, d[1:5, ]), NA)
})
test_that("36 duplicated column names", {
  d <- items
  names(d)[2:3] <- "age"
  refuses(credence(f, d), "several columns are named \"age\"")
})
test_that("37 no rows", {
  refuses(credence(f, items[0, ]), "at least one row")
})
test_that("38 a misspelt option", {
  refuses(credence(f, items, epoch = 5), "no argument `epoch`.*did you mean `epochs`")
})
test_that("39 an option of the wrong type", {
  refuses(credence(f, items, epochs = "five"), "`epochs`: expected a whole number, found \"five\"")
})
test_that("40 a missing option", {
  refuses(credence(f, items, rate = NA), "`rate`")
})
test_that("41 an option out of range, by its name in R", {
  skip_without_binary()
  refuses(credence(f, items, weight_decay = -1), "`weight_decay`.*at least 0")
})
test_that("42 weights that are none", {
  refuses(credence(f, items, weights = age - 100), "`weights`: expected numbers from 0, found -")
  refuses(credence(f, items, weights = rep(0, 240)), "at least one above 0")
  refuses(credence(f, items, weights = 1:3), "variable lengths differ")
})
test_that("43 votes without votes() in the formula", {
  refuses(credence(f, items, cast), "`votes` is given")
})
test_that("44 a misspelt column of votes", {
  refuses(credence(votes(id, reader, label) ~ age, items, cast), "`votes` has no column `label`")
  refuses(credence(votes(item, reader, dx) ~ age, items, cast), "`data` has no column `item`")
})
test_that("45 votes on other items", {
  refuses(credence(votes(id, reader, dx) ~ age, items, transform(cast, id = sub("p0*", "", id))), "no vote is on an item.*\"p001\"")
})
test_that("46 items twice", {
  refuses(credence(votes(id, reader, dx) ~ age, rbind(items, items[1, ]), cast), "item \"p001\" is there twice")
})
test_that("47 features that differ between the rows of an item", {
  d <- merge(items, cast)
  d$age[2] <- 1
  refuses(credence(votes(id, reader, dx) ~ age, d), "different values of `age`")
})
test_that("48 large numbers as ids", {
  skip_without_binary()
  d <- transform(items, id = 1e5 * seq_len(240))
  v <- transform(cast, id = sprintf("%d", 100000L * match(id, items$id)))
  fit <- quick(votes(id, reader, dx) ~ age, d, v)
  expect_equal(fit$metrics$votes, 960)
})
test_that("49 missing labels", {
  skip_without_binary()
  v <- cast
  v$dx[1:3] <- NA
  w <- capture_warnings(fit <- credence(votes(id, reader, dx) ~ age, items, v, ensemble = 2, epochs = 2))
  expect_match(w, "3 rows without a label", all = FALSE)
  expect_equal(fit$metrics$votes, 957)
})
test_that("50 an unused level of the labels", {
  skip_without_binary()
  v <- transform(cast, dx = factor(dx, c("benign", "malignant", "unclear")))
  w <- capture_warnings(fit <- credence(votes(id, reader, dx) ~ age, items, v, ensemble = 2, epochs = 2))
  expect_match(w, "level \"unclear\" has no votes", all = FALSE)
  expect_equal(fit$classes, c("benign", "malignant"))
})
test_that("51 new data without a column", {
  skip_without_binary()
  refuses(predict(counts_fit(), items[c("age", "size", "site", "grade")]), "`newdata` has no column `smoker`")
  smoker <- items$smoker
  refuses(predict(counts_fit(), items[c("age", "size", "site", "grade")]), "`newdata` has no column `smoker`")
})
test_that("52 codes in place of a factor, and texts in place of numbers", {
  skip_without_binary()
  refuses(predict(counts_fit(), transform(items, site = as.integer(site))), "column `site`: expected a factor or texts")
  refuses(predict(counts_fit(), transform(items, age = as.character(age))), "column `age`: expected numbers")
})
test_that("53 a new level of an ordered factor", {
  skip_without_binary()
  refuses(predict(counts_fit(), transform(items, grade = "huge")), "low < mid < high, found \"huge\"")
})
test_that("54 a level in percent", {
  skip_without_binary()
  refuses(predict(counts_fit(), items, type = "interval", level = 95), "level = 0.95")
})
test_that("55 types of other packages", {
  skip_without_binary()
  refuses(predict(counts_fit(), items, type = "response"), "`type`: expected one of \"prob\"")
  refuses(predict(counts_fit(), items, se.fit = TRUE), "no argument `se.fit`")
})
test_that("56 a matrix as new data, and `data` for `newdata`", {
  skip_without_binary()
  refuses(predict(counts_fit(), as.matrix(items)), "expected a data frame")
  refuses(predict(counts_fit(), data = items), "no argument `data`")
})
test_that("57 votes on new items with other classes, rows or names", {
  skip_without_binary()
  refuses(predict(counts_fit(), items[1:2, ], votes = data.frame(yes = 1:2, no = 2:1)), "`votes` has no column `benign`")
  refuses(predict(counts_fit(), items[1:2, ], votes = cbind(benign = 1, malignant = 2)), "expected 2 rows of counts")
  named <- cbind(benign = 1:2, malignant = 2:1)
  rownames(named) <- c("8", "9")
  refuses(predict(counts_fit(), items[1:2, ], votes = named), "row names")
})
test_that("58 a factor whose levels are in another order", {
  skip_without_binary()
  other <- transform(items, site = factor(site, c("skin", "lung", "liver")))
  expect_identical(predict(counts_fit(), other), predict(counts_fit(), items))
  coded <- quick(cbind(benign, malignant) ~ as.integer(site), items)
  expect_identical(predict(coded, other), predict(coded, items))
})
test_that("59 row names that are not in order", {
  skip_without_binary()
  other <- items[rev(seq_len(240)), ]
  expect_identical(predict(counts_fit(), other)[240:1, ], predict(counts_fit(), items))
})
test_that("60 votes for one class alone, or none", {
  refuses(credence(f, transform(items, malignant = 0)), "at least two classes, found only \"benign\"")
  refuses(suppressWarnings(credence(votes(id, reader, dx) ~ age, items, transform(cast, dx = NA))), "expected labels, found none")
})
test_that("61 names that are no names of R", {
  skip_without_binary()
  d <- items
  names(d)[2] <- "age, in \"years\""
  fit <- quick(cbind(benign, malignant) ~ `age, in "years"`:size + `age, in "years"`, d)
  expect_named(fit$features, c("age, in \"years\"", "age, in \"years\":size"))
  expect_identical(predict(fit, d)[3, ], predict(fit, d[3, ]))
})
test_that("62 an id that is named", {
  skip_without_binary()
  w <- capture_warnings(fit <- credence(cbind(benign, malignant) ~ age + id, items, ensemble = 2, epochs = 2))
  expect_match(w, "\"id\" is left out.*factor\\(id\\) in the formula", all = FALSE)
  expect_identical(predict(fit, items)[3, ], predict(fit, items[3, ]))
})
test_that("63 intervals of a method without distributions", {
  skip_without_binary()
  fit <- quick(f, items, method = "softmax")
  refuses(predict(fit, items, type = "interval"), "softmax has no distributions")
  a <- predict(fit, items)
  options(credence.process = FALSE)
  b <- predict(fit, items)
  options(credence.process = NULL)
  expect_equal(a, b, tolerance = 1e-12)
})
test_that("64 a group with gaps, a budget of none", {
  skip_without_binary()
  refuses(credence(f, transform(items, patient = c(NA, patient[-1])), group = patient, na.action = na.pass), "`group`.*row 1")
  refuses(credence_next(counts_fit(), items), "`budget`")
})
