/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Option fields: what is taken, what is refused with which words, and text back again. */
#include "ctx_of.h"

#include <stddef.h>

typedef struct options {
    bool flag, yes;
    size_t count, bytes, big;
    double real, any;
    int choice;
    const char *text;
    tn_words words;
} options;

static const tn_field fields[] = {
    {"flag", TN_FIELD_FLAG, offsetof(options, flag), 0, 0, NULL, "a flag"},
    {"yes", TN_FIELD_YESNO, offsetof(options, yes), 0, 0, NULL, "yes or no"},
    {"threads", TN_FIELD_INT, offsetof(options, count), 0, 4096, "N", "a count"},
    {"mem", TN_FIELD_BYTES, offsetof(options, bytes), 0, 0, "SIZE", "bytes"},
    {"seed", TN_FIELD_INT, offsetof(options, big), 0, 1.8446744073709552e19, "N", "a large count"},
    {"tol", TN_FIELD_REAL, offsetof(options, real), -1, 1, "X", "a number"},
    {"any", TN_FIELD_REAL, offsetof(options, any), 0, 0, "X", "a number without bounds"},
    {"kind", TN_FIELD_CHOICE, offsetof(options, choice), 0, 0, "aitken|mackay|em", "a choice"},
    {"file", TN_FIELD_TEXT, offsetof(options, text), 0, 0, "FILE", "a file"},
    {"files", TN_FIELD_WORDS, offsetof(options, words), 0, 0, "FILE...", "files"},
};

static const tn_field *field(const char *name)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; ++i)
        if (strcmp(fields[i].name, name) == 0)
            return &fields[i];
    fail_msg("no field %s", name);
    return NULL;
}

static void takes_values(void **state)
{
    tn_ctx *ctx = *state;
    options o = {.choice = 7};
    assert_fine(ctx, tn_field_set(ctx, field("flag"), &o, NULL));
    assert_fine(ctx, tn_field_set(ctx, field("yes"), &o, "yes"));
    assert_fine(ctx, tn_field_set(ctx, field("threads"), &o, "4096"));
    assert_fine(ctx, tn_field_set(ctx, field("seed"), &o, "18446744073709551615"));
    assert_fine(ctx, tn_field_set(ctx, field("tol"), &o, "-1e-3"));
    assert_fine(ctx, tn_field_set(ctx, field("any"), &o, "-.5"));
    assert_fine(ctx, tn_field_set(ctx, field("kind"), &o, "em"));
    assert_fine(ctx, tn_field_set(ctx, field("file"), &o, "-x y"));
    assert_true(o.flag && o.yes);
    assert_int_equal(o.count, 4096);
    assert_true(o.big == SIZE_MAX);
    assert_true(o.real == -0.001 && o.any == -0.5);
    assert_int_equal(o.choice, 2);
    assert_string_equal(o.text, "-x y");
    assert_fine(ctx, tn_field_set(ctx, field("yes"), &o, "no"));
    assert_false(o.yes);
}

static void takes_sizes(void **state)
{
    static const struct {
        const char *text;
        size_t bytes;
    } cases[] = {
        {"0", 0},           {"17", 17},           {"1K", 1024},          {"3k", 3072}, {"512M", 536870912},
        {"8G", 8589934592}, {"1.5G", 1610612736}, {"2T", 2199023255552},
    };
    tn_ctx *ctx = *state;
    options o = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        assert_fine(ctx, tn_field_set(ctx, field("mem"), &o, cases[i].text));
        assert_int_equal(o.bytes, cases[i].bytes);
    }
}

static void refuses_with_a_reason(void **state)
{
    static const struct {
        const char *name, *text, *message;
    } cases[] = {
        {"threads", "0x", "threads: got 0x, expected a whole number from 0 to 4096"},
        {"threads", "4097", "threads: got 4097, expected a whole number from 0 to 4096"},
        {"threads", "-1", "threads: got -1, expected a whole number from 0 to 4096"},
        {"threads", " 1", "got  1, expected a whole number"},
        {"threads", "1.5", "expected a whole number"},
        {"seed", "18446744073709551616", "seed: got 18446744073709551616, expected a whole number from 0 up"},
        {"tol", "1.01", "tol: got 1.01, expected a number from -1 to 1"},
        {"tol", "nan", "expected a number"},
        {"tol", "0x1p-3", "expected a number"},
        {"tol", "0.5 ", "expected a number"},
        {"any", "1e999", "any: got 1e999, expected a number"},
        {"any", "inf", "expected a number"},
        {"mem", "8X", "mem: got 8X, expected a size such as 512M or 8G"},
        {"mem", "-1G", "expected a size"},
        {"mem", "8GB", "expected a size"},
        {"mem", "99999999999T", "expected a size"},
        {"yes", "true", "yes: got true, expected yes|no"},
        {"kind", "newton", "kind: got newton, expected aitken|mackay|em"},
        {"kind", "ait", "expected aitken|mackay|em"},
        {"kind", "aitken|mackay", "expected aitken|mackay|em"},
        {"flag", "1", "flag: got 1, expected no value"},
        {"file", "", "file: got nothing, expected a value"},
        {"kind", "", "kind: got nothing"},
        {"files", "a.npy", "files: got one text, expected words"},
        {"files", "", "files: got one text, expected words"},
    };
    tn_ctx *ctx = *state;
    options before = {.count = 3, .real = 0.25, .choice = 1, .text = "kept"}, o = before;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
        assert_fails(ctx, TN_ERR_ARG, cases[i].message, tn_field_set(ctx, field(cases[i].name), &o, cases[i].text));
    assert_fails(ctx, TN_ERR_ARG, "file: got nothing", tn_field_set(ctx, field("file"), &o, NULL));
    assert_false(o.flag || o.yes);
    assert_int_equal(o.count, before.count);
    assert_int_equal(o.bytes, 0);
    assert_true(o.real == before.real && o.any == 0);
    assert_int_equal(o.choice, before.choice);
    assert_ptr_equal(o.text, before.text);
    assert_true(!o.words.items && o.words.count == 0);
}

static void text_reads_back(void **state)
{
    static const char *const cases[][2] = {
        {"yes", "no"},    {"yes", "yes"},  {"threads", "17"}, {"mem", "8G"},      {"mem", "1000"},   {"mem", "0"},
        {"tol", "1e-05"}, {"any", "-2.5"}, {"kind", "em"},    {"kind", "aitken"}, {"file", "a.npy"},
    };
    tn_ctx *ctx = *state;
    char buf[64];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        options o = {0};
        assert_fine(ctx, tn_field_set(ctx, field(cases[i][0]), &o, cases[i][1]));
        assert_string_equal(tn_field_text(field(cases[i][0]), &o, buf, sizeof buf), cases[i][1]);
    }
    options none = {.words = {cases[0], 2}};
    assert_string_equal(tn_field_text(field("files"), &none, buf, sizeof buf), ""); /* words have no one text */
    assert_string_equal(tn_field_text(field("file"), &none, buf, sizeof buf), "");
    assert_string_equal(tn_field_text(field("flag"), &none, buf, sizeof buf), "no");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(takes_values, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(takes_sizes, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(refuses_with_a_reason, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(text_reads_back, ctx_setup, ctx_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
