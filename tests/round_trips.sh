# round_trips.sh: files of many kinds, compressed by one program and decompressed by others. Set `root` to the project's folder,
# then read this file with `.`; it only defines functions.
# shellcheck shell=sh disable=SC2154

# pack COMPRESS COUNT FOLDER: writes COUNT files into the FOLDER and compresses each, with settings that change from file to
# file.
pack() {
    mkdir -p "$3" && python3 "$root/tests/many_files.py" "$3" "$2" || return
    _n=0
    for _file in "$3"/*; do
        case $((_n % 8)) in
        0) _how='--layers 1 --heads 1 --window 16' ;;
        1) _how='--layers 1 --heads 1 --window 16 --order 0 --rate 20000' ;;
        2) _how='--layers 2 --heads 2 --window 24 --precision bf16' ;;
        3) _how='--layers 1 --heads 1 --window 33 --streams 2 --seed 5' ;;
        4) _how='--layers 1 --heads 2 --order 6' ;;
        5) _how='--layers 1 --heads 1 --window 2 --order 1' ;;
        6) _how='--layers 1 --heads 2 --precision bf16 --order 0' ;;
        7) if [ $((_n % 16)) -eq 7 ]; then _how=''; else _how='--layers 3 --heads 1 --rate 100000'; fi ;;
        esac
        # shellcheck disable=SC2086 # a list of words
        "$1" "$_file" "$_file.k" $_how >/dev/null || return
        _n=$((_n + 1))
    done
}

# unpack LABEL FOLDER STRIDE COMMAND...: the first of these files and each STRIDE-th after it become the same bytes again by the
# COMMAND. Prints how many they are.
unpack() {
    _label=$1 _folder=$2 _stride=$3 _n=0 _tried=0
    shift 3
    for _file in "$_folder"/*.k; do
        _n=$((_n + 1))
        [ $(((_n - 1) % _stride)) -eq 0 ] || continue
        rm -f "$_folder/back"
        "$@" -d "$_file" "$_folder/back" >/dev/null && cmp "${_file%.k}" "$_folder/back" || return
        _tried=$((_tried + 1))
    done
    rm -f "$_folder/back"
    echo "$_label: $_tried files"
}

# compress_by BUILD KAERU OUT COMPILER...: compiles the program compress, OUT, with KAERU, which is kaeru.c or its object file.
compress_by() {
    _build=$1 _kaeru=$2 _out=$3
    shift 3
    set -- "$@" -std=c11 -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE "-DKAERU_PLOTS=\"\"" "-DKAERU_SOURCE=\"\""
    for _part in autograd nn models; do
        set -- "$@" -I "$root/$_part/include" -I "$_build/$_part/include"
    done
    "$@" -I "$root/examples" -I "$root/examples/gpt" "$root/examples/compress.c" "$root"/examples/compress/*.c \
        "$root"/examples/common/*.c "$root/examples/gpt/gpt_inputs.c" "$root/examples/llama/llama_generate.c" \
        "$_build/examples/corpus.c" "$_kaeru" -lm -pthread -o "$_out"
}
