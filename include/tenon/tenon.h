/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tenon joins pre-trained visual representations to new tasks. In the order data meets them: tn_features_open and
 * tn_labels_open read files, tn_features_from_array and tn_features_from_producer take features that the program has or
 * computes, tn_bags holds local descriptors, those of pictures by tn_bags_from_pictures; tn_feed_new maps and
 * normalises; tn_rank scores every representation by its evidence; tn_fit chooses a set and trains a head;
 * tn_scorer_read applies it; tn_metrics_compute measures; tn_head_save and the tn_*_json and tn_*_table functions
 * report. Everything takes a tn_ctx first and returns a tn_status. */
#ifndef TENON_TENON_H
#define TENON_TENON_H

#include "tenon/base.h"
#include "tenon/team.h"
#include "tenon/matrix.h"
#include "tenon/read.h"
#include "tenon/describe.h"
#include "tenon/encode.h"
#include "tenon/transform.h"
#include "tenon/learn.h"
#include "tenon/select.h"
#include "tenon/transfer.h"
#include "tenon/evaluate.h"
#include "tenon/store.h"
#include "tenon/report.h"
#include "tenon/pipeline.h"

#endif
