# For `bencher run --adapter json`, a benchmark for each region: jq -s -f FILE run.jsonl > bencher.json
(map(select(.type == "header"))[0].region
    | if (.end // "its return") == "its return" then .start else "\(.start) to \(.end)" end) as $region
  | map(select(.type == "summary"))[0].columns
  | {($region): with_entries(select(.value.count? > 0)
      | .value |= {value: .mean, lower_value: (.mean - .sd), upper_value: (.mean + .sd)})}
