# The lines "/* ---- NAME ---- */" of the public header as Doxygen's groups; line numbers stay.
/^\/\* ---- .* -+ \*\/$/ {
    sub(/^\/\* ---- /, "")
    sub(/ -+ \*\/$/, "")
    printf "%s/** @name %s\n*//** @{ */\n", open ? "/** @} */" : "", $0
    open = 1
    getline
    next
}
/^#ifdef __cplusplus/ && open { printf "/** @} */"; open = 0; next_is_end = 1 }
{ print }
