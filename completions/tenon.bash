# bash completion of tenon; made by: tenon completion bash
_tenon() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words=''
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W 'rank fit cv moments transfer predict eval report encoder extract pq kernel info doctor help completion --version' -- "$current")
        return
    fi
    case ${COMP_WORDS[1]}:$previous in
    rank:--task) words='auto multiclass multilabel regression' ;;
    rank:--on-error) words='stop skip' ;;
    rank:--as) words='auto mean max token bag' ;;
    rank:--views) words='centre flip ten' ;;
    rank:--resample) words='auto bilinear bicubic' ;;
    rank:--channels) words='rgb bgr' ;;
    rank:--layout) words='auto nchw nhwc' ;;
    rank:--by) words='evidence loo nll knn cv' ;;
    rank:--signed) words='odd split' ;;
    rank:--nan) words='error drop zero' ;;
    rank:--optimizer) words='aitken mackay em newton' ;;
    rank:--intercept) words='yes no' ;;
    fit:--task) words='auto multiclass multilabel regression' ;;
    fit:--on-error) words='stop skip' ;;
    fit:--as) words='auto mean max token bag' ;;
    fit:--views) words='centre flip ten' ;;
    fit:--resample) words='auto bilinear bicubic' ;;
    fit:--channels) words='rgb bgr' ;;
    fit:--layout) words='auto nchw nhwc' ;;
    fit:--method) words='auto evidence ridge-cv lda svm svm-cv logistic logistic-cv perceptron sgd pa pa2 cw arow nherd scw scw2' ;;
    fit:--select) words='best greedy forward exhaustive all' ;;
    fit:--loss) words='squared-hinge hinge' ;;
    fit:--mean-cost) words='yes no' ;;
    fit:--class-weight) words='none balanced' ;;
    fit:--penalise-bias) words='yes no' ;;
    fit:--calibrate) words='auto yes no' ;;
    fit:--multiclass) words='mul u-ovr e-ovr w-ovr' ;;
    fit:--shuffle) words='yes no' ;;
    fit:--signed) words='odd split' ;;
    fit:--nan) words='error drop zero' ;;
    fit:--optimizer) words='aitken mackay em newton' ;;
    fit:--intercept) words='yes no' ;;
    cv:--task) words='auto multiclass multilabel regression' ;;
    cv:--on-error) words='stop skip' ;;
    cv:--as) words='auto mean max token bag' ;;
    cv:--views) words='centre flip ten' ;;
    cv:--against) words='none auto evidence ridge-cv lda svm svm-cv logistic logistic-cv perceptron sgd pa pa2 cw arow nherd scw scw2' ;;
    cv:--method) words='auto evidence ridge-cv lda svm svm-cv logistic logistic-cv perceptron sgd pa pa2 cw arow nherd scw scw2' ;;
    cv:--select) words='best greedy forward exhaustive all' ;;
    cv:--loss) words='squared-hinge hinge' ;;
    cv:--mean-cost) words='yes no' ;;
    cv:--class-weight) words='none balanced' ;;
    cv:--penalise-bias) words='yes no' ;;
    cv:--calibrate) words='auto yes no' ;;
    cv:--multiclass) words='mul u-ovr e-ovr w-ovr' ;;
    cv:--shuffle) words='yes no' ;;
    cv:--signed) words='odd split' ;;
    cv:--nan) words='error drop zero' ;;
    cv:--optimizer) words='aitken mackay em newton' ;;
    cv:--intercept) words='yes no' ;;
    moments:--task) words='auto multiclass multilabel regression' ;;
    moments:--signed) words='odd split' ;;
    moments:--nan) words='error drop zero' ;;
    transfer:--task) words='auto multiclass multilabel regression' ;;
    transfer:--method) words='auto greedytl none average rls forward l1-logistic elastic-net multikt-l2 multikt-l1 dam' ;;
    transfer:--features) words='yes no' ;;
    transfer:--class-weight) words='none balanced' ;;
    transfer:--signed) words='odd split' ;;
    transfer:--normalize) words='l2 root l1 zscore none' ;;
    transfer:--nan) words='error drop zero' ;;
    predict:--nan) words='error drop zero' ;;
    predict:--on-error) words='stop skip' ;;
    predict:--as) words='auto mean max token bag' ;;
    predict:--views) words='centre flip ten' ;;
    predict:--resample) words='auto bilinear bicubic' ;;
    predict:--channels) words='rgb bgr' ;;
    predict:--layout) words='auto nchw nhwc' ;;
    eval:--task) words='auto multiclass multilabel regression' ;;
    eval:--nan) words='error drop zero' ;;
    eval:--on-error) words='stop skip' ;;
    eval:--as) words='auto mean max token bag' ;;
    eval:--views) words='centre flip ten' ;;
    eval:--resample) words='auto bilinear bicubic' ;;
    eval:--channels) words='rgb bgr' ;;
    eval:--layout) words='auto nchw nhwc' ;;
    encoder:--resample) words='auto bilinear bicubic' ;;
    encoder:--channels) words='rgb bgr' ;;
    encoder:--layout) words='auto nchw nhwc' ;;
    encoder:--on-error) words='stop skip' ;;
    encoder:--descriptor) words='sift rootsift csift lbp gist' ;;
    encoder:--contrast) words='yes no' ;;
    encoder:--kind) words='fisher vlad bovw llc' ;;
    encoder:--whiten) words='yes no' ;;
    encoder:--places) words='yes no' ;;
    encoder:--norm) words='auto root intra l2 raw' ;;
    encoder:--learn) words='mixture projection both' ;;
    encoder:--optimizer) words='lbfgs gd adam' ;;
    encoder:--objective) words='svm cv multinomial' ;;
    encoder:--intercept) words='yes no' ;;
    encoder:--twice) words='yes no' ;;
    encoder:--precision) words='f32 f64' ;;
    extract:--on-error) words='stop skip' ;;
    extract:--as) words='auto mean max token bag' ;;
    extract:--views) words='centre flip ten' ;;
    extract:--resample) words='auto bilinear bicubic' ;;
    extract:--channels) words='rgb bgr' ;;
    extract:--layout) words='auto nchw nhwc' ;;
    extract:--type) words='f32 f16' ;;
    kernel:--task) words='auto multiclass multilabel regression' ;;
    kernel:--normalize) words='l2 root l1 zscore none' ;;
    kernel:--basis) words='scaled-fourier fourier' ;;
    kernel:--signed) words='odd split' ;;
    kernel:--nan) words='error drop zero' ;;
    info:--task) words='auto multiclass multilabel regression' ;;
    help:--format) words='text markdown man' ;;
    help:help) words='rank fit cv moments transfer predict eval report encoder extract pq kernel info doctor help completion' ;;
    encoder:encoder) words='train refine info' ;;
    pq:pq) words='train apply' ;;
    kernel:kernel) words='learn apply compare show' ;;
    completion:completion) words='bash zsh' ;;
    esac
    if [ -z "$words" ] && [[ $current == -* ]]; then
        case ${COMP_WORDS[1]} in
        rank) words=' --json --quiet --progress --no-color --threads --seed --mem --help --labels --classes --task --moments --rows --report --force --encoder --on-error --net --cache --layer --as --views --size --crop --mean --std --scale --resample --channels --layout --config --by --transform --signed --normalize --nan --loo --optimizer --intercept --tolerance --max-iterations --start' ;;
        fit) words=' --json --quiet --progress --no-color --threads --seed --mem --help --labels --classes --task --moments --rows --output --report --force --valid --valid-labels --from --encoder --on-error --net --cache --layer --as --views --size --crop --mean --std --scale --resample --channels --layout --config --method --select --lambda --budget --threshold --C --loss --mean-cost --class-weight --sample-weight --penalise-bias --gap --max-passes --folds --holdout --grid --calibrate --multiclass --average --no-average --epochs --eta --shuffle --ratio --patience --tune --checkpoint --transform --signed --normalize --nan --loo --optimizer --intercept --tolerance --max-iterations --start' ;;
        cv) words=' --json --quiet --progress --no-color --threads --seed --mem --help --labels --classes --task --encoder --on-error --groups --fold-file --scores --report --force --valid --valid-labels --from --net --cache --layer --as --views --folds --repeats --against --inner-folds --method --select --lambda --budget --threshold --C --loss --mean-cost --class-weight --sample-weight --penalise-bias --gap --max-passes --holdout --grid --calibrate --multiclass --average --no-average --epochs --eta --shuffle --ratio --patience --tune --transform --signed --normalize --nan --loo --optimizer --intercept --tolerance --max-iterations --start' ;;
        moments) words=' --json --quiet --progress --no-color --threads --seed --mem --help --labels --classes --task --output --force --sample-weight --rows --folds --transform --signed --normalize --nan' ;;
        transfer) words=' --json --quiet --progress --no-color --threads --seed --mem --help --target --labels --classes --task --sample-weight --class --source --output --report --force --method --lambda --k --delta --features --class-weight --transform --signed --normalize --nan' ;;
        predict) words=' --json --quiet --progress --no-color --threads --seed --mem --help --source --top --proba --csv --ids --scores --force --nan --encoder --on-error --net --cache --layer --as --views --size --crop --mean --std --scale --resample --channels --layout --config --other-net' ;;
        eval) words=' --json --quiet --progress --no-color --threads --seed --mem --help --labels --classes --task --class --source --scores --proba --per-class --compare --resamples --report --images --force --nan --encoder --on-error --net --cache --layer --as --views --size --crop --mean --std --scale --resample --channels --layout --config --other-net' ;;
        report) words=' --json --quiet --progress --no-color --threads --seed --mem --help --output --force --images' ;;
        encoder) words=' --json --quiet --progress --no-color --threads --seed --mem --help --output --force --bags --offsets --labels --classes --valid --valid-labels --net --layer --size --crop --mean --std --scale --resample --channels --layout --config --pixels --side --largest --on-error --descriptor --step --sides --contrast --kind --words --pca --whiten --pyramid --places --norm --neighbours --sample --pictures --iterations --floor --task --learn --optimizer --objective --rounds --C --penalty --soften --rate --part --dropout --threshold --holdout --patience --intercept --twice --precision --cache --checkpoint' ;;
        extract) words=' --json --quiet --progress --no-color --threads --seed --mem --help --output --force --encoder --labels-out --on-error --bags --offsets --net --cache --layer --as --views --size --crop --mean --std --scale --resample --channels --layout --config --type --resume' ;;
        pq) words=' --json --quiet --progress --no-color --threads --seed --mem --help --output --force --sub --centroids --sample --iterations' ;;
        kernel) words=' --json --quiet --progress --no-color --threads --seed --mem --help --data --output --report --force --classes --task --normalize --csv --picture --rank --rate --power --scale --basis --signed --C --gap --max-passes --nan' ;;
        info) words=' --json --quiet --progress --no-color --threads --seed --mem --help --task' ;;
        doctor) words=' --json --quiet --progress --no-color --threads --seed --mem --help' ;;
        help) words=' --json --quiet --progress --no-color --threads --seed --mem --help --format' ;;
        completion) words=' --json --quiet --progress --no-color --threads --seed --mem --help' ;;
        esac
    fi
    if [ -n "$words" ]; then
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
    fi
}
complete -o default -F _tenon tenon
