# Completion of pmu-probe for fish. The tool itself says what can be where.
function __pmu_probe_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct | string replace -ra '[\'"\\\\]' '')
    # --elf= of --elf=build/app
    set -l kept (string match -r '^--[\w-]+=' -- "$word")
    for line in ($words[1] --complete $words[2..-1] "$word" 2>/dev/null)
        switch $line
            case ':files*'
                printf '%s\n' "$kept"(__fish_complete_path (string replace -- "$kept" '' "$word"))
            case ':folders*'
                printf '%s\n' "$kept"(__fish_complete_directories (string replace -- "$kept" '' "$word"))
            case '*'
                echo $line
        end
    end
end
complete -c pmu-probe -f -a '(__pmu_probe_complete)'
