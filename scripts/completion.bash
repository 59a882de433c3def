# bash completion of the command `tombac`. Verbs and options are read from its own help, so they are never out of step.
_tombac()
{
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]}
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(tombac --help | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p') --help --version" -- "$word")
        return
    fi
    case $before in
    --device) mapfile -t COMPREPLY < <(compgen -W "$(tombac info | sed -n 's/^device *\([a-z0-9:]*\):.*/\1/p')" -- "$word"); return ;;
    --math) mapfile -t COMPREPLY < <(compgen -W "fast relaxed safe" -- "$word"); return ;;
    --target) mapfile -t COMPREPLY < <(compgen -W "check cpu-v3 cpu-v4 sm_80 sm_86 sm_89 sm_90" -- "$word"); return ;;
    --emit) mapfile -t COMPREPLY < <(compgen -W "source ir reflection simd asm report" -- "$word"); return ;;
    *.metal) # the kernels of the source, where a kernel comes next
        case $verb in
        run | inspect)
            mapfile -t COMPREPLY < <(compgen -W "$(tombac check --list "$before" 2>/dev/null | sed -n 's/^ *\([A-Za-z_][A-Za-z0-9_]*\).*/\1/p')" -- "$word")
            return ;;
        esac ;;
    esac
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(tombac "$verb" --help 2>/dev/null | grep -o -e '--[a-z][a-z-]*' | sort -u)" -- "$word")
    else
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}
complete -F _tombac tombac
