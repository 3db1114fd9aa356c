/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Options by name. Which option goes with which method is written down here by hand, from the command line's contract;
 * a call by name must give the same bytes as the call with a filled struct. */
#include "scene_of.h"
#include "encode/pq.h"
#include "options_by_name.h"
#include "options_of.h"
#include "tenon/store.h"

#include <math.h>

static const char *const calls[] = {"rank", "fit", "transfer", "kernel", "pq", "evidence", "cv"};
enum { CALLS = sizeof calls / sizeof *calls };

static double number(const tn_options *o, const char *name)
{
    double value = NAN;
    assert_true(tn_options_number(o, name, &value));
    return value;
}

/* ---- what there is ---- */

static void every_call_lists_its_options(void **state)
{
    (void)state;
    static const char *const some[CALLS] = {"loo", "patience", "delta", "basis", "centroids", "tolerance", "against"};
    for (size_t c = 0; c < CALLS; ++c) {
        tn_options *o = options_new(calls[c]);
        bool found = false;
        for (size_t i = 0; i < tn_options_count(o); ++i) {
            const tn_field *field = tn_options_field(o, i);
            found |= strcmp(field->name, some[c]) == 0;
            assert_true(*field->help && *tn_options_group(o, field->name) && tn_options_text(o, field->name));
            assert_false(tn_options_given(o, field->name));
            for (size_t j = 0; j < i; ++j)
                assert_string_not_equal(field->name, tn_options_field(o, j)->name);
        }
        assert_true(found);
        assert_null(tn_options_field(o, tn_options_count(o)));
        assert_null(tn_options_text(o, "no such"));
        assert_false(tn_options_given(o, "no such") || tn_options_of_use(o, "no such"));
        tn_options_free(o);
    }
}

/* Seed, validation rows, the head to go on from and weights are options like others. */
static void seed_valid_from_and_weights_are_in_the_table(void **state)
{
    (void)state;
    static const char *const names[] = {"seed", "valid", "valid-labels", "from", "sample-weight", "class-weight"};
    tn_options *o = options_new("fit");
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        assert_non_null(tn_options_text(o, names[i]));
    tn_options_free(o);
}

static void a_default_can_be_set(void **state)
{
    (void)state;
    for (size_t c = 0; c < CALLS; ++c) {
        tn_options *o = options_new(calls[c]);
        for (size_t i = 0; i < tn_options_count(o); ++i) {
            const tn_field *field = tn_options_field(o, i);
            char before[200];
            snprintf(before, sizeof before, "%s", tn_options_text(o, field->name));
            if (!*before)
                continue;
            set(o, field->name, before);
            assert_string_equal(tn_options_text(o, field->name), before);
            assert_true(tn_options_given(o, field->name));
        }
        tn_options_free(o);
    }
}

/* ---- values ---- */

static void numbers_are_numbers(void **state)
{
    (void)state;
    tn_options *o = options_new("fit"), *t = options_new("transfer"), *k = options_new("kernel");
    double value = 0;
    assert_true(number(o, "loo") == 2000);
    set(o, "loo", "all");
    assert_false(tn_options_number(o, "loo", &value));
    assert_string_equal(tn_options_text(o, "loo"), "all");
    assert_fine(test_ctx, tn_options_set_number(test_ctx, o, "loo", 7));
    assert_true(number(o, "loo") == 7);
    assert_false(tn_options_number(o, "lambda", &value));
    assert_string_equal(tn_options_text(o, "lambda"), "auto");
    assert_fine(test_ctx, tn_options_set_number(test_ctx, o, "lambda", 0.1));
    assert_true(number(o, "lambda") == 0.1);
    assert_fine(test_ctx, tn_options_set_numbers(test_ctx, o, "grid", (const double[]){0.1, 1, 1e-5}, 3));
    assert_string_equal(tn_options_text(o, "grid"), "0.1,1,1e-05");
    set(o, "grid", "0.01:100:5"); /* ends as they were given, the others rounded */
    assert_string_equal(tn_options_text(o, "grid"), "0.01,0.1,1,10,100");
    set(o, "grid", "1e-6:1e5:2");
    assert_string_equal(tn_options_text(o, "grid"), "1e-06,100000");
    assert_fine(test_ctx, tn_options_set_number(test_ctx, o, "C", 1.0 / 3));
    assert_true(number(o, "C") == 1.0 / 3);
    set(t, "k", "loo");
    assert_string_equal(tn_options_text(t, "k"), "loo");
    set(t, "k", "12");
    assert_true(number(t, "k") == 12);
    set(k, "scale", "2.5");
    assert_true(number(k, "scale") == 2.5);
    assert_fine(test_ctx, tn_options_set_flag(test_ctx, o, "intercept", false));
    assert_string_equal(tn_options_text(o, "intercept"), "no");
    assert_fine(test_ctx, tn_options_set_flag(test_ctx, o, "tune", true));
    assert_string_equal(tn_options_text(o, "tune"), "yes");
    assert_fine(test_ctx, tn_options_set_flag(test_ctx, o, "tune", false));
    assert_string_equal(tn_options_text(o, "tune"), "no");
    tn_options_free(o);
    tn_options_free(t);
    tn_options_free(k);
}

static void what_is_refused_stays_as_it_was(void **state)
{
    (void)state;
    static const struct {
        const char *call, *name, *text, *message;
    } bad[] = {
        {"fit", "loo", "x", "loo: got 'x', expected all or a whole number from 0 up"},
        {"fit", "loo", "-1", "loo"},
        {"fit", "loo", "5x", "loo"},
        {"fit", "loo", "1.5", "loo"},
        {"fit", "loo", "N", "loo"},
        {"fit", "loo", "", "loo: got nothing"},
        {"fit", "loo", "all ", "loo"},
        {"fit", "loo", "99999999999999999999999", "loo"},
        {"fit", "lambda", "foo", "expected auto, shared, per-class, gcv, loo or a positive number"},
        {"fit", "lambda", "0", "lambda"},
        {"fit", "lambda", "X", "lambda"},
        {"fit", "lambda", "nan", "lambda"},
        {"fit", "grid", "1,", "grid: got '', expected numbers from 1e-30 to 1e30 joined by commas"},
        {"fit", "grid", ",1", "grid"},
        {"fit", "grid", "1,0", "grid: got '0'"},
        {"fit", "grid", "1,,2", "grid"},
        {"fit", "grid", "1 2", "grid"},
        {"fit", "grid", "0x1", "grid"},
        {"fit", "grid", "1e400", "grid"},
        {"fit", "holdout", "-0.1", "holdout: got -0.1"},
        {"fit", "holdout", "1.5", "holdout: got 1.5"},
        {"fit", "method", "magic", "method: got magic, expected auto|evidence|ridge-cv"},
        {"fit", "tune", "maybe", "tune: got maybe, expected yes|no"},
        {"fit", "C", "1e31", "C: got 1e31"},
        {"fit", "valid", "a.npy", "valid: got one text, expected features"},
        {"fit", "colour", "red", "options of fit: there is none called 'colour'"},
        {"transfer", "k", "0", "k: got '0', expected all, loo or a whole number from 1 up"},
        {"transfer", "normalize", "l2,root", "normalize"},
        {"kernel", "scale", "much", "scale: got 'much', expected auto or a number from 1e-30 to 1e30"},
        {"kernel", "scale", "1e31", "scale"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        tn_options *o = options_new(bad[i].call);
        const char *text = tn_options_text(o, bad[i].name);
        char before[100];
        snprintf(before, sizeof before, "%s", text ? text : "");
        assert_fails(test_ctx, TN_ERR_ARG, bad[i].message, tn_options_set(test_ctx, o, bad[i].name, bad[i].text));
        assert_string_equal(text ? tn_options_text(o, bad[i].name) : "", before);
        assert_false(tn_options_given(o, bad[i].name));
        tn_options_free(o);
    }
    tn_options *o = options_new("fit");
    assert_fails(test_ctx, TN_ERR_ARG, "a whole number", tn_options_set_number(test_ctx, o, "epochs", 2.5));
    assert_fails(test_ctx, TN_ERR_ARG, "a whole number", tn_options_set_number(test_ctx, o, "epochs", -1));
    assert_fails(test_ctx, TN_ERR_ARG, "a number", tn_options_set_number(test_ctx, o, "C", NAN));
    assert_fails(test_ctx, TN_ERR_ARG, "got a number", tn_options_set_number(test_ctx, o, "method", 3));
    assert_fails(test_ctx, TN_ERR_ARG, "got yes or no", tn_options_set_flag(test_ctx, o, "method", true));
    assert_fails(test_ctx, TN_ERR_ARG, "got an object", tn_options_set_head(test_ctx, o, "C", NULL));
    assert_fails(test_ctx, TN_ERR_ARG, "got 'fits'", tn_options_new(test_ctx, "fits", &o));
    tn_options_free(o);
}

static void ranges_that_are_none(void **state)
{
    (void)state;
    const char *const texts[] = {"1:2",     "1:2:3:4",   "2:1:3", "1:1:3",    "0:1:3",   "1:2:1",
                                 "1:2:2.5", "1:2:10001", "1:2:",  "1:1e31:3", "1:2:3,4", ":2:3"};
    tn_options *o = options_new("fit");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        char want[120];
        tnp_format(want, sizeof want, "grid: got '%s', expected LO:HI:COUNT with 0 < LO < HI and 2 to 10000 values",
                   texts[i]);
        assert_fails(test_ctx, TN_ERR_ARG, want, tn_options_set(test_ctx, o, "grid", texts[i]));
    }
    tn_options_free(o);
}

/* A caller may forget, or change, what it gave. */
static void texts_and_lists_are_copied(void **state)
{
    (void)state;
    tn_options *o = options_new("fit");
    char text[] = "l2,root";
    double list[] = {3, 4};
    set(o, "normalize", text);
    assert_fine(test_ctx, tn_options_set_numbers(test_ctx, o, "grid", list, 2));
    memset(text, 'x', sizeof text - 1);
    list[0] = 9;
    assert_string_equal(tn_options_text(o, "normalize"), "l2,root");
    assert_string_equal(tn_options_text(o, "grid"), "3,4");
    set(o, "normalize", "none");
    set(o, "grid", "5");
    assert_string_equal(tn_options_text(o, "normalize"), "none");
    tn_options_free(o);
}

/* Choices are kept as the place of their word, and compared with enumerators: both must be in one order. */
static void words_stand_for_their_enumerators(void **state)
{
    (void)state;
    static const struct {
        const tn_field *(*table)(size_t *count);
        const char *name, *word;
        int value;
    } want[] = {
        {tnp_fit_fields, "select", "best", TNP_SEARCH_BEST},
        {tnp_fit_fields, "select", "greedy", TNP_SEARCH_GREEDY},
        {tnp_fit_fields, "select", "forward", TNP_SEARCH_FORWARD},
        {tnp_fit_fields, "select", "exhaustive", TNP_SEARCH_EXHAUSTIVE},
        {tnp_fit_fields, "select", "all", TNP_SEARCH_ALL},
        {tnp_evidence_fields, "optimizer", "aitken", TNP_OPT_AITKEN},
        {tnp_evidence_fields, "optimizer", "mackay", TNP_OPT_MACKAY},
        {tnp_evidence_fields, "optimizer", "em", TNP_OPT_EM},
        {tnp_evidence_fields, "optimizer", "newton", TNP_OPT_NEWTON},
        {tnp_learn_fields, "loss", "squared-hinge", TNP_SVM_SQUARED_HINGE},
        {tnp_learn_fields, "loss", "hinge", TNP_SVM_HINGE},
        {tnp_learn_fields, "class-weight", "none", TNP_WEIGHT_NONE},
        {tnp_learn_fields, "class-weight", "balanced", TNP_WEIGHT_BALANCED},
        {tnp_transfer_fields, "class-weight", "balanced", TNP_WEIGHT_BALANCED},
        {tnp_learn_fields, "calibrate", "auto", TNP_CALIBRATE_AUTO},
        {tnp_learn_fields, "calibrate", "yes", TNP_CALIBRATE_YES},
        {tnp_learn_fields, "calibrate", "no", TNP_CALIBRATE_NO},
        {tnp_online_fields, "multiclass", "mul", TNP_ONLINE_MUL},
        {tnp_online_fields, "multiclass", "u-ovr", TNP_ONLINE_U_OVR},
        {tnp_online_fields, "multiclass", "e-ovr", TNP_ONLINE_E_OVR},
        {tnp_online_fields, "multiclass", "w-ovr", TNP_ONLINE_W_OVR},
        {tnp_rank_fields, "nan", "error", TN_NAN_ERROR},
        {tnp_rank_fields, "nan", "drop", TN_NAN_DROP},
        {tnp_rank_fields, "nan", "zero", TN_NAN_ZERO},
        {tnp_rank_fields, "signed", "odd", TN_SIGNED_ODD},
        {tnp_rank_fields, "signed", "split", TN_SIGNED_SPLIT},
        {tnp_map_fields, "basis", "scaled-fourier", TN_BASIS_SCALED_FOURIER},
        {tnp_map_fields, "basis", "fourier", TN_BASIS_FOURIER},
        {tnp_transfer_fields, "normalize", "l2", TN_NORM_L2},
        {tnp_transfer_fields, "normalize", "root", TN_NORM_ROOT},
        {tnp_transfer_fields, "normalize", "l1", TN_NORM_L1},
        {tnp_transfer_fields, "normalize", "zscore", TN_NORM_ZSCORE},
        {tnp_transfer_fields, "normalize", "none", TN_NORM_NONE},
    };
    for (size_t i = 0; i < sizeof want / sizeof *want; ++i) {
        int value = -1;
        set_member(field_called(want[i].table, want[i].name), &value, want[i].word);
        assert_int_equal(value, want[i].value);
    }
}

/* ---- options and methods ---- */

#define ONLINE "perceptron|sgd|pa|pa2|cw|arow|nherd|scw|scw2"
#define ALL "auto|evidence|ridge-cv|lda|svm|svm-cv|logistic|logistic-cv|" ONLINE

static void options_of_other_methods_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *options, *methods, *text;
    } want[] = {
        {"lambda", "evidence|lda", "evidence, lda"},
        {"C", "svm|logistic|" ONLINE, "svm, logistic, perceptron to scw2"},
        {"loss|penalise-bias", "svm|svm-cv", "svm, svm-cv"},
        {"mean-cost|gap|max-passes", "svm|svm-cv|logistic|logistic-cv", "svm, svm-cv, logistic, logistic-cv"},
        {"folds", "auto|ridge-cv|lda|svm|svm-cv|logistic|logistic-cv",
         "auto, ridge-cv, lda, svm-cv, logistic-cv, with option calibrate yes also svm, logistic"},
        {"grid", "ridge-cv|lda|svm-cv|logistic-cv", "ridge-cv, lda, svm-cv, logistic-cv"},
        {"calibrate|holdout", "auto|evidence|ridge-cv|lda|svm|svm-cv|logistic|logistic-cv",
         "auto, evidence, ridge-cv, lda, svm, svm-cv, logistic, logistic-cv"},
        {"budget", "auto", "auto"},
        {"threshold", "auto|evidence|ridge-cv", "auto, evidence, ridge-cv"},
        {"from|multiclass|average|no-average|epochs|eta|shuffle|ratio|patience|tune|checkpoint", ONLINE,
         "perceptron to scw2"},
    };
    static const char *const methods[] = {"auto",     "evidence",    "ridge-cv",   "lda", "svm", "svm-cv",
                                          "logistic", "logistic-cv", "perceptron", "sgd", "pa",  "pa2",
                                          "cw",       "arow",        "nherd",      "scw", "scw2"};
    tn_options *o = options_new("fit");
    for (size_t m = 0; m < sizeof methods / sizeof *methods; ++m) {
        set(o, "method", methods[m]);
        for (size_t i = 0; i < tn_options_count(o); ++i) {
            const char *name = tn_options_field(o, i)->name, *words = ALL, *text = NULL;
            for (size_t w = 0; w < sizeof want / sizeof *want; ++w)
                if (tnp_find_choice(want[w].options, name) >= 0) {
                    words = want[w].methods;
                    text = want[w].text;
                }
            assert_int_equal(tn_options_of_use(o, name), tnp_find_choice(words, methods[m]) >= 0);
            if (text)
                assert_string_equal(tn_options_methods(o, name), text);
            else
                assert_null(tn_options_methods(o, name));
        }
    }
    assert_string_equal(TNP_METHOD_WORDS, ALL);
    tn_options_free(o);
    o = options_new("transfer");
    assert_string_equal(tn_options_methods(o, "lambda"), "auto, greedytl");
    assert_string_equal(tn_options_methods(o, "delta"), "auto, greedytl, forward");
    set(o, "method", "forward");
    assert_true(tn_options_of_use(o, "k") && !tn_options_of_use(o, "lambda"));
    tn_options_free(o);
}

static tn_status fit_by_name(const scene *s, const tn_options *o, tn_head **head)
{
    tn_fit_info *info = NULL;
    tn_status st = tn_fit(test_ctx, (const tn_features *const *)s->features, REPS, s->labels, o, &info, head);
    tn_fit_info_free(info);
    return st;
}

/* The program refused them, the library took them in silence. */
static void the_library_refuses_options_of_other_methods(void **state)
{
    (void)state;
    scene s = scene_of(30, 4, 5, TN_TASK_MULTICLASS, AS_F32);
    tn_options *o = options_new("fit");
    tn_head *head = NULL;
    assert_fine(test_ctx, tn_options_set_number(test_ctx, o, "C", 10));
    assert_fails(test_ctx, TN_ERR_ARG, "C is for method svm, logistic, perceptron to scw2; got method auto",
                 fit_by_name(&s, o, &head));
    set(o, "method", "svm");
    assert_fine(test_ctx, fit_by_name(&s, o, &head));
    tn_head_free(head);
    assert_fine(test_ctx, tn_options_set_features(test_ctx, o, "valid", (const tn_features *const *)s.features, REPS));
    assert_fails(test_ctx, TN_ERR_ARG, "option valid and option valid-labels go together", fit_by_name(&s, o, &head));
    assert_fine(test_ctx, tn_options_set_features(test_ctx, o, "valid", NULL, 0));
    assert_fine(test_ctx, fit_by_name(&s, o, &head));
    tn_head_free(head);
    tn_options_free(o);
    o = options_new("rank");
    assert_fails(test_ctx, TN_ERR_ARG, "got options of rank, expected those of fit", fit_by_name(&s, o, &head));
    tn_options_free(o);
    scene_free(&s);
}

/* ---- calls ---- */

static void same_head(const tn_head *a, const tn_head *b)
{
    size_t k = tn_head_classes(a), d = tn_head_dim(a);
    assert_int_equal(d, tn_head_dim(b));
    assert_memory_equal(tn_head_weight(a), tn_head_weight(b), k * d * sizeof(float));
    assert_memory_equal(tn_head_bias(a), tn_head_bias(b), k * sizeof(float));
    assert_string_equal(tn_head_options(a), tn_head_options(b));
}

static void by_name_and_by_struct_are_the_same(void **state)
{
    (void)state;
    scene s = scene_of(30, 4, 5, TN_TASK_MULTICLASS, AS_F32);
    for (int m = 0; m < TNP_METHOD_COUNT; ++m) {
        tnp_fit_options opt;
        tn_options *o = options_new("fit");
        tn_head *a = NULL, *b = NULL;
        tn_fit_info *info = NULL;
        tnp_fit_options_default(&opt);
        opt.method = m;
        opt.rank.seed = 5;
        opt.rank.normalize = "none";
        opt.rank.loo = TNP_ALL;
        set(o, "method", tnp_method_of(m)->uses.word);
        set(o, "seed", "5");
        set(o, "normalize", "none");
        set(o, "loo", "all");
        if (tn_options_of_use(o, "grid")) {
            opt.learn.grid = grid_of("0.5,2");
            set(o, "grid", "0.5,2");
        }
        if (tn_options_of_use(o, "epochs")) {
            opt.online.epochs = 2;
            assert_fine(test_ctx, tn_options_set_number(test_ctx, o, "epochs", 2));
        }
        assert_fine(test_ctx, fit(&s, &opt, &info, &a));
        assert_fine(test_ctx, fit_by_name(&s, o, &b));
        same_head(a, b);
        assert_string_equal(info->method, tn_options_text(o, "method"));
        tn_fit_info_free(info);
        tn_head_free(a);
        tn_head_free(b);
        tn_options_free(o);
    }
    scene_free(&s);
}

static void without_options_there_are_the_defaults(void **state)
{
    (void)state;
    scene s = scene_of(30, 4, 5, TN_TASK_MULTICLASS, AS_F32);
    tn_options *o = options_new("fit");
    tn_head *a = NULL, *b = NULL;
    assert_fine(test_ctx, fit_by_name(&s, NULL, &a));
    assert_fine(test_ctx, fit_by_name(&s, o, &b));
    same_head(a, b);
    tn_head_free(a);
    tn_head_free(b);
    tn_options_free(o);
    tn_options_free(NULL);
    scene_free(&s);
}

static void objects_reach_the_call(void **state)
{
    (void)state;
    scene s = scene_of(30, 4, 5, TN_TASK_MULTICLASS, AS_F32);
    tn_options *o = options_new("fit");
    tn_head *first = NULL, *next = NULL, *alone = NULL;
    tn_labels *labels = NULL;
    char text[30 * 7 + 1] = "";
    for (size_t i = 0; i < s.n; ++i)
        strcat(text, s.y[i * K] > 0.5 ? "class0\n" : s.y[i * K + 1] > 0.5 ? "class1\n" : "class2\n");
    assert_fine(test_ctx, tn_labels_open(test_ctx, write_text("valid.txt", text), s.task, &labels));
    set(o, "method", "pa");
    set(o, "epochs", "1");
    set(o, "select", "all");
    assert_fine(test_ctx, fit_by_name(&s, o, &first));
    assert_fine(test_ctx, fit_by_name(&s, o, &alone));
    same_head(first, alone);
    tn_head_free(alone);
    assert_fine(test_ctx, tn_options_set_head(test_ctx, o, "from", first));
    assert_fine(test_ctx, fit_by_name(&s, o, &next));
    assert_true(memcmp(tn_head_weight(first), tn_head_weight(next), 9 * K * sizeof(float)) != 0);
    tn_head_free(next);
    assert_fine(test_ctx, tn_options_set_head(test_ctx, o, "from", NULL));
    assert_fine(test_ctx, tn_options_set_features(test_ctx, o, "valid", (const tn_features *const *)s.features, REPS));
    assert_fails(test_ctx, TN_ERR_ARG, "go together", fit_by_name(&s, o, &next));
    assert_fine(test_ctx, tn_options_set_labels(test_ctx, o, "valid-labels", labels));
    assert_fine(test_ctx, fit_by_name(&s, o, &next));
    tn_head_free(next);
    tn_head_free(first);
    tn_options_free(o);
    tn_labels_free(labels);
    scene_free(&s);
}

/* Of a long list 255 characters were kept. */
static void head_keeps_long_lists(void **state)
{
    (void)state;
    scene s = scene_of(30, 4, 5, TN_TASK_MULTICLASS, AS_F32);
    tn_options *o = options_new("fit");
    tn_head *head = NULL;
    double grid[60];
    for (int i = 0; i < 60; ++i)
        grid[i] = 1.5 + i;
    set(o, "method", "ridge-cv");
    assert_fine(test_ctx, tn_options_set_numbers(test_ctx, o, "grid", grid, 60));
    assert_fine(test_ctx, fit_by_name(&s, o, &head));
    assert_non_null(strstr(tn_head_options(head), "1.5,2.5,"));
    assert_non_null(strstr(tn_head_options(head), ",59.5,60.5\""));
    tn_head_free(head);
    tn_options_free(o);
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_lists_its_options),
        cmocka_unit_test(seed_valid_from_and_weights_are_in_the_table),
        cmocka_unit_test(a_default_can_be_set),
        cmocka_unit_test(numbers_are_numbers),
        cmocka_unit_test(what_is_refused_stays_as_it_was),
        cmocka_unit_test(ranges_that_are_none),
        cmocka_unit_test(texts_and_lists_are_copied),
        cmocka_unit_test(words_stand_for_their_enumerators),
        cmocka_unit_test(options_of_other_methods_are_told),
        cmocka_unit_test(the_library_refuses_options_of_other_methods),
        cmocka_unit_test(by_name_and_by_struct_are_the_same),
        cmocka_unit_test(without_options_there_are_the_defaults),
        cmocka_unit_test(objects_reach_the_call),
        cmocka_unit_test(head_keeps_long_lists),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
