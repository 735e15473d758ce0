#' Distributions of class probabilities from several votes per item
#'
#' Start with [credence()]; [credence_path()] and [install_credence()] are about the program that computes everything.
#' @name credence-package
#' @keywords internal
NULL

#' @importFrom rlang .data
#' @importFrom stats formula nobs predict update
NULL
