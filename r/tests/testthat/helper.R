# Items with counts of votes, and the same votes one by one.

skip_without_binary <- function() if (!credence_available()) skip("the program credence is not installed")

make_items <- function(n = 240, seed = 1) {
  set.seed(seed)
  d <- data.frame(
    id = sprintf("p%03d", seq_len(n)), age = round(rnorm(n, 60, 10), 2), size = round(rexp(n, 0.1) + 1, 3),
    site = factor(sample(c("lung", "liver", "skin"), n, TRUE)), grade = factor(sample(c("low", "mid", "high"), n, TRUE), c("low", "mid", "high"), ordered = TRUE),
    smoker = sample(c(TRUE, FALSE), n, TRUE), hospital = sample(c("a", "b"), n, TRUE), patient = rep(seq_len(n / 2), 2)
  )
  p <- plogis((d$age - 60) / 10 + (d$site == "lung") - 0.5)
  d$malignant <- rbinom(n, 4, p)
  d$benign <- 4L - d$malignant
  d
}

make_votes <- function(d) {
  one <- function(i) sample(rep(c("malignant", "benign"), c(d$malignant[[i]], d$benign[[i]])))
  data.frame(id = rep(d$id, each = 4), reader = rep(c("ann", "bob", "cyd", "dee"), nrow(d)), dx = unlist(lapply(seq_len(nrow(d)), one)))
}

# Trains quickly, without the warnings that such short trainings deserve.
quick <- function(...) {
  call <- sys.call()
  call[[1]] <- quote(credence)
  call$ensemble <- 2
  call$epochs <- 3
  suppressWarnings(eval(call, parent.frame()))
}

items <- make_items()
cast <- make_votes(items)
fitted_once <- new.env()
counts_fit <- function() {
  if (is.null(fitted_once$counts)) fitted_once$counts <- quick(cbind(benign, malignant) ~ age + log(size) + site + grade + smoker, items)
  fitted_once$counts
}
votes_fit <- function() {
  if (is.null(fitted_once$votes)) fitted_once$votes <- quick(votes(id, reader, dx) ~ age + site, items, cast)
  fitted_once$votes
}

# Runs the program itself on files that R writes as text.
direct <- function(fit, d, ...) {
  folder <- tempfile()
  dir.create(folder)
  new <- credence:::new_items(fit, d, "newdata", environment())
  table <- data.frame(item = seq_along(new$items), lapply(new$columns, function(x) if (is.numeric(x)) sprintf("%.17g", x) else as.character(x)), check.names = FALSE)
  write.csv(table, file.path(folder, "items.csv"), row.names = FALSE)
  verb_predict(credence:::run_folder(fit$run), file.path(folder, "items.csv"), output = file.path(folder, "out.jsonl"), item = "item", ...)
  jsonlite::stream_in(file(file.path(folder, "out.jsonl")), verbose = FALSE)
}
