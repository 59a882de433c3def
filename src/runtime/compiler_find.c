/* Finding tombac-cc, and what tells one installed compiler from another; see compiler_client.h. */
#include "runtime/compiler_client.h"

#include "base/file.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROGRAM "tombac-cc"
#define CLANG "clang-22"

static char *join(const char *folder, const char *rest)
{
    tb_text text = {0};
    tb_text_printf(&text, "%s/%s", folder, rest);
    return tb_text_take(&text);
}

static bool is_program(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISREG(facts.st_mode) && access(path, X_OK) == 0;
}

/* ---- Places ---- */

/* Tries folder/rest; true ends the search (found, or out of memory with *program NULL). */
static bool try(const char *folder, const char *rest, char **program, bool *no_memory)
{
    char *path = join(folder, rest);
    *no_memory = !path;
    if (path && is_program(path))
        *program = path;
    else
        free(path);
    return *program || *no_memory;
}

static void search_path(const char *name, char **program, bool *no_memory)
{
    const char *path = getenv("PATH");
    while (path && *path) {
        size_t length = strcspn(path, ":");
        char *folder = length ? strndup(path, length) : strdup(".");
        *no_memory = !folder;
        bool done = !folder || try(folder, name, program, no_memory);
        free(folder);
        if (done) return;
        path += length + (path[length] == ':');
    }
}

static void search_beside(char **program, bool *no_memory)
{
    /* lib/ or lib/<triplet>/ beside bin/; a statically linked library is in bin/ itself. */
    static const char *const beside_library[] = {"../bin/" PROGRAM, "../../bin/" PROGRAM, PROGRAM};
    static const char here;
    char *folder = tb_folder_of_code(&here);
    bool done = false;
    for (size_t i = 0; folder && i < sizeof beside_library / sizeof *beside_library && !done; i++)
        done = try(folder, beside_library[i], program, no_memory);
    free(folder);
    char own[PATH_MAX];
    if (done || !realpath("/proc/self/exe", own)) return;
    *strrchr(own, '/') = 0;
    try(own, PROGRAM, program, no_memory);
}

/* A program that is given as a name is looked up in PATH, as execvp does; what is not found stays as given.
 */
static void resolve(const char *given, char **program, bool *no_memory)
{
    if (!strchr(given, '/')) search_path(given, program, no_memory);
    if (!*program && !*no_memory) *no_memory = !(*program = strdup(given));
}

static bool search(char **program)
{
    bool no_memory = false;
    const char *given = getenv("TOMBAC_CC");
    if (given && *given) {
        resolve(given, program, &no_memory);
        return !no_memory;
    }
    search_beside(program, &no_memory);
    if (!*program && !no_memory) search_path(PROGRAM, program, &no_memory);
    return !no_memory;
}

/* ---- Identity ---- */

static void add_file(tb_text *text, const char *path)
{
    struct stat facts;
    if (path && stat(path, &facts) == 0)
        tb_text_printf(text, "%s:%lld:%lld.%09ld;", path, (long long)facts.st_size,
            (long long)facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec);
}

static void add_beside(tb_text *text, const char *folder, const char *file)
{
    char *path = join(folder, file);
    if (!path) text->bad = true;
    add_file(text, path);
    free(path);
}

static void add_clang(tb_text *text)
{
    const char *given = getenv("TOMBAC_CLANG");
    char *clang = NULL, real[PATH_MAX];
    bool no_memory = false;
    resolve(given && *given ? given : CLANG, &clang, &no_memory);
    if (no_memory) text->bad = true;
    if (clang && realpath(clang, real)) add_file(text, real);
    free(clang);
}

/* What a compilation depends on besides the source: the programs, the libraries that are linked into
 * kernels, and the headers by their
 * precompiled form, which is made anew whenever one of them changes. */
static void describe(const char *program, tb_text *text)
{
    char folder[PATH_MAX];
    if (!realpath(program, folder)) return;
    add_file(text, folder);
    *strrchr(folder, '/') = 0;
    add_beside(text, folder, "../lib/tombac/metal.pch");
    add_beside(text, folder, "../lib/tombac/metal20.pch");
    const char *math = getenv("TOMBAC_MATH");
    if (math && *math)
        add_file(text, math);
    else
        add_beside(text, folder, "../lib/tombac/math.bc");
    add_beside(text, folder, "../lib/tombac/cuda.bc");
    add_beside(text, folder, "../lib/tombac/cuda_matrix.bc");
    add_clang(text);
}

tombac_status rt_compiler_find(rt_compiler *compiler, tombac_error **error)
{
    *compiler = (rt_compiler){0};
    if (!search(&compiler->program)) return tb_fail_memory(error);
    const char *headers = getenv("TOMBAC_MSL");
    compiler->own_headers = headers && *headers;
    tb_text identity = {0};
    if (compiler->program) describe(compiler->program, &identity);
    compiler->identity = tb_text_take(&identity);
    if (compiler->identity) return TOMBAC_OK;
    rt_compiler_free(compiler);
    return tb_fail_memory(error);
}

void rt_compiler_free(rt_compiler *compiler)
{
    free(compiler->program);
    free(compiler->identity);
    *compiler = (rt_compiler){0};
}
