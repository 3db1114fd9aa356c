/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parts of the help that belong to no single command. */
#include "cli.h"

const cli_topic cli_topics[] = {
    {"Representations",
     "REP is [NAME=]PATH. The default NAME is the file name up to its first dot, so that vgg.train.npy and "
     "vgg.test.npy are both vgg. PATH is one of:\n\n"
     "  FILE.npy -- half, single, double precision or integers, C or Fortran order\n"
     "  FILE.npz:KEY -- a member of an archive; without KEY its only one\n"
     "  FILE.safetensors:KEY -- a tensor: F16, BF16, F32, F64\n"
     "  FILE.safetensors -- of tenon pq apply: codes, decoded as they are read\n"
     "  FILE.fvecs, FILE.svm, FILE.csv, FILE.tsv -- vectors, LIBSVM text, values separated by commas or tabs\n"
     "  FOLDER -- of .npy shards, taken in name order"},
    {"Pictures",
     "rank, fit, cv, predict and eval take IMAGES in the place of representations and labels: a folder with a "
     "sub-folder "
     "per class, a folder of pictures, a text file of lines path or path TAB label|label, or paths of pictures (JPEG, "
     "PNG). Without --encoder and --net they are seen through encoders that are learned from the pictures, not from "
     "their labels, by --seed; --encoder default adds these to networks, and a network with --as bag goes through one "
     "that is learned from its bags. A head keeps its encoders, and finds its networks again by path and hash."},
    {"Labels",
     "A .npy file of N whole numbers or texts (classes), N x K zeros and ones (multi-label, or one-hot with --task "
     "multiclass) or "
     "floats (with --task regression); or "
     "text, one line per row: a class name, or names joined by | for several. -1 or an empty line means unlabelled: "
     "the row is left out."},
    {"Environment",
     "  NO_COLOR -- when set and not empty: no colours\n"
     "  OPENBLAS_CORETYPE -- the kernels OpenBLAS is to use; when it is not set and OpenBLAS picked slow ones, "
     "tenon sets it and starts itself again, see tenon doctor\n"
     "  OPENBLAS_THREAD_TIMEOUT -- log2 of the cycles that idle threads of OpenBLAS stay awake; when it is not set, "
     "tenon makes it 18\n"
     "  TENON_MPI -- no: processes that mpirun started do not share their work; a file: the plug-in to use, "
     "libtenon_mpi.so\n"
     "  TN_SIMD -- scalar, avx2 or avx512: the library's own kernels"},
    {"Exit status", "  0 -- fine\n"
                    "  1 -- the work failed\n"
                    "  2 -- wrong usage\n"
                    "  65 -- bad data\n"
                    "  66 -- an input is missing or unreadable\n"
                    "  73 -- an output cannot be written\n"
                    "  75 -- over the memory budget\n"
                    "  130 -- interrupted"},
    {"Output",
     "Results go to standard output, everything else to standard error. An error is one line that begins with tenon "
     "and the command; a warning says so after them, and in --json stands in the list warnings, a key that is there "
     "only "
     "when there is one. Files are written beside their name and renamed: none is left half-written.\n\n"
     "Names and metadata from files are shown, never obeyed: line ends, tabs and other control characters, marks that "
     "turn the "
     "direction of writing and bytes that are not UTF-8 are printed as \\n, \\t, \\x1b, \\u{202e}, also by predict, so "
     "that a row "
     "is one line whatever its class is called. --json has the names as they are."},
    {NULL, NULL},
};
