/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A ridge problem in tridiagonal form: every lambda of every class in O(order), no eigenvectors.
 *
 *   primal (N > D)   A = X'X  (D,D) = Q T Q',   h_k = Q' X'y_k
 *   dual   (N <= D)  A = XX'  (N,N) = Q T Q',   h_k = Q' y_k
 *
 * With u = (T + lambda I)^-1 h, per class:
 *
 *            R(lambda) = min_w |y - Xw|^2 + lambda |w|^2     |w|^2      residual |y - Xw|^2
 *   primal   y'y - h'u                                       u'u        R - lambda u'u
 *   dual     lambda h'u                                      u'T u      lambda^2 u'u
 *
 * The dual is chosen for N <= D (N - 1 with intercept) also because its R is no difference: when the features can
 * interpolate the labels the primal R loses all its digits, the dual one none.
 *
 * A third way has no A at all, for problems whose squares double cannot hold: from singular values X = U S V'
 * (learn/ridge/root.c)
 *
 *   T = S^2, h_k = U'y_k, what of y_k no column reaches in rest_k     R = rest + lambda h'u     w = V S u
 *
 * with the dual's formulas, whichever of N and D is larger. */
#ifndef TNP_SPECTRUM_H
#define TNP_SPECTRUM_H

#include "simd/simd.h"
#include "matrix/moments.h"

typedef struct tnp_spectrum {
    bool dual;                    /* by the dual's formulas */
    bool by_rows;                 /* solutions are v with w = X'v, not w: the dual itself */
    size_t order, classes, tiles; /* tiles of TNP_LANES classes; missing lanes have h = 0 */
    double dof;                   /* N, or N - 1 with an intercept */
    double *q;                    /* Q as blas.h keeps it with tau, or band.h with factors; both NULL: Q itself */
    double *tau, *factors;
    double *own;        /* diagonal of a primal A whose other entries lie below the diagonal of q; NULL: A is gone */
    double *band;       /* B of the first stage as band.h's factors take it; NULL: there was none */
    double *root;       /* S (order) of the third way when not by rows, else NULL */
    double *diag, *off; /* T */
    double *values;     /* `rank` eigenvalues above rounding, ascending */
    size_t rank;
    double largest; /* eigenvalue; 0 when A is zero */
    double floor;   /* smallest lambda at which T + lambda I is safely positive definite */
    double *h;      /* (tiles, order, TNP_LANES) */
    double *yy;     /* (classes), about the mean with an intercept */
    double *rest;   /* (classes) of the third way, else NULL */
    double offset;  /* of the log evidence: 1/2 sum of log weights, 0 without weights */
    tnp_noise noise;
    double *scale; /* (order) of the primal, see tnp_moments_noise; or NULL */
    size_t hidden; /* eigenvalues that may be anything between zero and the noise */
} tnp_spectrum;

/* What one lambda gives for the eight classes of a tile. */
typedef struct tnp_ridge_values {
    double r[TNP_LANES];        /* R(lambda) */
    double ww[TNP_LANES];       /* |w|^2 */
    double residual[TNP_LANES]; /* |y - Xw|^2 */
} tnp_ridge_values;

/* Takes `a` (order,order) upper triangle over as Q, reads rhs (classes,order) = X'Y or Y as rows and overwrites it. yy
 * is copied. On success the spectrum owns a and frees it; on failure the caller still does. 4/3 order^3 flops. */
tn_status tnp_spectrum_new(tn_ctx *ctx, bool dual, size_t order, size_t classes, double dof, double *a, double *rhs,
                           const double *yy, tnp_spectrum **out);
/* From singular values of X (N,D), descending, and the norm `blur` of what X itself was rounded by: basis (order,order)
 * holds V, or U by rows, and is taken over on success; h (classes, order) = U'y as rows; rest (classes) is copied. */
tn_status tnp_spectrum_new_root(tn_ctx *ctx, bool by_rows, size_t order, size_t classes, double dof, double *basis,
                                const double *singular, double blur, const double *h, const double *rest,
                                tnp_spectrum **out);
void tnp_spectrum_free(tnp_spectrum *spectrum);
/* Says what the moments' rounding may have done; counts what it hides. */
void tnp_spectrum_set_noise(tnp_spectrum *spectrum, const tnp_noise *noise);
/* Each row of c (count,order) is multiplied by Q' (transpose) or Q. */
tn_status tnp_spectrum_rotate(tn_ctx *ctx, const tnp_spectrum *spectrum, bool transpose, size_t count, double *c);
/* A + lambda I (order,order), upper triangle, of a spectrum that has `own`. */
void tnp_spectrum_matrix(const tnp_spectrum *spectrum, double lambda, double *out);
/* Bytes it allocates besides a. */
size_t tnp_spectrum_bytes(size_t order, size_t classes);

/* Calls body(arg, tile, scratch) for tiles 0 .. count - 1 on all threads; scratch holds 4 * order * TNP_LANES doubles
 * and is the body's alone while it runs. */
tn_status tnp_spectrum_tiles(tn_ctx *ctx, const tnp_spectrum *spectrum, size_t count,
                             void (*body)(void *arg, size_t tile, double *scratch), void *arg);
/* Evaluates a tile at eight lambdas; the solution u stays at the start of scratch, (order, TNP_LANES), and the
 * second half of scratch is not touched. */
void tnp_spectrum_eval(const tnp_spectrum *spectrum, const tnp_simd *k, size_t tile, const double *lambda,
                       double *scratch, tnp_ridge_values *out);

/* The lambdas of a tile out of those of all classes; a harmless finite one where the class has an infinite one or there
 * is no class. */
void tnp_tile_lambdas(const tnp_spectrum *spectrum, size_t tile, const double *lambda, double out[TNP_LANES]);

/* 1 / pivots (order) of T + lambda I; and the evaluation of a tile at that one lambda, with them. */
void tnp_spectrum_pivots(const tnp_spectrum *spectrum, double lambda, double *inverse);
void tnp_spectrum_eval_known(const tnp_spectrum *spectrum, const tnp_simd *k, size_t tile, double lambda,
                             const double *inverse, double *scratch, tnp_ridge_values *out);

/* gamma(lambda) = sum s / (lambda + s), its derivative times -lambda, and sum log(1 + s/lambda). */
double tnp_spectrum_gamma(const tnp_spectrum *spectrum, double lambda);
double tnp_spectrum_gamma_slope(const tnp_spectrum *spectrum, double lambda);
double tnp_spectrum_logdet(const tnp_spectrum *spectrum, double lambda);

/* Solutions u of all classes, (classes, order); lambda (classes), an infinite one gives zeros. With `rotate` they are Q
 * u, in the original coordinates: w of the primal, or v with w = X'v of the dual. */
tn_status tnp_spectrum_solve(tn_ctx *ctx, const tnp_spectrum *spectrum, const double *lambda, bool rotate, double *out);

/* Rows (count, n) to tiles of `lanes` columns (tiles, n, lanes); missing lanes are zero. */
void tnp_pack_tiles(const double *rows, size_t count, size_t n, size_t lanes, double *tiles);

#endif
