/* Logs of binomial and hypergeometric probabilities without cancellation, in Loader's (2000) saddle-point form:

   log Bin(x; n, p) = stirling(n) - stirling(x) - stirling(n - x) - deviance(x, n p) - deviance(n - x, n q)
                      + log(n/(2 pi x (n - x)))/2,

   where every term is small near the mean. The relative error of the probability is therefore about 1e-16 times its
   log, for any n. */
#ifndef DPM_LOADER_H
#define DPM_LOADER_H

#include <math.h>

/* log x! minus Stirling's formula x log x - x + log(2 pi x)/2, for x = 0 .. 15. */
static const double dpm_stirling_table[16] = {
    0.0, 0.08106146679532725822, 0.041340695955409294094, 0.027677925684998339149,
    0.020790672103765093112, 0.016644691189821192163, 0.013876128823070747999, 0.011896709945891770095,
    0.010411265261972096497, 0.0092554621827127329177, 0.0083305634333628712565, 0.007573675487951840795,
    0.0069428401072095298657, 0.0064089941880042070684, 0.0059513701127588477356, 0.005554733551962801371
};

/* The same difference for any integer x >= 0; from 16 on, by the asymptotic series. */
static inline double dpm_stirling(double x) {
    double s;
    if (x < 16.0)
        return dpm_stirling_table[(int)x];
    s = x * x;
    return (1.0 / 12 - (1.0 / 360 - (1.0 / 1260 - (1.0 / 1680 - 1.0 / 1188 / s) / s) / s) / s) / x;
}

/* x log(x/mean) + mean - x >= 0, by its power series if x is near the mean. */
static inline double dpm_deviance(double x, double mean) {
    double gap = x - mean, v, term, total, before;
    int j = 3;
    if (fabs(gap) >= 0.1 * (x + mean))
        return x * log(x / mean) + mean - x;
    v = gap / (x + mean);
    total = gap * v;
    term = 2.0 * x * v;
    v *= v;
    for (;; j += 2) {
        term *= v;
        before = total;
        total += term / j;
        if (total == before)
            return total;
    }
}

/* log C(n, x) p^x q^(n - x) for integers 0 <= x <= n, p + q = 1; -inf for other x. */
static inline double dpm_log_binomial(double x, double n, double p, double q) {
    if (x < 0.0 || x > n)
        return -INFINITY;
    if (n == 0.0)
        return 0.0;
    if (p <= 0.0 || q <= 0.0)
        return x == (p <= 0.0 ? 0.0 : n) ? 0.0 : -INFINITY;
    if (x == 0.0)
        return n * (p < 0.1 ? log1p(-p) : log(q));
    if (x == n)
        return n * (q < 0.1 ? log1p(-q) : log(p));
    return dpm_stirling(n) - dpm_stirling(x) - dpm_stirling(n - x) - dpm_deviance(x, n * p)
        - dpm_deviance(n - x, n * q) + 0.5 * log(n / (6.283185307179586476925 * x * (n - x)));
}

/* log C(marked, x) C(n - marked, drawn - x)/C(n, drawn) = log Bin(x; marked, p) Bin(drawn - x; n - marked, p)
   /Bin(drawn; n, p) with p = drawn/n; -inf if the probability is 0. */
static inline double dpm_log_hypergeometric(double x, double n, double marked, double drawn) {
    double p, q;
    if (x < 0.0 || x > marked || drawn < x || drawn - x > n - marked)
        return -INFINITY;
    if (drawn == 0.0 || drawn == n)
        return 0.0;
    p = drawn / n;
    q = (n - drawn) / n;
    return dpm_log_binomial(x, marked, p, q) + dpm_log_binomial(drawn - x, n - marked, p, q)
        - dpm_log_binomial(drawn, n, p, q);
}

#endif
