/* Messages of trees: windows of weights with bounds on the weight that they neglect, their truncation, bounds on a
   sum of two messages, sums over a window, and summaries of a distribution. The method is described in
   _sum_product.pyx. */
#ifndef DPM_TREES_MESSAGES_H
#define DPM_TREES_MESSAGES_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "convolution.h"

#define TREES_ROUNDED 1e-10  /* bound on the relative error of a sum, larger than its rounding error */
#define TREES_TERMS 5e10     /* largest number of terms of one sum: more take minutes */
#define TREES_TIE 1e-12     /* relative tolerance of a probability, for ties between sums of rounded numbers */

typedef struct {
    int64_t at, low, size;              /* position in the store, first count, length */
    int64_t left, right;  /* the two pieces whose sum this piece is; -1: a child */
    int64_t least, most;                /* sums of the first counts and of the last counts of the children */
    double centre, variance, log_scale;  /* centre: the mean; for a sum, the mean of its parts before truncation */
    double error[2];
    double mass[2];
    double spill, peak;
} trees_piece;

typedef struct {
    double *data;
    int64_t used, room;
} trees_store;

static inline double trees_min(double a, double b) {
    return b < a ? b : a;
}

static inline double trees_max(double a, double b) {
    return b > a ? b : a;
}

/* Sums over a window of n values. */

/* Return the sum of the values, by four running sums. */
static inline double trees_sum(const double *values, int64_t n) {
    double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
    int64_t i = 0;
    for (; i + 3 < n; i += 4) {
        s0 += values[i];
        s1 += values[i + 1];
        s2 += values[i + 2];
        s3 += values[i + 3];
    }
    for (; i < n; i++)
        s0 += values[i];
    return (s0 + s1) + (s2 + s3);
}

/* Return the sum of the values times their distance from `centre`, or its square, by four running sums. */
static inline double trees_about(const double *values, int64_t n, double centre, int squared) {
    double gap, sums[4] = {0.0, 0.0, 0.0, 0.0};
    for (int64_t i = 0; i < n - 3; i += 4)
        for (int64_t j = 0; j < 4; j++) {
            gap = i + j - centre;
            sums[j] += (squared ? gap * gap : gap) * values[i + j];
        }
    for (int64_t i = n - n % 4; i < n; i++) {
        gap = i - centre;
        sums[0] += (squared ? gap * gap : gap) * values[i];
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

static inline double trees_highest(const double *values, int64_t n) {
    double m0 = 0.0, m1 = 0.0, m2 = 0.0, m3 = 0.0;
    int64_t k = 0;
    for (; k + 3 < n; k += 4) {
        m0 = trees_max(m0, values[k]);
        m1 = trees_max(m1, values[k + 1]);
        m2 = trees_max(m2, values[k + 2]);
        m3 = trees_max(m3, values[k + 3]);
    }
    for (; k < n; k++)
        m0 = trees_max(m0, values[k]);
    return trees_max(trees_max(m0, m1), trees_max(m2, m3));
}

/* Divide by the largest value, unless all are 0. */
static inline void trees_largest_one(double *values, int64_t n) {
    double most = 0.0;
    int64_t k;
    for (k = 0; k < n; k++)
        most = trees_max(most, values[k]);
    if (most > 0.0)
        for (k = 0; k < n; k++)
            values[k] /= most;
}

/* Return the length that remains if at most `most` is dropped at each end, and its start in `begin`. */
static inline int64_t trees_cut(const double *values, int64_t n, double most, int64_t *begin) {
    int64_t i = 0, j = n;
    double dropped = values[0];
    while (i < n - 1 && dropped <= most) /* from the lower end, as long as the dropped sum is small enough */
        dropped += values[++i];
    dropped = values[n - 1]; /* then from the upper end */
    while (j > i + 1 && dropped <= most)
        dropped += values[--j - 1];
    *begin = i;
    return j - i;
}

/* Messages. A message is normalised to sum 1 under the tilt of its family. `error` bounds the weight neglected in its
   subtree and `mass` the weight it contains, both under the tilt minus and plus the slack, relative to the sum; `spill`
   and `peak` are the same at any single count, under the tilt itself. */

/* Return the position of `size` new numbers, or -1 if there is not enough memory. Pointers into the store become
   invalid. */
static inline int64_t trees_take(trees_store *store, int64_t size) {
    int64_t room = store->room, place = store->used;
    double *data;
    if (place + size > room) {
        room = place + size > 2 * room ? place + size : 2 * room;
        room = room > 4096 ? room : 4096;
        data = (double *)realloc(store->data, (size_t)room * sizeof(double));
        if (data == NULL)
            return -1;
        store->data = data;
        store->room = room;
    }
    store->used += size;
    return place;
}

/* Return a bound under the tilt itself, from the bounds on both sides of the tilt: cosh >= 1. */
static inline double trees_mean(const double *sides) {
    return 0.5 * (sides[0] + sides[1]);
}

/* `trees_cut` with the lower end under the tilt minus the slack, and the upper end under the tilt plus the slack. */
static inline int64_t trees_cut_tilted(const double *values, const trees_piece *piece, double drop, double slack,
                                       int64_t *begin) {
    int64_t i = 0, j = piece->size, k;
    double down = 0.0, up = 0.0, dropped;
    /* sums under both second tilts, then the ends as in `trees_cut` */
    for (k = 0; k < piece->size; k++) {
        down += values[k] * exp(-slack * (piece->low + k - piece->centre));
        up += values[k] * exp(slack * (piece->low + k - piece->centre));
    }
    dropped = values[0] * exp(-slack * (piece->low - piece->centre));
    while (i < piece->size - 1 && dropped <= drop * down) {
        i++;
        dropped += values[i] * exp(-slack * (piece->low + i - piece->centre));
    }
    dropped = values[j - 1] * exp(slack * (piece->low + j - 1 - piece->centre));
    while (j > i + 1 && dropped <= drop * up) {
        j--;
        dropped += values[j - 1] * exp(slack * (piece->low + j - 1 - piece->centre));
    }
    *begin = i;
    return j - i;
}

/* Add the weights dropped from `first` to before `last`: the largest, and the sums under both second tilts. */
static inline void trees_drop(const double *values, const trees_piece *piece, int64_t first, int64_t last, double slack,
                              double *most, double *dropped) {
    for (int64_t k = first; k < last; k++) {
        *most = trees_max(*most, values[k]);
        for (int64_t side = 0; side < 2; side++)
            dropped[side] += values[k] * (slack > 0.0
                                          ? exp((2 * side - 1) * slack * (piece->low + k - piece->centre)) : 1.0);
    }
}

/* Truncate both ends, normalise to sum 1, and update the bounds by the dropped weights. */
static inline void trees_scale(trees_piece *piece, const trees_store *store, double drop, double slack) {
    double *values = store->data + piece->at, kept, most = 0.0, dropped[2] = {0.0, 0.0};
    int64_t begin, size, k, side;
    /* the window that is kept: counts begin .. begin + size - 1 of the message */
    if (slack > 0.0)
        size = trees_cut_tilted(values, piece, drop, slack, &begin);
    else
        size = trees_cut(values, piece->size, drop * trees_sum(values, piece->size), &begin);
    kept = trees_sum(values + begin, size);
    /* the dropped weights: the largest one, and the sums under both second tilts */
    trees_drop(values, piece, 0, begin, slack, &most, dropped);
    trees_drop(values, piece, begin + size, piece->size, slack, &most, dropped);
    /* normalise to sum 1; bounds are relative to the sum */
    for (k = begin; k < begin + size; k++)
        values[k] /= kept;
    for (side = 0; side < 2; side++) {
        piece->error[side] = (piece->error[side] + dropped[side]) / kept;
        piece->mass[side] /= kept;
    }
    piece->spill = trees_min((piece->spill + most) / kept, trees_mean(piece->error));
    piece->peak /= kept;
    piece->at += begin;
    piece->low += begin;
    piece->size = size;
    piece->log_scale += log(kept);
}

/* Restrict a message to counts least .. most; other counts do not occur in any sum that is kept. */
static inline void trees_clip(trees_piece *piece, int64_t least, int64_t most) {
    if (piece->low < least) {
        piece->at += least - piece->low;
        piece->size -= least - piece->low;
        piece->low = least;
    }
    piece->size = most - piece->low + 1 < piece->size ? most - piece->low + 1 : piece->size;
}

/* Set all fields of the sum of two pieces, except its window. */
static inline void trees_heads(const trees_piece *a, const trees_piece *b, trees_piece *out) {
    double lost = trees_mean(a->error), lost_too = trees_mean(b->error);
    double held = trees_mean(a->mass), held_too = trees_mean(b->mass);
    out->peak = trees_min(a->peak * held_too, held * b->peak);
    out->spill = trees_min(a->peak * lost_too, held * b->spill);
    out->spill += trees_min(a->spill * (held_too + lost_too), lost * (b->peak + b->spill));
    out->least = a->least + b->least;
    out->most = a->most + b->most;
    out->centre = a->centre + b->centre;
    out->variance = a->variance + b->variance;
    out->log_scale = 0.0;
    for (int64_t side = 0; side < 2; side++) {
        out->mass[side] = a->mass[side] * b->mass[side];
        out->error[side] = a->mass[side] * b->error[side] + a->error[side] * (b->mass[side] + b->error[side]);
    }
}

/* Bound the weight of a sum at any single count by the largest weight in its window, or by all weight outside. */
static inline void trees_peak_of_sum(trees_piece *out, const double *values) {
    double held = trees_mean(out->mass), outside;
    outside = trees_max(held - trees_sum(values, out->size), 0.0) + TREES_ROUNDED * held;
    out->peak = trees_min(out->peak, trees_max(trees_highest(values, out->size), outside));
}

/* Add pieces in pairs until one is left; sums of all pieces outside low .. high are not needed. Returns the number of
   pieces, the last of which is the sum (its window is only filled if `top`); 0 if a window is empty, -1 if there is not
   enough memory, -2 if a sum has too many terms. */
static inline int64_t trees_merge(trees_piece *pieces, int64_t size, int64_t low, int64_t high, int top, double drop,
                                  double slack, trees_store *store) {
    int64_t first = 0, last = size, n_pieces = size, i, least = 0, most = 0, offset, spare, end;
    trees_piece *a, *b, *out;
    /* possible counts of a child: the sum minus the smallest, or largest, sum of all others */
    for (i = 0; i < size; i++) {
        pieces[i].least = pieces[i].low;
        pieces[i].most = pieces[i].low + pieces[i].size - 1;
        least += pieces[i].least;
        most += pieces[i].most;
    }
    for (i = 0; i < size; i++) {
        trees_clip(&pieces[i], low - (most - pieces[i].most), high - (least - pieces[i].least));
        if (pieces[i].size < 1)
            return 0;
    }
    while (last - first > 1) { /* one level of the binary tree: pieces first .. last - 1 in pairs */
        for (i = first; i + 1 < last; i += 2) {
            a = &pieces[i], b = &pieces[i + 1], out = &pieces[n_pieces];
            trees_heads(a, b, out);
            out->left = i, out->right = i + 1;
            offset = low - (most - out->most);
            out->low = a->low + b->low > offset ? a->low + b->low : offset;
            end = a->low + a->size + b->low + b->size - 2;
            offset = high - (least - out->least);
            out->size = (end < offset ? end : offset) - out->low + 1;
            if (out->size < 1)
                return 0;
            n_pieces++;
            if (last - first == 2 && !top)
                return n_pieces;
            out->at = trees_take(store, out->size);
            spare = trees_take(store, trees_room(a->size, b->size));
            if (out->at < 0 || spare < 0)
                return -1;
            if ((double)a->size * (double)b->size > TREES_TERMS)
                return -2;
            /* out(k) = sum_i a(i) b(k - i) for the counts of the window */
            offset = out->low - a->low - b->low;
            trees_convolve(store->data + a->at, a->size, store->data + b->at, b->size, offset, offset + out->size - 1,
                           store->data + spare, store->data + out->at);
            store->used = spare;
            trees_peak_of_sum(out, store->data + out->at);
            if (last - first > 2)
                trees_scale(out, store, drop, slack);
        }
        if (i < last) { /* the last piece of an odd number is kept for the next level */
            pieces[n_pieces] = pieces[i];
            pieces[n_pieces].left = -2, pieces[n_pieces].right = i;
            n_pieces++;
        }
        first = last, last = n_pieces;
    }
    return n_pieces;
}

/* Return the sums under the tilt minus and plus the slack. */
static inline void trees_masses(trees_piece *piece, const double *values, double slack) {
    if (slack == 0.0) {
        piece->mass[0] = piece->mass[1] = trees_sum(values, piece->size);
        return;
    }
    for (int64_t side = 0; side < 2; side++) {
        piece->mass[side] = 0.0;
        for (int64_t k = 0; k < piece->size; k++)
            piece->mass[side] += values[k] * exp((2 * side - 1) * slack * (piece->low + k - piece->centre));
    }
}

/* Compute mean and variance of a message. */
static inline void trees_centre(trees_piece *piece, const double *values) {
    double total = trees_sum(values, piece->size), mean = trees_about(values, piece->size, 0.0, 0) / total;
    piece->centre = piece->low + mean;
    piece->variance = trees_about(values, piece->size, mean, 1) / total;
}

/* Summaries of a marginal distribution: probabilities p at low, low + 1, .. */

static inline double trees_digamma(double x) {
    double shift = 0.0, y;
    for (; x < 10.0; x += 1.0)
        shift += 1.0 / x;
    y = 1.0 / (x * x);
    return log(x) - 0.5 / x - y * (1.0 / 12 - y * (1.0 / 120 - y * (1.0 / 252 - y * (1.0 / 240 - y / 132)))) - shift;
}

/* Return E psi(n + shift) */
static inline double trees_expected_digamma(const double *p, int64_t low, int64_t size, double shift) {
    double value = trees_digamma(low + shift), total = 0.0;
    for (int64_t k = 0; k < size; k++) { /* psi(x + 1) = psi(x) + 1/x */
        total += p[k] * value;
        value += 1.0 / (low + k + shift);
    }
    return total;
}

/* Normalise to sum 1; compute mean, sd, and the smallest counts with P(N <= n) >= tail and P(N > n) <= tail. */
static inline void trees_summary(double *p, int64_t low, int64_t size, double tail, double *out) {
    double total = trees_sum(p, size), mean = 0.0, variance = 0.0, running;
    int64_t k;
    for (k = 0; k < size; k++) {
        p[k] /= total;
        mean += k * p[k];
    }
    for (k = 0; k < size; k++)
        variance += (k - mean) * (k - mean) * p[k];
    out[0] = low + mean;
    out[1] = sqrt(variance);
    /* the smallest n with P(N <= n) >= tail */
    running = p[0];
    k = 0;
    while (k < size - 1 && running < tail * (1.0 - TREES_TIE))
        running += p[++k];
    out[2] = (double)(low + k);
    /* the smallest n with P(N > n) <= tail */
    running = 0.0;
    k = size - 1;
    while (k > 0 && running + p[k] <= tail * (1.0 + TREES_TIE))
        running += p[k--];
    out[3] = (double)(low + k);
}

#endif
