/* Double sums of a(k) b(l) c(k + l) over two bell-shaped sequences a and b, the sides, each with a stride, and the
   share of arrangements g(k, i) that belongs to a side. The derivation is in swap_crossings.pyx. */
#ifndef DPM_DOUBLE_SUMS_H
#define DPM_DOUBLE_SUMS_H

#include <math.h>
#include <stdint.h>

enum {
    DPM_SETTLED = 20,            /* from this k on, g(k, 0) is 1/e */
    DPM_SHORT = 48,              /* ranges up to this length are summed completely */
    DPM_TABLED = 2048,           /* length of a table: 25 standard deviations on either side of the mode */
    DPM_HALF = DPM_TABLED / 2,   /* index of the mode in the table of a side */
    DPM_TERMS = 24,              /* terms of the series of g(k, i) */
    DPM_SPARE = 16,              /* added to 9.5 standard deviations, for the skewness of small counts */
    DPM_NEAR = 8                 /* added to 9.5 standard deviations, to decide whether a range ends early */
};

typedef struct {
    double *values;  /* a or b, later multiplied by g; DPM_TABLED numbers */
    int64_t mode, first, last, stride;
} dpm_side;

/* Values of a side, with a pointer such that index k is the value at k. */
static inline double *dpm_values(const dpm_side *side) {
    return side->values + DPM_HALF - side->mode;
}

/* log g(k, i), g(k, i) = sum_f (-1)^f/f! prod_{l < f} (k - i - l)/(k - l) */
static inline double dpm_log_share(double k, double i) {
    double total = 1.0, term = 1.0, left = k - i;
    if (left <= 0.0)
        return 0.0;
    if (k == 1.0)
        return -INFINITY;
    for (int f = 0; f < DPM_TERMS; f++) {
        term *= -(left - f) / ((k - f) * (f + 1));
        total += term;
        if (fabs(term) < 1e-19 || f + 1 >= left)
            break;
    }
    return log(total);
}

/* Return the real k in [i, size] at which the terms of w_i stop increasing, given the k of the other side. */
static inline double dpm_balance(double size, double i, double odds, double other) {
    double b = odds * (size + 1.0) + i - other;
    double root = (b + sqrt(b * b + 4.0 * (1.0 + odds) * i * other)) / (2.0 * (1.0 + odds));
    return !(root > i) ? i : root > size ? size : root;
}

/* Tabulate the values around the mode until they are negligible; return 0 if they do not fit into the table. */
static inline int dpm_tabulate(dpm_side *side, double size, double i, double odds, double scale) {
    int64_t k = side->mode, low = (int64_t)i, high = (int64_t)size;
    double value = 1.0, *values = dpm_values(side);
    /* upwards by the ratio odds (size - k)(k + 1)/((k + 1 - i) scale), then downwards */
    values[k] = 1.0;
    while (k < high && value > 1e-20) {
        value *= odds * (size - k) * (k + 1.0) / ((k + 1.0 - i) * scale);
        k++;
        if (k - side->mode >= DPM_HALF)
            return 0;
        values[k] = value;
    }
    side->last = k;
    k = side->mode;
    value = 1.0;
    while (k > low && value > 1e-20) {
        k--;
        value *= (k + 1.0 - i) * scale / (odds * (size - k) * (k + 1.0));
        if (side->mode - k >= DPM_HALF)
            return 0;
        values[k] = value;
    }
    side->first = k;
    return 1;
}

/* g(k, i) times the values at the nodes of a side (mode plus multiples of the stride), without gaps, from the smallest
   node on. `first` and `last` are set to the outermost nodes. */
static inline void dpm_shares(dpm_side *side, double i, double *term, double *total) {
    int64_t below = (side->mode - side->first) / side->stride, count, j;
    double k, *values = dpm_values(side);
    side->first = side->mode - below * side->stride;
    count = below + (side->last - side->mode) / side->stride + 1;
    side->last = side->first + (count - 1) * side->stride;
    /* the series of g(k, i) for all nodes at once */
    for (j = 0; j < count; j++)
        term[j] = total[j] = 1.0;
    for (int64_t f = 0; f < DPM_TERMS; f++)
        for (j = 0; j < count; j++) {
            k = (double)(side->first + j * side->stride);
            term[j] *= (i + f - k) / (fmax(k - f, 1.0) * (f + 1.0));
            total[j] += term[j];
        }
    for (j = 0; j < count; j++)
        total[j] *= values[side->first + j * side->stride];
}

/* c(k) of w_i for k = first .. last, where the factor other than 1/g is 1 at the mode; `values` begins at first. */
static inline void dpm_joint_factors(const double *inverse_share, int64_t mode, int64_t first, int64_t last,
                                     double *values) {
    int64_t k;
    double value = 1.0, scale = mode + 1.0;
    values[mode - first] = 1.0;
    for (k = mode; k < last; k++) {
        value *= scale / (k + 1.0);
        values[k + 1 - first] = value;
    }
    value = 1.0;
    for (k = mode - 1; k > first - 1; k--) {
        value *= (k + 1.0) / scale;
        values[k - first] = value;
    }
    for (k = first; k <= last; k++)
        values[k - first] *= k < DPM_SETTLED ? inverse_share[k] : 2.718281828459045;
}

/* Return whether a sum has a relative error below 1e-14, if its even and odd nodes differ by a relative `error`. */
static inline int dpm_enough(int64_t stride, double error) {
    double lost = cos(3.141592653589793 / (2 * stride));
    return stride == 1 || error <= 2.0 * pow(0.5e-14, 1.0 / (4.0 * lost * lost));
}

/* Return the stride of a side: 1 for a short range and for a range that ends before its values are negligible. */
static inline int64_t dpm_stride(const dpm_side *side, double sd, int64_t low, int64_t high) {
    const double *values = dpm_values(side);
    int64_t stride = (int64_t)(sd / 1.6);
    if (side->last - side->first <= DPM_SHORT || (side->first == low && values[low] > 1e-19))
        return 1;
    if (side->last == high && values[high] > 1e-19)
        return 1;
    return stride > 1 ? stride : 1;
}

/* Set the range and stride of a side (stride 1 if the range ends early); return 0 if the range is too long. */
static inline int dpm_range(dpm_side *side, double sd, int64_t low, int64_t high, double strided) {
    double reach = 9.5 * sd + DPM_SPARE;
    int64_t stride = (int64_t)(strided / 1.6);
    if (!(reach < DPM_HALF))
        return 0;
    side->first = side->mode - (int64_t)reach > low ? side->mode - (int64_t)reach : low;
    side->last = side->mode + (int64_t)reach < high ? side->mode + (int64_t)reach : high;
    side->stride = stride > 1 ? stride : 1;
    if (side->last - side->first <= DPM_SHORT || side->mode - low < 9.5 * sd + DPM_NEAR
        || high - side->mode < 9.5 * sd + DPM_NEAR)
        side->stride = 1;
    return 1;
}

/* Copy the values at the nodes, without gaps; `first` and `last` are set to the outermost nodes. */
static inline void dpm_nodes_of(dpm_side *side, double *out) {
    int64_t below = (side->mode - side->first) / side->stride, above = (side->last - side->mode) / side->stride;
    const double *values = dpm_values(side);
    side->first = side->mode - below * side->stride;
    side->last = side->mode + above * side->stride;
    for (int64_t j = 0; j < below + above + 1; j++)
        out[j] = values[side->first + j * side->stride];
}

/* Return sum a b c over the nodes; `errors`: relative difference of even and odd nodes of the first side, and the
   largest of the second side. */
static inline double dpm_double_sum(const dpm_side *one, const dpm_side *two, const double *mine, const double *theirs,
                                    const double *both, double *errors) {
    int64_t j, l, step = two->stride;
    int64_t count = (one->last - one->first) / one->stride + 1, inner = (two->last - two->first) / step + 1;
    double even, odd, apart, total = 0.0, difference = 0.0, largest = 0.0;
    const double *c;
    errors[1] = 0.0;
    for (j = 0; j < count; j++) {
        /* inner sum over the second side at even and at odd nodes */
        even = odd = 0.0;
        c = both + j * one->stride;
        for (l = 0; l < inner - 1; l += 2) {
            even += theirs[l] * c[l * step];
            odd += theirs[l + 1] * c[(l + 1) * step];
        }
        if (inner % 2)
            even += theirs[inner - 1] * c[(inner - 1) * step];
        /* outer sum, and the differences between even and odd nodes of both indices */
        total += mine[j] * (even + odd);
        difference += mine[j] * (even + odd) * (1 - 2 * (j % 2));
        largest = mine[j] * (even + odd) > largest ? mine[j] * (even + odd) : largest;
        if (mine[j] * (even + odd) > 1e-15 * largest) {
            apart = fabs(even - odd) / (even + odd);
            errors[1] = apart > errors[1] ? apart : errors[1];
        }
    }
    errors[0] = fabs(difference) / total;
    return total;
}

/* Return the sum of the outermost terms, except at ends of the support, given by bits 0 and 1 of lows and highs. */
static inline double dpm_ends(const dpm_side *one, const dpm_side *two, const double *mine, const double *theirs,
                              const double *both, int64_t lows, int64_t highs) {
    int64_t count = (one->last - one->first) / one->stride, inner = (two->last - two->first) / two->stride, j;
    double total = 0.0;
    for (j = 0; j <= count; j++) {
        if (!(lows & 2))
            total += mine[j] * theirs[0] * both[j * one->stride];
        if (!(highs & 2))
            total += mine[j] * theirs[inner] * both[j * one->stride + inner * two->stride];
    }
    for (j = 0; j <= inner; j++) {
        if (!(lows & 1))
            total += mine[0] * theirs[j] * both[j * two->stride];
        if (!(highs & 1))
            total += mine[count] * theirs[j] * both[count * one->stride + j * two->stride];
    }
    return total;
}

#endif
