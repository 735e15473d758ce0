# A child "credence serve" for each model in use: a row is predicted within milliseconds, with the bits of "credence predict".
# It listens on this machine alone, wants a token that only this user can read, and ends with the session.

most_servers <- 2L
small_prediction <- 2000L

# Returns the server of a run, after starting it if need be. The oldest of several is stopped.
server_of <- function(run) {
  key <- paste0("server-", run$id)
  s <- session[[key]]
  if (!is.null(s) && s$process$is_alive()) return(s)
  if (!is.null(s)) stop_server(key)
  others <- grep("^server-", ls(session), value = TRUE)
  if (length(others) >= most_servers) {
    started <- vapply(others, function(k) session[[k]]$started, 1)
    stop_server(others[[which.min(started)]])
  }
  session[[key]] <- start_server(run)
  session[[key]]
}

start_server <- function(run) {
  folder <- new_folder()
  Sys.chmod(folder, "0700")
  token <- paste(sprintf("%02x", as.integer(random_bytes(24))), collapse = "")
  file <- file.path(folder, "token")
  writeLines(token, file)
  err <- file.path(folder, "messages")
  # Whoever asks is this session: nothing but its own memory bounds what it may ask for.
  p <- processx::process$new(
    checked_binary(),
    c("serve", run_folder(run), "--addr", "127.0.0.1:0", "--token-file", file, "--log-level", "error", "--max-rows", "10000000",
      "--max-body", "1073741824", "--timeout", "10m", "--max-intervals", "1000000000000", "--max-answer", "1099511627776", "--max-memory", "1099511627776"),
    stdout = err, stderr = "2>&1", env = child_environment(), cleanup_tree = TRUE, supervise = FALSE
  )
  for (i in seq_len(6000)) {
    at <- regmatches(text <- paste(read_lines(err), collapse = "\n"), regexpr("http://127\\.0\\.0\\.1:\\d+", text))
    if (length(at)) break
    if (!p$is_alive()) stop_messages(read_lines(err), p$get_exit_status())
    Sys.sleep(0.005)
  }
  if (!length(at)) {
    p$kill()
    stop_input("credence serve did not answer within 30 seconds", class = "credence_binary_error")
  }
  s <- new.env(parent = emptyenv())
  s$process <- p
  s$folder <- folder
  s$port <- as.integer(sub(".*:", "", at))
  s$token <- token
  s$pid <- Sys.getpid()
  s$started <- as.numeric(Sys.time())
  s$features <- run_card(run)$features$name # without those that training left out
  s$inputs <- jsonlite::fromJSON(rawToChar(ask_server(s, "GET", "/v2/models/run")$body))$inputs
  s
}

random_bytes <- function(n) {
  if (file.exists("/dev/urandom")) {
    con <- file("/dev/urandom", "rb", raw = TRUE)
    on.exit(close(con))
    return(readBin(con, "raw", n))
  }
  # Without touching the state of R's generator, which belongs to the caller.
  utils::head(rev(serialize(list(Sys.time(), Sys.getpid(), proc.time(), tempfile()), NULL)), n)
}

stop_server <- function(key) {
  s <- session[[key]]
  rm(list = key, envir = session)
  if (!identical(s$pid, Sys.getpid())) return(invisible()) # of the process that this one was forked from
  s$process$kill()
  unlink(s$folder, recursive = TRUE)
}

#' The process behind repeated predictions
#'
#' [predict()][predict.credence] on few items asks a process that keeps the model in memory, which the first call starts:
#' a row then takes a few milliseconds. At most two models have such a process; it ends with the session, or by
#' `credence_stop()`. `options(credence.process = FALSE)` starts a process for each prediction instead. Results are the same.
#'
#' @return The number of processes that were ended, invisibly.
#' @examples
#' credence_stop()
#' @export
credence_stop <- function() {
  keys <- grep("^server-", ls(session), value = TRUE)
  for (key in keys) stop_server(key)
  invisible(length(keys))
}

# Sends a request and returns the body of the answer, and how much of it is JSON. Each request has a connection of its
# own: R has few of them, and an open one would be the caller's to see.
ask_server <- function(s, method, route, body = raw(), json = length(body), call = rlang::caller_env()) {
  head <- sprintf(
    "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer %s\r\nContent-Type: application/octet-stream\r\nInference-Header-Content-Length: %d\r\nContent-Length: %d\r\n\r\n",
    method, route, s$token, json, length(body)
  )
  answer <- tryCatch(suppressWarnings({
    con <- socketConnection("127.0.0.1", s$port, blocking = TRUE, open = "r+b", timeout = 600)
    on.exit(close(con))
    writeBin(c(charToRaw(head), body), con)
    read_answer(con)
  }), error = function(e) stop_input(sprintf("the server does not answer: %s", conditionMessage(e)), class = "credence_binary_error"))
  if (answer$status != 200L) {
    text <- rawToChar(answer$body)
    Encoding(text) <- "UTF-8"
    message <- tryCatch(jsonlite::fromJSON(text)$error, error = function(e) text)
    stop_input(as_arguments(message), call = call)
  }
  answer
}

read_answer <- function(con) {
  status <- readLines(con, 1L)
  if (!length(status)) stop("the connection was closed")
  names <- character()
  repeat {
    line <- readLines(con, 1L)
    if (!length(line)) stop("the connection was closed")
    if (!nzchar(line)) break
    names <- c(names, line)
  }
  value <- function(name) {
    found <- grep(paste0("^", name, ":"), names, ignore.case = TRUE, value = TRUE)
    if (length(found)) trimws(sub("^[^:]*:", "", found[[1]]))
  }
  chunked <- identical(value("Transfer-Encoding"), "chunked")
  body <- if (chunked) read_chunks(con) else read_bytes(con, as.numeric(value("Content-Length")))
  json <- value("Inference-Header-Content-Length")
  list(status = as.integer(strsplit(status, " ")[[1]][[2]]), body = body, json = if (is.null(json)) length(body) else as.numeric(json))
}

read_bytes <- function(con, n) {
  parts <- list()
  while (n > 0) {
    part <- readBin(con, "raw", n)
    if (!length(part)) stop("the connection was closed")
    parts <- c(parts, list(part))
    n <- n - length(part)
  }
  if (length(parts) == 1) parts[[1]] else do.call(c, c(list(raw()), parts))
}

read_chunks <- function(con) {
  parts <- list(raw())
  repeat {
    size <- strtoi(sub(";.*", "", readLines(con, 1L)), 16L)
    if (is.na(size)) stop("the answer is not HTTP")
    part <- read_bytes(con, size)
    readLines(con, 1L)
    if (size == 0) return(do.call(c, parts))
    parts <- c(parts, list(part))
  }
}

# Names of features as JSON, which are the same in every request.
json_names <- function(s, names) {
  if (!identical(s$names, names)) {
    s$names <- names
    s$json <- vapply(names, function(x) as.character(jsonlite::toJSON(jsonlite::unbox(x))), "")
  }
  s$json
}

# Predicts columns of features; returns arrays by field, as read_npy() does.
serve_prediction <- function(run, columns, fields, level, call = rlang::caller_env()) {
  s <- server_of(run)
  n <- length(columns[[1]])
  columns <- columns[intersect(s$features, names(columns))]
  tails <- lapply(columns, function(x) {
    if (is.numeric(x)) return(writeBin(as.numeric(x), raw(), endian = "little"))
    x <- as.character(x)
    x[is.na(x)] <- ""
    length_prefixed(x)
  })
  datatypes <- ifelse(vapply(columns, is.numeric, NA), "FP64", "BYTES")
  names <- names(columns)
  shape <- n
  if (length(s$inputs$name) == 1 && length(columns) > 1) { # all features are numbers: one matrix
    tails <- list(writeBin(as.vector(do.call(rbind, columns)), raw(), endian = "little"))
    names <- s$inputs$name
    datatypes <- "FP64"
    shape <- paste0(n, ",", length(columns))
  }
  outputs <- unlist(lapply(fields, function(f) if (f == "interval") c("lower", "upper") else f))
  head <- sprintf(
    "{\"inputs\":[%s],\"parameters\":{\"level\":%s},\"outputs\":[%s]}",
    paste0("{\"name\":", json_names(s, names), ",\"shape\":[", shape, "],\"datatype\":\"", datatypes, "\",\"parameters\":{\"binary_data_size\":", lengths(tails), "}}", collapse = ","),
    format_number(level), paste0("{\"name\":\"", outputs, "\",\"parameters\":{\"binary_data\":true}}", collapse = ",")
  )
  head <- charToRaw(enc2utf8(head))
  answer <- ask_server(s, "POST", "/v2/models/run/infer", c(head, unlist(tails, use.names = FALSE)), length(head), call)
  text <- rawToChar(answer$body[seq_len(answer$json)])
  Encoding(text) <- "UTF-8"
  about <- jsonlite::fromJSON(text, simplifyVector = FALSE)
  notes <- about$parameters$warnings
  if (!is.null(notes) && nzchar(notes)) for (note in strsplit(notes, "\n", fixed = TRUE)[[1]]) warn_input(as_arguments(note))
  at <- answer$json
  found <- list()
  for (o in about$outputs) {
    size <- o$parameters$binary_data_size
    values <- readBin(answer$body[at + seq_len(size)], "double", size / 8, endian = "little")
    shape <- unlist(o$shape)
    found[[o$name]] <- by_rows(matrix(values, n, byrow = TRUE), shape[-1])
    at <- at + size
  }
  if ("interval" %in% fields) found$interval <- array(c(found$lower, found$upper), c(dim(found$lower), 1L, 2L))
  found[fields]
}
