/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pages: escaping, results that are no results, allocations that fail, thumbnails within their bytes. What a browser
 * and a parser say of them is in tests/report/. */
#include "ctx_of.h"
#include "report/page/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define with_context(test) cmocka_unit_test_setup_teardown(test, ctx_setup, ctx_teardown)

static char *html_of(tn_ctx *ctx, const char *json, const tn_pictures *pictures)
{
    tn_page *page = NULL;
    char *html = NULL;
    assert_fine(ctx, tn_page_new(ctx, &page));
    assert_fine(ctx, tn_page_add(ctx, page, "x.json", json));
    tn_page_set_pictures(page, pictures);
    assert_fine(ctx, tn_page_html(ctx, page, &html));
    tn_page_free(page);
    return html;
}

static void characters_are_escaped(void **state)
{
    static const struct {
        const char *text, *want;
    } all[] = {{"a<b>&\"'", "a&lt;b&gt;&amp;&quot;&#39;"},
               {"a\nb\t\x7f", "a\\u{a}b\\u{9}\\u{7f}"},
               {"\u202e\u200b\ufeff\u061c", "\\u{202e}\\u{200b}\\u{feff}\\u{61c}"},
               {"\xff\xc3", "\\xff\\xc3"},
               {"gr\u00fc\u00df \u65e5 \U0001f600", "gr\u00fc\u00df \u65e5 \U0001f600"},
               {"\xf3\xa0\x80\x81", "\\u{e0001}"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
        tnp_text text;
        char *out = NULL;
        tnp_text_init(&text, *state);
        tnp_html_text(&text, all[i].text);
        assert_fine(*state, tnp_text_take(&text, &out));
        assert_string_equal(out, all[i].want);
        tn_text_free(out);
    }
}

static void bytes_as_base64(void **state)
{
    static const char *const want[] = {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"}; /* RFC 4648 */
    for (size_t n = 1; n <= 6; ++n) {
        tnp_text text;
        char *out = NULL;
        tnp_text_init(&text, *state);
        tnp_html_base64(&text, (const unsigned char *)"foobar", n);
        assert_fine(*state, tnp_text_take(&text, &out));
        assert_string_equal(out, want[n]);
        tn_text_free(out);
    }
}

/* Members of another kind than ours are no reason to fail, and none gets out of its place. */
static void members_of_other_kinds(void **state)
{
    static const char *const odd[] = {
        "{\"command\":\"eval\"}",
        "{\"command\":\"rank\",\"candidates\":[1,null,\"x\"]}",
        "{\"command\":\"rank\",\"candidates\":[{\"name\":5}]}",
        "{\"command\":\"eval\",\"metrics\":{\"accuracy\":\"<b>\"},\"per_class\":[{\"class\":7}],\"confusion\":[[0,0,1]]"
        "}",
        "{\"command\":\"eval\",\"per_class\":[{\"class\":\"a\"}],\"confusion\":[[5,-1,2],[0,0],\"x\",[0,0,3],[1e99,0,1]"
        "]}",
        "{\"command\":\"eval\",\"reliability\":[{}],\"curves\":{\"rates\":[\"x\"],\"per_class\":[null,3]}}",
        "{\"command\":\"fit\",\"selected\":[3],\"steps\":[{}],\"tried\":[{}],\"cross_validation\":{\"grid\":[{"
        "\"value\":-1}]}}",
        "{\"command\":\"fit\",\"epochs\":[{},{\"mistakes\":1}]}",
        "{\"command\":\"cv\",\"methods\":[{\"metrics\":[1]}],\"comparison\":{\"metrics\":{\"a\":1},\"p\":0}}",
        "{\"command\":\"transfer\",\"selected\":[{}],\"per_class\":[4],\"candidates\":[1]}",
        "{\"command\":\"kernel learn\",\"contributing_rate\":[null],\"rank\":-5,\"table\":[1,[2]]}",
        "{\"command\":\"<b>\",\"warnings\":[{}],\"provenance\":{\"files\":[1],\"options\":[]}}",
    };
    for (size_t i = 0; i < sizeof odd / sizeof *odd; ++i) {
        char *html = html_of(*state, odd[i], NULL);
        assert_non_null(strstr(html, "</html>"));
        assert_null(strstr(html, "<b>"));
        tn_text_free(html);
    }
}

static void results_that_are_none(void **state)
{
    static const char *const bad[] = {"", "{", "[]", "3", "{\"rows\":1}", "{\"command\":1}", "{\"command\":\"a\"} x"};
    tn_page *page = NULL;
    char *html = NULL;
    assert_fine(*state, tn_page_new(*state, &page));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i)
        assert_int_equal(tn_page_add(*state, page, "x.json", bad[i]), TN_ERR_FORMAT);
    assert_int_equal(tn_page_html(*state, page, &html), TN_ERR_ARG);
    assert_null(html);
    tn_page_free(page);
}

static const char *const measured = "{\"command\":\"eval\",\"task\":\"multiclass\",\"rows\":3,\"metrics\":{"
                                    "\"accuracy\":0.5},\"per_class\":[{\"class\":\"a\","
                                    "\"support\":2,\"hits\":1,\"recall\":0.5},{\"class\":\"b\",\"support\":1,\"hits\":"
                                    "1,\"recall\":1}],\"confusion\":[[0,0,1],"
                                    "[0,1,1],[1,1,1]],\"confused\":[{\"true\":\"a\",\"predicted\":\"b\",\"count\":1,"
                                    "\"share\":0.5}],\"mistakes\":[{\"row\":0,"
                                    "\"true\":\"a\",\"predicted\":\"b\",\"probability\":0.9},{\"row\":9,\"true\":\"a\","
                                    "\"predicted\":\"b\"}],\"typical\":[{\"row\":1,"
                                    "\"true\":\"b\",\"predicted\":\"b\",\"probability\":0.9}],\"reliability\":[{"
                                    "\"confidence\":0.5,\"accuracy\":0.4,\"rows\":3}]}";

static void allocations_that_fail(void **state)
{
    tn_ctx *ctx = *state;
    size_t before = tnp_live_blocks(ctx);
    for (size_t k = 1;; ++k) {
        tn_page *page = NULL;
        char *html = NULL;
        tnp_fail_allocation(ctx, k);
        tn_status st = tn_page_new(ctx, &page);
        if (st == TN_OK)
            st = tn_page_add(ctx, page, "x.json", measured);
        if (st == TN_OK)
            st = tn_page_html(ctx, page, &html);
        tnp_fail_allocation(ctx, 0);
        tn_page_free(page);
        if (st == TN_OK) {
            tn_text_free(html);
            break;
        }
        assert_int_equal(st, TN_ERR_MEMORY);
        assert_null(html);
        assert_int_equal(tnp_live_blocks(ctx), before);
    }
}

/* Occurrences of a text in another. */
static size_t count_of(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
        ++n;
    return n;
}

static const char *const picture_files[] = {TN_SOURCE_DIR "/tests/fuzz/corpus/picture/rgb.png",
                                            TN_SOURCE_DIR "/tests/fuzz/corpus/picture/cut.jpg",
                                            TN_SOURCE_DIR "/tests/fuzz/corpus/picture/grey.jpg"};

/* Rows that are pictures; the second is cut off, and is named instead. With another number of rows nobody knows which
 * picture is which. */
static void thumbnails(void **state)
{
    for (size_t count = 2; count <= 3; ++count) {
        tn_pictures *pictures = NULL;
        assert_fine(*state, tn_pictures_open(*state, picture_files, count, &pictures));
        char *html = html_of(*state, measured, pictures);
        assert_int_equal(count_of(html, "src=\"data:image/jpeg;base64,/9j/"), count == 3 ? 1 : 0);
        assert_int_equal(count_of(html, "cut.jpg</li>"), count == 3 ? 1 : 0);
        tn_text_free(html);
        tn_pictures_free(pictures);
    }
}

/* Ids say which picture a row is, whatever the order and the number of rows. */
static void thumbnails_by_id(void **state)
{
    tn_pictures *pictures = NULL;
    char json[1024];
    assert_fine(*state, tn_pictures_open(*state, picture_files, 3, &pictures));
    for (size_t i = 0; i < 3; ++i) {
        snprintf(json, sizeof json,
                 "{\"command\":\"eval\",\"task\":\"multiclass\",\"rows\":9,\"mistakes\":[{\"row\":0,\"id\":\"%s\","
                 "\"true\":\"a\",\"predicted\":\"b\"},{\"row\":1,\"id\":\"another\",\"true\":\"a\"}]}",
                 tn_pictures_ids(pictures)[i]);
        char *html = html_of(*state, json, pictures);
        assert_int_equal(count_of(html, "src=\"data:image/jpeg;base64,/9j/"), i == 1 ? 0 : 1);
        assert_int_equal(count_of(html, "cut.jpg</li>"), i == 1 ? 1 : 0);
        tn_text_free(html);
    }
    tn_pictures_free(pictures);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_context(characters_are_escaped), with_context(bytes_as_base64),       with_context(members_of_other_kinds),
        with_context(results_that_are_none),  with_context(allocations_that_fail), with_context(thumbnails),
        with_context(thumbnails_by_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
