#' Plot distributions or calibration
#'
#' With ggplot2 installed, the plot is returned as a `ggplot`; otherwise it is drawn by base graphics.
#'
#' @param x A model that [credence()] returned, or what [credence_evaluate()] returned.
#' @param newdata A data frame of items: for densities at most 12, by default the first four of the data of training; for calibration items with votes.
#' @param type `"density"`: the distribution of a class probability, item by item; `"calibration"`: observed shares of votes
#'   with 95% intervals against predicted probabilities.
#' @param class Name or number of the class whose probability is shown, for densities; by default the last.
#' @param votes Votes on the items, as in [predict.credence()].
#' @param ggplot Whether to use ggplot2.
#' @param ... Not used.
#' @return A `ggplot`, or invisibly the data frame that was drawn.
#' @examplesIf credence_available()
#' set.seed(1)
#' d <- data.frame(x = rnorm(200))
#' d$yes <- rbinom(200, 3, plogis(d$x))
#' fit <- suppressWarnings(credence(cbind(no = 3 - yes, yes) ~ x, d, ensemble = 2, epochs = 5))
#' plot(fit, d[1:3, ])
#' @export
plot.credence <- function(x, newdata = NULL, type = c("density", "calibration"), class = NULL, votes = NULL, ggplot = requireNamespace("ggplot2", quietly = TRUE), ...) {
  where <- rlang::current_env()
  check_names(names(list(...)), character(), "plot()", where)
  type <- check_choice(type, c("density", "calibration"), "type", where)
  if (type == "calibration") {
    if (is.null(newdata)) stop_input("`newdata`: calibration is that on items with votes, which the model has not seen: expected a data frame, found nothing", arg = "newdata")
    return(plot.credence_evaluation(credence_evaluate(x, newdata, votes), ggplot = ggplot))
  }
  if (is.null(newdata)) newdata <- utils::head(training_data(x, where), 4)
  if (NROW(newdata) > 12) stop_input(sprintf("`newdata`: expected at most 12 items, found %d", NROW(newdata)), "newdata[1:4, ]", arg = "newdata")
  m <- stats::predict(x, newdata, type = "mixture", votes = votes)$.pred_mixture
  there <- !vapply(m, is.null, NA)
  if (!any(there)) stop_input("`newdata`: every item has missing features", arg = "newdata")
  j <- class_number(m[there][[1]], if (is.null(class)) length(x$classes) else class)
  grid <- seq(0.002, 0.998, length.out = 250)
  names <- row.names(as.data.frame(newdata))
  if (x$response$kind == "long" && x$response$item %in% names(newdata)) names <- id_text(newdata[[x$response$item]], "`newdata`", where)
  names <- factor(make.unique(names), make.unique(names))
  drawn <- data.frame(
    item = rep(names[there], each = length(grid)), probability = rep(grid, sum(there)),
    density = dbetamix(rep(grid, sum(there)), rep(m[there], each = length(grid)), class = j)
  )
  draw_lines(drawn, sprintf("probability of %s", x$classes[[j]]), ggplot)
}

#' @rdname plot.credence
#' @export
plot.credence_evaluation <- function(x, ggplot = requireNamespace("ggplot2", quietly = TRUE), ...) {
  bins <- x$reliability$bins
  if (!length(bins)) stop_input("the evaluation has no calibration: expected items with votes")
  all <- as.data.frame(bins[[1]])
  if (!isTRUE(ggplot)) {
    graphics_calibration(all)
    return(invisible(all))
  }
  ggplot2::ggplot(all, ggplot2::aes(.data[["predicted"]], .data[["observed"]])) +
    ggplot2::geom_abline(colour = "grey60") +
    ggplot2::geom_linerange(ggplot2::aes(ymin = .data[["lo"]], ymax = .data[["hi"]])) +
    ggplot2::geom_point() +
    ggplot2::labs(x = "predicted probability of the predicted class", y = "share of votes for it") +
    ggplot2::coord_equal(xlim = range(all$predicted, all$lo, all$hi), ylim = range(all$predicted, all$lo, all$hi)) +
    ggplot2::theme_minimal()
}

graphics_calibration <- function(all) {
  range <- range(c(all$predicted, all$lo, all$hi))
  graphics::plot(all$predicted, all$observed, xlim = range, ylim = range, pch = 19, xlab = "predicted probability of the predicted class", ylab = "share of votes for it")
  graphics::abline(0, 1, col = "grey60")
  graphics::segments(all$predicted, all$lo, all$predicted, all$hi)
}

draw_lines <- function(drawn, label, ggplot) {
  if (isTRUE(ggplot)) {
    return(ggplot2::ggplot(drawn, ggplot2::aes(.data[["probability"]], .data[["density"]], colour = .data[["item"]])) +
      ggplot2::geom_line() +
      ggplot2::expand_limits(y = 0) +
      ggplot2::labs(x = label, y = "density", colour = "item") +
      ggplot2::theme_minimal())
  }
  colours <- grDevices::hcl.colors(nlevels(drawn$item), "Dark 3")
  graphics::plot(range(drawn$probability), c(0, max(drawn$density)), type = "n", xlab = label, ylab = "density")
  for (i in seq_len(nlevels(drawn$item))) {
    one <- drawn[drawn$item == levels(drawn$item)[[i]], ]
    graphics::lines(one$probability, one$density, col = colours[[i]])
  }
  graphics::legend("topright", levels(drawn$item), col = colours, lty = 1, title = "item", bty = "n")
  invisible(drawn)
}
