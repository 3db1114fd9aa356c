/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reports: JSON is read back by another parser and compared key by key with what went in; tables are looked at
 * for what a person must find there. The objects are made by hand. */
#include "ctx_of.h"
#include "report/cells.h"
#include "tenon/report.h"

#include <jansson.h>

static char name_a[] = "vgg \"16\"\n", name_b[] = "dino";
static tn_candidate candidates[2] = {
    {.name = name_a,
     .dim = 40,
     .log_evidence = -1.0 / 3,
     .log_evidence_shared = -0.5,
     .gain_per_label = 0.25,
     .loo_accuracy = 0.75,
     .loo_se = 0.01,
     .loo_r2 = NAN,
     .lambda_median = INFINITY,
     .lambda_shared = 2,
     .iterations_max = 9,
     .null_classes = 2,
     .degenerate_classes = 1,
     .iterations_mean = 4.5,
     .seconds = 0.5},
    {.name = name_b,
     .dim = 7,
     .log_evidence = -2,
     .log_evidence_shared = -3,
     .gain_per_label = 0.125,
     .loo_accuracy = 0.875,
     .loo_se = 0.02,
     .loo_r2 = NAN,
     .lambda_median = 1,
     .lambda_shared = 1},
};
static tn_candidate *in_order[2] = {&candidates[0], &candidates[1]};
static tn_opinion opinions[2] = {{"evidence", name_a, -1.0 / 3, -1.0 / 3, 0, NAN},
                                 {"loo", name_b, 0.875, 0.75, 0.125, 0.05}};
static const tn_ranking ranking = {.task = TN_TASK_MULTICLASS,
                                   .rows = 100,
                                   .rows_left_out = 4,
                                   .classes = 5,
                                   .degenerate_classes = 1,
                                   .null_log_evidence = -8.5,
                                   .count = 2,
                                   .candidates = in_order,
                                   .seconds = 1,
                                   .by = "evidence",
                                   .lead = 0.125,
                                   .lead_se = NAN,
                                   .opinion_count = 2,
                                   .opinions = opinions};

static json_t *parse(char *text)
{
    json_error_t error;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (!root)
        fail_msg("%s at %d in %s", error.text, error.position, text);
    tn_text_free(text);
    return root;
}

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value))
        fail_msg("%s is no number", key);
    return json_number_value(value);
}

static const char *string(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    if (!value)
        fail_msg("%s is no string", key);
    return value;
}

static void ranking_has_the_keys_of_the_contract(void **state)
{
    char *text = NULL;
    assert_fine(*state, tn_ranking_json(*state, &ranking, &text));
    json_t *root = parse(text);
    assert_string_equal(string(root, "command"), "rank");
    assert_string_equal(string(root, "task"), "multiclass");
    assert_true(number(root, "rows") == 100 && number(root, "classes") == 5);
    assert_true(number(root, "null_log_evidence") == -8.5);
    json_t *list = json_object_get(root, "candidates");
    assert_int_equal(json_array_size(list), 2);
    json_t *first = json_array_get(list, 0);
    assert_string_equal(string(first, "name"), name_a);
    assert_true(number(first, "dim") == 40);
    assert_true(number(first, "log_evidence") == -1.0 / 3);
    assert_true(number(first, "log_evidence_shared") == -0.5);
    assert_true(number(first, "gain_per_label") == 0.25);
    assert_true(number(first, "loo_accuracy") == 0.75 && number(first, "loo_se") == 0.01);
    assert_true(json_is_null(json_object_get(first, "lambda_median")));
    assert_true(number(first, "iterations_max") == 9 && number(first, "null_classes") == 2);
    assert_true(number(first, "seconds") == 0.5);
    assert_true(number(json_array_get(list, 1), "lambda_median") == 1);
    json_decref(root);
}

static void ranking_says_what_it_goes_by(void **state)
{
    char *text = NULL;
    assert_fine(*state, tn_ranking_json(*state, &ranking, &text));
    json_t *root = parse(text), *list = json_object_get(root, "opinions");
    assert_string_equal(string(root, "by"), "evidence");
    assert_true(number(root, "lead") == 0.125 && json_is_null(json_object_get(root, "lead_se")));
    assert_int_equal(json_array_size(list), 2);
    assert_string_equal(string(json_array_get(list, 1), "by"), "loo");
    assert_string_equal(string(json_array_get(list, 1), "first"), "dino");
    assert_true(number(json_array_get(list, 1), "score") == 0.875);
    assert_true(number(json_array_get(list, 1), "score_of_first") == 0.75);
    assert_true(number(json_array_get(list, 1), "lead") == 0.125 && number(json_array_get(list, 1), "lead_se") == 0.05);
    json_decref(root);
    tn_candidate by_nll[2] = {candidates[1], candidates[0]}, *order[2] = {&by_nll[0], &by_nll[1]};
    tn_ranking r = ranking;
    tn_opinion evidence[1] = {{"evidence", name_a, -1.0 / 3, -2, 0.125, NAN}};
    by_nll[0].score = 0.25;
    by_nll[0].score_se = 0.03;
    by_nll[1].score = 0.5;
    by_nll[1].score_se = NAN;
    r.candidates = order;
    r.by = "nll";
    r.lead = 0.25;
    r.lead_se = 0.125;
    r.opinion_count = 1;
    r.opinions = evidence;
    assert_fine(*state, tn_ranking_table(*state, &r, false, &text));
    assert_non_null(strstr(text, "dim   LOO log-loss  gain"));
    assert_non_null(strstr(text, "  7  0.250 \xc2\xb1 0.030 "));
    assert_non_null(strstr(text, "dino suits this task best: LOO log-loss 0.250 \xc2\xb1 0.030, 0.250 less than vgg"));
    assert_non_null(strstr(text, " (2.0 standard errors of their difference).\n"));
    assert_non_null(strstr(text, " instead (0.1250 nats per label more).\n"));
    tn_text_free(text);
    r.lead = 0;
    assert_fine(*state, tn_ranking_table(*state, &r, false, &text));
    assert_non_null(strstr(text, ", the same as vgg"));
    tn_text_free(text);
    r.by = "knn";
    r.lead = 0.25;
    r.task = TN_TASK_MULTILABEL;
    assert_fine(*state, tn_ranking_table(*state, &r, false, &text));
    assert_non_null(strstr(text, "kNN mean AP 0.250 \xc2\xb1 0.030, 0.250 more than vgg"));
    assert_non_null(strstr(text, " (2.0 standard errors of their difference over labels).\n"));
    tn_text_free(text);
}

static char *selected[2] = {name_b, name_a};
static tn_fit_step steps[2] = {{name_a, true, -4}, {name_b, false, -3.5}};
static double lambdas[3] = {0.1, INFINITY, 3};
static const tn_fit_info fit = {
    .ranking = (tn_ranking *)(uintptr_t)&ranking,
    .selected_count = 2,
    .step_count = 2,
    .classes = 3,
    .selected = selected,
    .steps = steps,
    .method = "evidence",
    .lambda = lambdas,
    .lambda_rule = "shared",
    .cost = NAN,
    .objective = NAN,
    .gap = NAN,
    .converged = true,
    .temperature = 0.125,
    .seconds = 2.5,
    .chosen =
        &(tn_candidate){.dim = 47, .log_evidence = -3.25, .loo_accuracy = NAN, .loo_r2 = NAN, .gain_per_label = 0.3}};

static void fit_has_the_keys_of_the_contract(void **state)
{
    char *text = NULL;
    assert_fine(*state, tn_fit_json(*state, &fit, "h\\x.safetensors", &text));
    json_t *root = parse(text);
    assert_string_equal(string(root, "command"), "fit");
    assert_string_equal(string(root, "model"), "h\\x.safetensors");
    assert_true(number(root, "log_evidence") == -3.25 && number(root, "seconds") == 2.5);
    assert_true(json_is_null(json_object_get(root, "loo_accuracy")));
    json_t *list = json_object_get(root, "selected");
    assert_int_equal(json_array_size(list), 2);
    assert_string_equal(json_string_value(json_array_get(list, 0)), name_b);
    list = json_object_get(root, "steps");
    assert_int_equal(json_array_size(list), 2);
    assert_true(json_is_true(json_object_get(json_array_get(list, 0), "accepted")));
    assert_true(json_is_false(json_object_get(json_array_get(list, 1), "accepted")));
    assert_string_equal(string(json_array_get(list, 1), "candidate"), name_b);
    assert_true(number(json_array_get(list, 1), "log_evidence") == -3.5);
    list = json_object_get(root, "lambda");
    assert_int_equal(json_array_size(list), 3);
    assert_true(json_number_value(json_array_get(list, 0)) == 0.1);
    assert_true(json_is_null(json_array_get(list, 1)));
    assert_string_equal(string(root, "lambda_rule"), "shared");
    assert_string_equal(string(root, "method"), "evidence");
    assert_true(number(root, "temperature") == 0.125);
    static const char *const none[] = {"C", "objective", "gap", "passes", "converged", "cross_validation"};
    for (size_t i = 0; i < sizeof none / sizeof *none; ++i)
        assert_true(json_is_null(json_object_get(root, none[i])));
    json_decref(root);
}

static double grid[3] = {0.5, 1, 2}, grid_mean[3] = {0.75, 0.875, 0.8125}, grid_se[3] = {0.01, 0.02, 0.03};
static size_t grid_folds[3] = {0, 5, 2}; /* the last was given up */
/* A head trained on the one representation there was: no evidence, no ranking, no lambda. */
static const tn_ranking unranked = {.task = TN_TASK_MULTICLASS, .rows = 100, .classes = 3};
static const tn_fit_info svm = {
    .ranking = (tn_ranking *)(uintptr_t)&unranked,
    .selected_count = 1,
    .classes = 3,
    .selected = selected,
    .method = "svm-cv",
    .cost = 1,
    .objective = 40,
    .gap = 0.5,
    .passes = 17,
    .converged = false,
    .grid_count = 3,
    .grid_best = 1,
    .grid = grid,
    .grid_mean = grid_mean,
    .grid_se = grid_se,
    .grid_folds = grid_folds,
    .folds = 5,
    .grid_metric = "accuracy",
    .seconds = 2.5,
    .chosen =
        &(tn_candidate){.dim = 7, .log_evidence = NAN, .loo_accuracy = NAN, .loo_r2 = NAN, .gain_per_label = NAN}};

static void fit_without_evidence_keeps_the_contract(void **state)
{
    char *text = NULL;
    assert_fine(*state, tn_fit_json(*state, &svm, "h", &text));
    json_t *root = parse(text), *list = NULL;
    assert_int_equal(json_array_size(json_object_get(root, "selected")), 1);
    assert_true(json_is_array(json_object_get(root, "steps")));
    assert_int_equal(json_array_size(json_object_get(root, "steps")), 0);
    static const char *const none[] = {"log_evidence", "null_log_evidence", "lambda", "lambda_rule", "temperature"};
    for (size_t i = 0; i < sizeof none / sizeof *none; ++i)
        assert_true(json_is_null(json_object_get(root, none[i])));
    assert_string_equal(string(root, "method"), "svm-cv");
    assert_string_equal(string(root, "model"), "h");
    assert_true(number(root, "C") == 1 && number(root, "objective") == 40 && number(root, "gap") == 0.5);
    assert_true(number(root, "passes") == 17 && number(root, "seconds") == 2.5);
    assert_true(json_is_false(json_object_get(root, "converged")));
    json_t *cross = json_object_get(root, "cross_validation");
    assert_string_equal(string(cross, "metric"), "accuracy");
    assert_string_equal(string(cross, "parameter"), "C");
    list = json_object_get(cross, "grid");
    assert_int_equal(json_array_size(list), 3);
    for (size_t g = 0; g < 3; ++g) {
        const json_t *entry = json_array_get(list, g);
        assert_true(number(entry, "value") == grid[g] && number(entry, "mean") == grid_mean[g]);
        assert_true(number(entry, "se") == grid_se[g]);
        assert_true(json_is_true(json_object_get(entry, "best")) == (g == 1));
        assert_true(g == 2 ? number(entry, "folds") == 2 : !json_object_get(entry, "folds"));
    }
    json_decref(root);
}

static void fit_tables_say_how_the_training_went(void **state)
{
    char *text = NULL;
    assert_fine(*state, tn_fit_table(*state, &svm, NULL, false, &text));
    assert_non_null(strstr(text, "  C  cross-validated accuracy  best\n0.5           0.7500"));
    assert_non_null(strstr(text, "  1           0.8750 \xc2\xb1 0.0200  yes\n"));
    assert_non_null(strstr(text, "method        svm-cv\nC             1\n"));
    assert_non_null(strstr(text, "objective     40, certainly within 1.2 % of the optimum (17 passes)"));
    assert_non_null(strstr(text, "Warning: the training did not reach the option gap"));
    assert_non_null(strstr(text, "Nothing was to be chosen"));
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "evidence"));
    assert_null(strstr(text, "probabilities"));
    assert_null(strstr(text, "that was tried"));
    assert_null(strstr(text, " \n"));
    tn_text_free(text);
    tn_fit_info edge = svm;
    edge.grid_best = 2;
    edge.converged = true;
    edge.temperature = 0.25;
    assert_fine(*state, tn_fit_table(*state, &edge, NULL, false, &text));
    assert_null(strstr(text, "Warning"));
    assert_non_null(strstr(text, "The best C is the largest that was tried"));
    assert_non_null(strstr(text, "probabilities yes, temperature 0.25\n"));
    tn_text_free(text);
    edge.grid_best = 0;
    edge.lambda = lambdas;
    edge.lambda_rule = "cv";
    assert_fine(*state, tn_fit_table(*state, &edge, NULL, false, &text));
    assert_non_null(strstr(text, "The best lambda is the smallest that was tried"));
    tn_text_free(text);
}

/* Leave-one-out is that of a ridge: beside another head it must say so. */
static void loo_beside_another_head_is_named(void **state)
{
    char *text = NULL;
    tn_fit_info info = fit;
    tn_candidate chosen = *fit.chosen;
    info.chosen = &chosen;
    chosen.loo_accuracy = 0.75;
    assert_fine(*state, tn_fit_table(*state, &info, NULL, false, &text));
    assert_non_null(strstr(text, "LOO accuracy  0.750 \xc2\xb1 0.000\n"));
    tn_text_free(text);
    info.lambda = NULL;
    info.lambda_rule = NULL;
    assert_fine(*state, tn_fit_table(*state, &info, NULL, false, &text));
    assert_non_null(strstr(text, "LOO accuracy  0.750 \xc2\xb1 0.000 (of a ridge head)\n"));
    tn_text_free(text);
}

static tn_class_metrics multi[2] = {
    {.positives = 3,
     .accuracy = 0.5,
     .ap = 0.6,
     .ap_voc07 = 0.7,
     .auc = 0.8,
     .balanced_accuracy = NAN,
     .r2 = NAN,
     .mse = NAN},
    {.positives = 0,
     .accuracy = NAN,
     .ap = NAN,
     .ap_voc07 = NAN,
     .auc = NAN,
     .balanced_accuracy = NAN,
     .r2 = NAN,
     .mse = NAN},
};
static const tn_metrics metrics = {.task = TN_TASK_MULTICLASS,
                                   .rows = 3,
                                   .classes = 2,
                                   .accuracy = 0.5,
                                   .top5_accuracy = NAN,
                                   .mean_class_accuracy = 0.5,
                                   .mean_ap = 0.6,
                                   .mean_ap_voc07 = 0.7,
                                   .mean_auc = 0.8,
                                   .balanced_accuracy = 0.5,
                                   .r2 = NAN,
                                   .mse = NAN,
                                   .nll = 0.375,
                                   .ece = 0.0625,
                                   .per_class = multi};
static const char *const class_names[2] = {"cat", "d\xc3\xb6g \xff"};

static void metrics_show_those_that_exist(void **state)
{
    char *text = NULL;
    assert_fine(*state, tn_metrics_json(*state, &metrics, class_names, &text));
    json_t *root = parse(text), *m = json_object_get(root, "metrics");
    assert_true(number(m, "accuracy") == 0.5 && number(m, "mean_ap") == 0.6 && number(m, "mean_ap_voc07") == 0.7);
    assert_true(number(m, "mean_class_accuracy") == 0.5 && number(m, "mean_auc") == 0.8);
    assert_true(number(m, "nll") == 0.375 && number(m, "ece") == 0.0625);
    assert_null(json_object_get(m, "top5_accuracy"));
    assert_null(json_object_get(m, "r2"));
    tn_metrics unsure = metrics;
    unsure.nll = unsure.ece = (double)NAN;
    assert_fine(*state, tn_metrics_json(*state, &unsure, class_names, &text));
    assert_null(strstr(text, "nll"));
    assert_null(strstr(text, "ece"));
    tn_text_free(text);
    json_t *list = json_object_get(root, "per_class");
    assert_int_equal(json_array_size(list), 2);
    assert_string_equal(string(json_array_get(list, 0), "class"), "cat");
    assert_true(number(json_array_get(list, 0), "positives") == 3 && number(json_array_get(list, 0), "ap") == 0.6);
    assert_string_equal(string(json_array_get(list, 1), "class"), "d\xc3\xb6g \xef\xbf\xbd");
    assert_null(json_object_get(json_array_get(list, 1), "ap"));
    json_decref(root);
}

static void tables_say_what_matters(void **state)
{
    char *text = NULL;
    assert_fine(*state, tn_ranking_table(*state, &ranking, false, &text));
    assert_null(strstr(text, "dino suits"));
    assert_non_null(strstr(text, "suits this task best: it gains 0.2500 nats per label"));
    assert_non_null(strstr(
        text, "LOO accuracy speaks for dino instead (0.875 against 0.750, 2.5 standard errors of their difference)"));
    assert_non_null(strstr(text, "2 of 5 classes gain nothing"));
    assert_non_null(strstr(text, "1 of 5 classes have the same label"));
    assert_non_null(strstr(text, "4 rows were left out"));
    assert_null(strchr(text, '\033'));
    tn_text_free(text);
    assert_fine(*state, tn_ranking_table(*state, &ranking, true, &text));
    assert_non_null(strstr(text, "\033[1m"));
    tn_text_free(text);
    assert_fine(*state, tn_fit_table(*state, &fit, "h.safetensors", false, &text));
    assert_non_null(strstr(text, "selected      dino + vgg"));
    assert_non_null(strstr(text, "0.1000 to 3.000 (shared)"));
    assert_non_null(strstr(text, "h.safetensors"));
    tn_text_free(text);
    assert_fine(*state, tn_metrics_table(*state, &metrics, class_names, true, false, &text));
    assert_non_null(strstr(text, "mean AP (VOC 2007)       0.7000  70.0\n"));
    assert_non_null(strstr(text, "negative log-likelihood  0.3750\n"));
    assert_non_null(strstr(text, "calibration error        0.0625   6.2\n"));
    assert_non_null(strstr(text, "positives"));
    assert_null(strstr(text, "r2"));
    tn_text_free(text);
}

static void columns_line_up_by_characters(void **state)
{
    tnp_text text;
    tnp_table table;
    char *out = NULL;
    tnp_text_init(&text, *state);
    tnp_table_init(&table, *state, "lrl");
    static const char *const cells[] = {"a", "b", "c", "\xc3\xa4\xc3\xb6", "1 \xc2\xb1 2", "x", "name", "", "y"};
    for (size_t i = 0; i < 9; ++i)
        tnp_table_cell(&table, "%s", cells[i]);
    tnp_table_finish(&table, &text, false);
    assert_fine(*state, tnp_text_take(&text, &out));
    assert_string_equal(out, "a         b  c\n\xc3\xa4\xc3\xb6    1 \xc2\xb1 2  x\nname         y\n");
    tn_text_free(out);
}

static void strings_are_always_valid_json(void **state)
{
    /* truncated, overlong, surrogate, above U+10FFFF, lone continuation, control characters */
    static const char *const nasty[] = {"\xe2\x82",   "\xc0\xaf",         "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x80z",
                                        "\x01\x1f\t", "\xf0\x9f\xa6\x8a", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf"};
    for (size_t i = 0; i < sizeof nasty / sizeof *nasty; ++i) {
        tnp_text text;
        char *out = NULL;
        tnp_text_init(&text, *state);
        tnp_text_add(&text, "[");
        tnp_text_quote(&text, nasty[i]);
        tnp_text_add(&text, "]");
        assert_fine(*state, tnp_text_take(&text, &out));
        json_decref(parse(out));
    }
}

static void numbers_read_back_exactly(void **state)
{
    static const double values[] = {0.1, 1.0 / 3, -1e-308, 5e-324, 1.7976931348623157e308, 123456789012345680.0};
    for (size_t i = 0; i < sizeof values / sizeof *values; ++i) {
        tnp_text text;
        char *out = NULL;
        tnp_text_init(&text, *state);
        tnp_text_number(&text, values[i]);
        assert_fine(*state, tnp_text_take(&text, &out));
        double got = 0;
        assert_int_equal(sscanf(out, "%lf", &got), 1);
        assert_true(got == values[i]);
        tn_text_free(out);
    }
}

static tn_status write_report(tn_ctx *ctx, int which, char **out)
{
    switch (which) {
    case 0:
        return tn_ranking_table(ctx, &ranking, true, out);
    case 1:
        return tn_fit_table(ctx, &svm, "h", true, out);
    case 2:
        return tn_fit_json(ctx, &svm, "h", out);
    default:
        return tn_metrics_json(ctx, &metrics, class_names, out);
    }
}

static void every_allocation_may_fail(void **state)
{
    for (int which = 0; which < 4; ++which) {
        char untouched[] = "x", *text = untouched;
        size_t k = 1;
        for (;; ++k) {
            tnp_fail_allocation(*state, k);
            tn_status st = write_report(*state, which, &text);
            tnp_fail_allocation(*state, 0);
            if (st == TN_OK)
                break;
            assert_int_equal(st, TN_ERR_MEMORY);
            assert_ptr_equal(text, untouched);
            assert_int_equal(tnp_live_blocks(*state), 0);
        }
        assert_true(k > 1);
        tn_text_free(text);
    }
}

/* What a terminal would obey is shown by its number; the rest, letters of any script and backslashes, stays. */
static void hostile_text_is_shown(void **state)
{
    (void)state;
    static const struct {
        const char *text, *shown;
        size_t bytes;
    } cases[] = {
        {"", "", 0},
        {"a", "a", 1},
        {"\\n", "\\", 1},
        {"\n", "\\n", 1},
        {"\t", "\\t", 1},
        {"\r", "\\r", 1},
        {"\x1b[31m", "\\x1b", 1},
        {"\x01", "\\x01", 1},
        {"\x7f", "\\x7f", 1},
        {"\xc2\x80", "\\u{0080}", 2}, /* the first and the last of C1, and the letter behind them */
        {"\xc2\x9b", "\\u{009b}", 2},
        {"\xc2\x9f", "\\u{009f}", 2},
        {"\xc2\xa0", "\xc2\xa0", 2},
        {"\xd8\x9c", "\\u{061c}", 2},
        {"\xe2\x80\x8d", "\xe2\x80\x8d", 3}, /* the joiner of many emoji and scripts */
        {"\xe2\x80\x8e", "\\u{200e}", 3},
        {"\xe2\x80\x8f", "\\u{200f}", 3},
        {"\xe2\x80\xa8", "\\u{2028}", 3},
        {"\xe2\x80\xaa", "\\u{202a}", 3},
        {"\xe2\x80\xae", "\\u{202e}", 3},
        {"\xe2\x80\xaf", "\xe2\x80\xaf", 3},
        {"\xe2\x81\xa5", "\xe2\x81\xa5", 3},
        {"\xe2\x81\xa6", "\\u{2066}", 3},
        {"\xe2\x81\xa9", "\\u{2069}", 3},
        {"\xe2\x81\xaa", "\xe2\x81\xaa", 3},
        {"\xf0\x9f\x90\xba!", "\xf0\x9f\x90\xba", 4},
        {"\xff", "\\xff", 1}, /* never in UTF-8; cut short; longer than need be */
        {"\xe2\x80", "\\xe2", 1},
        {"\xc0\x8a", "\\xc0", 1},
    };
    char out[12];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        assert_int_equal(tn_plain_char(cases[i].text, out), cases[i].bytes);
        assert_string_equal(out, cases[i].shown);
    }
    char json[8];
    assert_int_equal(tn_json_char("\xc2\x9b", json), 2);
    assert_string_equal(json, "\\u009b");
    assert_int_equal(tn_json_char("\xe2\x80\xae", json), 3);
    assert_string_equal(json, "\\u202e");
}

/* Names in tables and sentences: no line more, nothing for the terminal but the colours that were asked for. */
static void hostile_names_in_tables(void **state)
{
    tn_ctx *ctx = *state;
    static char evil[] = "v\ng\x1b[31m\xe2\x80\xaeg\xff";
    static const char shown[] = "v\\ng\\x1b[31m\\u{202e}g\\xff";
    tn_candidate evil_one = candidates[0], *list[2] = {&evil_one, &candidates[1]};
    tn_ranking r = ranking;
    tn_opinion heard[2] = {opinions[0], opinions[1]};
    evil_one.name = evil;
    heard[0].first = evil;
    for (int color = 0; color < 2; ++color) {
        char *text = NULL;
        size_t lines = 0, escapes = 0, times = 0;
        r.candidates = list;
        r.opinions = heard;
        assert_fine(ctx, tn_ranking_table(ctx, &r, color, &text));
        for (const char *p = text; *p; ++p) {
            lines += *p == '\n';
            escapes += *p == '\x1b';
            times += strncmp(p, shown, sizeof shown - 1) == 0;
        }
        assert_true(times >= 2);                  /* in the table and in the verdict */
        assert_int_equal(escapes, color ? 4 : 0); /* head of the table, name of the best: on and off */
        char *ordinary = NULL;
        assert_fine(ctx, tn_ranking_table(ctx, &ranking, color, &ordinary));
        for (const char *p = ordinary; *p; ++p)
            lines -= *p == '\n';
        assert_int_equal(lines, 0);
        tn_text_free(ordinary);
        tn_text_free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hostile_text_is_shown),
        cmocka_unit_test_setup_teardown(hostile_names_in_tables, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(ranking_has_the_keys_of_the_contract, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(ranking_says_what_it_goes_by, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(fit_has_the_keys_of_the_contract, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(fit_without_evidence_keeps_the_contract, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(fit_tables_say_how_the_training_went, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(loo_beside_another_head_is_named, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(metrics_show_those_that_exist, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(tables_say_what_matters, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(columns_line_up_by_characters, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(strings_are_always_valid_json, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(numbers_read_back_exactly, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(every_allocation_may_fail, ctx_setup, ctx_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
