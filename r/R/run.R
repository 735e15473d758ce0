# A trained run: its files in memory, so that saveRDS() carries them, and in a temporary folder while the binary needs them.

kept_files <- c("model.credence", "config.yaml", "metrics.json", "history.csv", "raters.json", "report.html", "split.csv")

read_run <- function(folder) {
  names <- kept_files[file.exists(file.path(folder, kept_files))]
  files <- lapply(stats::setNames(file.path(folder, names), names), function(f) readBin(f, "raw", file.size(f)))
  list(id = unname(tools::md5sum(file.path(folder, "model.credence"))), files = files)
}

# Returns the folder of a run, which lives as long as this session.
run_folder <- function(run) {
  folder <- session[[paste0("run-", run$id)]]
  if (!is.null(folder) && file.exists(file.path(folder, "model.credence"))) return(folder)
  folder <- file.path(new_folder(), "run")
  dir.create(folder)
  for (name in names(run$files)) writeBin(run$files[[name]], file.path(folder, name))
  if (!identical(unname(tools::md5sum(file.path(folder, "model.credence"))), run$id)) {
    stop_input("the model of this object is damaged: its checksum is not that of training", "read the object again, or train it again", class = "credence_file_error")
  }
  session[[paste0("run-", run$id)]] <- folder
  folder
}

run_card <- function(run) {
  key <- paste0("card-", run$id)
  if (is.null(session[[key]])) {
    session[[key]] <- parse_json(run_binary(c("inspect", run_folder(run), "--json")))
  }
  session[[key]]
}

run_json <- function(run, file) {
  if (is.null(run$files[[file]])) return(NULL)
  text <- rawToChar(run$files[[file]])
  Encoding(text) <- "UTF-8"
  jsonlite::fromJSON(text)
}

# Writes options as a configuration: JSON is YAML.
write_options <- function(options, path) {
  lines <- vapply(names(options), function(name) {
    value <- options[[name]]
    text <- if (is.numeric(value)) {
      vapply(value, format_number, "")
    } else if (is.logical(value)) {
      ifelse(value, "true", "false")
    } else {
      vapply(as.character(value), function(v) as.character(jsonlite::toJSON(jsonlite::unbox(v))), "")
    }
    paste0(name, ": ", if (length(value) == 1 && !inherits(value, "AsIs")) text else paste0("[", paste(text, collapse = ", "), "]"))
  }, "")
  writeLines(enc2utf8(lines), path, useBytes = TRUE)
}

# Trains in a folder with the options of a configuration. The first interrupt stops training in good order: the best
# networks so far are kept; the second gives up.
train_run <- function(options, folder, verbose, call) {
  config <- file.path(folder, "options.yaml")
  write_options(options, config)
  out <- file.path(folder, "run")
  err <- file.path(folder, "messages")
  p <- processx::process$new(
    checked_binary(), c("train", "--config", config, "--out", out, if (verbose) "--json" else "-q"),
    stdout = if (verbose) "|" else NULL, stderr = err, env = child_environment(names(options)), cleanup_tree = TRUE
  )
  on.exit(p$kill())
  stopped <- FALSE
  repeat {
    ended <- tryCatch({
      if (verbose) follow(p) else p$wait()
      TRUE
    }, interrupt = function(e) FALSE)
    if (ended) break
    if (stopped) {
      p$kill()
      rlang::interrupt()
    }
    stopped <- TRUE
    message("stopping; the best networks so far are kept")
    p$interrupt()
  }
  lines <- read_lines(err)
  code <- p$get_exit_status()
  if (code != 0 && !(stopped && file.exists(file.path(out, "model.credence")))) {
    if (stopped) stop_input("training was stopped before there was a model", class = "credence_interrupted", call = call)
    stop_messages(lines, code, call)
  }
  list(run = read_run(out), stopped = stopped, messages = lines)
}

# Shows a bar over the epochs of all networks.
follow <- function(p) {
  bar <- utils::txtProgressBar(style = 3, file = stderr())
  on.exit(close(bar))
  parts <- numeric()
  while (p$is_alive() || p$is_incomplete_output()) {
    p$poll_io(200)
    for (line in p$read_output_lines()) {
      e <- tryCatch(jsonlite::fromJSON(line), error = function(e) list())
      if (!isTRUE(e$event %in% c("epoch", "progress"))) next
      parts[[as.character(e$index)]] <- if (isTRUE(e$end)) 1 else min(1, (e$epoch + (if (is.null(e$done)) 0 else e$done)) / max(1, e$epochs))
      utils::setTxtProgressBar(bar, min(1, sum(parts) / max(1, e$runs)))
    }
  }
  p$wait()
}
