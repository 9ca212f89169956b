#!/usr/bin/env bash
# What action.yml runs: compares BASELINE with CANDIDATE by the conditions in FAIL_IF, one a line; UNDECIDED: warn or fail.
set -euo pipefail

folder=$(mktemp -d "${RUNNER_TEMP:-/tmp}/flopledger.XXXXXX")
said=$folder/said.txt
words=()
while IFS= read -r condition; do
    [ -z "$condition" ] || words+=(--fail-if "$condition")
done <<<"${FAIL_IF:-}"

# $1 is the format, $2 the file: the exit code is that of the program.
write() {
    flopledger compare "${words[@]}" --format "$1" --output "$folder/$2" -- "$BASELINE" "$CANDIDATE" 2>"$said"
}

# A message in one line of a workflow's command.
annotate() {
    local text
    text=$(sed -n 's/^flopledger: //p' "$said" | tail -1)
    text=${text//'%'/%25}
    echo "::$1 title=flopledger::${text//$'\r'/%0D}"
}

code=0
write markdown summary.md || code=$?
case $code in
0 | 5 | 6 | 7) ;;
*)
    annotate error
    exit "$code"
    ;;
esac
cp "$said" "$folder/first.txt"
for each in html:page.html junit:junit.xml sarif:flopledger.sarif; do
    write "${each%%:*}" "${each#*:}" || [ $? -eq "$code" ]
done
mv "$folder/first.txt" "$said"

cat "$folder/summary.md" >>"${GITHUB_STEP_SUMMARY:-/dev/stdout}"
{
    echo "exit-code=$code"
    echo "folder=$folder"
} >>"${GITHUB_OUTPUT:-/dev/stdout}"

case $code in
6)
    annotate error
    exit 6
    ;;
7)
    if [ "${UNDECIDED:-warn}" = fail ]; then
        annotate error
        exit 7
    fi
    annotate warning
    ;;
5) annotate warning ;;
esac
exit 0
