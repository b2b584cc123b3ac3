# Completion of pmu-probe for bash, with the package bash-completion. The tool itself says what can be where.
_pmu_probe()
{
    local cur words cword name kept quoted=
    # Makes words whole again: bash cuts them at : and =, and replaces what is after the last cut, or the quote
    _get_comp_words_by_ref -n := cur words cword
    [[ $cur == [\'\"]* ]] && quoted=yes
    [[ $quoted ]] || kept=${cur%"${cur##*[:=]}"}
    words=("${words[@]//[\'\"\\]/}")
    COMPREPLY=()
    while IFS=$'\t' read -r name _; do
        name=${name#"$kept"}
        case $name in
        :files) compopt -o default ;;
        :folders) compopt -o dirnames ;;
        *) [[ $quoted ]] || printf -v name %q "$name" && COMPREPLY+=("$name") ;;
        esac
    done < <("${words[0]/#\~/$HOME}" --complete "${words[@]:1:cword}" 2>/dev/null)
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *: ]] && compopt -o nospace
    return 0
}
complete -F _pmu_probe pmu-probe
