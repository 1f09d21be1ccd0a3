# check_headers.awk: of a header of the CUDA stand-in, after the preprocessor (gcc -E -P),
# makes C that compiles if another header has the same functions, numbers and fields.

BEGIN { nfields = 0 }
{ text = text " " $0 }

function trim(s) { gsub(/^ +| +$/, "", s); return s }

# `static TYPE *f = &v.NAME;` for a field, also of an array.
function field(struct, declaration,    dims, name) {
    dims = ""
    if(match(declaration, /\[.*\]$/)) {
        dims = substr(declaration, RSTART)
        declaration = substr(declaration, 1, RSTART - 1)
    }
    match(declaration, /[A-Za-z_0-9]+$/)
    name = substr(declaration, RSTART)
    declaration = substr(declaration, 1, RSTART - 1)
    printf "static %s; static %s(*f%d)%s = &v%d.%s;\n", struct " v" nfields, declaration, nfields, dims, nfields, name
    nfields++
}

function fields(struct, body,    parts, n, i, names, m, j, type) {
    n = split(body, parts, ";")
    for(i = 1; i <= n; ++i) {
        parts[i] = trim(parts[i])
        if(parts[i] == "") continue
        m = split(parts[i], names, ",")
        field(struct, names[1])
        type = names[1]
        sub(/[A-Za-z_0-9]+(\[.*\])?$/, "", type)
        for(j = 2; j <= m; ++j) field(struct, type trim(names[j]))
    }
}

END {
    gsub(/[ \t]+/, " ", text)
    rest = text
    while(match(rest, /(cuda|cublas|curand|cudnn|nccl|CU)[A-Za-z0-9_]+ = [0-9]+[,} ]/)) {
        split(substr(rest, RSTART, RLENGTH - 1), pair, " = ")
        printf "_Static_assert((int)%s == %s, \"%s\");\n", pair[1], pair[2], pair[1]
        rest = substr(rest, RSTART + RLENGTH)
    }
    rest = text
    while(match(rest, /struct (cuda|uint|float|dim)[A-Za-z0-9]+ \{[^}]*\}/)) {
        one = substr(rest, RSTART, RLENGTH)
        rest = substr(rest, RSTART + RLENGTH)
        brace = index(one, "{")
        fields(trim(substr(one, 1, brace - 1)), substr(one, brace + 1, length(one) - brace - 1))
    }
    rest = text
    while(match(rest, /typedef struct \{[^}]*\} (cudnn|nccl)[A-Za-z0-9_]+/)) {
        one = substr(rest, RSTART, RLENGTH)
        rest = substr(rest, RSTART + RLENGTH)
        brace = index(one, "{"); end = index(one, "}")
        fields(trim(substr(one, end + 1)), substr(one, brace + 1, end - brace - 1))
    }
    n = split(text, parts, ";")
    for(i = 1; i <= n; ++i) {
        if(!match(parts[i], / \*?(cuda|cublas|curand|cudnn|nccl)[A-Z][A-Za-z0-9_]*\([^(]*\)$/)) continue
        call = trim(substr(parts[i], RSTART))
        result = trim(substr(parts[i], 1, RSTART))
        if(sub(/^\*/, "", call)) result = result " *"
        name = call; sub(/\(.*/, "", name)
        sub(/^[^(]*/, "", call)
        printf "%s (*call_%s)%s = %s;\n", result, name, call, name
    }
}
