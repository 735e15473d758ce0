# A model of the R package against the program itself: Rscript .ci/r.R smoke|ROWS
# Both train on the same votes and predict the same items; bits are compared, and of many rows also times.

suppressPackageStartupMessages(library(credence))
options(warn = 1)
what <- commandArgs(TRUE)[[1]]
smoke <- what == "smoke"
n <- if (smoke) 500L else as.integer(what)
width <- if (smoke) 4L else 50L
folder <- tempfile()
dir.create(folder)
set.seed(1)
d <- as.data.frame(matrix(round(rnorm(n * width), 6), n))
d$yes <- rbinom(n, 3, plogis(d$V1 - d$V2 * d$V3))
d$no <- 3L - d$yes
table <- cbind(item = seq_len(n), d)
write.csv(table[c("item", paste0("V", seq_len(width)))], file.path(folder, "items.csv"), row.names = FALSE, quote = FALSE)
write.csv(table[c("item", "no", "yes")], file.path(folder, "votes.csv"), row.names = FALSE, quote = FALSE)
features <- d[paste0("V", seq_len(width))]
elapsed <- function(code) timed(code)[["wall"]]
# CPU time includes that of processes which have ended.
timed <- function(code) {
  start <- proc.time()
  force(code)
  spent <- proc.time() - start
  c(wall = spent[["elapsed"]], cpu = sum(spent[c(1, 2, 4, 5)]))
}
binary <- function(...) invisible(processx::run(credence_path(), c(...)))
epochs <- 3

train <- predict_times <- NULL
for (round in seq_len(if (smoke) 1 else 3)) {
  out <- file.path(folder, paste0("run", round))
  cli <- timed(binary("train", "--data", file.path(folder, "items.csv"), "--votes", file.path(folder, "votes.csv"), "--votes-form", "counts", "--epochs", epochs, "--out", out, "-q"))
  here <- timed(fit <- suppressWarnings(credence(cbind(no, yes) ~ ., d, epochs = epochs)))
  train <- rbind(train, c(cli, here))
  file <- file.path(folder, "out.npy")
  cli <- timed(binary("predict", out, file.path(folder, "items.csv"), "--only", "mean,sd,interval", "--progress", 0, "--overwrite", "-o", file))
  here <- timed(p <- predict(fit, features, type = "interval"))
  predict_times <- rbind(predict_times, c(cli, here))
}
want <- credence:::read_npy(file)
got <- unname(as.matrix(p))
same <- identical(got, cbind(want$interval[, 1, 1, 1], want$interval[, 1, 1, 2], want$interval[, 2, 1, 1], want$interval[, 2, 1, 2]))
means <- identical(unname(as.matrix(predict(fit, features))), unname(want$mean))
if (!same || !means) stop("the predictions of the R package are not those of credence train and credence predict")
one <- vapply(seq_len(301), function(i) elapsed(predict(fit, features[i, ], type = "interval")), 1)[-1]
cat(sprintf("   %d items of %d features: intervals and means equal to the program's, bit for bit; one row %.1f ms\n", n, width, 1000 * min(one)))
if (!smoke) {
  report <- function(name, times) {
    least <- apply(times, 2, min)
    cat(sprintf("   %s, the least of %d: credence %.2f s (%.2f s of CPU), R %.2f s (%.2f s of CPU)\n", name, nrow(times), least[[1]], least[[2]], least[[3]], least[[4]]))
  }
  report("train", train)
  report("predict", predict_times)
  if (min(train[, 3]) > 1.1 * min(train[, 1])) stop("training from R takes over 10% longer")
  if (min(predict_times[, 3]) > 1 + min(predict_times[, 1])) stop("predicting from R takes over 1 s longer")
}
if (min(one) > 0.010) stop("a row takes over 10 ms")
