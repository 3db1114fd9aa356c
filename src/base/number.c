/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers in text: read and written with a decimal point, whatever locale the host program has set.
 *
 * Reading: when the digits make a whole number m < 2^53 and the power of ten is at most 22 in size, m * 10^e or
 * m / 10^e is one correctly rounded operation on exact operands (Clinger 1990), and that is nearly every number in a
 * feature file. The rest goes to strtod.
 *
 * strtod and printf ask the calling thread's locale, so it is "C" around them. Replacing the decimal point of the
 * finished text was refused: it may be longer than a byte, and a text may hold the same bytes for other reasons. */
#define _POSIX_C_SOURCE 200809L
#include "base/base.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The thread's locale meanwhile; (locale_t)0 on both sides when the system has no memory for one. */
typedef struct plain_locale {
    locale_t plain, before;
} plain_locale;

static plain_locale begin_plain(void)
{
    plain_locale l = {newlocale(LC_ALL_MASK, "C", (locale_t)0), (locale_t)0};
    if (l.plain)
        l.before = uselocale(l.plain);
    return l;
}

static void end_plain(plain_locale l)
{
    if (!l.plain)
        return;
    uselocale(l.before);
    freelocale(l.plain);
}

/* The shape of a decimal number. Mantissa and exponent are taken along; *small says that they are exact. */
static bool scan_decimal(tnp_span span, uint64_t *mantissa, long *exponent, bool *small)
{
    size_t i = 0, digits = 0;
    long point = 0, power = 0;
    bool after = false;
    *mantissa = 0;
    *small = true;
    for (; i < span.length; ++i) {
        char c = span.text[i];
        if (c == '.' && !after) {
            after = true;
            continue;
        }
        if (c < '0' || c > '9')
            break;
        ++digits;
        if (*mantissa >= UINT64_C(1) << 53)
            *small = false;
        else
            *mantissa = 10 * *mantissa + (uint64_t)(c - '0');
        point += after;
    }
    if (digits == 0)
        return false;
    if (i < span.length && (span.text[i] == 'e' || span.text[i] == 'E')) {
        bool negative = ++i < span.length && span.text[i] == '-';
        if (i < span.length && (span.text[i] == '-' || span.text[i] == '+'))
            ++i;
        if (i == span.length)
            return false;
        for (; i < span.length && span.text[i] >= '0' && span.text[i] <= '9'; ++i)
            power = power < 10000 ? 10 * power + (span.text[i] - '0') : power;
        power = negative ? -power : power;
    }
    *exponent = power - point;
    return i == span.length;
}

static bool slow_number(tnp_span span, double *out)
{
    char buf[512];
    if (span.length >= sizeof buf)
        return false;
    memcpy(buf, span.text, span.length);
    buf[span.length] = 0;
    char *end = buf;
    plain_locale locale = begin_plain();
    double value = strtod(buf, &end);
    end_plain(locale);
    if (*end == 0)
        *out = value;
    return *end == 0;
}

static bool is_word(tnp_span span, const char *word)
{
    return span.length == strlen(word) && strncasecmp(span.text, word, span.length) == 0;
}

bool tnp_number(tnp_span span, double *out)
{
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                  1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    tnp_span whole = span;
    bool negative = span.length != 0 && span.text[0] == '-', small;
    if (span.length != 0 && (span.text[0] == '-' || span.text[0] == '+')) {
        ++span.text;
        --span.length;
    }
    if (is_word(span, "nan") || is_word(span, "inf") || is_word(span, "infinity"))
        return slow_number(whole, out);
    uint64_t mantissa;
    long exponent;
    if (!scan_decimal(span, &mantissa, &exponent, &small))
        return false;
    if (!small || mantissa > UINT64_C(1) << 53 || exponent < -22 || exponent > 22)
        return slow_number(whole, out);
    double value = exponent < 0 ? (double)mantissa / tens[-exponent] : (double)mantissa * tens[exponent];
    *out = negative ? -value : value;
    return true;
}

int tnp_format_list(char *buf, size_t size, const char *format, va_list args)
{
    plain_locale locale = begin_plain();
    int length = vsnprintf(buf, size, format, args);
    end_plain(locale);
    return length;
}

int tnp_format(char *buf, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = tnp_format_list(buf, size, format, args);
    va_end(args);
    return length;
}

bool tnp_digits(const char *text, size_t *out)
{
    size_t n = 0;
    bool fine = *text != 0;
    for (; fine && *text; ++text) {
        fine = *text >= '0' && *text <= '9' && n <= (SIZE_MAX - 9) / 10;
        n = 10 * n + (size_t)(*text - '0');
    }
    if (fine)
        *out = n;
    return fine;
}
