# The binary: where it is, whether it fits, and running it.

# What this session knows: binaries that were checked, folders of runs, servers.
session <- new.env(parent = emptyenv())
session$checked <- character()

installed_binary <- function() {
  file.path(tools::R_user_dir("credence", "data"), if (.Platform$OS.type == "windows") "credence.exe" else "credence")
}

executable <- function(path) nzchar(path) && file.exists(path) && !dir.exists(path) && file.access(path, 1) == 0

#' The binary in use
#'
#' Everything is computed by the program `credence`. Searched, in this order, are `options(credence.path = )`, the
#' environment variable `CREDENCE_BINARY`, the folder that [install_credence()] installs to, and the `PATH`.
#' Nothing is searched, started or installed when the package is loaded.
#'
#' @return `credence_path()` returns the path, or raises an error of the class `credence_binary_error`.
#'   `credence_available()` reports whether there is one.
#' @seealso [install_credence()]
#' @examples
#' credence_available()
#' if (credence_available()) credence_path()
#' @export
credence_path <- function() {
  named <- list(
    `the option credence.path` = getOption("credence.path", ""),
    `the environment variable CREDENCE_BINARY` = Sys.getenv("CREDENCE_BINARY")
  )
  for (by in names(named)) {
    path <- named[[by]]
    if (!is.character(path) || length(path) != 1 || is.na(path)) {
      stop_input(sprintf("%s: expected one path, found %s", by, describe(path)), class = "credence_binary_error")
    }
    if (!nzchar(path)) next
    if (!executable(path)) {
      stop_input(
        sprintf("expected a program at %s, found %s", path, if (file.exists(path)) "a file that cannot be executed" else "no file"),
        sprintf("%s names it", by),
        class = "credence_binary_error"
      )
    }
    return(normalizePath(path))
  }
  for (path in c(installed_binary(), Sys.which("credence")[[1]])) {
    if (executable(path)) return(normalizePath(path))
  }
  stop_input(
    "the program `credence` is not installed",
    "install_credence(\"PATH\") installs it, from a binary or a clone of its source; or set the environment variable CREDENCE_BINARY",
    class = "credence_binary_error"
  )
}

#' @rdname credence_path
#' @export
credence_available <- function() !inherits(try(credence_path(), silent = TRUE), "try-error")

#' Find or install the binary
#'
#' Without `from`, reports which binary is in use. With it, installs one for this user, into
#' `tools::R_user_dir("credence", "data")`. This is the only function that installs anything, and nothing is ever
#' installed when the package is loaded.
#'
#' @param from A binary to copy, or a clone of Credence's source to build with Go (1.26 or later).
#' @param quiet Whether to be silent about what was found or done.
#' @return The path of the binary, invisibly.
#' @examples
#' if (credence_available()) install_credence()
#' \dontrun{
#' install_credence("~/credence") # a clone: builds it with Go
#' }
#' @export
install_credence <- function(from = NULL, quiet = FALSE) {
  if (!is.null(from)) {
    from <- path.expand(check_text(from, "from"))
    if (!file.exists(from)) stop_input(sprintf("`from`: there is no file or folder %s", from), arg = "from")
    target <- installed_binary()
    dir.create(dirname(target), recursive = TRUE, showWarnings = FALSE)
    fresh <- tempfile("credence-", dirname(target))
    on.exit(unlink(fresh))
    if (dir.exists(from)) build_binary(from, fresh) else if (!file.copy(from, fresh)) stop_input(sprintf("copying %s to %s failed", from, fresh), class = "credence_file_error")
    Sys.chmod(fresh, "0755")
    binary_version(fresh)
    if (!file.rename(fresh, target)) stop_input(sprintf("%s cannot be replaced", target), class = "credence_file_error")
    session$checked <- character()
    if (!quiet) message("installed ", target)
  }
  path <- credence_path()
  version <- binary_version(path)
  if (!quiet) message("using ", path, ", version ", version)
  invisible(path)
}

build_binary <- function(folder, target) {
  if (!file.exists(file.path(folder, "cmd", "credence"))) {
    stop_input(sprintf("`from`: expected a clone of Credence, found a folder without cmd/credence: %s", folder), arg = "from")
  }
  go <- Sys.which("go")[[1]]
  if (!nzchar(go)) stop_input("`from` is a clone, which Go builds, and there is no program `go` on the PATH", "install Go 1.26 or later, or give a binary", arg = "from")
  done <- processx::run(go, c("build", "-trimpath", "-o", target, "./cmd/credence"), wd = folder, env = c("current", CGO_ENABLED = "0"), error_on_status = FALSE)
  if (done$status != 0) stop_input(sprintf("building %s failed: %s", folder, trimws(done$stderr)), arg = "from", class = "credence_binary_error")
}

# Returns the version that a binary states.
binary_version <- function(path) {
  done <- tryCatch(
    processx::run(path, c("version", "--json"), error_on_status = FALSE, timeout = 60),
    error = function(e) stop_input(sprintf("%s cannot be started: %s", path, conditionMessage(e)), class = "credence_binary_error")
  )
  version <- tryCatch(jsonlite::fromJSON(done$stdout)$version, error = function(e) NULL)
  if (!is.character(version)) {
    stop_input(sprintf("%s states no version: found %s", path, quoted(substr(paste0(done$stderr, done$stdout), 1, 200))), "is it the binary of credence?", class = "credence_binary_error")
  }
  version
}

# Returns the path of the binary, after a warning if it is of another version than the package.
checked_binary <- function() {
  path <- credence_path()
  about <- file.info(path, extra_cols = FALSE)
  key <- paste(path, as.numeric(about$mtime), about$size)
  if (key %in% session$checked) return(path)
  version <- binary_version(path)
  session$checked <- c(session$checked, key)
  package <- as.character(utils::packageVersion("credence"))
  if (!identical(sub("-.*", "", version), package)) {
    warn_input(sprintf("the package is version %s, the binary %s is %s: options of one may be unknown to the other", package, path, version))
  }
  path
}

# The environment of a child, without variables that would override given options. The child ends with this session.
child_environment <- function(given = character()) {
  env <- Sys.getenv()
  env <- env[!names(env) %in% paste0("CREDENCE_", toupper(gsub("-", "_", given)))]
  c(stats::setNames(as.character(env), names(env)), CREDENCE_PARENT = as.character(Sys.getpid()))
}

# Runs the binary to its end; returns what it wrote to standard output, as text, after its warnings.
run_binary <- function(args, given = character(), input = NULL, accept = 0L, call = rlang::caller_env()) {
  folder <- new_folder()
  on.exit(unlink(folder, recursive = TRUE))
  stdin <- if (!is.null(input)) file.path(folder, "input")
  if (!is.null(input)) writeLines(input, stdin, useBytes = TRUE)
  out <- file.path(folder, "out")
  err <- file.path(folder, "err")
  p <- processx::process$new(
    checked_binary(), args, stdin = stdin, stdout = out, stderr = err,
    env = child_environment(given), cleanup_tree = TRUE
  )
  on.exit(p$kill(), add = TRUE, after = FALSE)
  p$wait()
  lines <- read_lines(err)
  code <- p$get_exit_status()
  if (!code %in% accept) stop_messages(lines, code, call)
  warn_messages(lines)
  read_lines(out)
}

read_lines <- function(path) {
  size <- file.size(path)
  if (is.na(size) || size == 0) return(character())
  text <- readLines(path, encoding = "UTF-8", warn = FALSE)
  enc2utf8(text)
}

# Writes options as flags: TRUE alone, FALSE and NULL not at all, several values repeated.
as_flags <- function(options) {
  unlist(lapply(names(options), function(name) {
    value <- options[[name]]
    if (is.null(value) || isFALSE(value)) return(NULL)
    if (isTRUE(value)) return(paste0("--", name))
    text <- as_text(value)
    if (length(text) > 1 || is.character(value)) {
      comma <- grepl(",", text, fixed = TRUE) & !grepl("^[-+0-9.eE/, ]+$", text)
      text[comma] <- paste0("\"", gsub("\"", "\"\"", text[comma]), "\"")
    }
    paste0("--", name, "=", text)
  }))
}

# Numbers to the last digit.
as_text <- function(x) if (is.numeric(x)) vapply(x, format_number, "") else as.character(x)
format_number <- function(v) {
  short <- format(v, digits = 15, scientific = NA)
  if (identical(as.numeric(short), as.numeric(v))) trimws(short) else sprintf("%.17g", v)
}

# A temporary folder of this session, within that of R, which R removes at its end.
new_folder <- function() {
  folder <- tempfile("credence-")
  if (!dir.create(folder, showWarnings = FALSE, recursive = TRUE)) {
    stop_input(sprintf("no temporary folder can be made at %s", folder), "the environment variable TMPDIR names another place", class = "credence_file_error")
  }
  folder
}

parse_json <- function(lines, ...) jsonlite::fromJSON(paste(lines, collapse = "\n"), ...)
