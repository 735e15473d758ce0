#' Mixtures of Beta and Dirichlet distributions
#'
#' Density, distribution function, quantiles and random draws of mixtures, such as the distributions that
#' [predict()][predict.credence] returns with `type = "mixture"`. All values but draws are computed by the program, in
#' one call for all elements, and are its values to the last digit.
#'
#' A Beta mixture is the distribution of one class probability; of a Dirichlet mixture, `ddirichletmix()` and
#' `rdirichletmix()` are about all class probabilities together, and `pdirichletmix()` and `qdirichletmix()` about
#' the probability of one `class`. Arguments are recycled to the length of the longest.
#'
#' @param x,q Probabilities, from 0 to 1; for `ddirichletmix()` a vector with an element per class that sums to 1, or a matrix of
#'   such rows.
#' @param p Probabilities of the quantiles.
#' @param n Number of draws.
#' @param weights Weights of the components, which sum to 1: a vector, or a matrix with a row per element. Or a mixture of
#'   the class `credence_mixture`, or a list of them, in place of weights and parameters.
#' @param shape1,shape2 Parameters of the Beta components, as `weights`.
#' @param alpha Parameters of the Dirichlet components: a matrix with a row per component and a column per class.
#' @param class Number or name of a class; for Beta mixtures given as a `credence_mixture`, the default is the second.
#' @param log,log.p Whether densities or probabilities are given as logarithms.
#' @param lower.tail Whether probabilities are those of at most `q`, or of more.
#' @return A numeric vector; of `rdirichletmix()` a matrix with a row per draw.
#' @examplesIf credence_available()
#' pbetamix(c(0.1, 0.5, 0.9), weights = c(0.5, 0.5), shape1 = c(30, 3), shape2 = c(4, 25))
#' m <- credence_mixture(c(0.5, 0.5), rbind(c(30, 4, 2), c(3, 25, 2)))
#' qdirichletmix(c(0.025, 0.975), m, class = 1)
#' ddirichletmix(c(0.2, 0.3, 0.5), m)
#' @name mixtures
NULL

#' @param classes Names of the classes.
#' @return `credence_mixture()` returns a list of `weights` and `alpha`.
#' @rdname mixtures
#' @export
credence_mixture <- function(weights, alpha, classes = colnames(alpha)) {
  where <- rlang::current_env()
  if (!is.numeric(weights) || anyNA(weights) || any(weights < 0) || abs(sum(weights) - 1) > 1e-9) {
    stop_input(sprintf("`weights`: expected numbers from 0 that sum to 1, found %s", if (is.numeric(weights)) sprintf("the sum %s", format(sum(weights))) else describe(weights)), arg = "weights", call = where)
  }
  if (is.numeric(alpha) && is.null(dim(alpha)) && length(weights) == 1) alpha <- matrix(alpha, 1)
  if (!is.matrix(alpha) || !is.numeric(alpha) || nrow(alpha) != length(weights) || ncol(alpha) < 2) {
    stop_input(sprintf("`alpha`: expected a matrix of %d rows (components) and a column per class, found %s", length(weights), describe(alpha)), arg = "alpha", call = where)
  }
  if (anyNA(alpha) || any(alpha <= 0 | is.infinite(alpha))) stop_input("`alpha`: expected finite numbers above 0", arg = "alpha", call = where)
  new_mixture(as.numeric(weights), alpha, classes)
}

new_mixture <- function(weights, alpha, classes) {
  dimnames(alpha) <- if (!is.null(classes)) list(NULL, classes)
  structure(list(weights = weights, alpha = alpha), class = "credence_mixture")
}

#' @export
print.credence_mixture <- function(x, ...) {
  k <- length(x$weights)
  cat(sprintf("a mixture of %d %s distribution%s of %d classes\n", k, if (ncol(x$alpha) == 2) "Beta" else "Dirichlet", if (k == 1) "" else "s", ncol(x$alpha)))
  mean <- colSums(x$weights * x$alpha / rowSums(x$alpha))
  print(stats::setNames(mean, colnames(x$alpha)), digits = 3)
  invisible(x)
}

#' @export
format.credence_mixture <- function(x, ...) sprintf("<mixture of %d, %d classes>", length(x$weights), ncol(x$alpha))

is_mixtures <- function(x) inherits(x, "credence_mixture") || is.list(x) && length(x) > 0 && all(vapply(x, function(m) is.null(m) || inherits(m, "credence_mixture"), NA))

# Returns mixtures as a list, from whatever describes them.
as_mixtures <- function(weights, alpha, class = NULL) {
  if (is_mixtures(weights)) return(if (inherits(weights, "credence_mixture")) list(weights) else weights)
  if (is.matrix(weights)) return(lapply(seq_len(nrow(weights)), function(i) credence_mixture(weights[i, ], alpha)))
  list(credence_mixture(weights, alpha))
}

beta_mixtures <- function(weights, shape1, shape2, class) {
  if (is_mixtures(weights)) {
    all <- if (inherits(weights, "credence_mixture")) list(weights) else weights
    return(lapply(all, function(m) {
      if (is.null(m)) return(NULL)
      j <- class_number(m, if (is.null(class)) 2L else class)
      new_mixture(m$weights, unname(cbind(m$alpha[, j], rowSums(m$alpha[, -j, drop = FALSE]))), NULL)
    }))
  }
  if (missing(shape1) || missing(shape2)) stop_input("`shape1`, `shape2`: expected the parameters of the components, found none", arg = "shape1")
  if (is.matrix(weights) || is.matrix(shape1) || is.matrix(shape2)) {
    rows <- max(NROW(weights) * is.matrix(weights), NROW(shape1) * is.matrix(shape1), NROW(shape2) * is.matrix(shape2))
    row <- function(x, i) if (is.matrix(x)) x[(i - 1L) %% nrow(x) + 1L, ] else x
    return(lapply(seq_len(rows), function(i) beta_mixture(row(weights, i), row(shape1, i), row(shape2, i))))
  }
  list(beta_mixture(weights, shape1, shape2))
}

beta_mixture <- function(weights, shape1, shape2) {
  k <- length(weights)
  if (!length(shape1) %in% c(1L, k) || !length(shape2) %in% c(1L, k)) {
    stop_input(sprintf("`shape1`, `shape2`: expected %d values, one per weight, found %d and %d", k, length(shape1), length(shape2)), arg = "shape1")
  }
  credence_mixture(weights, cbind(rep_len(shape1, k), rep_len(shape2, k)))
}

class_number <- function(m, class) {
  d <- ncol(m$alpha)
  j <- if (is.character(class)) match(class, colnames(m$alpha)) else class
  if (length(j) != 1 || is.na(j) || !j %in% seq_len(d)) stop_input(sprintf("`class`: expected %s, found %s", if (is.null(colnames(m$alpha))) sprintf("a number from 1 to %d", d) else some(quoted(colnames(m$alpha))), describe(class)), arg = "class")
  as.integer(j)
}

json_numbers <- function(x) paste0("[", paste(sprintf("%.17g", x), collapse = ","), "]")

# Asks the program about mixtures at points, each point of the mixture of its number: one line for each mixture, with
# all of its points. Returns what it answers for each line.
ask_mixtures <- function(mixtures, which, points, key) {
  used <- sort(unique(which))
  split <- split(points, factor(which, used))
  lines <- vapply(seq_along(used), function(i) {
    m <- mixtures[[used[[i]]]]
    alpha <- paste0("[", paste(apply(m$alpha, 1, json_numbers), collapse = ","), "]")
    sprintf("{\"weights\":%s,\"alpha\":%s,\"%s\":[%s]}", json_numbers(m$weights), alpha, key, paste(split[[i]], collapse = ","))
  }, "")
  lapply(run_binary(c("mixture", "--json"), input = lines), jsonlite::fromJSON, simplifyVector = TRUE)
}

# Recycles points and mixtures; `get` returns the values of one answer, in the order of its points. NA stays NA.
mixture_values <- function(mixtures, points, n, key, get) {
  if (n == 0) return(numeric())
  which <- rep_len(seq_along(mixtures), n)
  there <- !is.na(points) & !vapply(mixtures, is.null, NA)[which]
  out <- rep(NA_real_, n)
  if (!any(there)) return(out)
  answers <- ask_mixtures(mixtures, which[there], points[there], key)
  values <- unsplit(lapply(answers, function(a) as_numbers(get(a))), factor(which[there], sort(unique(which[there]))))
  out[there] <- values
  out
}

as_numbers <- function(x) {
  x <- unlist(x)
  if (is.character(x)) x <- sub("inity", "", x, fixed = TRUE)
  as.numeric(x)
}

number_text <- function(x) ifelse(is.na(x), NA, sprintf("%.17g", x))

common_length <- function(...) {
  n <- c(...)
  if (any(n == 0)) 0L else max(n)
}

check_numeric <- function(x, arg) {
  if (!is.numeric(x) && !(is.logical(x) && all(is.na(x)))) stop_input(sprintf("`%s`: expected numbers, found %s", arg, describe(x)), arg = arg, call = rlang::caller_env())
  as.numeric(x)
}

# Values of class j of an answer: of quantiles x or its complement, of the distribution function or its complement.
class_values <- function(j, list, field) function(a) a$classes[[list]][[j]][[field]]

p_values <- function(q, mixtures, class, lower.tail, log.p) {
  q <- check_numeric(q, "q")
  n <- common_length(length(q), length(mixtures))
  q <- rep_len(q, n)
  inside <- pmin(pmax(q, 0), 1)
  v <- mixture_values(mixtures, number_text(inside), n, "cdf", class_values(class, "cdf", if (lower.tail) "cdf" else "survival"))
  if (log.p) base::log(v) else v
}

q_values <- function(p, mixtures, class, lower.tail, log.p) {
  p <- check_numeric(p, "p")
  if (log.p) p <- exp(p)
  n <- common_length(length(p), length(mixtures))
  p <- rep_len(p, n)
  bad <- !is.na(p) & (p < 0 | p > 1)
  if (any(bad)) rlang::warn("NaNs produced")
  p[bad] <- NaN
  if (!lower.tail) {
    # Quantiles of the upper tail are those of the complement, whose distribution function is that of the other classes.
    mixtures <- lapply(mixtures, function(m) if (!is.null(m)) new_mixture(m$weights, unname(cbind(rowSums(m$alpha[, -class, drop = FALSE]), m$alpha[, class])), NULL))
    v <- mixture_values(mixtures, number_text(p), n, "quantiles", class_values(1L, "quantiles", "complement"))
  } else {
    v <- mixture_values(mixtures, number_text(p), n, "quantiles", class_values(class, "quantiles", "x"))
  }
  v[bad] <- NaN
  v
}

#' @rdname mixtures
#' @export
dbetamix <- function(x, weights, shape1, shape2, log = FALSE, class = NULL) {
  mixtures <- beta_mixtures(weights, shape1, shape2, class)
  x <- check_numeric(x, "x")
  n <- common_length(length(x), length(mixtures))
  x <- rep_len(x, n)
  outside <- !is.na(x) & (x < 0 | x > 1)
  points <- ifelse(is.na(x) | outside, NA, sprintf("[%.17g,%.17g]", x, 1 - x))
  v <- mixture_values(mixtures, points, n, "logpdf", function(a) a$logpdf)
  v[outside] <- -Inf
  if (log) v else exp(v)
}

#' @rdname mixtures
#' @export
pbetamix <- function(q, weights, shape1, shape2, lower.tail = TRUE, log.p = FALSE, class = NULL) {
  p_values(q, beta_mixtures(weights, shape1, shape2, class), 1L, lower.tail, log.p)
}

#' @rdname mixtures
#' @export
qbetamix <- function(p, weights, shape1, shape2, lower.tail = TRUE, log.p = FALSE, class = NULL) {
  q_values(p, beta_mixtures(weights, shape1, shape2, class), 1L, lower.tail, log.p)
}

#' @rdname mixtures
#' @export
rbetamix <- function(n, weights, shape1, shape2, class = NULL) {
  mixtures <- beta_mixtures(weights, shape1, shape2, class)
  n <- if (length(n) > 1) length(n) else check_count(n, "n")
  draw_mixtures(n, mixtures)[, 1]
}

#' @rdname mixtures
#' @export
ddirichletmix <- function(x, weights, alpha, log = FALSE) {
  mixtures <- as_mixtures(weights, alpha)
  if (is.numeric(x) && is.null(dim(x))) x <- matrix(x, 1)
  if (is.data.frame(x)) x <- as.matrix(x)
  d <- unique(unlist(lapply(mixtures, function(m) if (!is.null(m)) ncol(m$alpha))))
  if (!is.matrix(x) || !is.numeric(x) || !all(ncol(x) == d)) stop_input(sprintf("`x`: expected rows of %s probabilities, found %s", some(d), describe(x)), arg = "x")
  sums <- rowSums(x)
  if (any(!is.na(sums) & abs(sums - 1) > 1e-9)) stop_input(sprintf("`x`: expected rows that sum to 1, found the sum %s", format(sums[!is.na(sums) & abs(sums - 1) > 1e-9][[1]])), arg = "x")
  n <- common_length(nrow(x), length(mixtures))
  x <- x[rep_len(seq_len(nrow(x)), n), , drop = FALSE]
  outside <- rowSums(x < 0 | x > 1) > 0
  points <- ifelse(is.na(outside) | outside, NA, apply(x, 1, json_numbers))
  v <- mixture_values(mixtures, points, n, "logpdf", function(a) a$logpdf)
  v[outside %in% TRUE] <- -Inf
  if (log) v else exp(v)
}

#' @rdname mixtures
#' @export
pdirichletmix <- function(q, weights, alpha, class = 1L, lower.tail = TRUE, log.p = FALSE) {
  mixtures <- as_mixtures(weights, alpha)
  p_values(q, mixtures, class_of(mixtures, class), lower.tail, log.p)
}

#' @rdname mixtures
#' @export
qdirichletmix <- function(p, weights, alpha, class = 1L, lower.tail = TRUE, log.p = FALSE) {
  mixtures <- as_mixtures(weights, alpha)
  q_values(p, mixtures, class_of(mixtures, class), lower.tail, log.p)
}

class_of <- function(mixtures, class) {
  first <- Find(Negate(is.null), mixtures)
  if (is.null(first)) 1L else class_number(first, class)
}

#' @rdname mixtures
#' @export
rdirichletmix <- function(n, weights, alpha) {
  mixtures <- as_mixtures(weights, alpha)
  n <- if (length(n) > 1) length(n) else check_count(n, "n")
  draw_mixtures(n, mixtures)
}

# Draws by R's own generator, which set.seed() determines: a component, then gamma variables, as logarithms, because those
# of small parameters underflow: a gamma variable of the parameter a is one of a + 1 times u to the power of 1/a.
draw_mixtures <- function(n, mixtures) {
  which <- rep_len(seq_along(mixtures), n)
  d <- ncol(Find(Negate(is.null), mixtures)$alpha)
  out <- matrix(NA_real_, n, d, dimnames = list(NULL, colnames(mixtures[[1]]$alpha)))
  for (i in unique(which)) {
    m <- mixtures[[i]]
    if (is.null(m)) next
    rows <- base::which(which == i)
    component <- sample.int(length(m$weights), length(rows), replace = TRUE, prob = m$weights)
    a <- m$alpha[component, , drop = FALSE]
    g <- log(stats::rgamma(length(a), a + 1)) + log(stats::runif(length(a))) / a
    g <- matrix(g, nrow(a))
    g <- exp(g - apply(g, 1, max))
    out[rows, ] <- g / rowSums(g)
  }
  out
}
