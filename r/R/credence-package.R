#' @details Start with [credence()]; [credence_path()] and [install_credence()] are about the program that computes everything.
#' @keywords internal
"_PACKAGE"

#' @importFrom rlang .data
#' @importFrom stats formula nobs predict update
NULL
