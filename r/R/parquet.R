# Parquet files, written without a library: the columns of a frame as the binary reads them, numbers to the last bit.
# One page per column and row group, PLAIN encoding, no compression; footers are Thrift's compact protocol.

rows_per_group <- 131072L

varint <- function(n) {
  bytes <- integer(0)
  repeat {
    low <- n %% 128
    n <- n %/% 128
    if (n == 0) return(as.raw(c(bytes, low)))
    bytes <- c(bytes, low + 128)
  }
}

zigzag <- function(n) varint(2 * n)
thrift_text <- function(s) c(varint(nchar(s, "bytes")), charToRaw(enc2utf8(s)))
thrift_list <- function(type, parts) {
  n <- length(parts)
  head <- if (n < 15) as.raw(n * 16 + type) else c(as.raw(15 * 16 + type), varint(n))
  c(head, unlist(parts))
}

# Fields are pairs of a type and bytes, named by their numbers; NULL is left out.
thrift_struct <- function(...) {
  fields <- Filter(Negate(is.null), list(...))
  ids <- as.integer(names(fields))
  c(unlist(Map(function(f, delta) c(as.raw(delta * 16 + f[[1]]), f[[2]]), fields, diff(c(0L, ids)))), as.raw(0))
}
t_i32 <- function(n) list(5L, zigzag(n))
t_i64 <- function(n) list(6L, zigzag(n))
t_text <- function(s) list(8L, thrift_text(s))
t_list <- function(type, parts) list(9L, thrift_list(type, parts))
t_struct <- function(bytes) list(12L, bytes)

# Texts one after another, each after its length: the form of Parquet, and of the protocol of the server.
length_prefixed <- function(x) {
  x <- enc2utf8(x)
  n <- nchar(x, "bytes")
  ends <- cumsum(n + 4)
  out <- raw(if (length(ends)) ends[[length(ends)]] else 0L)
  starts <- ends - n - 4
  out[rep(starts, each = 4) + 1:4] <- writeBin(as.integer(n), raw(), endian = "little")
  if (sum(n) > 0) out[sequence(n, from = starts + 5)] <- charToRaw(paste(x, collapse = ""))
  out
}

# Writes the page of some values of a column, and returns its size.
write_page <- function(x, con) {
  there <- !is.na(x)
  n <- length(x)
  if (all(there)) {
    levels <- c(varint(2 * n), as.raw(1))
  } else {
    groups <- (n + 7) %/% 8
    levels <- c(varint(groups * 2 + 1), packBits(c(there, rep(FALSE, groups * 8 - n)), "raw"))
    x <- x[there]
  }
  values <- if (is.factor(x)) factor_bytes(x) else if (is.character(x)) length_prefixed(x) else as.vector(x)
  size <- 4 + length(levels) + length(values) * if (is.raw(values)) 1 else if (is.integer(values)) 4 else 8
  data <- thrift_struct(`1` = t_i32(n), `2` = t_i32(0), `3` = t_i32(3), `4` = t_i32(3))
  head <- thrift_struct(`1` = t_i32(0), `2` = t_i32(size), `3` = t_i32(size), `5` = t_struct(data))
  writeBin(c(head, writeBin(length(levels), raw(), endian = "little"), levels), con)
  writeBin(values, con, endian = "little")
  length(head) + size
}

# Few levels, many values: each level is encoded once.
factor_bytes <- function(x) {
  codes <- lapply(levels(x), length_prefixed)
  unlist(codes[as.integer(x)], use.names = FALSE)
}

parquet_type <- function(x) if (is.factor(x) || is.character(x)) 6L else if (is.integer(x)) 1L else 5L

# Writes columns, a named list of doubles, integers, characters and factors of one length.
write_parquet <- function(columns, path) {
  n <- length(columns[[1]])
  con <- tryCatch(file(path, "wb"), warning = function(e) stop_file("writing", path, e), error = function(e) stop_file("writing", path, e))
  on.exit(close(con))
  at <- 4
  writeBin(charToRaw("PAR1"), con)
  groups <- list()
  for (start in seq(1, max(n, 1), by = rows_per_group)) {
    rows <- if (n <= rows_per_group) NULL else start:min(n, start + rows_per_group - 1)
    count <- if (is.null(rows)) n else length(rows)
    chunks <- vector("list", length(columns))
    before <- at
    for (j in seq_along(columns)) {
      size <- write_page(if (is.null(rows)) columns[[j]] else columns[[j]][rows], con)
      about <- thrift_struct(
        `1` = t_i32(parquet_type(columns[[j]])), `2` = t_list(5L, list(zigzag(0), zigzag(3))),
        `3` = t_list(8L, list(thrift_text(names(columns)[[j]]))), `4` = t_i32(0), `5` = t_i64(count),
        `6` = t_i64(size), `7` = t_i64(size), `9` = t_i64(at)
      )
      chunks[[j]] <- thrift_struct(`2` = t_i64(at), `3` = t_struct(about))
      at <- at + size
    }
    groups <- c(groups, list(thrift_struct(`1` = t_list(12L, chunks), `2` = t_i64(at - before), `3` = t_i64(count))))
  }
  root <- thrift_struct(`4` = t_text("schema"), `5` = t_i32(length(columns)))
  leaves <- Map(function(x, name) {
    type <- parquet_type(x)
    thrift_struct(`1` = t_i32(type), `3` = t_i32(1), `4` = t_text(name), `6` = if (type == 6L) t_i32(0))
  }, columns, names(columns))
  footer <- thrift_struct(
    `1` = t_i32(1), `2` = t_list(12L, c(list(root), unname(leaves))), `3` = t_i64(n), `4` = t_list(12L, groups), `6` = t_text("credence for R")
  )
  writeBin(c(footer, writeBin(length(footer), raw(), endian = "little"), charToRaw("PAR1")), con)
  invisible(path)
}

stop_file <- function(what, path, e) {
  stop_input(sprintf("%s %s: %s", what, path, conditionMessage(e)), "the environment variable TMPDIR names another place", class = "credence_file_error")
}

# Reads the records of an NPY file whose fields are doubles: a list of arrays, whose first axis is the record.
read_npy <- function(path) {
  con <- file(path, "rb")
  on.exit(close(con))
  magic <- readBin(con, "raw", 8)
  if (length(magic) < 8 || !identical(magic[2:6], charToRaw("NUMPY"))) stop_input(paste(path, "is not an NPY file"), class = "credence_binary_error")
  size <- readBin(con, "integer", 1, size = if (magic[[7]] == 1) 2L else 4L, signed = magic[[7]] != 1, endian = "little")
  header <- rawToChar(readBin(con, "raw", size))
  n <- as.numeric(sub(".*'shape': \\((\\d+),\\).*", "\\1", header))
  found <- regmatches(header, gregexpr("\\('[a-z_]+', '<f8'(, \\([0-9, ]*\\))?\\)", header))[[1]]
  names <- sub("^\\('([a-z_]+)'.*", "\\1", found)
  shapes <- lapply(found, function(f) as.integer(regmatches(f, gregexpr("(?<=[(, ])\\d+", f, perl = TRUE))[[1]]))
  widths <- vapply(shapes, function(s) as.numeric(prod(s)), 1)
  values <- readBin(con, "double", n * sum(widths), endian = "little")
  if (length(values) != n * sum(widths) || is.na(n)) stop_input(paste(path, "is cut short"), class = "credence_binary_error")
  dim(values) <- c(sum(widths), n)
  ends <- cumsum(widths)
  out <- Map(function(shape, from, to) {
    part <- t(values[from:to, , drop = FALSE])
    by_rows(part, shape)
  }, shapes, ends - widths + 1, ends)
  stats::setNames(out, names)
}

# Gives a matrix of records, whose rows are arrays in the order of C, the shape of these arrays.
by_rows <- function(part, shape) {
  n <- nrow(part)
  if (length(shape) < 2) return(if (length(shape)) part else drop(part))
  aperm(array(part, c(n, rev(shape))), c(1L, rev(seq_along(shape)) + 1L))
}
