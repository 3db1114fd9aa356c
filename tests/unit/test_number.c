/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers in text: rounding, what is no number, and independence of the locale.
 *
 * Machines that run tests rarely have a locale with a decimal comma. glibc reads one from the folder LOCPATH names, so
 * this program writes its own: the file LC_NUMERIC, nothing else. Layout (32-bit words of the machine, offsets from
 * the start of the file): magic, number of fields, an offset a field, then the fields. */
#define _POSIX_C_SOURCE 200809L
#include "learn/head/head.h"
#include "ctx_of.h"
#include "tenon/report.h"
#include "tenon/store.h"
#include "options_of.h"

#include <locale.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool number(const char *text, double *out)
{
    return tnp_number((tnp_span){text, strlen(text)}, out);
}

static void numbers_are_rounded_correctly(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double want;
    } cases[] = {
        {"0", 0},
        {"-0.0", 0},
        {"1", 1},
        {"+1.5", 1.5},
        {".5", 0.5},
        {"5.", 5},
        {"1e3", 1e3},
        {"1E+03", 1e3},
        {"0.1", 0.1},
        {"123456789.123456789", 123456789.123456789},
        {"1e22", 1e22},
        {"1e23", 1e23},
        {"1e-22", 1e-22},
        {"9007199254740993", 9007199254740992.0},
        {"9007199254740992e0", 0x1p53},
        {"1e-320", 1e-320},
        {"2.5e-5", 2.5e-5},
        {"1.7976931348623157e308", 1.7976931348623157e308},
        {"00000000000000000000000000000012", 12},
        {"0.000000000000000000000000000000000012", 1.2e-35},
        {"3.141592653589793238462643383279", 3.141592653589793},
        {"1e99999999999999999999", INFINITY},
        {"1e-99999999999999999999", 0},
        {"Inf", INFINITY},
        {"-infinity", -INFINITY},
    };
    double got;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        assert_true(number(cases[i].text, &got));
        if (!(got == cases[i].want))
            fail_msg("'%s' gave %.17g", cases[i].text, got);
    }
    assert_true(number("nan", &got) && isnan(got));
    assert_true(number("-0", &got) && signbit(got));
    assert_true(number("-NaN", &got) && isnan(got));
}

static void what_is_no_number_is_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {"",    "-",   "+",  ".",    "e5",     "1e",      "1e+",  "1.2.3", "1,5", "0x10",
                                        "1 2", "--1", "1-", "nan1", "nan(1)", "infinit", "1e5x", "1f",    " 1",  "+-1"};
    double got = 7;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        if (number(cases[i], &got))
            fail_msg("'%s' was taken for %g", cases[i], got);
        assert_true(got == 7);
    }
}

/* Every float printed with 9 digits and every double with 17 comes back as it was. */
static void printed_numbers_come_back(void **state)
{
    (void)state;
    tnp_rng rng;
    char text[64];
    double got;
    tnp_rng_init(&rng, 5, 0);
    for (int i = 0; i < 20000; ++i) {
        double x = ldexp(tnp_rng_unit(&rng) - 0.5, (int)tnp_rng_below(&rng, 200) - 100);
        snprintf(text, sizeof text, "%.17g", x);
        assert_true(number(text, &got) && got == x);
        float f = (float)x;
        snprintf(text, sizeof text, "%.9g", (double)f);
        assert_true(number(text, &got) && (float)got == f);
        snprintf(text, sizeof text, "%.4f", x);
        assert_true(number(text, &got) && got == strtod(text, NULL));
    }
}

/* ---- locales ---- */

static char folder[] = "/tmp/tenon_number_XXXXXX", comma_file[64], head_path[64];

static int write_locale(void)
{
    enum { FIELDS = 6, START = 4 * (2 + FIELDS) };
    struct {
        uint32_t magic, fields, at[FIELDS];
        char bytes[4];
        uint32_t point, separator;
        char codeset[8];
    } file = {.magic = 0x20031115u ^ LC_NUMERIC,
              .fields = FIELDS,
              /* ",", "", no grouping, the same two as wide characters, the character set */
              .at = {START, START + 1, START + 1, START + 4, START + 8, START + 12},
              .bytes = ",",
              .point = ',',
              .codeset = "UTF-8"};
    FILE *out = fopen(comma_file, "wb");
    if (!out)
        return -1;
    size_t written = fwrite(&file, sizeof file, 1, out);
    return fclose(out) == 0 && written == 1 ? 0 : -1;
}

static int make_locale(void **state)
{
    char name[48];
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(name, sizeof name, "%s/comma", folder);
    snprintf(comma_file, sizeof comma_file, "%s/comma/LC_NUMERIC", folder);
    snprintf(head_path, sizeof head_path, "%s/head.safetensors", folder);
    return mkdir(name, 0700) == 0 && write_locale() == 0 && setenv("LOCPATH", folder, 1) == 0 ? 0 : -1;
}

static int remove_locale(void **state)
{
    char name[48];
    (void)state;
    snprintf(name, sizeof name, "%s/comma", folder);
    unlink(head_path);
    return unlink(comma_file) == 0 && rmdir(name) == 0 && rmdir(folder) == 0 ? 0 : -1;
}

/* A decimal comma for the whole program, seen to be one; skips the test when there is none. */
static void use_comma(void)
{
    static const char *const names[] = {"comma", "de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
    char text[16];
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        if (setlocale(LC_NUMERIC, names[i])) {
            snprintf(text, sizeof text, "%.1f", 0.5);
            if (strcmp(text, "0,5") == 0)
                return;
        }
    setlocale(LC_NUMERIC, "C");
    skip();
}

static int use_point(void **state)
{
    (void)state;
    return setlocale(LC_NUMERIC, "C") ? 0 : -1;
}

static void numbers_do_not_depend_on_the_locale(void **state)
{
    (void)state;
    double got = 0;
    tnp_fit_options opt;
    const tn_field *lambda = field_called(tnp_fit_fields, "lambda");
    struct {
        double value;
        size_t bytes;
    } o = {0, 0};
    const tn_field real = {"value", TN_FIELD_REAL, 0, 0, 10, NULL, ""};
    const tn_field bytes = {"bytes", TN_FIELD_BYTES, sizeof(double), 0, 0, NULL, ""};
    tn_ctx *ctx = NULL;
    use_comma();
    ctx = ctx_of(0);
    assert_true(number("3.141592653589793238462643383279", &got) && got == 3.141592653589793);
    assert_false(number("3,14159265358979323846264338", &got));
    assert_fine(ctx, tn_field_set(ctx, &real, &o, "2.5"));
    assert_true(o.value == 2.5);
    assert_fails(ctx, TN_ERR_ARG, "got 2,5", tn_field_set(ctx, &real, &o, "2,5"));
    assert_fine(ctx, tn_field_set(ctx, &bytes, &o, "1.5K"));
    assert_int_equal(o.bytes, 1536);
    assert_fine(ctx, tn_field_set(ctx, lambda, &opt, "0.25"));
    assert_true(opt.lambda.value == 0.25);
    assert_fails(ctx, TN_ERR_ARG, "0,25", tn_field_set(ctx, lambda, &opt, "0,25"));
    tn_ctx_free(ctx);
}

static void check_no_comma(char *text)
{
    assert_non_null(strstr(text, "0.25"));
    assert_null(strstr(text, "0,25"));
    tn_text_free(text);
}

static void written_numbers_have_a_point(void **state)
{
    (void)state;
    char buf[32], name[] = "one", *text = NULL, *names[] = {name};
    double value = 0.25;
    const tn_field real = {"value", TN_FIELD_REAL, 0, 0, 0.5, NULL, ""};
    tn_candidate c = {.name = name, .gain_per_label = 0.25, .log_evidence = 0.25, .loo_accuracy = 0.25}, *list[] = {&c};
    tn_ranking ranking = {.task = TN_TASK_MULTICLASS, .count = 1, .candidates = list};
    tn_head *head = NULL, *back = NULL;
    tn_ctx *ctx = NULL;
    use_comma();
    ctx = ctx_of(0);
    assert_string_equal(tn_field_text(&real, &value, buf, sizeof buf), "0.25");
    assert_fails(ctx, TN_ERR_ARG, "from 0 to 0.5", tn_field_set(ctx, &real, &value, "7"));
    assert_fine(ctx, tn_ranking_json(ctx, &ranking, &text));
    check_no_comma(text);
    assert_fine(ctx, tn_ranking_table(ctx, &ranking, false, &text));
    check_no_comma(text);
    assert_fine(ctx, tnp_head_new(ctx, TN_TASK_MULTICLASS, (const char *const *)names, 1, 1, 1, "ridge", &head));
    assert_fine(ctx, tnp_strdup(ctx, "rep", &head->reps[0].name));
    head->reps[0].dim = 1;
    head->log_evidence = -0.25;
    head->threshold = 0.125;
    assert_fine(ctx, tn_head_save(ctx, head, NULL, head_path));
    setlocale(LC_NUMERIC, "C"); /* a reader with a decimal point understands it */
    assert_fine(ctx, tn_head_load(ctx, head_path, &back));
    assert_true(tn_head_log_evidence(back) == -0.25 && tn_head_threshold(back) == 0.125);
    tn_head_free(back);
    tn_head_free(head);
    ctx_done(ctx);
}

/* The locale of the calling thread (uselocale) counts as little, and is the same afterwards. */
static void the_threads_own_locale_is_left_alone(void **state)
{
    (void)state;
    char buf[32];
    double got = 0;
    use_comma();
    locale_t own = duplocale(LC_GLOBAL_LOCALE);
    setlocale(LC_NUMERIC, "C");
    assert_true(own != (locale_t)0);
    locale_t before = uselocale(own);
    tnp_format(buf, sizeof buf, "%.2f", 0.25);
    bool fine = number("1.00000000000000000000000000000005", &got);
    locale_t after = uselocale(before);
    freelocale(own);
    assert_true(after == own);
    assert_true(fine && got == 1);
    assert_string_equal(buf, "0.25");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_rounded_correctly),
        cmocka_unit_test(what_is_no_number_is_refused),
        cmocka_unit_test(printed_numbers_come_back),
        cmocka_unit_test_teardown(numbers_do_not_depend_on_the_locale, use_point),
        cmocka_unit_test_teardown(written_numbers_have_a_point, use_point),
        cmocka_unit_test_teardown(the_threads_own_locale_is_left_alone, use_point),
    };
    return cmocka_run_group_tests_name("number", tests, make_locale, remove_locale);
}
