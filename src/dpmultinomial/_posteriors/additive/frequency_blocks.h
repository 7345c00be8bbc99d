/* Products of complex numbers for one block of frequencies: loops that compilers can vectorise. */
#ifndef DPM_FREQUENCY_BLOCKS_H
#define DPM_FREQUENCY_BLOCKS_H

#include <math.h>

#define BLOCK 32
#define PAIR 64  /* BLOCK real parts, then BLOCK imaginary parts */
#if defined(_MSC_VER)
#define ALONE __restrict
#else
#define ALONE __restrict__
#endif

/* out = a b, out += a b, out += weight a, out = weight a, out = a, out = value; out must not overlap an input */

static inline void c_times(const double *ALONE a, const double *ALONE b, double *ALONE out) {
    for (int k = 0; k < BLOCK; k++) {
        double re = a[k] * b[k] - a[k + BLOCK] * b[k + BLOCK];
        out[k + BLOCK] = a[k] * b[k + BLOCK] + a[k + BLOCK] * b[k];
        out[k] = re;
    }
}

static inline void c_add_times(const double *ALONE a, const double *ALONE b, double *ALONE out) {
    for (int k = 0; k < BLOCK; k++) {
        out[k] += a[k] * b[k] - a[k + BLOCK] * b[k + BLOCK];
        out[k + BLOCK] += a[k] * b[k + BLOCK] + a[k + BLOCK] * b[k];
    }
}

static inline void c_add_scaled(double weight, const double *ALONE a, double *ALONE out) {
    for (int k = 0; k < PAIR; k++) out[k] += weight * a[k];
}

static inline void c_scaled(double weight, const double *ALONE a, double *ALONE out) {
    for (int k = 0; k < PAIR; k++) out[k] = weight * a[k];
}

/* out = real part of a b, then absolute value of a b */
static inline void c_real_and_size(const double *ALONE a, const double *ALONE b, double *ALONE out) {
    for (int k = 0; k < BLOCK; k++) {
        double re = a[k] * b[k] - a[k + BLOCK] * b[k + BLOCK];
        double im = a[k] * b[k + BLOCK] + a[k + BLOCK] * b[k];
        out[k] = re;
        out[k + BLOCK] = sqrt(re * re + im * im);
    }
}

static inline void c_copy(const double *ALONE a, double *ALONE out) {
    for (int k = 0; k < PAIR; k++) out[k] = a[k];
}

static inline void c_fill(double value, double *ALONE out) {
    for (int k = 0; k < BLOCK; k++) { out[k] = value; out[k + BLOCK] = 0.0; }
}

#endif
