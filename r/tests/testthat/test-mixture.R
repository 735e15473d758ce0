w <- c(0.3, 0.7)
a <- c(30, 2)
b <- c(4, 5)

test_that("Beta mixtures agree with R's Beta distributions", {
  skip_without_binary()
  x <- c(0, 0.05, 0.3, 0.5, 0.9, 1)
  expect_equal(pbetamix(x, w, a, b), w[1] * pbeta(x, 30, 4) + w[2] * pbeta(x, 2, 5), tolerance = 1e-12)
  expect_equal(pbetamix(x, w, a, b, lower.tail = FALSE), w[1] * pbeta(x, 30, 4, lower.tail = FALSE) + w[2] * pbeta(x, 2, 5, lower.tail = FALSE), tolerance = 1e-12)
  expect_equal(dbetamix(x, w, a, b), w[1] * dbeta(x, 30, 4) + w[2] * dbeta(x, 2, 5), tolerance = 1e-12)
  expect_equal(dbetamix(0.3, w, a, b, log = TRUE), log(dbetamix(0.3, w, a, b)), tolerance = 1e-14)
  p <- c(0, 1e-6, 0.025, 0.5, 0.975, 1)
  expect_equal(pbetamix(qbetamix(p, w, a, b), w, a, b), p, tolerance = 1e-11)
  expect_equal(qbetamix(p, w, a, b, lower.tail = FALSE), rev(qbetamix(1 - rev(p), w, a, b)), tolerance = 1e-9)
  expect_equal(qbetamix(log(0.2), w, a, b, log.p = TRUE), qbetamix(0.2, w, a, b), tolerance = 1e-14)
  expect_equal(pbetamix(0.2, w, a, b, log.p = TRUE), log(pbetamix(0.2, w, a, b)))
})

test_that("values are the digits of the program", {
  skip_without_binary()
  line <- '{"weights":[0.3,0.7],"alpha":[[30,4,2],[2,5,0.5]],"quantiles":[0.1],"cdf":[0.37],"logpdf":[[0.2,0.3,0.5]]}'
  answer <- jsonlite::fromJSON(processx::run(credence_path(), c("mixture", "--json"), stdin = {
    f <- tempfile()
    writeLines(line, f)
    f
  })$stdout)
  m <- credence_mixture(w, rbind(c(30, 4, 2), c(2, 5, 0.5)), c("x", "y", "z"))
  for (j in 1:3) {
    expect_identical(qdirichletmix(0.1, m, class = j), answer$classes$quantiles[[j]]$x)
    expect_identical(pdirichletmix(0.37, m, class = c("x", "y", "z")[j]), answer$classes$cdf[[j]]$cdf)
  }
  expect_identical(ddirichletmix(c(0.2, 0.3, 0.5), m, log = TRUE), as.numeric(answer$logpdf))
})

test_that("arguments are recycled, and NA stays NA", {
  skip_without_binary()
  many <- list(credence_mixture(1, c(2, 5)), credence_mixture(1, c(7, 3)), NULL)
  x <- c(0.2, 0.5, 0.5, 0.6, NA, 0.1)
  expect_equal(pbetamix(x, many), c(pbeta(0.2, 5, 2), pbeta(0.5, 3, 7), NA, pbeta(0.6, 5, 2), NA, NA), tolerance = 1e-13)
  expect_equal(pbetamix(0.3, many, class = 1), c(pbeta(0.3, 2, 5), pbeta(0.3, 7, 3), NA), tolerance = 1e-13)
  expect_equal(dbetamix(c(-1, 0.5, 2), 1, 2, 2), c(0, 1.5, 0))
  expect_equal(pbetamix(c(-1, 2), 1, 2, 2), c(0, 1))
  expect_warning(q <- qbetamix(c(0.5, 1.5), 1, 2, 2), "NaN")
  expect_equal(q, c(0.5, NaN))
  expect_identical(pbetamix(numeric(), 1, 2, 2), numeric())
  rows <- pbetamix(0.3, matrix(c(1, 0, 0, 1), 2), c(2, 7), c(5, 3))
  expect_equal(rows, c(pbeta(0.3, 2, 5), pbeta(0.3, 7, 3)), tolerance = 1e-13)
})

test_that("draws follow the distribution and set.seed()", {
  skip_without_binary()
  set.seed(4)
  x <- rbetamix(4000, w, a, b)
  expect_gt(stats::ks.test(x, function(q) pbetamix(q, w, a, b))$p.value, 1e-4)
  set.seed(4)
  expect_identical(rbetamix(4000, w, a, b), x)
  m <- rdirichletmix(4000, c(0.5, 0.5), rbind(c(1e-3, 1e-3, 1), c(5, 5, 5)))
  expect_equal(rowSums(m), rep(1, 4000), tolerance = 1e-12)
  expect_false(anyNA(m))
})

test_that("parameters that are none are refused", {
  expect_error(credence_mixture(c(0.5, 0.6), diag(2) + 1), "sum to 1", class = "credence_input_error")
  expect_error(credence_mixture(c(0.5, 0.5), matrix(1, 3, 2)), "2 rows")
  expect_error(credence_mixture(1, c(0, 1)), "above 0")
  expect_error(pbetamix("a", 1, 2, 2), "expected numbers")
  expect_error(dbetamix(0.5, 1), "shape1")
  expect_error(ddirichletmix(c(0.5, 0.6), credence_mixture(1, c(1, 1))), "sum to 1")
  expect_error(pdirichletmix(0.5, credence_mixture(1, c(1, 1)), class = 3), "from 1 to 2")
})
