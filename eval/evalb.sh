#!/usr/bin/env bash
# EVALB's figures for the trees in TEST against those in GOLD, plain or .gz, one tree on each line:
#
#     eval/evalb.sh GOLD TEST [PRM] [--max-error N]
#
# Prints the report of `rerank eval`. Exit status: 0 if every sentence could be compared and there is
# an F1, 1 if some could not (stderr names them), 2 if there is no F1.
set -euo pipefail

fail() {
    echo "evalb.sh: $1" >&2
    exit 2
}

usage="usage: eval/evalb.sh GOLD TEST [PRM] [--max-error N]"
files=()
options=()
while (($#)); do
    case $1 in
        --max-error)
            (($# > 1)) || fail "--max-error needs a number; $usage"
            options+=("$1" "$2")
            shift 2
            ;;
        -?*) fail "unknown option $1; $usage" ;;
        *)
            files+=("$1")
            shift
            ;;
    esac
done
((${#files[@]} == 2 || ${#files[@]} == 3)) || fail "$usage"
parameters=${files[2]:-$(dirname -- "${BASH_SOURCE[0]}")/collins.prm}
command -v rerank >/dev/null || fail "no command named rerank; is parse-reranker installed?"

code=0
report=$(rerank eval "${files[0]}" "${files[1]}" --parameters "$parameters" \
    ${options[@]+"${options[@]}"}) || code=$?
[[ -z $report ]] || printf '%s\n' "$report"
((code <= 1)) || exit "$code"
grep -Eq '^Bracketing FMeasure +=  *[0-9]+\.[0-9]+$' <<<"$report" || fail "no F1 found"
exit "$code"
