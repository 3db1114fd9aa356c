/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inner loops: pointers and sizes, no allocation, no context, no failure, no threads. The scalar file is the
 * specification; the others must agree with it to rounding, and exactly on integer-valued data.
 * Ask once before a loop: const tnp_simd *k = tnp_simd_get(); */
#ifndef TNP_SIMD_H
#define TNP_SIMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TNP_LANES = 8 };   /* right-hand sides that one tridiagonal solve carries side by side */
enum { TNP_PANEL = 64 };  /* columns of a tile that outer_add adds to */
enum { TNP_STRIPE = 96 }; /* columns side by side in products of lists */
enum { TNP_BUNDLE = 32 }; /* samples side by side in coarse products */
enum { TNP_CODES = 256 }; /* centroids that a code of one byte can name */
enum { TNP_BAND = 32 };   /* entries beside the diagonal of a band on either side, and columns of its blocks */
enum { TNP_CHASE = 2 * TNP_BAND - 1 }; /* from (i, j) of a band that is being narrowed to (i, j + 1) */

/* Results of one tridiagonal solve, one value a lane; u = (T + lambda I)^-1 h. */
typedef struct tnp_tri_out {
    double hu[TNP_LANES];  /* h'u */
    double uu[TNP_LANES];  /* u'u */
    double utu[TNP_LANES]; /* u'T u */
} tnp_tri_out;

/* phi at knots, for linear interpolation: value k of phi at knot i is rows[i * pad + k]. Two ways to number the cells
 * of |x|: shift 0, `cells` equal ones on [0, 1], a power of two, and |x| beyond 1 is 1; or by the bits of the float,
 * cell c of |x| is (bits >> shift) - first, its knots are c + 1 and c + 2, and knot 0 is phi(0). */
typedef struct tnp_knots {
    const float *rows;
    size_t rank, pad; /* values of phi, and the same rounded up to 8 */
    uint32_t cells, first;
    int shift;
    bool split; /* an entry becomes phi(max(x, 0)), phi(max(-x, 0)); otherwise sign(x) phi(|x|) */
    bool zero;  /* phi(0) = 0 */
} tnp_knots;

/* Guessed scores of one sample, and how far off they can be: that of class c by off[c] length + reach[c] x_off. */
typedef struct tnp_score_bounds {
    const float *s, *off, *reach; /* classes */
    float length, x_off;
} tnp_score_bounds;

/* Coordinates of a quadratic model with an l1 penalty; columns and move are (rows), a multiple of TNP_LANES. */
typedef struct tnp_descent {
    size_t count, rows;
    const double *a, *bent;     /* (count, rows): columns, and the curvature times them */
    const double *gradient, *w; /* (count): at w */
    const double *inverse;      /* (count): 1 over the diagonal; 0: leave this one as it is */
    double ridge, bound;        /* of the penalty: ridge w^2/2 + bound |w| */
    double *next, *move;        /* (count), (rows): from w to next, and A (next - w) */
} tnp_descent;

/* Loops of dense descriptors (simd_patches.h). A cell is eight values for a pixel, one for each eighth of a circle; cells
 * of a column of pixels lie together, `length` floats from those of the next column. */
typedef struct tnp_patch_loops {
    /* Cells (n, 8) of a column of pixels between two others: the length of the gradient, shared between the two
     * directions next to its angle. Along x it is half (behind - before); along y half the difference of the
     * neighbours, the whole one at the ends. */
    void (*orient)(const float *before, const float *column, const float *behind, float half, size_t n, float *out);
    /* out[i, c] (8), i < n, c < count, rows of `line` floats: the sum over t of weights[t] times cell i of column
     * c step + t, columns being `length` floats. Up to 15 cells behind the n-th are read. */
    void (*across)(const float *cells, size_t length, const float *weights, size_t taps, size_t step, size_t count,
                   size_t n, size_t line, float *out);
    /* out[r] (line), r < count: the sum over t of weights[t] times row r step + t. line is a multiple of 16. */
    void (*down)(const float *rows, size_t line, const float *weights, size_t taps, size_t step, size_t count,
                 float *out);
    /* Patch g < count (16, 8), `stride` apart: bin b is from[at[b] + 8 g ..]. */
    void (*gather)(const float *from, const size_t *at, size_t count, size_t stride, float *out);
    /* x window (128) over its length, cut at `most`, of length `factor` then; zero when it was `least` long or less.
     * *sum: of the values. */
    void (*unit)(float *x, const float *window, float least, float most, float factor, float *sum);
} tnp_patch_loops;

enum { TNP_MOST_HIGHEST = 16, TNP_ABREAST = 32 }; /* TNP_ABREAST: rows of a panel */

/* What pairs of a row and a component have, what the rows are compared with, and where it is added. */
typedef struct tnp_pull {
    const float *q, *slope, *mean;    /* of pairs, of pairs, of rows */
    const float *m, *inverse, *a, *b; /* of columns */
    float *first, *second, *out;      /* of columns, of columns, rows of them */
} tnp_pull;

/* Loops around mixtures and vocabularies (simd_mixture.h). */
typedef struct tnp_mixture_loops {
    /* Which `count` of n >= count values x + level are highest, at most TNP_MOST_HIGHEST, the highest first; the first
     * of equals. Where too few are numbers, place 0 stands for the others. */
    void (*highest)(const float *x, const float *level, size_t n, size_t count, uint32_t *which);
    /* A panel (d, TNP_ABREAST) of 0 < n <= TNP_ABREAST rows of d values, column by column; rows beyond n are the last. */
    void (*turn)(const float *x, size_t n, size_t d, float *panel);
    /* l[k, i] = whole[k] - (1/2) sum_j (panel[j, i] - means[k, j])^2 inverse[k, j], i < TNP_ABREAST, k < count, at
     * logs + k apart + i; most[i] = max(most[i], l[k, i]). */
    void (*densities)(const float *panel, size_t d, size_t count, const float *means, const float *inverse,
                      const float *whole, size_t apart, float *logs, float *most);
    /* Of n values x in panels of TNP_ABREAST: bit i of near[p] tells that place i of panel p is at most `reach` below
     * most; where it is, x = exp(x - most), and sum += x. All of the last panel may be written, but only n places are
     * told. */
    void (*weigh)(float *x, size_t n, const float *most, float reach, uint32_t *near, float *sum);
    /* Products x factor at the places of `near`, as weigh left both: their places, counted from base, ascending, and
     * they; *total += their sum. Returns how many. Factors of the last panel beyond n are 0; up to 15 entries behind
     * the last of both outputs are written over. */
    size_t (*share)(const float *x, size_t n, const float *factor, const uint32_t *near, size_t base, uint32_t *which,
                    float *out, float *total);
    /* out[j] = sum z (a + b z) - level, z = x[rows[j]] - m, j < n, rows of d values. Up to the next multiple of four
     * there must be rows behind the last, and is memory for what they give. */
    void (*slopes)(const float *x, size_t d, const uint32_t *rows, size_t n, const float *m, const float *a,
                   const float *b, float level, float *out);
    /* Of `count` pairs as share left them, their places being counted from 0, q what it gave: mean[place] += q slope.
     * Up to 16 entries behind the last of q and slope may be read. */
    void (*spread)(const float *q, const float *slope, const uint32_t *places, size_t count, const uint32_t *near,
                   size_t n, float *mean);
    /* Of the same pairs: out = q (slope - mean[place]); *total += their sum. Up to 16 entries behind the last are written
     * over. */
    void (*bend)(const float *q, const float *slope, const uint32_t *places, size_t count, const uint32_t *near,
                 size_t n, const float *mean, float *out, float *total);
    /* first += sum_j q[j] (x[rows[j]] - m), second += sum_j q[j] (x[rows[j]] - m)^2. */
    void (*add)(const float *x, size_t d, const uint32_t *rows, const float *q, size_t n, const float *m, float *first,
                float *second);
    /* Of pairs j < n with z = x[rows[j]] - m and bend = slope[j] - mean[rows[j]]: out[rows[j]] += q[j] (a + z (2 b - bend
     * inverse)), and, as add, first += q[j] bend z, second += q[j] bend z^2. */
    void (*pull)(const float *x, size_t d, const uint32_t *rows, size_t n, const tnp_pull *pull);
} tnp_mixture_loops;

/* A sum of squares that is none: in a matrix of size 1 nothing depends on it, and what it is divided into overflows. */
#define TNP_BAND_NOTHING 1e-280

/* Loops of the reduction to band and tridiagonal form (simd_band.h). A reflection is I - w w'. Blocks of a band are
 * (TNP_BAND, TNP_BAND) by columns, TNP_CHASE apart. */
typedef struct tnp_band_loops {
    /* c (rows, TNP_BAND) += a b; a_ik is a[i row + k step], b (depth, TNP_BAND), rows of c `stride` apart. */
    void (*block_add)(size_t rows, size_t depth, const double *a, size_t row, size_t step, const double *b, double *c,
                      size_t stride);
    /* c (n, TNP_LANES) -= w w'c. */
    void (*reflect)(size_t n, const double *w, double *c);
    /* The same by the four columns of w (n, 4) in turn; products (4, 4), below its diagonal: w'w. */
    void (*reflect_four)(size_t n, const double *w, const double *products, double *c);
    /* The w (TNP_BAND) that leaves only the first value of x (TNP_BAND), and x so; w is 0 where nothing is to do. */
    void (*reflection)(double *x, double *w);
    /* The lower triangle of d from both sides. */
    void (*chase_diagonal)(double *d, const double *w);
    /* e from the right with w, then from the left with the `next` that clears its first column. */
    void (*chase_below)(double *e, const double *w, double *next);
    /* TNP_LANES QL steps of algebra/values.c in turn: diag (n), squares beside it (n, the last is cleared), n >= 2
     * TNP_LANES. */
    void (*sweeps)(size_t n, const double *shifts, double *diag, double *beside);
} tnp_band_loops;

/* A row of the certificate of a softmax (learn/softmax/softmax_probe.c): k scores s, the row's class and cost. Arrays
 * of k numbers have memory for `stride`, k up to a multiple of TNP_PROBE_PAD; what stands behind k is of no use. */
enum { TNP_PROBES = 4, TNP_PROBE_PAD = 16 };
/* Some rows of the softmax's gradient (learn/softmax/softmax_loss.c), one after the other: s, p and g (rows, k). sums of
 * k numbers have memory for k up to a multiple of TNP_PROBE_PAD, where 0 is added to numbers; p may be g. */
enum { TNP_SLOPE_ROWS = 16 };
typedef struct tnp_slope_rows {
    size_t rows, k; /* rows: at most TNP_SLOPE_ROWS */
    const float *s, *cost;
    float *p, *g;
    double *slope, *weight, *whole; /* whole: rows */
} tnp_slope_rows;
/* The same of its second derivative, from p, times one z (k). */
typedef struct tnp_curve_rows {
    size_t rows, k;
    const float *p, *cost, *z;
    double *sum;
} tnp_curve_rows;

typedef struct tnp_probe_row {
    const float *s;
    size_t k, stride, own;
    double cost;
    const double *probed;   /* TNP_LANES, then TNP_PROBES */
    const double *by_class; /* (TNP_PROBES, stride), 0 behind k */
    double *scratch;        /* (2, stride) */
    double *loss, *off;
    double *mass, *disorder; /* k */
    double *turned;          /* (k, TNP_LANES) */
} tnp_probe_row;

/* Rows that coordinate descent visits one after the other in some columns (learn/linear/svm_dual.c). */
typedef struct tnp_visits {
    size_t n, k, apart; /* rows; columns, of which rows of cost, s and delta hold `apart` */
    const size_t *rows; /* n: which */
    const float *gram;  /* (n, n): products of the rows without the constant's; of it the upper triangle */
    float bias;         /* the constant's product: 1, or 0 without one */
    bool squared;       /* the hinge */
    const float *cost;  /* (n, apart): signed as y is */
    float *alpha;       /* multipliers of row i at alpha + i stride */
    size_t stride;
    float *s, *delta; /* (n, apart): scores, which are used up; by what y alpha changes */
} tnp_visits;

/* Products by one thread (simd_products.h). */
typedef struct tnp_product_loops {
    bool wide; /* whether they are made in registers */
    /* out[i, j] (+)= x_i'y_j of n rows x and m rows y, `ldx`, `ldy` and `ldo` apart: summed in lanes of float. */
    void (*row_products)(size_t n, const float *x, size_t ldx, size_t m, const float *y, size_t ldy, size_t dim,
                         bool add, float *out, size_t ldo);
    /* w (k, dim) += delta'x, delta (n, k), x (n, dim), rows `ldw`, `ldd` and `ldx` apart. */
    void (*add_products)(size_t n, size_t k, const float *delta, size_t ldd, const float *x, size_t ldx, size_t dim,
                         float *w, size_t ldw);
} tnp_product_loops;

typedef struct tnp_simd {
    const char *name;
    /* IEEE half precision to single, n values. */
    void (*half_to_float)(const uint16_t *in, float *out, size_t n);
    /* Sum of squares and sum of absolute values, summed in double. */
    double (*sum_squares)(const float *x, size_t n);
    double (*sum_abs)(const float *x, size_t n);
    /* acc[i] += x[i]. */
    void (*add_to_double)(const float *x, double *acc, size_t n);
    /* y[i] = (x[i] - shift[i]) * scale, in place allowed. */
    void (*shift_scale)(const float *x, const float *shift, float scale, float *y, size_t n);
    /* y[i] = x[i] factor, and y[i] = sign(x[i]) sqrt|x[i]| factor, in place allowed. */
    void (*scale)(const float *x, float factor, float *y, size_t n);
    void (*scale_root)(const float *x, float factor, float *y, size_t n);
    /* y[i] = sqrt(|x[i]| + more), in place allowed. */
    void (*roots)(const double *x, double more, double *y, size_t n);
    /* Inner product, and sum of w x^2: summed in lanes of float, the lanes in double. */
    double (*dot)(const float *x, const float *y, size_t n);
    double (*weighted_squares)(const float *x, const float *w, size_t n);
    /* y[i] += a x[i]. */
    void (*add_scaled)(float a, const float *x, float *y, size_t n);
    /* d = a sigma x;  mu += d;  u += late d unless u is NULL;  1/sigma += b x^2. */
    void (*confident_move)(const float *x, float a, float b, float late, float *mu, float *u, float *sigma, size_t n);
    /* True when |x[i]| <= most, a finite number, for all: no value is NaN, infinite or larger. */
    bool (*all_within)(const float *x, size_t n, float most);
    /* p = softmax(s), in place allowed, n > 0; returns log sum exp s. exp is within 4 units in the last place; below
     * exp(-87) of the largest it stays there instead of falling to 0. */
    double (*softmax)(const float *s, float *p, size_t n);
    /* Of each row p = softmax(s), g = cost p, whole = log sum exp s; slope += g, weight += g (1 - p), sums in double.
     * Many rows at a time, so that sums stay in registers: with a row at a time half of it was their way to memory. */
    void (*softmax_slope)(const tnp_slope_rows *a);
    /* With p = softmax(s + t z): out[0] = sum p z, out[1] = sum p z^2, summed in double. */
    void (*softmax_line)(const float *s, const float *z, float t, size_t n, double *out);
    /* z <- cost p (z - sum p z). */
    void (*softmax_curve)(const float *p, float cost, float *z, size_t n);
    /* sum += what softmax_curve makes of z, of each row, in double. */
    void (*softmax_curve_sums)(const tnp_curve_rows *a);
    /* With p = softmax(s) in double, exp within 4 units in the last place:
     *   loss += cost (log sum exp s - s_own)      mass += cost p      disorder += cost p (log sum exp s - s)
     *   turned += cost (p - e_own) probed'        off += sum_l (by_class_l's - probed[TNP_LANES + l])^2 */
    void (*probe_row)(const tnp_probe_row *row);
    /* With d = s - most, most the largest, t > 0, and e = exp(t d) in double: out = sum e, sum e d, sum e d^2. What is
     * NaN, and an e below exp(-708), takes no part. */
    void (*softmax_moments)(const float *s, size_t n, double most, double t, double *out);
    /* Solves (T + lambda[l] I) u[.,l] = h[.,l] for eight lanes. diag (n), off (n-1); h, u (n, 8); pivot (n, 8) is
     * scratch. Positive definiteness is the caller's promise. */
    void (*tri_solve)(size_t n, const double *diag, const double *off, const double *lambda, const double *h, double *u,
                      double *pivot, tnp_tri_out *out);
    /* The same for one lambda whose pivots are known: inverse (n) = 1/d of tri_solve. No division is left, which makes
     * it four times as fast. */
    void (*tri_solve_known)(size_t n, const double *diag, const double *off, const double *inverse, const double *h,
                            double *u, tnp_tri_out *out);
    /* For n rows of d values, `stride` apart: which of `count` centroids is nearest, the first of equals, and its
     * squared distance. Value j of centroid c is lanes[j * TNP_CODES + c]; count is a multiple of 16, and centroids
     * that are none hold infinity. Codes are written `step` bytes apart. A row with NaN gets code 0. */
    void (*nearest)(const float *x, size_t stride, size_t n, size_t d, const float *lanes, size_t count, uint8_t *code,
                    size_t step, float *distance);
    /* phi of the entries x[j] * factor, one after the other: out (n, rank), or (n, 2 rank) when split. Returns how many
     * entries other than 0 have no cell; phi(0) stands in their place. */
    size_t (*map_entries)(const tnp_knots *knots, const float *x, float factor, size_t n, float *out);
    /* Rows place[i] of tile (any, TNP_PANEL) += a_i b, for n rows a (n, rank) and b (rank, TNP_PANEL). Places differ.
     * */
    void (*outer_add)(const float *a, const uint16_t *place, size_t n, size_t rank, const float *b, float *tile);
    /* Tiles (rows, TNP_LANES) one after the other: t = X'q, value l of tile b at 8 b + l; then with columns centred,
     * rows weighted and the result scaled, t_j = inverse_j sum_i q_i u_i (x_ij - mean_j). */
    void (*tile_products)(const double *x, size_t tiles, size_t rows, const double *q, double *t);
    void (*centred_products)(const float *x, size_t tiles, size_t rows, const double *q, const double *u,
                             const double *mean, const double *inverse, double *t);
    /* g -= t step, c -= t^2 inverse for n columns, a multiple of TNP_LANES; returns the largest g^2/(lambda + c),
     * columns with a denominator of `least` or below left out, 0 when there is none. */
    double (*greedy_gains)(size_t n, const double *t, double step, double inverse, double lambda, double least,
                           double *g, double *c);
    /* One round of coordinate descent; returns the largest change, times its diagonal. */
    double (*descend)(const tnp_descent *d);
    /* The largest |x[i]|; NaN when one is. */
    float (*largest_size)(const float *x, size_t n);
    /* out[i] = x[i] inverse as a whole number, within 0.501 when it is below 2^15. */
    void (*round_steps)(const float *x, float inverse, int16_t *out, size_t n);
    /* out (count, TNP_BUNDLE) = rows lanes', exactly. Value j of sample l is lanes[(j / 2 * TNP_BUNDLE + l) * 2 + j %
     * 2]. No sum of sizes of products may reach 2^31. */
    void (*pair_products)(const int16_t *rows, size_t stride, size_t count, const int16_t *lanes, size_t pairs,
                          int32_t *out);
    /* The highest of the lowest values that n scores can have; and which can have `level` or more, ascending, or are no
     * numbers; returns how many. */
    float (*highest_floor)(const tnp_score_bounds *bounds, size_t n);
    size_t (*may_reach)(const tnp_score_bounds *bounds, float level, size_t n, uint32_t *out);
    /* tile (columns, TNP_STRIPE) += lists times panel: column c has counts[c] entries, behind those of the columns before
     * it. An entry is its value times the TNP_STRIPE floats at panel + its place; the tile is added to their sum. */
    void (*add_listed)(const uint16_t *counts, size_t columns, const float *values, const uint16_t *places,
                       const float *panel, float *tile);
    const tnp_patch_loops *patches;
    const tnp_mixture_loops *mixtures;
    const tnp_band_loops *bands;
    const tnp_product_loops *products;
    void (*visits)(const tnp_visits *visits);
} tnp_simd;

/* The best table for this processor, or the one that TN_SIMD=scalar|avx2|avx512 names. */
const tnp_simd *tnp_simd_get(void);

/* By file, for tests and for tnp_simd_get; NULL when the compiler did not make them. Whether the processor has them is
 * the caller's to ask (base/cpu.h). */
const tnp_simd *tnp_simd_scalar(void);
const tnp_simd *tnp_simd_avx2(void);
const tnp_simd *tnp_simd_avx512(void);
const tnp_simd *tnp_simd_vnni(void); /* AVX-512 with VNNI */

/* simd_vnni.c, for its table. */
void tnp_pair_products_vnni(const int16_t *rows, size_t stride, size_t count, const int16_t *lanes, size_t pairs,
                            int32_t *out);

#endif
