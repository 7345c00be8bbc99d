# Measured baseline in base R: the algorithms of Balmat et al. (2018), written anew for timing.
# Rscript baseline.R OUT total,.. epsilon,.. iterations products repeats seed vectors
args <- commandArgs(trailingOnly = TRUE)
numbers <- function(text) as.numeric(strsplit(text, ",")[[1]])
out <- args[1]
totals <- numbers(args[2])
epsilons <- numbers(args[3])
iterations <- as.integer(args[4])
products <- as.integer(args[5])
repeats <- as.integer(args[6])
set.seed(as.integer(args[7]))
vectors <- as.integer(args[8])
full_run <- 5000

clock <- function(call) {
  start <- proc.time()
  call()
  used <- proc.time() - start
  used[["user.self"]] + used[["sys.self"]]
}
dirichlet <- function(shape) {
  g <- rgamma(length(shape), shape)
  g / sum(g)
}
laplace <- function(n, scale) rexp(n, 1 / scale) - rexp(n, 1 / scale)
all_rows <- function(total) {
  rows <- do.call(rbind, lapply(total:0, function(s1) {
    rest <- total - s1
    cbind(s1, 0:rest, rest:0)
  }))
  dimnames(rows) <- NULL
  rows
}
log_noise <- function(noisy, rows, scale) {
  -(abs(rows[, 1] - noisy[1]) + abs(rows[, 2] - noisy[2]) + abs(rows[, 3] - noisy[3])) / scale
}
chain <- function(rows, noise, log_probability, n) {
  p <- dirichlet(c(1, 1, 1))
  for (i in seq_len(n)) {
    w <- log_probability(p) + noise
    w <- exp(w - max(w))
    p <- dirichlet(1 + rows[sample.int(nrow(rows), 1, prob = w), ])
  }
  p
}

found <- list()
keep <- function(...) {
  row <- list(what = NA, method = NA, setup = NA, environment = "R", `repeat` = 0, total = NA, rows = NA,
              epsilon = NA, vector = NA, seconds = NA, products = NA, scaled = FALSE, version = R.version.string, note = "")
  given <- list(...)
  row[names(given)] <- given
  found[[length(found) + 1]] <<- as.data.frame(row, check.names = FALSE)
}

# The C function that the paper's improved algorithm calls, and Table 2's method 3, where this R can compile them.
c_source <- "
#include <R.h>
#include <Rinternals.h>
#include <math.h>
SEXP table_probabilities(SEXP table, SEXP p) {
  R_xlen_t n = nrows(table);
  double *t = REAL(table), a = log(REAL(p)[0]), b = log(REAL(p)[1]), c = log(REAL(p)[2]);
  SEXP out = PROTECT(allocVector(REALSXP, n));
  for (R_xlen_t i = 0; i < n; i++) REAL(out)[i] = t[i + 3 * n] * exp(t[i] * a + t[i + n] * b + t[i + 2 * n] * c);
  UNPROTECT(1);
  return out;
}
SEXP table_powers(SEXP table, SEXP p) {
  R_xlen_t n = nrows(table);
  double *t = REAL(table), *q = REAL(p);
  SEXP out = PROTECT(allocVector(REALSXP, n));
  for (R_xlen_t i = 0; i < n; i++)
    REAL(out)[i] = t[i + 3 * n] * pow(q[0], t[i]) * pow(q[1], t[i + n]) * pow(q[2], t[i + 2 * n]);
  UNPROTECT(1);
  return out;
}
SEXP product_each(SEXP counts, SEXP probabilities) {
  R_xlen_t n = nrows(counts);
  double *s = REAL(counts), *p = REAL(probabilities);
  SEXP out = PROTECT(allocVector(REALSXP, n));
  for (R_xlen_t i = 0; i < n; i++)
    REAL(out)[i] = exp(s[i] * log(p[i]) + s[i + n] * log(p[i + n]) + s[i + 2 * n] * log(p[i + 2 * n]));
  UNPROTECT(1);
  return out;
}
SEXP product_of(SEXP s, SEXP p) {
  double *a = REAL(s), *b = REAL(p);
  return ScalarReal(exp(a[0] * log(b[0]) + a[1] * log(b[1]) + a[2] * log(b[2])));
}"
folder <- tempfile("products")
dir.create(folder)
source_file <- file.path(folder, "products.c")
writeLines(c_source, source_file)
compiled <- suppressWarnings(system2(file.path(R.home("bin"), "R"), c("CMD", "SHLIB", shQuote(source_file)),
                                     stdout = FALSE, stderr = FALSE)) == 0
if (compiled) {
  library_file <- dyn.load(sub("\\.c$", .Platform$dynlib.ext, source_file))
  table_probabilities <- getNativeSymbolInfo("table_probabilities", library_file)
  table_powers <- getNativeSymbolInfo("table_powers", library_file)
  product_each <- getNativeSymbolInfo("product_each", library_file)
  product_of <- getNativeSymbolInfo("product_of", library_file)
}

# Figure 3: the standard algorithm (dmultinom for every row), the same formula vectorised, the table, the table in C.
for (total in totals) {
  rows <- all_rows(total)
  storage.mode(rows) <- "double"
  log_table <- lgamma(total + 1) - rowSums(lgamma(rows + 1))
  table <- cbind(rows, exp(log_table))
  methods <- list(
    "standard (R dmultinom)" = function(p) apply(rows, 1, function(s) dmultinom(s, prob = p, log = TRUE)),
    "vectorised, no table (R)" = function(p) {
      as.vector(lgamma(total + 1) + rows %*% log(p)) - rowSums(lgamma(rows + 1))
    },
    "table (R)" = function(p) as.vector(log_table + rows %*% log(p))
  )
  if (compiled) methods[["table (R and C)"]] <- function(p) log(.Call(table_probabilities, table, p))
  for (epsilon in epsilons) for (vector in seq_len(vectors)) {
    noisy <- as.vector(rmultinom(1, total, dirichlet(c(1, 1, 1)))) + laplace(3, 2 / epsilon)
    noise <- log_noise(noisy, rows, 2 / epsilon)
    gc()
    for (method in names(methods)) {
      slow <- method == "standard (R dmultinom)"
      n <- if (slow) max(2, round(iterations * 231 / nrow(rows))) else 5 * iterations
      used <- min(sapply(seq_len(repeats), function(i) clock(function() chain(rows, noise, methods[[method]], n))))
      keep(what = "figure_3", method = method, total = total, rows = nrow(rows), epsilon = epsilon, vector = vector,
           seconds = used * full_run / n, scaled = TRUE)
    }
  }
}

# Table 2: products p1^S1 p0^S0 pe^Se, three set-ups, three methods; one round to warm up.
total <- max(totals)
rows <- all_rows(total)
n_blocks <- ceiling(products / nrow(rows))
random_p <- function(n) {
  first <- runif(n)
  second <- runif(n) * (1 - first)
  t(apply(cbind(first, second, 1 - first - second), 1, sample))
}
s <- rows[rep(seq_len(nrow(rows)), n_blocks), ]
storage.mode(s) <- "double"
storage.mode(rows) <- "double"
table <- cbind(rows, 1)
n <- nrow(s)
few <- min(n, 50000L)
p <- random_p(n)
blocks <- random_p(n_blocks)
calls <- list(
  list("scalar", 1, few, function() for (i in seq_len(few)) p[i, 1]**s[i, 1] * p[i, 2]**s[i, 2] * p[i, 3]**s[i, 3]),
  list("scalar", 2, few, function() for (i in seq_len(few))
    exp(s[i, 1] * log(p[i, 1]) + s[i, 2] * log(p[i, 2]) + s[i, 3] * log(p[i, 3]))),
  list("own p", 1, n, function() p[, 1]**s[, 1] * p[, 2]**s[, 2] * p[, 3]**s[, 3]),
  list("own p", 2, n, function() exp(s[, 1] * log(p[, 1]) + s[, 2] * log(p[, 2]) + s[, 3] * log(p[, 3]))),
  list("block", 1, n, function() for (j in seq_len(n_blocks))
    blocks[j, 1]**rows[, 1] * blocks[j, 2]**rows[, 2] * blocks[j, 3]**rows[, 3]),
  list("block", 2, n, function() for (j in seq_len(n_blocks)) exp(rows %*% log(blocks[j, ])))
)
if (compiled) {
  calls <- c(calls, list(
    list("scalar", 3, few, function() for (i in seq_len(few)) .Call(product_of, s[i, ], p[i, ])),
    list("own p", 3, n, function() .Call(product_each, s, p)),
    list("block", 3, n, function() for (j in seq_len(n_blocks)) .Call(table_probabilities, table, blocks[j, ]))
  ))
}
for (repetition in 0:repeats) {
  for (call in calls) {
    used <- clock(call[[4]])
    if (repetition > 0) {
      keep(what = "table_2", setup = call[[1]], method = call[[2]], `repeat` = repetition, products = n,
           seconds = used * n / call[[3]], scaled = call[[3]] != n)
    }
  }
}
# What the paper compares in words: footnote 11, and the table's weights by apply() and in C. 5,000 calls each.
shares <- c(0.2, 0.3, 0.5)
log_shares <- log(shares)
table <- cbind(rows, exp(lgamma(total + 1) - rowSums(lgamma(rows + 1))))
timed <- list(
  list("dmultinom", full_run, function() dmultinom(x = c(10, 20, 30), prob = shares)),
  list("product", 50000, function() shares[1]**10 * shares[2]**20 * shares[3]**30),
  list("coefficient", 50000, function() exp(lgamma(61) - sum(lgamma(c(11, 21, 31))))),
  list("weights by apply", 10, function() apply(table, 1, function(s) s[4] * exp(sum(s[1:3] * log_shares))))
)
if (compiled) {
  timed <- c(timed, list(
    list("weights in C", 500, function() .Call(table_probabilities, table, shares)),
    list("weights in C by powers", 500, function() .Call(table_powers, table, shares))
  ))
}
for (repetition in 0:repeats) {
  for (one in timed) {
    call <- one[[3]]
    used <- clock(function() for (i in seq_len(one[[2]])) call())
    if (repetition > 0) {
      keep(what = "calls", method = one[[1]], `repeat` = repetition, total = total, rows = nrow(rows),
           seconds = used * full_run / one[[2]], scaled = one[[2]] != full_run)
    }
  }
}
write.csv(do.call(rbind, found), out, row.names = FALSE, na = "", quote = TRUE)
