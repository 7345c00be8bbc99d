# Measured baseline in base R: the algorithms of Balmat et al. (2018), written anew for timing.
# Rscript balmat2018_baseline.R OUT total,.. epsilon,.. iterations products repeats seed
args <- commandArgs(trailingOnly = TRUE)
numbers <- function(text) as.numeric(strsplit(text, ",")[[1]])
out <- args[1]
totals <- numbers(args[2])
epsilons <- numbers(args[3])
iterations <- as.integer(args[4])
products <- as.integer(args[5])
repeats <- as.integer(args[6])
set.seed(as.integer(args[7]))
full_run <- 5000

clock <- function(expression) {
  start <- proc.time()[["elapsed"]]
  force(expression)
  proc.time()[["elapsed"]] - start
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
              epsilon = NA, vector = NA, seconds = NA, products = NA, scaled = FALSE, note = "")
  given <- list(...)
  row[names(given)] <- given
  found[[length(found) + 1]] <<- as.data.frame(row, check.names = FALSE)
}

# Figure 3: the standard algorithm (dmultinom for every row) and the table with a vectorised exp.
for (total in totals) {
  rows <- all_rows(total)
  log_table <- lgamma(total + 1) - rowSums(lgamma(rows + 1))
  for (epsilon in epsilons) {
    scale <- 2 / epsilon
    noisy <- as.vector(rmultinom(1, total, dirichlet(c(1, 1, 1)))) + laplace(3, scale)
    noise <- log_noise(noisy, rows, scale)
    standard <- function(p) apply(rows, 1, function(s) dmultinom(s, prob = p, log = TRUE))
    table <- function(p) as.vector(log_table + rows %*% log(p))
    n <- max(2, round(iterations * 231 / nrow(rows)))
    keep(what = "figure_3", method = "standard (R dmultinom)", total = total, rows = nrow(rows), epsilon = epsilon,
         vector = 0, seconds = clock(chain(rows, noise, standard, n)) * full_run / n, scaled = TRUE)
    n <- 20 * iterations
    keep(what = "figure_3", method = "table (R)", total = total, rows = nrow(rows), epsilon = epsilon,
         vector = 0, seconds = clock(chain(rows, noise, table, n)) * full_run / n, scaled = TRUE)
  }
}

# Table 2: products p1^S1 p0^S0 pe^Se. Method 3 is C, where this R can compile it.
c_source <- "
#include <math.h>
void product_each(double *s, double *p, int *n, double *out) {
  for (int i = 0; i < *n; i++)
    out[i] = exp(s[i] * log(p[i]) + s[i + *n] * log(p[i + *n]) + s[i + 2 * *n] * log(p[i + 2 * *n]));
}
void product_block(double *s, double *p, int *n, double *out) {
  double a = log(p[0]), b = log(p[1]), c = log(p[2]);
  for (int i = 0; i < *n; i++) out[i] = exp(s[i] * a + s[i + *n] * b + s[i + 2 * *n] * c);
}"
folder <- tempfile("products")
dir.create(folder)
source_file <- file.path(folder, "products.c")
writeLines(c_source, source_file)
compiled <- suppressWarnings(system2(file.path(R.home("bin"), "R"), c("CMD", "SHLIB", shQuote(source_file)),
                                     stdout = FALSE, stderr = FALSE)) == 0
if (compiled) dyn.load(sub("\\.c$", .Platform$dynlib.ext, source_file))

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
n <- nrow(s)
few <- min(n, 20000L)
for (repetition in seq_len(repeats) - 1) {
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
    one <- double(1)
    calls <- c(calls, list(
      list("scalar", 3, few, function() for (i in seq_len(few)) .C("product_each", s[i, ], p[i, ], 1L, out = one)),
      list("own p", 3, n, function() .C("product_each", s, p, n, out = double(n))),
      list("block", 3, n, function() for (j in seq_len(n_blocks))
        .C("product_block", rows, blocks[j, ], nrow(rows), out = double(nrow(rows))))
    ))
  }
  for (call in calls) {
    keep(what = "table_2", setup = call[[1]], method = call[[2]], `repeat` = repetition, products = n,
         seconds = clock(call[[4]]()) * n / call[[3]], scaled = call[[3]] != n)
  }
}
write.csv(do.call(rbind, found), out, row.names = FALSE, na = "", quote = TRUE)
