#' @details Start with [credence()]; [credence_path()] and [install_credence()] are about the program that computes everything.
#' @keywords internal
"_PACKAGE"
