/* Language standards (-std=) and the places of clang and Metal's headers. */
#include "base/file.h"
#include "compiler/front/unit.h"

#include <stdlib.h>
#include <unistd.h>

static const front_standard standards[] = {
    {"metal1.0", 100},
    {"metal1.1", 110},
    {"metal1.2", 120},
    {"metal2.0", 200},
    {"metal2.1", 210},
    {"metal2.2", 220},
    {"metal2.3", 230},
    {"metal2.4", 240},
    {"metal3.0", 300},
    {"metal3.1", 310},
    {"metal3.2", 320},
    {"metal4.0", 400},
    {"metal4.1", 410},
};

/* Up to metal2.4 the name carries the platform ("macos-metal2.4"); from 3.0 on it need not. */
tombac_status front_standard_find(const char *spelling, front_standard *standard, tombac_error **error)
{
    static const char *const platforms[] = {"macos-", "osx-", "ios-", "air-", "xros-", "visionos-", "tvos-"};
    if (!spelling) spelling = "metal3.2";
    const char *name = spelling;
    for (size_t i = 0; i < sizeof platforms / sizeof *platforms; i++) {
        size_t length = strlen(platforms[i]);
        if (!strncmp(spelling, platforms[i], length)) name = spelling + length;
    }
    tb_text known = {0};
    for (size_t i = 0; i < sizeof standards / sizeof *standards; i++) {
        if (!strcmp(name, standards[i].name)) {
            *standard = standards[i];
            tb_text_free(&known);
            return TOMBAC_OK;
        }
        if (standards[i].version >= 200)
            tb_text_printf(&known, "%s%s", known.size ? ", " : "", standards[i].name);
    }
    tombac_status status = tb_fail(error, TOMBAC_ERROR_ARGUMENT,
        "unknown language standard '%s'; known are %s, each also with macos- or ios- in front", spelling,
        tb_text_string(&known));
    tb_text_free(&known);
    return status;
}

tombac_status front_family_find(const front_options *options, unsigned *family, tombac_error **error)
{
    static const char name[] = FRONT_FAMILY_MACRO "=";
    *family = FRONT_NEWEST_FAMILY;
    for (size_t i = 0; i < options->define_count; i++) {
        const char *define = options->defines[i];
        if (strncmp(define, name, sizeof name - 1) != 0) continue;
        char *end;
        unsigned long value = strtoul(define + sizeof name - 1, &end, 10);
        if (*end || value < FRONT_OLDEST_FAMILY || value > FRONT_NEWEST_FAMILY)
            return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "%s: the Apple GPU families are %d to %d", define,
                FRONT_OLDEST_FAMILY, FRONT_NEWEST_FAMILY);
        *family = (unsigned)value;
    }
    return TOMBAC_OK;
}

static char *join(const char *folder, const char *rest)
{
    tb_text text = {0};
    tb_text_printf(&text, "%s/%s", folder, rest);
    return tb_text_take(&text);
}

static bool readable(const char *path)
{
    return path && access(path, R_OK) == 0;
}

static void drop_unreadable(char **path)
{
    if (readable(*path)) return;
    free(*path);
    *path = NULL;
}

/* bin/tombac-cc looks in ../share/tombac/msl and ../lib/tombac; TOMBAC_MSL names another header folder (its
 * precompiled forms, if any, beside it as metal.pch and metal20.pch) and TOMBAC_CLANG another clang. */
tombac_status front_paths_find(front_paths *paths, tombac_error **error)
{
    *paths = (front_paths){0};
    const char *clang = getenv("TOMBAC_CLANG"), *msl = getenv("TOMBAC_MSL");
    paths->clang = strdup(clang && *clang ? clang : "clang-22");
    if (msl && *msl) {
        paths->msl = strdup(msl);
        paths->pch = join(msl, "metal.pch");
        paths->newer_pch = join(msl, "metal20.pch");
    } else {
        char *folder = tb_folder_of_code((const void *)front_paths_find);
        if (!folder)
            return tb_fail(error, TOMBAC_ERROR_COMPILER, "cannot find the folder of the running program");
        paths->msl = join(folder, "../share/tombac/msl");
        paths->pch = join(folder, "../lib/tombac/metal.pch");
        paths->newer_pch = join(folder, "../lib/tombac/metal20.pch");
        free(folder);
    }
    if (!paths->clang || !paths->msl || !paths->pch || !paths->newer_pch) return tb_fail_memory(error);
    char *umbrella = join(paths->msl, FRONT_UMBRELLA);
    if (!umbrella) return tb_fail_memory(error);
    bool found = readable(umbrella);
    free(umbrella);
    if (!found)
        return tb_fail(error, TOMBAC_ERROR_COMPILER,
            "Metal's standard library is not in '%s'; the environment variable TOMBAC_MSL can name its "
            "folder",
            paths->msl);
    drop_unreadable(&paths->pch);
    drop_unreadable(&paths->newer_pch);
    return TOMBAC_OK;
}

void front_paths_free(front_paths *paths)
{
    free(paths->clang);
    free(paths->msl);
    free(paths->pch);
    free(paths->newer_pch);
    *paths = (front_paths){0};
}
