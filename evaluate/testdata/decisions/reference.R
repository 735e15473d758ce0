# Writes reference.json: ten data sets of predicted probabilities and labels, and what pROC and rms::val.prob report on
# them. Run in this folder: Rscript reference.R, then python reference.py, which adds scikit-learn's numbers.
suppressMessages({library(pROC); library(rms)})

# lrm.fit stops when the deviance changes by less than 0.025, which leaves about four digits: continue to the maximum.
fit <- rms::lrm.fit
formals(fit)$eps <- 1e-15
formals(fit)$maxit <- 100
environment(fit) <- asNamespace("rms")
assignInNamespace("lrm.fit", fit, ns = "rms")

logistic <- function(n, base, slope, wrong = 0, digits = NULL) {
  x <- rnorm(n)
  y <- rbinom(n, 1, plogis(base + slope * x))
  p <- plogis(base + wrong + x)
  if (!is.null(digits)) p <- pmin(pmax(round(p, digits), 10^-digits), 1 - 10^-digits)
  list(p = p, y = y)
}
set.seed(33)
sets <- list(
  calibrated = logistic(200, 0, 1),
  overconfident = logistic(150, -0.5, 0.5),
  underconfident = logistic(120, 0.3, 2),
  shifted = logistic(180, -1, 1, wrong = 1),
  rare = logistic(400, -3.2, 1),
  common = logistic(160, 2.5, 1),
  ties = logistic(250, 0, 1, digits = 1),
  few = logistic(30, 0, 1.2),
  uninformative = logistic(140, 0, 0),
  skewed = { x <- rexp(300); list(p = 1 - exp(-x / 3), y = rbinom(300, 1, 1 - exp(-x / 2))) }
)
number <- function(x) unname(ifelse(is.na(x), "null", sprintf("%.17g", x)))
numbers <- function(x) paste0("[", paste(number(x), collapse = ","), "]")
text <- vapply(names(sets), function(name) {
  s <- sets[[name]]
  r <- roc(s$y, s$p, levels = c(0, 1), direction = "<", quiet = TRUE)
  v <- val.prob(s$p, s$y, pl = FALSE)
  sm <- lowess(s$p, s$y, iter = 0)
  large <- glm(s$y ~ 1, offset = qlogis(s$p), family = binomial, control = glm.control(epsilon = 1e-15, maxit = 100))
  t <- c(0.1, 0.3, 0.5)
  at <- coords(r, t - 1e-12, input = "threshold", ret = c("tp", "fp", "fn", "tn", "sensitivity", "specificity", "ppv", "npv"), transpose = FALSE)
  benefit <- vapply(t, function(t) mean((s$p >= t) * (s$y - (1 - s$y) * t / (1 - t))), 0)
  fields <- c(p = numbers(s$p), y = numbers(s$y), auc = number(auc(r)), delong = number(sqrt(var(r, method = "delong"))),
    joint_intercept = number(v["Intercept"]), slope = number(v["Slope"]), intercept = number(coef(large)),
    eavg = number(v["Eavg"]), e90 = number(v["E90"]), emax = number(v["Emax"]),
    smooth_x = numbers(sm$x), smooth_y = numbers(sm$y), thresholds = numbers(t), net_benefit = numbers(benefit),
    tp = numbers(at$tp), fp = numbers(at$fp), fn = numbers(at$fn), tn = numbers(at$tn), sensitivity = numbers(at$sensitivity),
    specificity = numbers(at$specificity), ppv = numbers(at$ppv), npv = numbers(at$npv))
  paste0("{\"name\":\"", name, "\",", paste0("\"", names(fields), "\":", fields, collapse = ","), "}")
}, "")
# The paired difference of DeLong: two predictions of the same labels.
pair <- sets$calibrated
pair$q <- plogis(qlogis(pair$p) + rnorm(length(pair$p)))
a <- roc(pair$y, pair$p, levels = c(0, 1), direction = "<", quiet = TRUE)
b <- roc(pair$y, pair$q, levels = c(0, 1), direction = "<", quiet = TRUE)
z <- roc.test(a, b, method = "delong", paired = TRUE)
paired <- paste0("{\"p\":", numbers(pair$p), ",\"q\":", numbers(pair$q), ",\"y\":", numbers(pair$y),
  ",\"z\":", number(z$statistic), ",\"p_value\":", number(z$p.value), ",\"auc\":", numbers(unname(z$estimate)), "}")
source <- paste("R", getRversion(), "pROC", packageVersion("pROC"), "rms", packageVersion("rms"))
writeLines(paste0("{\"source\":\"", source, "\",\n\"sets\":[\n", paste(text, collapse = ",\n"), "],\n\"paired\":", paired, "}"), "reference.json")
