/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lists of pictures: folders of classes, folders without, texts, paths; labels and ids; what is broken in them. */
#include "fixtures/pictures.h"
#include "read/pictures/list.h"
#include "read/pictures/picture.h"

static char root[512];

static char *below(const char *path)
{
    static char buffer[4][700];
    static size_t next;
    char *out = buffer[next++ % 4];
    snprintf(out, 700, "%s/%s", root, path);
    return out;
}

static void new_folder(const char *path)
{
    assert_int_equal(mkdir(below(path), 0700), 0);
}

static void store_file(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(below(path), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
}

/* 8 x 8, all pixels `grey`. */
static void make_picture(const char *path, unsigned grey)
{
    unsigned char rows[64];
    memset(rows, (int)grey, sizeof rows);
    png_form form = {.width = 8, .height = 8, .depth = 8, .type = PNG_COLOR_TYPE_GRAY, .rows = rows, .row_bytes = 8};
    picture_bytes made = png_bytes(&form);
    store_file(path, made.data, made.size);
    free(made.data);
}

/* A fresh folder for each test. */
static int begin(void **state)
{
    static int number;
    (void)state;
    snprintf(root, sizeof root, "%s/case%d", test_folder, number++);
    return mkdir(root, 0700);
}

static tn_pictures *open_one(const char *path)
{
    tn_pictures *pictures = NULL;
    const char *images[] = {path};
    assert_fine(test_ctx, tn_pictures_open(test_ctx, images, 1, &pictures));
    return pictures;
}

static void refuse(const char *path, tn_status status, const char *part)
{
    tn_pictures *pictures = NULL;
    const char *images[] = {path};
    assert_fails(test_ctx, status, part, tn_pictures_open(test_ctx, images, 1, &pictures));
    assert_null(pictures);
}

static void a_folder_with_a_sub_folder_per_class(void **state)
{
    (void)state;
    new_folder("b");
    new_folder("a");
    new_folder("a/deep");
    new_folder(".hidden");
    make_picture("b/2.png", 1);
    make_picture("b/10.PNG", 2);
    make_picture("a/x.jpg", 3); /* a PNG by its bytes */
    make_picture("a/deep/y.jpeg", 4);
    store_file("a/notes.txt", "no picture", 10);
    tn_pictures *p = open_one(root);
    static const char *const ids[] = {"a/x.jpg", "a/deep/y.jpeg", "b/10.PNG", "b/2.png"};
    assert_int_equal(tn_pictures_count(p), 4);
    for (size_t i = 0; i < 4; ++i)
        assert_string_equal(tn_pictures_ids(p)[i], ids[i]);
    tn_labels *labels = NULL;
    size_t n = 0;
    assert_true(tn_pictures_labelled(p));
    assert_fine(test_ctx, tn_pictures_labels(test_ctx, p, &labels));
    assert_int_equal(tn_labels_classes(labels), 2);
    assert_string_equal(tn_labels_class_names(labels)[1], "b");
    assert_int_equal(*tn_labels_of(labels, 1, &n), 0);
    assert_int_equal(*tn_labels_of(labels, 2, &n), 1);
    assert_string_equal(tn_labels_ids(labels)[3], "b/2.png");
    tn_labels_free(labels);
    tn_picture *decoded[4];
    tnp_picture_options options;
    tnp_picture_options_default(&options);
    assert_fine(test_ctx, tnp_pictures_decode(test_ctx, p, 0, 4, &options, decoded));
    static const double greys[] = {3, 4, 2, 1};
    for (size_t i = 0; i < 4; ++i) {
        assert_near_at(i, (double)decoded[i]->pixels[63], greys[i] / 255, 1e-6);
        tn_picture_free(decoded[i]);
    }
    tn_pictures_free(p);
}

static void a_folder_of_pictures_has_no_labels(void **state)
{
    (void)state;
    make_picture("b.png", 1);
    make_picture("a.png", 1);
    tn_pictures *p = open_one(root);
    tn_labels *labels = NULL;
    assert_int_equal(tn_pictures_count(p), 2);
    assert_string_equal(tn_pictures_ids(p)[0], "a.png");
    assert_false(tn_pictures_labelled(p));
    assert_fails(test_ctx, TN_ERR_DATA, "pictures without labels", tn_pictures_labels(test_ctx, p, &labels));
    tn_pictures_free(p);
}

static void a_list_with_several_labels(void **state)
{
    (void)state;
    new_folder("in");
    make_picture("in/1.png", 1);
    static const char text[] = "in/1.png\tdog|cat\r\nin/1.png\tdog\nin/1.png\t-1\n";
    store_file("list.txt", text, sizeof text - 1);
    tn_pictures *p = open_one(below("list.txt"));
    tn_labels *labels = NULL;
    size_t n = 0;
    assert_int_equal(tn_pictures_count(p), 3);
    assert_string_equal(tn_pictures_ids(p)[1], "in/1.png");
    assert_string_equal(tn_pictures_path(p, 1), below("in/1.png"));
    assert_fine(test_ctx, tn_pictures_labels(test_ctx, p, &labels));
    assert_int_equal(tn_labels_task(labels), TN_TASK_MULTILABEL);
    assert_string_equal(tn_labels_class_names(labels)[0], "cat");
    (void)tn_labels_of(labels, 0, &n);
    assert_int_equal(n, 2);
    assert_false(tn_labels_known(labels, 2));
    tn_labels_free(labels);
    bool keep[] = {false, true, true};
    tnp_pictures_keep(p, keep);
    assert_fine(test_ctx, tn_pictures_labels(test_ctx, p, &labels));
    assert_int_equal(tn_labels_rows(labels), 2);
    assert_int_equal(tn_labels_classes(labels), 1);
    tn_labels_free(labels);
    tn_pictures_free(p);
}

static void lists_that_are_wrong(void **state)
{
    (void)state;
    store_file("a.txt", "x.png\ta\ny.png\n", 14);
    store_file("b.txt", "x.png\n\n", 7);
    store_file("c.txt", "", 0);
    refuse(below("a.txt"), TN_ERR_FORMAT, "line 2: no tab, but line 1 has labels");
    refuse(below("b.txt"), TN_ERR_FORMAT, "line 2: no path of a picture");
    refuse(below("c.txt"), TN_ERR_DATA, "no pictures in it");
    refuse(below("none"), TN_ERR_IO, "none: ");
    refuse("", TN_ERR_ARG, "no path given");
}

static void paths_of_pictures(void **state)
{
    (void)state;
    tn_pictures *p = NULL;
    make_picture("a.png", 1);
    char first[700];
    snprintf(first, sizeof first, "%s", below("a.png"));
    const char *images[] = {first, first}; /* twice is two rows */
    assert_fine(test_ctx, tn_pictures_open(test_ctx, images, 2, &p));
    assert_int_equal(tn_pictures_count(p), 2);
    assert_string_equal(tn_pictures_ids(p)[1], first);
    tn_pictures_free(p);
    p = NULL;
    const char *mixed[] = {first, root};
    assert_fails(test_ctx, TN_ERR_ARG, "stands alone", tn_pictures_open(test_ctx, mixed, 2, &p));
}

static void folders_that_are_wrong(void **state)
{
    (void)state;
    refuse(root, TN_ERR_DATA, "no pictures in it");
    new_folder("empty");
    refuse(root, TN_ERR_DATA, "no pictures in it");
    make_picture("a.png", 1);
    refuse(root, TN_ERR_DATA, "pictures (a.png) beside sub-folders (empty)");
}

static void a_folder_that_contains_itself_by_a_link(void **state)
{
    (void)state;
    new_folder("a");
    make_picture("a/1.png", 1);
    assert_int_equal(symlink(root, below("a/up")), 0);
    refuse(root, TN_ERR_IO, "a/up: a folder that contains itself");
}

static char told[1024];
static void hear(void *user, const char *text)
{
    (void)user;
    snprintf(told, sizeof told, "%s", text);
}

static void a_broken_picture_stops_or_is_skipped(void **state)
{
    (void)state;
    make_picture("a.png", 10);
    store_file("b.png", "nothing", 7);
    make_picture("c.png", 30);
    assert_int_equal(symlink(below("nowhere"), below("d.png")), 0);
    tn_pictures *p = open_one(root);
    tn_picture *decoded[4] = {NULL};
    tnp_picture_options options;
    tnp_picture_options_default(&options);
    assert_int_equal(tn_pictures_count(p), 4);
    assert_fails(test_ctx, TN_ERR_UNSUPPORTED, "b.png: bytes of another kind",
                 tnp_pictures_decode(test_ctx, p, 0, 4, &options, decoded));
    for (size_t i = 0; i < 4; ++i)
        assert_null(decoded[i]);
    options.on_error = TNP_ON_ERROR_SKIP;
    tn_ctx_set_warning(test_ctx, hear, NULL);
    assert_fine(test_ctx, tnp_pictures_decode(test_ctx, p, 0, 4, &options, decoded));
    tn_ctx_set_warning(test_ctx, NULL, NULL);
    assert_non_null(strstr(told, "d.png: "));
    assert_non_null(strstr(told, "; skipped"));
    assert_null(decoded[1]);
    assert_null(decoded[3]);
    assert_near((double)decoded[2]->pixels[0], 30 / 255.0, 1e-6);
    tn_picture_free(decoded[0]);
    tn_picture_free(decoded[2]);
    tn_pictures_free(p);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    new_folder("a");
    new_folder("b");
    make_picture("a/1.png", 1);
    make_picture("b/2.png", 1);
    size_t blocks = tnp_live_blocks(test_ctx), k = 1;
    const char *images[] = {root};
    for (;; ++k) {
        tn_pictures *p = NULL;
        tn_labels *labels = NULL;
        tnp_fail_allocation(test_ctx, k);
        tn_status st = tn_pictures_open(test_ctx, images, 1, &p);
        if (st == TN_OK)
            st = tn_pictures_labels(test_ctx, p, &labels);
        tnp_fail_allocation(test_ctx, 0);
        tn_labels_free(labels);
        tn_pictures_free(p);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
    }
    assert_true(k > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_folder_with_a_sub_folder_per_class, begin),
        cmocka_unit_test_setup(a_folder_of_pictures_has_no_labels, begin),
        cmocka_unit_test_setup(a_list_with_several_labels, begin),
        cmocka_unit_test_setup(lists_that_are_wrong, begin),
        cmocka_unit_test_setup(paths_of_pictures, begin),
        cmocka_unit_test_setup(folders_that_are_wrong, begin),
        cmocka_unit_test_setup(a_folder_that_contains_itself_by_a_link, begin),
        cmocka_unit_test_setup(a_broken_picture_stops_or_is_skipped, begin),
        cmocka_unit_test_setup(every_allocation_may_fail, begin),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
