/* SPDX-License-Identifier: BSD-3-Clause
 *
 * HTML into a growing text: escaping, tables, members of results. Oracle: a parser of HTML and a browser,
 * tests/report/. */
#include "report/page/html.h"

#include "report/cells.h"

#include <math.h>
#include <string.h>

/* ---- escaping ---- */

/* The character that the UTF-8 sequence of n bytes is. */
static unsigned long code_of(const char *text, size_t n)
{
    static const unsigned char masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    unsigned long code = (unsigned char)text[0] & masks[n];
    for (size_t i = 1; i < n; ++i)
        code = code << 6 | ((unsigned char)text[i] & 0x3fu);
    return code;
}

/* Controls, marks of direction, separators of lines, blanks without width, byte order marks, language tags. */
static bool is_unseen(unsigned long c)
{
    static const unsigned long ranges[][2] = {{0, 0x1f},        {0x7f, 0x9f},     {0xad, 0xad},      {0x61c, 0x61c},
                                              {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e},  {0x2060, 0x206f},
                                              {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; ++i)
        if (c >= ranges[i][0] && c <= ranges[i][1])
            return true;
    return false;
}

/* One character; how many bytes it had. */
static size_t add_char(tnp_text *html, const char *text)
{
    const char *const marks = "&<>\"'", *const names[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    const char *mark = strchr(marks, *text);
    size_t n = tnp_utf8_length(text, strlen(text));
    if (mark)
        tnp_text_raw(html, names[mark - marks]);
    else if (n == 0)
        tnp_text_add(html, "\\x%02x", (unsigned)(unsigned char)*text);
    else if (is_unseen(code_of(text, n)))
        tnp_text_add(html, "\\u{%lx}", code_of(text, n));
    else
        tnp_text_bytes(html, text, n);
    return n ? n : 1;
}

void tnp_html_short(tnp_text *html, const char *text, size_t most)
{
    size_t shown = 0;
    for (; text && *text && shown < most; ++shown)
        text += add_char(html, text);
    if (text && *text)
        tnp_text_raw(html, "…");
}

void tnp_html_text(tnp_text *html, const char *text)
{
    tnp_html_short(html, text, SIZE_MAX);
}

void tnp_html_base64(tnp_text *html, const unsigned char *bytes, size_t size)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        size_t left = size - i;
        unsigned long three = (unsigned long)bytes[i] << 16 | (left > 1 ? (unsigned long)bytes[i + 1] << 8 : 0) |
                              (left > 2 ? bytes[i + 2] : 0);
        char out[4] = {letters[three >> 18], letters[three >> 12 & 63], '=', '='};
        if (left > 1)
            out[2] = letters[three >> 6 & 63];
        if (left > 2)
            out[3] = letters[three & 63];
        tnp_text_bytes(html, out, 4);
    }
}

/* ---- members of results ---- */

double tnp_member(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

const char *tnp_member_text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

const json_t *tnp_member_list(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_array(value) && json_array_size(value) > 0 ? value : NULL;
}

double tnp_item(const json_t *list, size_t i)
{
    const json_t *value = json_array_get(list, i);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

/* ---- tables ---- */

void tnp_grid_begin(tnp_text *html, const char *id, const char *caption)
{
    tnp_text_add(html,
                 "<div class=\"scroll tall\" tabindex=\"0\" role=\"group\" aria-label=\"%s\"><table class=\"sort\"",
                 caption);
    if (id)
        tnp_text_add(html, " id=\"%s\"", id);
    tnp_text_add(html, "><caption>%s</caption><thead><tr>", caption);
}

void tnp_grid_head(tnp_text *html, const char *name, bool number)
{
    tnp_text_add(html, "<th scope=\"col\"%s>", number ? " class=\"n\"" : "");
    tnp_html_text(html, name);
    tnp_text_raw(html, "</th>");
}

void tnp_grid_body(tnp_text *html)
{
    tnp_text_raw(html, "</tr></thead><tbody>");
}

void tnp_grid_row(tnp_text *html, bool chosen)
{
    tnp_text_raw(html, chosen ? "\n<tr class=\"chosen\">" : "\n<tr>");
}

void tnp_grid_name(tnp_text *html, const char *name)
{
    tnp_text_raw(html, "<th scope=\"row\">");
    tnp_html_text(html, name);
    tnp_text_raw(html, "</th>");
}

void tnp_grid_text(tnp_text *html, const char *text)
{
    tnp_text_raw(html, "<td>");
    tnp_html_text(html, text);
    tnp_text_raw(html, "</td>");
}

void tnp_grid_number(tnp_text *html, double value)
{
    if (isnan(value)) {
        tnp_text_raw(html, "<td class=\"n\" data-v=\"\"></td>");
        return;
    }
    tnp_text_add(html, "<td class=\"n\" data-v=\"");
    tnp_text_number(html, value);
    tnp_text_raw(html, "\">");
    tnp_html_number(html, value);
    tnp_text_raw(html, "</td>");
}

void tnp_grid_count(tnp_text *html, double value)
{
    if (isnan(value))
        tnp_grid_number(html, value);
    else
        tnp_text_add(html, "<td class=\"n\" data-v=\"%.0f\">%.0f</td>", value, value);
}

void tnp_grid_end(tnp_text *html)
{
    tnp_text_raw(html, "</tbody></table></div>\n");
}

void tnp_html_number(tnp_text *html, double value)
{
    char buf[32];
    if (value == floor(value) && fabs(value) >= 2 && fabs(value) < 1e9)
        tnp_text_add(html, "%.0f", value);
    else
        tnp_text_raw(html, tnp_four_digits(value, buf));
}

void tnp_html_percent(tnp_text *html, double value)
{
    if (!isnan(value))
        tnp_text_add(html, "%.1f&nbsp;%%", 100 * value);
}
