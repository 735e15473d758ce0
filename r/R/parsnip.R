# Registration with parsnip, when it is loaded: mlp() of the engine "credence".

.onLoad <- function(libname, pkgname) {
  if (isNamespaceLoaded("parsnip")) {
    register_parsnip(asNamespace("parsnip"))
  } else {
    setHook(packageEvent("parsnip", "onLoad"), function(...) register_parsnip(asNamespace("parsnip")))
  }
}

.onUnload <- function(libpath) credence_stop()

# Registers the engine; `p` is the namespace of parsnip.
register_parsnip <- function(p) {
  if (is.null(p$get_model_env) || "credence" %in% p$get_model_env()$mlp$engine) return(invisible())
  p$set_model_engine("mlp", mode = "classification", eng = "credence")
  p$set_dependency("mlp", eng = "credence", pkg = "credence", mode = "classification")
  args <- c(hidden_units = "widths", penalty = "weight_decay", dropout = "dropout", epochs = "epochs", learn_rate = "rate")
  for (name in names(args)) {
    p$set_model_arg("mlp", eng = "credence", parsnip = name, original = args[[name]], func = list(pkg = "dials", fun = name), has_submodel = FALSE)
  }
  p$set_fit("mlp", mode = "classification", eng = "credence", value = list(
    interface = "formula", protect = c("formula", "data", "weights"), func = c(pkg = "credence", fun = "credence"), defaults = list()
  ))
  p$set_encoding("mlp", mode = "classification", eng = "credence", options = list(
    predictor_indicators = "none", compute_intercept = FALSE, remove_intercept = FALSE, allow_sparse_x = FALSE
  ))
  types <- c(class = "class", prob = "prob", conf_int = "interval", raw = "mixture")
  for (type in names(types)) {
    args <- list(object = quote(object$fit), newdata = quote(new_data), type = types[[type]])
    if (type == "conf_int") args$level <- quote(level)
    p$set_pred("mlp", mode = "classification", eng = "credence", type = type, value = list(
      pre = NULL, post = if (type == "class") function(x, object) x$.pred_class, func = c(fun = "predict"), args = args
    ))
  }
  invisible()
}
