#!/usr/bin/env bash
# EVALB's figures for the trees in TEST against those in GOLD, files or folders of a treebank:
#
#     eval/evalb.sh GOLD... TEST [FILE.prm] [FLAGS of `rerank eval`]
#
# Prints the report of `rerank eval`. Exit status: 0 if every sentence could be compared and there is
# an F1, 1 if some could not (stderr names them), 2 if there is no F1.
set -euo pipefail

fail() {
    echo "evalb.sh: $1" >&2
    exit 2
}

command -v rerank >/dev/null || fail "no command named rerank; is parse-reranker installed?"
words=()
before=
for word in "$@"; do
    [[ $word != *.prm || $before == --parameters ]] || words+=(--parameters)
    words+=("$word")
    before=$word
done

code=0
report=$(rerank eval ${words[@]+"${words[@]}"}) || code=$?
[[ -z $report ]] || printf '%s\n' "$report"
((code <= 1)) || exit "$code"
grep -Eq '^Bracketing FMeasure +=  *[0-9]+\.[0-9]+$|"f1": [0-9]|^usage: ' <<<"$report" ||
    fail "no F1 found"
exit "$code"
