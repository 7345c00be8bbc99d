/* Windows of convolutions and correlations of non-negative numbers, 64 neighbouring sums at a time. This loop takes
   most of the time for trees. Sums of positive products have full relative accuracy. */
#ifndef DPM_TREES_CONVOLUTION_H
#define DPM_TREES_CONVOLUTION_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#define TREES_TILE 64  /* number of sums that are computed together */

/* out[t] += sum_i a[i] b[t - i] for t = 0 .. 63, where every step is a fused multiply-add with one rounding. Blocks of
   64 i are processed by i mod 8, then by i; the remaining i in order. The functions differ only in their registers and
   use the same order, so that results are bit-identical on all machines. Slow without fused multiply-add (before 2013).
   */
static void trees_tile_plain(const double *a, int64_t n, const double *b, double *out) {
    int64_t i = 0;
    for (; i + 64 <= n; i += 64)
        for (int r = 0; r < 8; r++) {
            const double *c = a + i + r, *p = b - i - r;
            for (int t = 0; t < 64; t++) {
                double s = fma(c[8], p[t - 8], fma(c[0], p[t], out[t]));
                s = fma(c[24], p[t - 24], fma(c[16], p[t - 16], s));
                s = fma(c[40], p[t - 40], fma(c[32], p[t - 32], s));
                out[t] = fma(c[56], p[t - 56], fma(c[48], p[t - 48], s));
            }
        }
    for (; i < n; i++)
        for (int t = 0; t < 64; t++)
            out[t] = fma(a[i], b[t - i], out[t]);
}

#if defined(__GNUC__) && defined(__x86_64__)
#include <immintrin.h>

#define TREES_STEP(FMA, weight, q0, q1, q2, q3, q4, q5, q6, q7) \
    w = weight; \
    s0 = FMA(w, q0, s0); s1 = FMA(w, q1, s1); s2 = FMA(w, q2, s2); s3 = FMA(w, q3, s3); \
    s4 = FMA(w, q4, s4); s5 = FMA(w, q5, s5); s6 = FMA(w, q6, s6); s7 = FMA(w, q7, s7);

/* Registers of four numbers: 32 sums at a time. */
__attribute__((target("avx,fma")))
static void trees_tile_four(const double *a, int64_t n, const double *b, double *out) {
    #define TREES_AT(k) _mm256_loadu_pd(p + 4 * (k))
    int64_t j, i, whole = n / 64 * 64;
    const double *p;
    __m256d w, s0, s1, s2, s3, s4, s5, s6, s7;
    for (int half = 0; half < 2; half++, b += 32, out += 32) {
        p = out;
        s0 = TREES_AT(0), s1 = TREES_AT(1), s2 = TREES_AT(2), s3 = TREES_AT(3);
        s4 = TREES_AT(4), s5 = TREES_AT(5), s6 = TREES_AT(6), s7 = TREES_AT(7);
        for (j = 0; j < n; j++) {
            i = j < whole ? j / 64 * 64 + j % 8 * 8 + j / 8 % 8 : j;
            p = b - i;
            TREES_STEP(_mm256_fmadd_pd, _mm256_set1_pd(a[i]), TREES_AT(0), TREES_AT(1), TREES_AT(2), TREES_AT(3),
                       TREES_AT(4), TREES_AT(5), TREES_AT(6), TREES_AT(7))
        }
        _mm256_storeu_pd(out, s0), _mm256_storeu_pd(out + 4, s1);
        _mm256_storeu_pd(out + 8, s2), _mm256_storeu_pd(out + 12, s3);
        _mm256_storeu_pd(out + 16, s4), _mm256_storeu_pd(out + 20, s5);
        _mm256_storeu_pd(out + 24, s6), _mm256_storeu_pd(out + 28, s7);
    }
    #undef TREES_AT
}

/* Registers of eight numbers; the numbers loaded for one i are used again for i + 8, shifted by one register. */
__attribute__((target("avx512f")))
static void trees_tile_eight(const double *a, int64_t n, const double *b, double *out) {
    #define TREES_AT(k) _mm512_loadu_pd(p + 8 * (k))
    #define TREES_NEXT(m, q0, q1, q2, q3, q4, q5, q6, q7) \
        TREES_STEP(_mm512_fmadd_pd, _mm512_set1_pd(c[8 * (m)]), q0, q1, q2, q3, q4, q5, q6, q7)
    int64_t i = 0;
    const double *p = out, *c;
    __m512d w, q0, q1, q2, q3, q4, q5, q6, q7;
    __m512d s0 = TREES_AT(0), s1 = TREES_AT(1), s2 = TREES_AT(2), s3 = TREES_AT(3);
    __m512d s4 = TREES_AT(4), s5 = TREES_AT(5), s6 = TREES_AT(6), s7 = TREES_AT(7);
    for (; i + 64 <= n; i += 64)
        for (int r = 0; r < 8; r++) {
            c = a + i + r, p = b - i - r;
            q0 = TREES_AT(0), q1 = TREES_AT(1), q2 = TREES_AT(2), q3 = TREES_AT(3);
            q4 = TREES_AT(4), q5 = TREES_AT(5), q6 = TREES_AT(6), q7 = TREES_AT(7);
            TREES_NEXT(0, q0, q1, q2, q3, q4, q5, q6, q7)
            q7 = TREES_AT(-1);
            TREES_NEXT(1, q7, q0, q1, q2, q3, q4, q5, q6)
            q6 = TREES_AT(-2);
            TREES_NEXT(2, q6, q7, q0, q1, q2, q3, q4, q5)
            q5 = TREES_AT(-3);
            TREES_NEXT(3, q5, q6, q7, q0, q1, q2, q3, q4)
            q4 = TREES_AT(-4);
            TREES_NEXT(4, q4, q5, q6, q7, q0, q1, q2, q3)
            q3 = TREES_AT(-5);
            TREES_NEXT(5, q3, q4, q5, q6, q7, q0, q1, q2)
            q2 = TREES_AT(-6);
            TREES_NEXT(6, q2, q3, q4, q5, q6, q7, q0, q1)
            q1 = TREES_AT(-7);
            TREES_NEXT(7, q1, q2, q3, q4, q5, q6, q7, q0)
        }
    for (; i < n; i++) {
        p = b - i;
        TREES_STEP(_mm512_fmadd_pd, _mm512_set1_pd(a[i]), TREES_AT(0), TREES_AT(1), TREES_AT(2), TREES_AT(3),
                   TREES_AT(4), TREES_AT(5), TREES_AT(6), TREES_AT(7))
    }
    _mm512_storeu_pd(out, s0), _mm512_storeu_pd(out + 8, s1);
    _mm512_storeu_pd(out + 16, s2), _mm512_storeu_pd(out + 24, s3);
    _mm512_storeu_pd(out + 32, s4), _mm512_storeu_pd(out + 40, s5);
    _mm512_storeu_pd(out + 48, s6), _mm512_storeu_pd(out + 56, s7);
    #undef TREES_NEXT
    #undef TREES_AT
}

static void trees_tile(const double *a, int64_t n, const double *b, double *out) {
    if (__builtin_cpu_supports("avx512f"))
        trees_tile_eight(a, n, b, out);
    else if (__builtin_cpu_supports("fma"))
        trees_tile_four(a, n, b, out);
    else
        trees_tile_plain(a, n, b, out);
}
#else
#define trees_tile trees_tile_plain
#endif

/* Return the length of the work space for a convolution, or a correlation, of na numbers with nb numbers. */
static inline int64_t trees_room(int64_t na, int64_t nb) {
    return na + 2 * nb + 2 * TREES_TILE;
}

/* out[k - first] = sum_i a[i] b[k - i] for k = first .. last; 0 outside the range of the full convolution. */
static inline void trees_convolve(const double *a, int64_t na, const double *b, int64_t nb, int64_t first,
                                  int64_t last, double *spare, double *out) {
    double rest[TREES_TILE], *sums;
    int64_t k, begin, end;
    if (na > nb) {  /* let a be the shorter array */
        const double *longer = a;
        int64_t length = na;
        a = b, b = longer;
        na = nb, nb = length;
    }
    memset(out, 0, (size_t)(last - first + 1) * sizeof(double));
    /* The longer array between two tiles of zeros, because the tiles extend beyond both of its ends. */
    memset(spare, 0, TREES_TILE * sizeof(double));
    spare += TREES_TILE;
    memcpy(spare, b, (size_t)nb * sizeof(double));
    memset(spare + nb, 0, TREES_TILE * sizeof(double));
    for (k = first; k <= last; k += TREES_TILE) {
        sums = out + k - first;
        if (k + TREES_TILE - 1 > last) {  /* the last tile is longer than the rest of `out` */
            sums = rest;
            memset(rest, 0, sizeof(rest));
        }
        begin = k - nb + 1 > 0 ? k - nb + 1 : 0; /* i for which b[k - i] .. b[k + 63 - i] are not all 0 */
        end = na < k + TREES_TILE ? na : k + TREES_TILE;
        trees_tile(a + begin, end - begin, spare + k - begin, sums);
        if (sums == rest)
            memcpy(out + k - first, rest, (size_t)(last - k + 1) * sizeof(double));
    }
}

/* out[k] = sum_r a(low + k + r) b(r), k < size, for arrays with first entries a(low_a) and b(low_b). */
static inline void trees_correlate(const double *a, int64_t na, int64_t low_a, const double *b, int64_t nb,
                                   int64_t low_b, int64_t low, int64_t size, double *spare, double *out) {
    int64_t first = low + low_b + nb - 1 - low_a;
    for (int64_t r = 0; r < nb; r++) /* a convolution with b reversed */
        spare[r] = b[nb - 1 - r];
    trees_convolve(a, na, spare, nb, first, first + size - 1, spare + nb, out);
}

#endif
