# Votes: by counts, long (item, rater, label), a column per rater, or one label per item.

# Returns what stands on the left side of a formula: the kind of votes, and names of columns.
parse_response <- function(formula, call) {
  if (!inherits(formula, "formula")) {
    stop_input(sprintf("`formula`: expected a formula such as cbind(benign, malignant) ~ age + size, found %s", describe(formula)), arg = "formula", call = call)
  }
  if (length(formula) < 3) {
    stop_input("`formula`: expected votes on its left side, found none", "cbind(benign, malignant) ~ ... for counts, votes(item, rater, label) ~ ... for single votes", arg = "formula", call = call)
  }
  lhs <- formula[[2]]
  head <- if (is.call(lhs)) sub("^credence::+", "", paste(deparse(lhs[[1]]), collapse = "")) else ""
  if (head == "votes") return(c(kind = "long", vote_columns(as.list(lhs)[-1], call)))
  if (head == "ratings") {
    args <- as.list(lhs)[-1]
    if (length(args) < 2 || !all(vapply(args, is.name, NA))) {
      stop_input("`formula`: expected ratings(reader1, reader2, ...), the columns of at least two raters", arg = "formula", call = call)
    }
    return(list(kind = "wide", raters = vapply(args, as.character, "")))
  }
  list(kind = if (head == "cbind") "cbind" else "response")
}

vote_columns <- function(args, call) {
  wrong <- function(...) stop_input(paste0("`formula`: ", ...), "votes(item, rater, label), or votes(item, label) if raters have no names; count = n names a column of counts", arg = "formula", call = call)
  ok <- vapply(args, function(a) is.name(a) || is.character(a) && length(a) == 1, NA)
  if (!all(ok)) wrong("expected names of columns in votes(), found ", paste(deparse(args[[which(!ok)[[1]]]]), collapse = ""))
  names <- if (is.null(names(args))) rep("", length(args)) else names(args)
  unknown <- setdiff(names, c("", "item", "rater", "label", "count"))
  if (length(unknown)) wrong("votes() has no argument `", unknown[[1]], "`")
  free <- setdiff(c("item", "rater", "label"), names)
  open <- sum(names == "")
  if (open == 2 && setequal(free, c("item", "rater", "label"))) free <- c("item", "label")
  if (open > length(free)) wrong("votes() has too many arguments")
  names[names == ""] <- free[seq_len(open)]
  found <- stats::setNames(lapply(args, as.character), names)
  for (need in c("item", "label")) if (is.null(found[[need]])) wrong("votes() names no column of ", need, "s")
  found
}

# Ids as texts: 100000 is "100000", not "1e+05".
id_text <- function(x, what, call) {
  if (is.list(x) || is.matrix(x)) stop_input(sprintf("%s: expected names or numbers, found %s", what, describe(x)), call = call)
  if (is.numeric(x) && !is.object(x)) {
    whole <- !is.na(x) & x == round(x) & abs(x) < 1e15
    out <- rep(NA_character_, length(x))
    out[whole] <- sprintf("%.0f", x[whole])
    rest <- !whole & !is.na(x)
    out[rest] <- vapply(x[rest], format_number, "")
    return(out)
  }
  enc2utf8(as.character(x))
}

label_text <- function(x, what, call) {
  text <- if (is.numeric(x) && !is.object(x)) id_text(x, what, call) else enc2utf8(as.character(x))
  text[!is.na(text) & trimws(text) == ""] <- NA
  text
}

# Returns labels as a factor whose levels are the classes: an ordered one, if labels are. A scale keeps the levels
# without votes.
label_factor <- function(x, classes, what, call) {
  if (is.list(x) || is.matrix(x) || inherits(x, c("Date", "POSIXt", "Surv"))) {
    stop_input(sprintf("%s: expected labels, found %s", what, describe(x)), call = call)
  }
  text <- label_text(x, what, call)
  if (is.null(classes)) {
    classes <- if (is.factor(x)) levels(x) else if (is.numeric(x)) id_text(sort(unique(as.numeric(x))), what, call) else sort(unique(text[!is.na(text)]))
    empty <- if (!is.ordered(x)) setdiff(classes, text)
    if (length(empty)) warn_input(sprintf("%s: level %s has no votes and is no class", what, some(quoted(empty))), "`classes` names all classes, if it should be one")
    classes <- setdiff(classes, empty)
  }
  unknown <- setdiff(text, c(classes, NA))
  if (length(unknown)) stop_input(sprintf("%s: expected labels among %s, found %s", what, some(quoted(classes)), quoted(unknown[[1]])), call = call)
  factor(text, classes, ordered = is.ordered(x))
}

# Reads labels by raters some of whom are judges: the classes are the labels of people. Returns the labels, the classes
# and whether their order is known.
read_labels <- function(x, rater, classes, judges, what, call) {
  judged <- rater %in% judges # nobody, if raters have no names
  people <- if (any(judged)) x[!judged] else x
  label <- label_factor(people, classes, what, call)
  found <- list(classes = levels(label), ordered = is.ordered(label), sorted = is.ordered(label) || is.numeric(x) || !is.null(classes), label = label)
  if (any(judged)) {
    found$label <- label_text(x, what, call)
    found$label[!judged] <- as.character(label)
  }
  found
}

need_columns <- function(frame, names, arg, call) {
  missing <- setdiff(names, names(frame))
  if (length(missing)) {
    close <- names(frame)[utils::adist(missing[[1]], names(frame), ignore.case = TRUE)[1, ] <= 2]
    stop_input(
      sprintf("`%s` has no column `%s`", arg, missing[[1]]),
      if (length(close)) sprintf("did you mean `%s`?", close[[1]]) else sprintf("columns: %s", some(names(frame), 12)), arg = arg, call = call
    )
  }
}

# Reads single votes; `items` are the ids of the items to be found.
read_long <- function(frame, response, items, classes, arg, call, judges = NULL) {
  frame <- check_frame(frame, arg, call)
  need_columns(frame, unlist(response[c("item", "rater", "label", "count")]), arg, call)
  column <- function(role) sprintf("`%s`: column `%s`", arg, response[[role]])
  item <- id_text(frame[[response$item]], column("item"), call)
  if (anyNA(item)) stop_input(sprintf("%s: expected an item in every row, found NA in row %d", column("item"), which(is.na(item))[[1]]), arg = arg, call = call)
  rater <- if (is.null(response$rater)) NULL else id_text(frame[[response$rater]], column("rater"), call)
  labels <- read_labels(frame[[response$label]], rater, classes, judges, column("label"), call)
  label <- labels$label
  count <- NULL
  if (!is.null(response$count)) count <- check_counts(frame[[response$count]], column("count"), call)
  keep <- !is.na(label)
  if (any(!keep)) warn_input(sprintf("%s: %s without a label %s no vote", column("label"), rows_of(sum(!keep)), if (sum(!keep) == 1) "is" else "are"))
  if (!any(keep)) stop_input(sprintf("%s: expected labels, found none", column("label")), arg = arg, call = call)
  known <- item %in% items
  if (!any(keep & known)) {
    stop_input(
      sprintf("no vote is on an item of `data`: %s of `%s` has %s, `data` %s", paste0("`", response$item, "`"), arg, some(quoted(unique(item)), 3), some(quoted(items), 3)),
      "both name items alike", arg = arg, call = call
    )
  }
  if (any(!known)) warn_input(sprintf("`%s`: %s on items that `data` does not have are ignored, such as %s", arg, rows_of(sum(!known)), some(quoted(unique(item[!known])), 3)))
  keep <- keep & known
  c(list(kind = "long", item = item[keep], rater = rater[keep], label = label[keep], count = count[keep]), labels[c("classes", "ordered", "sorted")])
}

rows_of <- function(n) if (n == 1) "1 row" else sprintf("%s rows", format(n, big.mark = ","))

check_counts <- function(x, what, call) {
  if (is.factor(x) || !is.numeric(x) && !is.logical(x)) {
    stop_input(
      sprintf("%s: expected counts of votes, found %s", what, describe(x)),
      if (is.factor(x) || is.character(x)) "cbind() makes codes of factors: ratings(reader1, reader2, ...) takes a column of labels per rater, votes(item, rater, label) single votes", call = call
    )
  }
  values <- as.numeric(x)
  bad <- which(is.na(values) | values < 0 | !is.finite(values))
  if (length(bad)) stop_input(sprintf("%s: expected counts from 0, found %s in row %d", what, format(values[[bad[[1]]]]), bad[[1]]), call = call)
  part <- which(values != round(values))
  if (length(part)) {
    stop_input(sprintf("%s: expected whole numbers of votes, found %s in row %d", what, format(values[[part[[1]]]]), part[[1]]), "multiply shares by the number of votes", call = call)
  }
  values
}

# Reads a matrix or frame of counts, a column per class.
read_counts <- function(x, items, classes, arg, call) {
  if (is.data.frame(x)) {
    if (!is.null(classes)) need_columns(x, classes, arg, call)
    x <- x[if (is.null(classes)) names(x) else classes]
    for (name in names(x)) check_counts(x[[name]], sprintf("`%s`: column `%s`", arg, name), call)
    automatic <- .row_names_info(x) < 0
    x <- as.matrix(x)
    if (automatic) rownames(x) <- NULL
  }
  names <- colnames(x)
  if (is.null(names) || anyNA(names) || any(trimws(names) == "")) {
    stop_input(sprintf("`%s`: expected a name for each column of counts, found none", arg), "cbind(malignant, benign = total - malignant) names a computed column", arg = arg, call = call)
  }
  if (length(names) < 2) stop_input(sprintf("`%s`: expected counts of at least two classes, found one, %s", arg, quoted(names)), arg = arg, call = call)
  if (anyDuplicated(names)) stop_input(sprintf("`%s`: two columns of counts are named %s", arg, quoted(names[duplicated(names)][[1]])), arg = arg, call = call)
  if (!is.null(classes)) {
    need_columns(as.data.frame(x), classes, arg, call)
    x <- x[, classes, drop = FALSE]
  }
  check_counts(x, sprintf("`%s`", arg), call)
  if (nrow(x) != length(items)) stop_input(sprintf("`%s`: expected %d rows of counts, one per item, found %d", arg, length(items), nrow(x)), arg = arg, call = call)
  if (!is.null(rownames(x)) && !identical(rownames(x), items)) {
    if (!setequal(rownames(x), items) || anyDuplicated(items)) {
      other <- setdiff(rownames(x), items)
      stop_input(sprintf("`%s`: its row names are not those of the items: found %s", arg, quoted(c(other, rownames(x))[[1]])), "rownames(votes) <- NULL, if rows are in the same order", arg = arg, call = call)
    }
    x <- x[items, , drop = FALSE]
  }
  storage.mode(x) <- "double"
  list(kind = "counts", classes = colnames(x), item = items, counts = unname(x), ordered = FALSE, sorted = TRUE)
}

# Reads a column of labels per rater.
read_wide <- function(frame, raters, items, classes, arg, call, judges = NULL) {
  need_columns(frame, raters, arg, call)
  labels <- lapply(raters, function(r) {
    x <- frame[[r]]
    if (is.list(x) || is.matrix(x)) stop_input(sprintf("`%s`: column `%s`: expected labels, found %s", arg, r, describe(x)), arg = arg, call = call)
    if (is.numeric(x) && !is.object(x)) id_text(x, r, call) else as.character(x)
  })
  orders <- unique(lapply(frame[raters], function(x) if (is.factor(x)) levels(x)))
  scale <- vapply(frame[raters], is.ordered, NA)
  if (any(scale) && (length(orders) > 1 || !all(scale))) {
    other <- raters[!scale | vapply(frame[raters], function(x) !identical(levels(x), levels(frame[[raters[scale][[1]]]])), NA)][[1]]
    stop_input(sprintf("`%s`: column `%s`: expected an ordered factor with the levels of `%s`, found %s", arg, other, raters[scale][[1]], describe(frame[[other]])), "factor(x, levels, ordered = TRUE)", arg = arg, call = call)
  }
  all <- unlist(labels)
  if (all(vapply(frame[raters], function(x) is.numeric(x) && !is.object(x), NA))) all <- as.numeric(all)
  if (is.null(classes) && length(orders) == 1 && !is.null(orders[[1]])) all <- factor(all, orders[[1]], ordered = any(scale))
  rater <- rep(raters, each = length(items))
  labels <- read_labels(all, rater, classes, judges, sprintf("`%s`: columns %s", arg, some(raters, 3)), call)
  keep <- !is.na(labels$label)
  c(list(kind = "long", item = rep(items, length(raters))[keep], rater = rater[keep], label = labels$label[keep]), labels[c("classes", "ordered", "sorted")])
}

# Writes votes for the binary; returns the options to read them with.
write_votes <- function(votes, folder, name = "votes") {
  path <- file.path(folder, paste0(name, ".parquet"))
  if (votes$kind == "counts") {
    item <- free_name("item", votes$classes)
    columns <- c(stats::setNames(list(votes$item), item), stats::setNames(lapply(seq_along(votes$classes), function(j) as.integer(votes$counts[, j])), votes$classes))
    write_parquet(columns, path)
    return(list(votes = path, `votes-form` = "counts", `votes-item` = item, `vote-columns` = votes$classes))
  }
  rater <- if (is.null(votes$rater)) NULL else list(rater = votes$rater)
  count <- if (is.null(votes$count)) NULL else list(count = as.integer(votes$count))
  write_parquet(c(list(item = votes$item), rater, list(label = votes$label), count), path)
  options <- list(votes = path, `votes-form` = "long", `votes-item` = "item", label = "label")
  if (!is.null(rater)) options$rater <- "rater"
  if (!is.null(count)) options$count <- "count"
  options
}

free_name <- function(name, taken) {
  while (name %in% taken) name <- paste0(name, "_")
  name
}
