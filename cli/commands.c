/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the program can do: its commands and the words of their help. Their options are in command_options.c, those of the
 * library come from the library's own tables. */
#include "command_options.h"

#include <stdint.h>

const cli_command cli_commands[] = {
    {.name = "rank",
     .summary = "tells which representation suits a task: evidence of every candidate, best first",
     .arguments = "REP... --labels FILE [options]",
     .examples = "tenon rank *.train.npy --labels labels.train.txt\n"
                 "tenon rank dino.npy clip.npy --labels y.npy --normalize l2,root --json\n"
                 "tenon rank vgg.npy --labels y.txt --transform none,hellinger,chi2\n"
                 "tenon rank vgg=a.npz:fc7 --labels tags.txt --loo 0 --mem 8G\n"
                 "tenon rank photos/ --encoder default --net vit.onnx\n"
                 "tenon rank --moments part*.moments.safetensors --rows vgg=some.npy --labels some.txt",
     .details =
         "A candidate is a representation with a transform and a normalisation, vgg+chi2+root where several of "
         "them compete. Its score is the log marginal likelihood of "
         "the labels under a ridge model on it, at the best regularisation of each class: no validation set "
         "and no grid are needed. The gain is that figure against the model without features, in nats "
         "(units of the natural logarithm) per label. The leave-one-out accuracy beside it is exact, in closed "
         "form.\n\n"
         "A transform is the explicit map of an additive kernel: rows are brought to unit L1 norm, then every "
         "entry becomes one value (hellinger) or seven (chi2, intersection, js) whose products approximate the "
         "kernel; or those of a file that tenon kernel learn wrote, whose name then stands for the transform. "
         "It is computed "
         "while rows are read, nothing is stored.\n\n"
         "With --moments nothing is read but sums that tenon moments made, of rows that may be anywhere: the same "
         "figures, but for leave-one-out, which takes rows: --rows gives some of those that went in, and --labels "
         "theirs.",
     .min_args = 1,
     .max_args = SIZE_MAX,
     .team = true,
     .tables = cli_rank_tables,
     .library = "rank",
     .run = cmd_rank},
    {.name = "fit",
     .summary = "chooses representations by evidence, trains a head on them and saves it",
     .arguments = "REP... --labels FILE -o HEAD [options]",
     .examples =
         "tenon fit *.train.npy --labels labels.train.txt -o head.safetensors\n"
         "tenon fit dino.npy clip.npy --labels y.npy --select forward -o head.safetensors --json\n"
         "tenon fit dino.npy --labels y.npy --budget 60 -o head.safetensors\n"
         "tenon fit vgg.npy --labels tags.txt --method evidence --lambda per-class -o head.safetensors\n"
         "tenon fit vgg.npy --labels y.txt --transform none,chi2 --select best -o head.safetensors\n"
         "tenon fit f.npy --labels y.txt --method svm-cv -o head.safetensors\n"
         "tenon fit f.npy --labels y.txt --method svm --C 0.1 --calibrate yes -o head.safetensors\n"
         "tenon fit f.npy --labels y.txt --method logistic --class-weight balanced -o head.safetensors\n"
         "tenon fit f.npy --labels y.txt --method ridge-cv --folds 10 --grid 0.1,1,10 -o head.safetensors\n"
         "tenon fit f.npy --labels y.txt --method logistic-cv --holdout 0.2 -o head.safetensors\n"
         "tenon fit f.npy --labels y.txt --method logistic-cv --grid 1e-6:1e5:45 --valid f=v.npy --valid-labels vy.txt "
         "-o "
         "head.safetensors\n"
         "tenon fit shards/ --labels y.txt --method pa --epochs 5 --checkpoint ck.safetensors -o head.safetensors\n"
         "tenon fit f.npy --labels y.txt --method arow --tune --valid f=v.npy --valid-labels vy.txt -o "
         "head.safetensors\n"
         "tenon fit f=more.npy --labels more.txt --method pa --from head.safetensors -o head2.safetensors\n"
         "tenon fit photos/ -o head.safetensors\n"
         "tenon fit photos/ --net vit.onnx --cache cache/ -o head.safetensors\n"
         "tenon fit --moments part*.moments.safetensors --method evidence -o head.safetensors",
     .details =
         "The head is a .safetensors file with weight (classes x columns) and bias, so that it loads into a "
         "linear layer of any framework. Its metadata say how the input is prepared.\n\n"
         "The set of representations is chosen by evidence, whatever the method; svm and logistic on one "
         "representation, or with --select all, do without it. The methods are:\n\n"
         "  auto -- the best of evidence, ridge-cv, lda, logistic, svm, pa and scw by rows that are held out; the "
         "default, see below\n"
         "  evidence -- ridge, its lambda by the evidence: no grid, no folds\n"
         "  ridge-cv -- ridge, its lambda by cross-validation over --grid, 2^-10 to 2^10 by default\n"
         "  lda -- linear discriminants with a shrunk covariance, one class per row; --lambda, or by cross-validation\n"
         "  svm -- support vector machines, one per class, against the rest, at --C\n"
         "  svm-cv -- the same, C by cross-validation over --grid\n"
         "  logistic -- multinomial logistic regression at --C; for multi-label one per class\n"
         "  logistic-cv -- the same, C by cross-validation over --grid\n"
         "  perceptron, sgd, pa, pa2 -- online, first order: a few passes over rows that never need to fit memory\n"
         "  cw, arow, nherd, scw, scw2 -- online, second order: also a variance for every weight\n\n"
         "Method auto lets heads race on the same held-out rows: one row of every class at a time where classes have "
         "up to eight, else --folds folds, of many rows one of them first. C is the usual one for how far the rows lie "
         "apart unless another is better by a standard error; with one row per class, which judges nobody, the head "
         "goes "
         "by the directions of the classes. Who trails by more than two standard errors of the difference, row by "
         "row, "
         "is out. Those of lda or ridge, logistic and svm that rows cannot tell apart are put together: the mean of "
         "their "
         "log-odds is again one linear head. Where the evidence chose from several representations and the winner is "
         "no "
         "ridge, the best single one and all of them race too. The report and --json list what was tried. With "
         "--budget the race ends in time, and an interrupt saves the best head so far (exit status 130); the same "
         "--seed gives the same head, but for what a budget cut short. Of a million rows a sample races, by the "
         "methods "
         "whose training takes no longer than the evidence does. Multi-label heads get a threshold per class, see "
         "--threshold.\n\n"
         "Heads of svm and logistic are trained until their distance from the optimum is certified to be below "
         "--gap of it. Probabilities come from one temperature, fitted to "
         "leave-one-out scores (ridge) or to those of cross-validation (lda, svm, logistic), never to scores of rows "
         "the model has seen; a logistic or lda head that was not calibrated uses its scores as they are.\n\n"
         "Without --grid svm-cv and logistic-cv find their values of C from the size of the rows, go on where the best "
         "is the last or the first, and stop where the figure has clearly fallen. The usual C (1, or 10 "
         "for logistic, for rows of length 1) is kept unless another is better by more than a standard error. With "
         "--holdout, or --valid and --valid-labels, a method that ends in -cv, and lda, chooses by those rows instead "
         "of folds, and other methods report how well they do on them. Rows of --holdout are trained on in the end, "
         "those of --valid never. The figure of a choice is the best of its grid: new rows give a bit less.\n\n"
         "A multi-class evidence head takes the nearest class mean where no lambda is better than no features, as with "
         "one row per class; the report warns of it. With up to eight rows per class and --lambda auto its scores are "
         "the "
         "mean of the ridge's and the nearest class mean's; --lambda shared gives the ridge alone.\n\n"
         "Online methods visit the rows in a new random order each pass, sample by sample, and use the mean of the "
         "weights after every sample unless told otherwise. With --valid their head is that of the best pass. A run "
         "that was stopped goes on from its --checkpoint when the same command is given again, and ends with the "
         "same head. --from begins with the weights of a head, moved so that it decides at 0; averaging and variances "
         "begin "
         "anew.\n\n"
         "With --moments a head is made of sums over rows: see tenon help moments.",
     .min_args = 1,
     .max_args = SIZE_MAX,
     .team = true,
     .tables = cli_fit_tables,
     .library = "fit",
     .run = cmd_fit},
    {.name = "cv",
     .summary = "cross-validates a method with everything that fit does, or two of them against each other",
     .arguments = "REP... --labels FILE [options]",
     .examples = "tenon cv *.train.npy --labels labels.train.txt\n"
                 "tenon cv f.npy --labels y.txt --method svm-cv --against evidence --repeats 5\n"
                 "tenon cv f.npy --labels y.txt --method logistic --C 10 --groups patients.txt --json\n"
                 "tenon cv dino.npy clip.npy --labels y.txt --select forward --folds 10 --scores held_out.npy\n"
                 "tenon cv f.npy --labels y.txt --method pa --fold-file folds.txt",
     .details =
         "For every fold everything that tenon fit does with the same options is done again without the fold's rows: "
         "the choice among representations, transforms and normalisations, the choice of lambda and C, the "
         "calibration. The head is then measured by the rows of the fold, in the metrics of tenon eval. --folds is "
         "the number of these folds; what fit calls --folds is --inner-folds here.\n\n"
         "Folds are dealt class by class, by --seed; --repeats deals anew. A row whose class no row outside its fold "
         "has is not judged, and a fold where nothing can be judged has no figure.\n\n"
         "The standard error is s sqrt(1/J + judged/trained) of J figures with standard deviation s: folds share their "
         "training rows, and the usual s/sqrt(J) is too small (Nadeau and Bengio 2003). --against fits a second "
         "method to the same folds; the difference is tested by t with that error and J - 1 degrees of freedom. An "
         "option that only one of the two has a use for goes to that one.\n\n"
         "--scores holds scores of every row by the head that was trained without its fold, rows that are never judged "
         "as NaN. They are those of the first repeat: the mean over repeats would be the scores of several heads "
         "together, better than any of them.",
     .min_args = 1,
     .max_args = SIZE_MAX,
     .team = true,
     .tables = cli_cv_tables,
     .library = "cv",
     .run = cmd_cv},
    {.name = "moments",
     .summary = "sums over rows as a file: parts made anywhere merge, and rank and fit need no row then",
     .arguments = "REP... --labels FILE -o FILE | merge FILE... -o FILE | subtract FILE PART... -o FILE [options]",
     .examples =
         "tenon moments vgg=shard0.npy --labels y0.txt -o part0.moments.safetensors\n"
         "tenon moments vgg.npy dino.npy --labels y.txt --rows 0:1000000 -o part0.moments.safetensors\n"
         "tenon moments vgg.npy --labels y.txt --folds 5 -o all.moments.safetensors\n"
         "tenon moments merge part*.moments.safetensors -o all.moments.safetensors\n"
         "tenon moments subtract all.moments.safetensors part3.moments.safetensors -o rest.moments.safetensors\n"
         "tenon rank --moments part*.moments.safetensors\n"
         "tenon fit --moments all.moments.safetensors --method ridge-cv -o head.safetensors",
     .details =
         "The evidence and a ridge head need of their rows only sums: of products of columns, of columns per class. "
         "They "
         "take 8 bytes times the square of the columns, half of that in the file, however many rows there are, and the "
         "sums of two parts are those of both. So every shard of a cluster, or every range of --rows of one large "
         "file, "
         "can be summed where it lies, by a job of its own; rank --moments and fit --moments take the files and give "
         "the "
         "figures and the head of all rows. Several representations are summed together, so that sets of them can be "
         "chosen.\n\n"
         "Rows are prepared before they are summed, so --transform, --normalize and --nan are told here, and the file "
         "knows them. Parts must have the same representations by name (NAME=FILE names them) and the same "
         "preparation; "
         "classes are united by name. The file knows which rows of which files went in: a row that goes in twice is "
         "refused, whatever its file is called. merge gives the same bits for any order of its files. subtract takes "
         "parts out again, and says how many digits that cost; the sum of the others has all of them.\n\n"
         "--folds keeps sums per fold, for fit --method ridge-cv, which then chooses lambda by the R2 of held-out "
         "rows. "
         "What takes single rows is not to be had from sums: leave-one-out accuracy, but of some rows that are given "
         "to rank or fit with --rows, probabilities, class means in heads of few rows per class, --normalize zscore, "
         "and other methods than evidence, which auto is then, ridge-cv, and lda at a --lambda that is given.",
     .min_args = 1,
     .max_args = SIZE_MAX,
     .team = true,
     .tables = cli_moments_tables,
     .library = "moments",
     .run = cmd_moments},
    {.name = "transfer",
     .summary = "learns from few rows with the help of other people's classifiers",
     .arguments = "--target REP... --labels FILE --source REP_OR_HEAD... -o HEAD [options]",
     .examples =
         "tenon transfer --target few.npy --labels y.txt --source imagenet_scores.npy -o head.safetensors\n"
         "tenon transfer --target dino=few.npy --labels y.txt --source library/ --k loo -o head.safetensors\n"
         "tenon transfer --target few.npy --labels y.txt --source a.npy cats.safetensors --method greedytl --json "
         "-o head.safetensors\n"
         "tenon predict head.safetensors dino=new.npy --source library/",
     .details =
         "Sources are black boxes: a matrix of scores that any program wrote, with one row for each row of the target; "
         "a head of "
         "tenon, which is applied to the target's representations; or a folder of heads. Two classes are one "
         "task, the second class against the first; more are one task each, one against the rest, with one method and "
         "one "
         "set of hyper-parameters for all, for the largest score decides; several labels per row are tasks of their "
         "own.\n\n"
         "  auto -- two classes, or one of several labels: the one of none, rls and greedytl with the lowest "
         "leave-one-out error; "
         "more "
         "classes: greedytl, unless none or rls has an error lower by more than its standard error\n"
         "  greedytl -- features and sources picked one by one for a ridge model, by what each adds\n"
         "  none -- ridge on the features: no transfer\n"
         "  average -- the mean of the source scores; for more than two classes a line through it for each\n"
         "  rls -- ridge on features and sources\n"
         "  forward -- as greedytl without regularisation\n"
         "  l1-logistic, elastic-net -- logistic regression on all columns with a sparse penalty\n"
         "  multikt-l2, multikt-l1 -- a least-squares machine on top of a weighted sum of the sources\n"
         "  dam -- ridge on the features, drawn to the sources' mean score\n\n"
         "Their hyper-parameters are chosen by leave-one-out error, from few rows that is all there is. What auto "
         "compares, and the error after each pick of greedytl and forward, is that of doing everything again without "
         "the row, picks and regularisation too; above 32 rows they are left out in 32 parts, above 320 in 10, and for "
         "two classes or one of several labels the regularisation stays. For more classes the error is the share of "
         "rows that the "
         "largest score gets wrong, and its standard error is given; with one row of every class there is none, and a "
         "head near the class means comes out. The error of the other "
         "methods is that of the best regularisation, and so a little optimistic; that of multikt is more so: its "
         "weights are fitted to the same predictions.",
     .min_args = 0,
     .max_args = 0,
     .tables = cli_transfer_tables,
     .library = "transfer",
     .run = cmd_transfer},
    {.name = "predict",
     .summary = "applies a head: one line per row",
     .arguments = "HEAD REP... [options]",
     .examples = "tenon predict head.safetensors *.test.npy\n"
                 "tenon predict head.safetensors *.test.npy --top 3\n"
                 "tenon predict head.safetensors *.test.npy --proba\n"
                 "tenon predict head.safetensors photos.csv --csv decided.csv --quiet\n"
                 "tenon predict head.safetensors *.test.npy --scores scores.npy --quiet > classes.txt",
     .details = "Representations are matched by name; those the head does not use are ignored, a missing one is an "
                "error. A line is the class of the row; for multi-label heads the classes over the threshold joined "
                "by |, for regression the numbers separated by tabs. With --top N it is N pairs "
                "name:probability, best first, separated by tabs; name:score where the head was not calibrated. A row "
                "left out by --nan drop is an empty line.\n\n"
                "With --proba a line is the class, a tab and its probability; for "
                "multi-label heads such pairs of the classes over the threshold, separated by tabs. In --json each is "
                "an object of class and probability.\n\n"
                "--csv has a line per row under a head: id; class and probability or score, N times with --top N; "
                "classes joined by | of a multi-label head; a column per output of a regression. Ids come with the "
                "representations (.npz member ids, CSV column id, names of pictures) or from --ids; --json has them as "
                "ids.",
     .min_args = 1,
     .max_args = SIZE_MAX,
     .team = true,
     .tables = cli_predict_tables,
     .run = cmd_predict},
    {.name = "eval",
     .summary = "measures a head, or a file of scores, against labels",
     .arguments = "[HEAD REP...] --labels FILE [options]",
     .examples = "tenon eval head.safetensors *.test.npy --labels labels.test.txt\n"
                 "tenon eval head.safetensors *.test.npy --labels labels.test.txt --per-class\n"
                 "tenon eval new.safetensors *.test.npy --labels labels.test.txt --compare old.safetensors\n"
                 "tenon eval --scores scores.npy --labels labels.test.txt --json\n"
                 "tenon eval --scores p.npy --proba --labels labels.test.txt",
     .details = "The columns of a score file are the classes of the label file in sorted order: as numbers when all "
                "are whole numbers, else by their bytes. Unlabelled rows and rows left out by --nan drop do not "
                "count.\n\n"
                "Heads that give probabilities are also measured by them: nll, the mean negative log-likelihood of "
                "the truth, and ece, the expected calibration error, which is the mean distance between the "
                "probability of the best class (multi-label: of every class) and how often it is right, over 15 bins "
                "of equal width.\n\n"
                "Intervals hold the figure of all such rows 95 times in 100: Wilson's of accuracy and top 5 accuracy, "
                "else 1.96 bootstrap standard errors on either side. --compare draws the same rows for both heads; for "
                "rows of one class each McNemar's exact test is added. --json also has confusion (true class, "
                "predicted class, rows; classes by their place in per_class), confused, precision, recall, f1 and "
                "support per class and as averages (micro, macro over the classes that occur, weighted), top_k, "
                "reliability, curves, residuals of a regression, and mistakes, the wrong rows of largest confidence.",
     .min_args = 0,
     .max_args = SIZE_MAX,
     .team = true,
     .tables = cli_eval_tables,
     .run = cmd_eval},
    {.name = "report",
     .summary = "makes one page for a browser of results that were kept as JSON",
     .arguments = "RESULT.json... [HEAD] -o FILE.html [options]",
     .examples = "tenon rank *.train.npy --labels labels.train.txt --json > rank.json\n"
                 "tenon report rank.json -o rank.html\n"
                 "tenon report rank.json fit.json eval.json head.safetensors -o report.html\n"
                 "tenon eval head.safetensors *.test.npy --labels labels.test.txt --report eval.html",
     .details = "RESULT.json is what rank, fit, eval, cv, transfer, kernel learn or kernel show print with --json. The "
                "page is one file that needs no network and is read without a script as well; several results stand "
                "side by side. --report of those commands makes it at once, with the files of the run, their SHA-256 "
                "(up to 1 GB), the options and the machine. See docs/report.md.",
     .min_args = 1,
     .max_args = SIZE_MAX,
     .tables = cli_report_tables,
     .run = cmd_report},
    {.name = "encoder",
     .summary = "learns what turns pictures, or any bags of descriptors, into vectors",
     .arguments = "train IMAGES -o ENC | refine ENC IMAGES -o ENC | info ENC... [options]",
     .examples = "tenon encoder train photos/ -o fisher.safetensors\n"
                 "tenon encoder train photos/ -o llc.safetensors --descriptor csift --kind llc --pyramid 1x1,2x2,3x1\n"
                 "tenon encoder train --bags tokens.npy -o vlad.safetensors --kind vlad --words 32 --pca 128\n"
                 "tenon encoder train photos/ --net vit.onnx --layer last_hidden_state -o tokens.safetensors\n"
                 "tenon encoder refine fisher.safetensors photos/ -o refined.safetensors --cache descriptors\n"
                 "tenon encoder refine fisher.safetensors --bags tokens.npy --labels y.txt -o refined.safetensors\n"
                 "tenon encoder info fisher.safetensors",
     .details =
         "IMAGES is a folder with a sub-folder per class, a folder of pictures, a text file of lines path or "
         "path TAB label|label with paths relative to it, or paths of pictures (JPEG, PNG).\n\n"
         "Every picture is shrunk to --pixels, its patches of all --sides on a grid of --step are described by "
         "--descriptor, and a sample of these descriptors teaches a PCA and then the words: k-means for vlad, "
         "bovw and llc, a mixture of Gaussians for fisher. The file holds everything that is needed to encode "
         "other pictures the same way.\n\n"
         "--bags takes descriptors that come from elsewhere: patch tokens of a transformer (N, T, D), frames of "
         "sound, word vectors. With --net the descriptors are the tokens or the map of a layer of a network; the "
         "encoder remembers it, and takes IMAGES like any other.\n\n"
         "refine takes a fisher encoder and pictures whose classes are known and learns the mixture further, "
         "together with support vector machines on its vectors: weights, means and deviations by the gradient of "
         "their objective on all descriptors, L-BFGS steps, machines solved anew at each; with --learn the "
         "projection too, or alone. A held-out part of the "
         "pictures, or --valid, chooses C and the round; the mixture as it was, and an EM mixture of twice the "
         "size, are judged beside it. The result is an encoder like any other. See docs/encoders.md.",
     .actions = "train|refine|info",
     .min_args = 1,
     .max_args = SIZE_MAX,
     .tables = cli_encoder_tables,
     .library = "encoder",
     .uses = cli_encoder_uses,
     .run = cmd_encoder},
    {.name = "extract",
     .summary = "turns pictures, or bags of descriptors, into vectors by encoders and networks",
     .arguments = "IMAGES --encoder ENC... | --net MODEL... -o FILE.npy [options]",
     .examples = "tenon extract photos/train --encoder fisher.safetensors -o fisher.train.npy --labels-out train.txt\n"
                 "tenon extract photos/ --encoder fisher.safetensors llc.safetensors -o vectors/\n"
                 "tenon extract photos/ --net squeezenet.onnx mobilenet.onnx -o vectors/ --cache cache/\n"
                 "tenon extract photos/ --net vit.onnx --layer last_hidden_state --as bag -o tokens.npy\n"
                 "tenon extract --bags tokens.npy --encoder vlad.safetensors -o vlad.npy",
     .details =
         "Rows are in the order of the pictures: of a folder of classes, class by class in byte order. Beside "
         "each FILE.npy a FILE.json names the rows, the encoder and this command. Several encoders share one "
         "pass over the pictures.\n\n"
         "Networks are .onnx files, run by ONNX Runtime, which must be installed (tenon doctor). Tokens and maps "
         "become one vector, or with --as bag an array (N, T, D) that encoder train --bags takes.\n\n"
         "rank, fit, cv, predict and eval take IMAGES with --encoder and --net themselves.",
     .min_args = 0,
     .max_args = SIZE_MAX,
     .tables = cli_extract_tables,
     .library = "extract",
     .run = cmd_extract},
    {.name = "pq",
     .summary = "product quantisation: a representation as codes of one byte for every 8 columns",
     .arguments = "train REP -o PQ | apply PQ REP -o FILE [options]",
     .examples = "tenon pq train vgg.train.npy -o vgg.pq.safetensors\n"
                 "tenon pq apply vgg.pq.safetensors vgg.train.npy -o vgg.train.safetensors\n"
                 "tenon fit vgg.train.safetensors --labels labels.train.txt -o head.safetensors\n"
                 "tenon predict head.safetensors vgg.test.npy\n"
                 "tenon pq train fisher.npy -o fisher.pq.safetensors --sub 4 --sample 50000 --seed 1",
     .details = "train clusters every group of --sub columns by k-means, over a sample of the rows as they are stored. "
                "apply writes the number of the nearest centroid of each group, a byte, together with the centroids: a "
                "representation that every command reads like any other, decoding the rows it asks for. A head trained "
                "on codes takes rows as they are: those that need not be stored small are better left alone, for rows "
                "that the quantiser was not trained on lose more.\n\n"
                "The relative error is the sum of squared differences between rows and decoded rows over the sum of "
                "squares of the rows: of the sample for train, of all rows for apply. Rows with NaN or infinity are "
                "refused.",
     .actions = "train|apply",
     .min_args = 2,
     .max_args = 3,
     .tables = cli_pq_tables,
     .library = "pq",
     .uses = cli_pq_uses,
     .run = cmd_pq},
    {.name = "kernel",
     .summary = "learns additive kernels and maps representations by them",
     .arguments = "learn --data REP LABELS [--data ...] -o KERNEL | apply KERNEL REP -o FILE.npy | compare KERNEL "
                  "KERNEL... | show KERNEL [options]",
     .examples = "tenon kernel learn --data vgg.train.npy labels.train.txt -o vgg.kernel.safetensors\n"
                 "tenon kernel learn --data a.npy a.txt --data b.npy b.txt --rate 0.95 -o ab.kernel.safetensors\n"
                 "tenon kernel show vgg.kernel.safetensors --csv table.csv --picture kernel.svg\n"
                 "tenon kernel compare vgg.kernel.safetensors ab.kernel.safetensors chi2 intersection\n"
                 "tenon kernel apply vgg.kernel.safetensors vgg.test.npy -o mapped.npy\n"
                 "tenon kernel apply chi2 histograms.npy -o mapped.npy --normalize none",
     .details =
         "An additive kernel is a sum of k(x, y) over the columns of two rows, and its map makes a few values of every "
         "entry, so that a linear head on them is a kernel machine. KERNEL is a file of kernel learn, or a name: "
         "hellinger, chi2, intersection, js.\n\n"
         "learn trains one support vector machine per class on 39 functions of every entry and keeps the directions "
         "that "
         "all machines share; entries are L1-normalised and scaled first, and what lies beyond the scale is taken for "
         "its end. Data sets may differ in their columns and classes. The contributing rate says how much of the "
         "machines' weights the first values hold. Learn from other tasks than the one to be judged: evidence and "
         "leave-one-out of a kernel that has seen the labels are too good.\n\n"
         "apply writes the mapped rows, values of an entry side by side, block by block. compare prints the cosine of "
         "the kernels' 256 x 256 tables of k(x, y), each on its own axis. show prints what a kernel is made of and a "
         "coarse table. --signed is that of the kernel to learn, or of a kernel that goes by its name.",
     .actions = "learn|apply|compare|show",
     .min_args = 1,
     .max_args = SIZE_MAX,
     .tables = cli_kernel_tables,
     .library = "kernel",
     .uses = cli_kernel_uses,
     .run = cmd_kernel},
    {.name = "info",
     .summary = "tells what is in a file: a representation, labels, a head, a network, a quantiser or a kernel",
     .arguments = "FILE... [options]",
     .examples = "tenon info vgg.train.npy\n"
                 "tenon info head.safetensors labels.txt --json",
     .min_args = 1,
     .max_args = SIZE_MAX,
     .tables = cli_info_tables,
     .run = cmd_info},
    {.name = "doctor",
     .summary = "tells what this machine gives: cores, memory, kernels, speed of the matrix product",
     .arguments = "[options]",
     .examples = "tenon doctor\ntenon doctor --json",
     .min_args = 0,
     .max_args = 0,
     .tables = cli_plain_tables,
     .run = cmd_doctor},
    {.name = "help",
     .summary = "prints the help of a command, or all of it",
     .arguments = "[COMMAND] [options]",
     .examples = "tenon help rank\ntenon help --format man > tenon.1",
     .min_args = 0,
     .max_args = 1,
     .tables = cli_help_tables,
     .run = cmd_help},
    {.name = "completion",
     .summary = "prints the completion script of a shell",
     .arguments = "bash|zsh",
     .examples = "source <(tenon completion bash)\ntenon completion zsh > ~/.zfunc/_tenon",
     .actions = "bash|zsh",
     .min_args = 1,
     .max_args = 1,
     .tables = cli_plain_tables,
     .run = cmd_completion},
    {.name = NULL},
};
