# SPDX-License-Identifier: BSD-3-Clause
"""The C library: where it lies, and how its functions are called.

The prototypes below are those of include/tenon/*.h, a letter for every parameter; a test compares them. Only structs
whose layout the binary interface freezes (docs/abi.md) are written down here; everything else is asked by functions or
comes as JSON.
"""
from __future__ import annotations

import ctypes
import os
import pathlib
from typing import Any

_KINDS: dict[str, Any] = {
    "p": ctypes.c_void_p,  # an object, an array, or where a result goes
    "s": ctypes.c_char_p,
    "z": ctypes.c_size_t,
    "t": ctypes.c_ssize_t,
    "d": ctypes.c_double,
    "i": ctypes.c_int,
    "b": ctypes.c_bool,
    "v": None,
}


class Array(ctypes.Structure):
    """tn_array."""

    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int), ("rows", ctypes.c_size_t),
                ("cols", ctypes.c_size_t), ("row_stride", ctypes.c_ssize_t), ("col_stride", ctypes.c_ssize_t),
                ("swapped", ctypes.c_bool)]


class View(ctypes.Structure):
    """tn_view."""

    _fields_ = [("data", ctypes.c_void_p), ("rows", ctypes.c_size_t), ("cols", ctypes.c_size_t),
                ("stride", ctypes.c_size_t)]


class Rep(ctypes.Structure):
    """tn_rep."""

    _fields_ = [("name", ctypes.c_char_p), ("dim", ctypes.c_size_t), ("normalize", ctypes.c_int),
                ("transform", ctypes.c_char_p), ("map", ctypes.c_void_p), ("cols", ctypes.c_size_t)]


class HeadSource(ctypes.Structure):
    """tn_head_source."""

    _fields_ = [("name", ctypes.c_char_p), ("label", ctypes.c_char_p), ("column", ctypes.c_size_t),
                ("is_head", ctypes.c_bool)]


class Source(ctypes.Structure):
    """tn_source."""

    _fields_ = [("name", ctypes.c_char_p), ("scores", ctypes.c_void_p), ("head", ctypes.c_void_p)]


class MapData(ctypes.Structure):
    """tn_map_data."""

    _fields_ = [("features", ctypes.c_void_p), ("labels", ctypes.c_void_p)]


class Field(ctypes.Structure):
    """tn_field."""

    _fields_ = [("name", ctypes.c_char_p), ("kind", ctypes.c_int), ("offset", ctypes.c_size_t), ("lo", ctypes.c_double),
                ("hi", ctypes.c_double), ("choices", ctypes.c_char_p), ("help", ctypes.c_char_p)]


class PqInfo(ctypes.Structure):
    """tn_pq_info."""

    _fields_ = [("rows", ctypes.c_size_t), ("iterations", ctypes.c_size_t), ("unfinished", ctypes.c_size_t),
                ("error", ctypes.c_double), ("energy", ctypes.c_double), ("seconds", ctypes.c_double)]


class EncoderInfo(ctypes.Structure):
    """tn_encoder_info."""

    _fields_ = [("bags", ctypes.c_size_t), ("missing", ctypes.c_size_t), ("descriptors", ctypes.c_size_t),
                ("sample", ctypes.c_size_t), ("kept", ctypes.c_double), ("iterations", ctypes.c_size_t),
                ("finished", ctypes.c_bool), ("objective", ctypes.c_double), ("seconds", ctypes.c_double)]


class RefineData(ctypes.Structure):
    """tn_refine_data."""

    _fields_ = [("pictures", ctypes.c_void_p), ("bags", ctypes.c_void_p), ("labels", ctypes.c_void_p)]


class Machine(ctypes.Structure):
    """tn_machine."""

    _fields_ = [("cores", ctypes.c_size_t), ("memory_total", ctypes.c_size_t), ("memory_available", ctypes.c_size_t),
                ("cpu", ctypes.c_char * 96), ("simd", ctypes.c_char * 16), ("blas", ctypes.c_char * 160),
                ("blas_kernels", ctypes.c_char * 32), ("blas_advice", ctypes.c_char * 32)]


# Parameters and, behind the colon, the result: a status (i) where nothing is said.
PROTOTYPES = {
    "tn_ctx_new": "p", "tn_ctx_set_threads": "pz:v", "tn_ctx_set_memory": "pz:v",
    "tn_ctx_set_progress": "ppp:v", "tn_ctx_set_warning": "ppp:v", "tn_ctx_cancel": "p:v", "tn_ctx_reset": "p:v",
    "tn_ctx_message": "p:s", "tn_status_name": "i:s", "tn_version": ":s",
    "tn_options_new": "psp", "tn_options_free": "p:v", "tn_options_set": "ppss", "tn_options_set_number": "ppsd",
    "tn_options_set_numbers": "ppspz", "tn_options_set_flag": "ppsb", "tn_options_text": "ps:s",
    "tn_options_number": "psp:b", "tn_options_count": "p:z", "tn_options_field": "pz:p",
    "tn_text_free": "p:v", "tn_bytes_free": "p:v", "tn_machine_look": "p:v",
    "tn_features_open": "psp", "tn_features_close": "p:v", "tn_features_from_array": "pspp", "tn_features_name": "p:s",
    "tn_features_rows": "p:z", "tn_features_cols": "p:z", "tn_features_dtype": "p:i", "tn_features_format": "p:s",
    "tn_features_is_wide": "p:b", "tn_features_read": "pppzzzzp", "tn_features_read_wide": "pppzzzzp",
    "tn_labels_open": "psip", "tn_labels_free": "p:v", "tn_labels_from_numbers": "ppzpzp",
    "tn_labels_from_matrix": "ppzzttpip", "tn_labels_from_values": "ppzzpp", "tn_labels_set_weights": "pppz",
    "tn_labels_rows": "p:z", "tn_labels_text": "ppp",
    "tn_bags_new": "ppzppp", "tn_bags_free": "p:v", "tn_bags_offsets": "p:p", "tn_bags_descriptors": "p:p",
    "tn_bags_positions": "p:p", "tn_bags_read": "ppzzpp", "tn_bags_from_pictures": "ppzpp",
    "tn_bags_from_network": "pppp", "tn_network_open": "pspp", "tn_network_free": "p:v", "tn_pictures_open": "ppzp",
    "tn_pictures_free": "p:v", "tn_pictures_count": "p:z", "tn_pictures_path": "pz:s", "tn_pictures_ids": "p:p",
    "tn_pictures_labelled": "p:b", "tn_pictures_labels": "ppp", "tn_pictures_drop_broken": "ppp",
    "tn_features_from_pictures": "psppp",
    "tn_encoder_train": "ppppp", "tn_encoder_train_bags": "ppppp", "tn_encoder_free": "p:v", "tn_encoder_dim": "p:z",
    "tn_encoder_words": "p:z", "tn_encoder_cols": "p:z", "tn_encoder_kind": "p:s", "tn_encoder_descriptor": "p:s",
    "tn_encoder_pyramid": "p:s", "tn_encoder_encode": "ppVVp", "tn_encoder_save": "ppss", "tn_encoder_load": "psp",
    "tn_encoder_to_bytes": "ppspp", "tn_encoder_from_bytes": "ppzsp",
    "tn_encoder_refine": "ppppppp", "tn_refine_info_free": "p:v", "tn_refine_json": "ppp",
    "tn_head_free": "p:v", "tn_head_task": "p:i", "tn_head_classes": "p:z", "tn_head_class_names": "p:p",
    "tn_head_dim": "p:z", "tn_head_rep_count": "p:z", "tn_head_rep": "pz:Rep", "tn_head_source_count": "p:z",
    "tn_head_source_at": "pz:HeadSource", "tn_head_weight": "p:p", "tn_head_bias": "p:p", "tn_head_centre": "p:p",
    "tn_head_lambda": "p:p", "tn_head_alpha": "p:p", "tn_head_beta": "p:p", "tn_head_method": "p:s",
    "tn_head_options": "p:s", "tn_head_created_by": "p:s", "tn_head_log_evidence": "p:d", "tn_head_cost": "p:d",
    "tn_head_threshold": "p:d", "tn_head_temperature": "p:d", "tn_head_probabilities": "ppzp",
    "tn_head_save": "ppss", "tn_head_load": "psp", "tn_head_to_bytes": "ppspp", "tn_head_from_bytes": "ppzsp",
    "tn_online_new": "ppipzp", "tn_online_free": "p:v", "tn_online_update": "pppzp", "tn_online_head": "ppp",
    "tn_online_expect": "ppzp", "tn_online_samples": "p:z", "tn_online_updates": "p:z", "tn_online_mistakes": "p:z",
    "tn_online_save": "ppss", "tn_online_load": "psp", "tn_online_to_bytes": "ppspp", "tn_online_from_bytes": "ppzsp",
    "tn_options_set_head": "ppsp", "tn_options_set_features": "ppspz", "tn_options_set_labels": "ppsp",
    "tn_tally_gather": "ppzppp", "tn_tally_merge": "ppp", "tn_tally_subtract": "pppp", "tn_tally_free": "p:v",
    "tn_tally_rows": "p:z", "tn_tally_cols": "p:z", "tn_tally_folds": "p:z", "tn_tally_task": "p:i",
    "tn_tally_classes": "p:z", "tn_tally_class_names": "p:p", "tn_tally_rep_count": "p:z", "tn_tally_rep": "pz:Rep",
    "tn_tally_save": "ppss", "tn_tally_open": "ppzp", "tn_tally_to_bytes": "ppspp", "tn_tally_from_bytes": "ppzsp",
    "tn_tally_rank": "pppp", "tn_tally_fit": "ppppp",
    "tn_scorer_new": "pppzip", "tn_scorer_new_transfer": "pppzpzip", "tn_scorer_free": "p:v",
    "tn_scorer_read": "ppzzp",
    "tn_rank": "ppzppp", "tn_ranking_free": "p:v", "tn_ranking_json": "ppp", "tn_ranking_table": "ppbp",
    "tn_fit": "ppzpppp", "tn_fit_info_free": "p:v", "tn_fit_json": "ppsp", "tn_fit_table": "ppsbp",
    "tn_transfer": "ppzppzppp", "tn_transfer_info_free": "p:v", "tn_transfer_json": "ppsp",
    "tn_map_new_named": "psip", "tn_map_learn": "ppzppp", "tn_map_free": "p:v", "tn_map_width": "p:z",
    "tn_map_name": "p:s", "tn_map_save": "ppss", "tn_map_load": "psp", "tn_map_to_bytes": "ppspp",
    "tn_map_from_bytes": "ppzsp", "tn_map_json": "ppsp", "tn_map_kernel": "pdd:d",
    "tn_feed_new": "pppziipp", "tn_feed_free": "p:v", "tn_feed_cols": "p:z", "tn_feed_means": "p:p",
    "tn_feed_scales": "p:p", "tn_feed_set_zscore": "pppp", "tn_feed_read": "ppzzpz",
    "tn_pq_fit": "ppppp", "tn_pq_free": "p:v", "tn_pq_dim": "p:z", "tn_pq_sub": "p:z", "tn_pq_groups": "p:z",
    "tn_pq_centroids": "p:z", "tn_pq_encode": "ppVpp", "tn_pq_decode": "pppzp", "tn_pq_save": "ppss",
    "tn_pq_load": "psp", "tn_pq_to_bytes": "ppspp", "tn_pq_from_bytes": "ppzsp", "tn_codes_save": "pppssp",
}

PROGRESS = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_double)
WARNING = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)


def library_path() -> pathlib.Path:
    """The file that is loaded: TENON_LIBRARY, or the one beside the package."""
    wish = os.environ.get("TENON_LIBRARY")
    return pathlib.Path(wish) if wish else pathlib.Path(__file__).resolve().parent / "_lib" / "libtenon.so"


def _open(path: pathlib.Path) -> ctypes.CDLL:
    """The library, its BLAS with less patience. Threads of OpenBLAS that have nothing to do look for work for 2^26 cycles before
    they sleep, on processors that the library's own threads want; 2^18, a tenth of a millisecond, takes a twentieth to a seventh off a
    fit of a tenth of a second. The variable is read while a library is loaded: no other BLAS sees it, and one that is set stays."""
    name = "OPENBLAS_THREAD_TIMEOUT"
    if name in os.environ:
        return ctypes.CDLL(str(path))
    os.environ[name] = "18"
    try:
        return ctypes.CDLL(str(path))
    finally:
        del os.environ[name]


def _load() -> Any:
    path = library_path()
    if not path.exists():
        raise ImportError(f"tenon: {path} is missing: install the package (pip install .), or name the library in "
                          "TENON_LIBRARY")
    found = _open(path)
    structs = {"V": View, "Rep": Rep, "HeadSource": HeadSource}
    for name, text in PROTOTYPES.items():
        parameters, _, result = text.partition(":")
        function = getattr(found, name)
        function.argtypes = [structs[p] if p in structs else _KINDS[p] for p in parameters]
        function.restype = structs[result] if result in structs else _KINDS[result or "i"]
    return found


lib = _load()
version: str = lib.tn_version().decode()
