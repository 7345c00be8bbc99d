/* exp of linear functions of many rows, the loop that takes most of the time of a Gibbs sampler over a table. */
#ifndef DPM_ROW_WEIGHTS_H
#define DPM_ROW_WEIGHTS_H

#include <stdint.h>
#include <string.h>

#ifdef _MSC_VER
#define GIBBS_INLINE static __forceinline
#define restrict __restrict
#else
#define GIBBS_INLINE static inline __attribute__((always_inline))
#endif

/* weights[r] = exp(l[r] - largest l), l[r] = first[r] + sum_i x[i, r] log_p[i], for n rows; sums[b]: sum of the
   first 64 (b + 1) weights. The exponential is 2^m e^f, |f| < .35, by a polynomial, with an error of 2 units in the
   last place; it is 0 below e^-709. The loops contain only products and sums, of which a processor computes several
   at once. */
GIBBS_INLINE void gibbs_body(const double *restrict first, const double *restrict x, const double *restrict log_p,
                             int64_t k, int64_t n, double *restrict weights, double *restrict sums) {
    const double whole = 6755399441055744.0;     /* 1.5 * 2^52; a number added to it is rounded to an integer */
    const double least = -709.0895657128241;  /* -1023 log 2, where 2^m has exponent bits 0 */
    double lane[8], most, running = 0.0, v, m, f, e;
    int64_t r, i, j, end, bits;
    for (int64_t start = 0; start < n; start += 512) {
        end = n - start < 512 ? n : start + 512;
        for (r = start; r < end; r++)
            weights[r] = first[r] + x[r] * log_p[0];
        for (i = 1; i < k; i++)
            for (r = start; r < end; r++)
                weights[r] += x[i * n + r] * log_p[i];
    }
    for (j = 0; j < 8; j++)
        lane[j] = -1e308;
    for (r = 0; r + 8 <= n; r += 8)
        for (j = 0; j < 8; j++)
            lane[j] = weights[r + j] > lane[j] ? weights[r + j] : lane[j];
    for (; r < n; r++)
        lane[0] = weights[r] > lane[0] ? weights[r] : lane[0];
    most = lane[0];
    for (j = 1; j < 8; j++)
        most = lane[j] > most ? lane[j] : most;
    for (r = 0; r < n; r++) {
        v = weights[r] - most;
        v = v > least ? v : least;
        m = v * 1.4426950408889634 + whole;
        memcpy(&bits, &m, 8);
        m -= whole;
        f = (v - m * 6.93147180369123816490e-01) - m * 1.90821492927058770002e-10;
        e = 1.0 / 479001600;
        e = e * f + 1.0 / 39916800;
        e = e * f + 1.0 / 3628800;
        e = e * f + 1.0 / 362880;
        e = e * f + 1.0 / 40320;
        e = e * f + 1.0 / 5040;
        e = e * f + 1.0 / 720;
        e = e * f + 1.0 / 120;
        e = e * f + 1.0 / 24;
        e = e * f + 1.0 / 6;
        e = e * f + 0.5;
        e = e * f + 1.0;
        e = e * f + 1.0;
        bits = (int64_t)((uint64_t)(bits + 1023) << 52);
        memcpy(&m, &bits, 8);
        weights[r] = e * m;
    }
    for (int64_t start = 0; start < n; start += 64) {
        end = n - start < 64 ? n : start + 64;
        for (j = 0; j < 8; j++)
            lane[j] = 0.0;
        for (r = start; r + 8 <= end; r += 8)
            for (j = 0; j < 8; j++)
                lane[j] += weights[r + j];
        for (; r < end; r++)
            lane[0] += weights[r];
        running += ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
        sums[start / 64] = running;
    }
}

static void gibbs_plain(const double *first, const double *x, const double *log_p, int64_t k, int64_t n,
                        double *weights, double *sums) {
    gibbs_body(first, x, log_p, k, n, weights, sums);
}

/* The same in registers of four numbers. Products and sums are not contracted, so results do not depend on the
   machine. */
#if defined(__GNUC__) && defined(__x86_64__)
__attribute__((target("avx2")))
static void gibbs_four(const double *first, const double *x, const double *log_p, int64_t k, int64_t n,
                       double *weights, double *sums) {
    gibbs_body(first, x, log_p, k, n, weights, sums);
}
#define GIBBS_WEIGHTS (__builtin_cpu_supports("avx2") ? gibbs_four : gibbs_plain)
#else
#define GIBBS_WEIGHTS gibbs_plain
#endif

static void gibbs_weights(const double *first, const double *x, const double *log_p, int64_t k, int64_t n,
                          double *weights, double *sums) {
    GIBBS_WEIGHTS(first, x, log_p, k, n, weights, sums);
}

#endif
