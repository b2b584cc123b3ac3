# For node_exporter's textfile collector: jq -sr -f FILE run.jsonl > fir.prom
(map(select(.type == "header"))[0]
    | (.region | if (.end // "its return") == "its return" then .start else "\(.start) to \(.end)" end) as $region
    | "region=\($region | @json),core=\(.core | @json)") as $labels
  | map(select(.type == "summary"))[0].columns | to_entries | map(select(.value.count? > 0)) as $columns
  | ("mean", "sd", "min", "max") as $what
  | "# HELP pmu_probe_\($what) \($what) of the hits", "# TYPE pmu_probe_\($what) gauge",
    ($columns[] | "pmu_probe_\($what){\($labels),event=\(.key | @json)} \(.value[$what])")
