/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Encodings of one bag from their formulas, in long double, one descriptor at a time. */
#ifndef REF_ENCODE_H
#define REF_ENCODE_H

#include <stddef.h>

typedef long double ref_float;

/* x (n, d); w (k), mu and var (k, d); q (n, k), log_likelihood of all. */
void ref_posteriors(const float *x, size_t n, size_t d, const float *w, const float *mu, const float *var, size_t k,
                    ref_float *q, ref_float *log_likelihood);
/* out (2 k d). */
void ref_fisher(const float *x, size_t n, size_t d, const float *w, const float *mu, const float *var, size_t k,
                ref_float *out);
/* words (k, d); out (k d), (k), (k). */
void ref_vlad(const float *x, size_t n, size_t d, const float *words, size_t k, ref_float *out);
void ref_bovw(const float *x, size_t n, size_t d, const float *words, size_t k, ref_float *out);
void ref_llc(const float *x, size_t n, size_t d, const float *words, size_t k, size_t nearest, ref_float *out);
/* Signed root, then over the length. */
void ref_root(ref_float *x, size_t n);

#endif
