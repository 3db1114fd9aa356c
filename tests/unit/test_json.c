/* SPDX-License-Identifier: BSD-3-Clause
 *
 * JSON from files: the limits on depth, number and size, and what is counted against the budget for it. */
#include "fixtures/files.h"

#include "read/json.h"

#include <malloc.h>

static tn_status parse_json(const char *text, size_t size, tnp_json *out)
{
    return tnp_json_parse(test_ctx, "f", "header", 8, text, size, out);
}

static void json_depth_is_limited(void **state)
{
    (void)state;
    char text[100];
    tnp_json json = {.root = NULL};
    memset(text, '[', 33);
    assert_fails(test_ctx, TN_ERR_FORMAT, "f: byte 40: header: nested too deeply", parse_json(text, 33, &json));
    memset(text + 32, ']', 32);
    assert_fine(test_ctx, parse_json(text, 64, &json));
    tnp_json_free(&json);
    static const char brackets_in_text[] = "[\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\\\"[[[[[\"]";
    assert_fine(test_ctx, parse_json(brackets_in_text, strlen(brackets_in_text), &json));
    tnp_json_free(&json);
}

/* What jansson takes for a text is below what is counted for it, and the budget decides before it is taken. */
static void json_counts_against_the_budget(void **state)
{
    (void)state;
    enum { MANY = 100000 };
    char *text = malloc(16 * MANY);
    static const char *const one[] = {"{},", "[],", "1,", "\"\",", "[1],", "{\"a\":1},", "1.5,"};
    assert_non_null(text);
    for (size_t kind = 0; kind < sizeof one / sizeof *one; ++kind) {
        tnp_json json = {.root = NULL};
        size_t n = 0, before = tn_ctx_memory_now(test_ctx);
        text[n++] = '[';
        for (size_t i = 0; i < MANY; ++i, n += strlen(one[kind]))
            memcpy(text + n, one[kind], strlen(one[kind]));
        text[n - 1] = ']';
        size_t used = mallinfo2().uordblks;
        assert_fine(test_ctx, parse_json(text, n, &json));
        used = mallinfo2().uordblks - used;
        size_t counted = tn_ctx_memory_now(test_ctx) - before;
        assert_true(used <= counted);
        tnp_json_free(&json);
        assert_int_equal(tn_ctx_memory_now(test_ctx), before);
        tn_ctx_set_memory(test_ctx, before + counted - 1);
        assert_fails(test_ctx, TN_ERR_BUDGET, "f: needs", parse_json(text, n, &json));
        assert_null(json.root);
        tn_ctx_set_memory(test_ctx, 0);
    }
    free(text);
}

static void json_values_are_limited(void **state)
{
    (void)state;
    size_t n = (size_t)2 * TNP_JSON_VALUES + 10;
    char *text = malloc(n);
    tnp_json json = {.root = NULL};
    assert_non_null(text);
    text[0] = '[';
    for (size_t i = 1; i < n; ++i)
        text[i] = i % 2 ? '1' : ',';
    assert_fails(test_ctx, TN_ERR_FORMAT, "too many values, the limit is 4194304", parse_json(text, n, &json));
    assert_fails(test_ctx, TN_ERR_FORMAT, "bytes of JSON, the limit is 100000000",
                 parse_json(text, TNP_JSON_BYTES + (size_t)1, &json));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_depth_is_limited),
        cmocka_unit_test(json_counts_against_the_budget),
        cmocka_unit_test(json_values_are_limited),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
