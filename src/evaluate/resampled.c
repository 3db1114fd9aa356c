/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Mean, standard error and t-test of J figures v from folds, or of their differences between two methods.
 *
 *   mean = sum v / J        s^2 = sum (v - mean)^2 / (J - 1)        se^2 = s^2 (1/J + ratio)
 *   t = mean / se           p = P(|T| >= |t|), T of Student's distribution with J - 1 degrees of freedom
 *
 * ratio = rows judged / rows trained on, 1/(K-1) for K folds. The figures are not independent: training sets share most
 * of their rows, and repeats share all. s / sqrt(J) goes to zero with the repeats, however few rows there are, and finds
 * differences where there are none; the term `ratio` stands for what is shared (Nadeau and Bengio, Machine Learning 52,
 * 2003; with repeats: Bouckaert and Frank, PAKDD 2004).
 *
 * With whole degrees of freedom n Student's distribution has a closed form, theta = atan(|t| / sqrt(n)):
 *
 *   P(|T| <= |t|) = sin theta (1 + 1/2 cos^2 theta + 1 3/(2 4) cos^4 theta + ... to cos^(n-2))                  n even
 *   P(|T| <= |t|) = 2/pi (theta + sin theta (cos theta + 2/3 cos^3 theta + ... to cos^(n-2)))                    n odd
 *
 * (Abramowitz and Stegun 26.7.3 and 26.7.4), so that no incomplete beta function is needed. p is exact to about 1e-15
 * absolutely: smaller ones come out as 0 or as rounding. Oracle: scipy.stats.t, tests/fixtures/make_cv.py. */
#include "evaluate/resampled.h"

#include <math.h>

double tnp_student_p(double t, size_t freedom)
{
    const double half_pi = 1.57079632679489661923;
    double n = (double)freedom, theta = atan2(fabs(t), sqrt(n)), c = cos(theta), s = sin(theta);
    size_t odd = freedom % 2;
    double term = odd ? c : 1, sum = freedom > 1 ? term : 0;
    for (size_t k = 2 + odd; k + 2 <= freedom; k += 2) {
        term *= c * c * (double)(k - 1) / (double)k;
        sum += term;
    }
    double inside = odd ? (theta + s * sum) / half_pi : s * sum;
    return fmin(1, fmax(0, 1 - inside));
}

/* Over v(i) = a[i] - b[i], or a[i] without b. */
static double value_at(const double *a, const double *b, size_t i)
{
    return b ? a[i] - b[i] : a[i];
}

tnp_resampled tnp_resample_pairs(const double *a, const double *b, size_t count, double ratio)
{
    tnp_resampled r = {0, (double)NAN, (double)NAN, (double)NAN, (double)NAN};
    double sum = 0, square = 0;
    for (size_t i = 0; i < count; ++i)
        if (!isnan(value_at(a, b, i))) {
            sum += value_at(a, b, i);
            ++r.count;
        }
    if (r.count == 0)
        return r;
    double n = (double)r.count;
    r.mean = sum / n;
    if (r.count < 2)
        return r;
    for (size_t i = 0; i < count; ++i)
        if (!isnan(value_at(a, b, i)))
            square += (value_at(a, b, i) - r.mean) * (value_at(a, b, i) - r.mean);
    r.se = sqrt(square / (n - 1) * (1 / n + ratio));
    r.t = r.mean == 0 ? 0 : r.mean / r.se; /* two methods that never differ: no evidence for either */
    r.p = tnp_student_p(r.t, r.count - 1);
    return r;
}

tnp_resampled tnp_resample(const double *values, size_t count, double ratio)
{
    return tnp_resample_pairs(values, NULL, count, ratio);
}
