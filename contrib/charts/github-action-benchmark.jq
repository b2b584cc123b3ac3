# For github-action-benchmark's customSmallerIsBetter: jq -s -f FILE run.jsonl > benchmark.json
(map(select(.type == "header"))[0].region
    | if (.end // "its return") == "its return" then .start else "\(.start) to \(.end)" end) as $region
  | map(select(.type == "summary"))[0].columns | to_entries
  | map(select(.value.count? > 0)
      | {name: "\($region) \(.key)", unit: "counts", value: .value.mean, range: "± \(.value.sd)",
         extra: "\(.value.count) hits, median \(.value.median)"})
