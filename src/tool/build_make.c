/* Compiling a bundle: `tombac-cc list` once, then `tombac-cc compile` for each kernel and target, as many at a time as there are
 * processors. What comes out does not depend on who was faster.
 *
 * The compiler runs in the source's folder and gets the source by its bare name, so that no path of this
 * machine gets into the bundle: equal sources give equal bytes wherever they lie. Include folders that were
 * given relatively stay relative. */
#include "tool/build.h"

#include "base/file.h"
#include "tool/compiler.h"
#include "tool/constants.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Paths ---- */

/* The way from folder `from` to `to`, both absolute and real. */
static void relative_path(const char *from, const char *to, tb_text *out)
{
    size_t common = 0; /* ends at a '/' or the end in both */
    for (size_t i = 0;; i++) {
        bool ends = (from[i] == '/' || !from[i]) && (to[i] == '/' || !to[i]);
        if (ends) common = i;
        if (!from[i] || !to[i] || from[i] != to[i]) break;
    }
    for (const char *c = from + common; *c; c++)
        if (*c == '/' && c[1]) tb_text_puts(out, out->size ? "/.." : "..");
    const char *down = to + common + (to[common] == '/');
    if (*down) tb_text_printf(out, "%s%s", out->size ? "/" : "", down);
    if (!out->size) tb_text_putc(out, '.');
}

/* Include folders as seen from `folder`. */
static tombac_status move_folders(
    const char *folder, const tool_words *folders, tool_words *moved, tombac_error **error)
{
    for (size_t i = 0; i < folders->count; i++) {
        char real[PATH_MAX];
        tb_text path = {0};
        if (folders->items[i][0] == '/')
            tb_text_puts(&path, folders->items[i]);
        else if (realpath(folders->items[i], real))
            relative_path(folder, real, &path);
        else
            return tb_fail_errno(error, "there is no include folder '%s'", folders->items[i]);
        char *taken = tb_text_take(&path);
        if (!taken) return tb_fail_memory(error);
        tombac_status status = tool_words_add(moved, taken, error);
        if (status != TOMBAC_OK) {
            free(taken);
            return status;
        }
    }
    return TOMBAC_OK;
}

static tombac_status enter_folder(const char *folder, tombac_error **error)
{
    const char *compiler = getenv("TOMBAC_CC");
    char real[PATH_MAX];
    if (compiler && strchr(compiler, '/') && realpath(compiler, real)) setenv("TOMBAC_CC", real, 1);
    return chdir(folder) == 0 ? TOMBAC_OK : tb_fail_errno(error, "cannot enter '%s'", folder);
}

/* ---- The index ---- */

static json_t *words_json(const tool_words *words)
{
    json_t *list = json_array();
    for (size_t i = 0; i < words->count; i++) json_array_append_new(list, json_string(words->items[i]));
    return list;
}

json_t *build_options_json(const build_options *options)
{
    static const char *const maths[] = {"fast", "relaxed", "safe"};
    const tool_compile *c = &options->compile;
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "standard",
        c->standard ? c->standard : "metal3.2", "math", maths[c->math], "defines", words_json(&c->defines),
        "include_folders", words_json(&c->include_folders), "kernels", words_json(&options->kernels),
        "targets", words_json(&options->targets), "set", words_json(&options->constants));
}

static json_t *constants_json(const tool_constants *constants)
{
    json_t *list = json_array();
    for (size_t i = 0; i < constants->count; i++) {
        tb_text hex = {0};
        const unsigned char *bytes = constants->items[i].data;
        for (size_t k = 0; k < constants->items[i].size; k++) tb_text_printf(&hex, "%02x", bytes[k]);
        json_array_append_new(list, json_pack("{s:I, s:s}", "index", (json_int_t)constants->items[i].index,
                                        "value", tb_text_string(&hex)));
        tb_text_free(&hex);
    }
    return list;
}

/* ---- Compilation ---- */

/* One artifact of the bundle. */
typedef struct build_job {
    const char *kernel;
    const build_target *target;
    tombac_status status;
    tombac_error *error;
} build_job;

typedef struct maker {
    const build_options *options;
    const tool_compile *compile; /* with moved folders */
    const char *source;          /* its bare name */
    json_t *constants, *listing, *entries;
    build_job *jobs;
    tb_text *files; /* one per job */
    tb_section *sections;
    size_t count;       /* of jobs; section 0 is the index */
    atomic_size_t next; /* job that nobody has taken */
    atomic_bool failed; /* no more are taken */
} maker;

static tombac_status compile_one(maker *m, const build_job *job, const char *output, tb_text *file, tombac_error **error)
{
    tool_words extra = {0};
    const char *fixed[] = {"--kernel", job->kernel, "--engine", job->target->engine, "--target", job->target->level, "-o",
        output};
    tombac_status status = TOMBAC_OK;
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed && fixed[i] && status == TOMBAC_OK; i++)
        status = tool_words_add(&extra, fixed[i], error);
    size_t count = json_array_size(m->constants);
    tb_text words[64] = {{0}};
    if (count > 64) status = tb_fail(error, TOMBAC_ERROR_ARGUMENT, "more than 64 function constants");
    for (size_t i = 0; i < count && status == TOMBAC_OK; i++) {
        const json_t *c = json_array_get(m->constants, i);
        tb_text_printf(&words[i], "%lld=0x%s", (long long)json_integer_value(json_object_get(c, "index")),
            json_string_value(json_object_get(c, "value")));
        status = words[i].bad ? tb_fail_memory(error) : tool_words_add(&extra, "--constant", error);
        if (status == TOMBAC_OK) status = tool_words_add(&extra, words[i].data, error);
    }
    tb_process process = {0};
    if (status == TOMBAC_OK)
        status = tool_compiler_run("compile", m->compile, &extra, m->source, &process, error);
    if (status == TOMBAC_OK) {
        tb_text_free(&process.output);
        tb_text_free(&process.errors);
        status = tb_file_read(output, 0, file, error);
    }
    for (size_t i = 0; i < 64; i++) tb_text_free(&words[i]);
    tool_words_free(&extra);
    return status;
}

/* Jobs are taken in their order, so whatever comes before a failed one is done, and the first failure is always the same. */
static void *work(void *maker_)
{
    maker *m = maker_;
    char output[] = "/tmp/tombac-build-XXXXXX";
    tombac_error *error = NULL;
    int file = mkstemp(output);
    tombac_status made = file < 0 ? tb_fail_errno(&error, "cannot make a temporary file") : TOMBAC_OK;
    if (file >= 0) close(file);
    while (!atomic_load(&m->failed)) {
        size_t i = atomic_fetch_add(&m->next, 1);
        if (i >= m->count) break;
        build_job *job = &m->jobs[i];
        job->status = made;
        job->error = error;
        error = NULL;
        if (made == TOMBAC_OK) job->status = compile_one(m, job, output, &m->files[i], &job->error);
        if (job->status != TOMBAC_OK) atomic_store(&m->failed, true);
    }
    tombac_error_release(error);
    if (file >= 0) unlink(output);
    return NULL;
}

enum { MAX_WORKERS = 64 };

static void run_jobs(maker *m)
{
    pthread_t threads[MAX_WORKERS];
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t wanted = processors > 1 ? (size_t)processors : 1, started = 0;
    if (wanted > m->count) wanted = m->count;
    if (wanted > MAX_WORKERS) wanted = MAX_WORKERS;
    while (started + 1 < wanted && pthread_create(&threads[started], NULL, work, m) == 0) started++;
    work(m);
    for (size_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
}

/* The first failure, or the artifacts in the order of the jobs. */
static tombac_status collect(maker *m, tombac_error **error)
{
    tombac_status status = TOMBAC_OK;
    for (size_t i = 0; i < m->count && status == TOMBAC_OK; i++) {
        build_job *job = &m->jobs[i];
        status = job->status;
        if (status != TOMBAC_OK && error) {
            *error = job->error;
            job->error = NULL;
        }
        if (status != TOMBAC_OK) break;
        m->sections[i + 1] = (tb_section){TB_SECTION_KERNEL, m->files[i].data, m->files[i].size};
        json_array_append_new(
            m->entries, json_pack("{s:s, s:s, s:s, s:O}", "name", job->kernel, "engine", job->target->engine, "target",
                            job->target->level, "constants", m->constants));
    }
    for (size_t i = 0; i < m->count; i++) tombac_error_release(m->jobs[i].error);
    return status;
}

static bool is_among(const tool_words *words, const char *word)
{
    bool found = words->count == 0;
    for (size_t i = 0; i < words->count && !found; i++) found = strcmp(words->items[i], word) == 0;
    return found;
}

/* How many artifacts the bundle will hold. */
static size_t count_wanted(const maker *m)
{
    size_t kernels = 0, targets = 0, i;
    json_t *kernel;
    json_array_foreach(json_object_get(m->listing, "kernels"), i, kernel) kernels +=
        is_among(&m->options->kernels, json_string_value(json_object_get(kernel, "name")));
    for (const build_target *t = build_targets; t->name; t++)
        targets += build_wants(m->options, t);
    return kernels * targets;
}

static tombac_status compile_all(maker *m, tombac_error **error)
{
    const json_t *kernels = json_object_get(m->listing, "kernels");
    size_t room = count_wanted(m);
    if (room == 0) return tb_fail(error, TOMBAC_ERROR_NOT_FOUND, "'%s' has no kernels", m->options->source);
    if (room >= TB_MAX_SECTIONS)
        return tb_fail(error, TOMBAC_ERROR_UNSUPPORTED,
            "'%s' has more kernels than an artifact can hold; choose with --kernel", m->options->source);
    m->jobs = calloc(room, sizeof *m->jobs);
    m->files = calloc(room, sizeof *m->files);
    m->sections = calloc(room + 1, sizeof *m->sections);
    if (!m->jobs || !m->files || !m->sections) return tb_fail_memory(error);
    size_t i;
    json_t *kernel;
    json_array_foreach(kernels, i, kernel)
    {
        const char *name = json_string_value(json_object_get(kernel, "name"));
        if (!is_among(&m->options->kernels, name)) continue;
        for (const build_target *t = build_targets; t->name; t++)
            if (build_wants(m->options, t)) m->jobs[m->count++] = (build_job){.kernel = name, .target = t};
    }
    run_jobs(m);
    return collect(m, error);
}

static tombac_status check_wanted(const maker *m, tombac_error **error)
{
    const tool_words *wanted = &m->options->kernels;
    for (size_t k = 0; k < wanted->count; k++) {
        size_t i;
        json_t *kernel;
        bool found = false;
        json_array_foreach(json_object_get(m->listing, "kernels"), i, kernel) found =
            found || strcmp(json_string_value(json_object_get(kernel, "name")), wanted->items[k]) == 0;
        if (!found)
            return tb_fail(error, TOMBAC_ERROR_NOT_FOUND, "'%s' has no kernel '%s'", m->options->source,
                wanted->items[k]);
    }
    return TOMBAC_OK;
}

static tombac_status write_bundle(maker *m, tb_text *bundle, tombac_error **error)
{
    json_t *index = json_pack("{s:i, s:s, s:s, s:o, s:O, s:O}", "format", TB_BUNDLE_FORMAT, "tombac",
        tombac_version(), "source", m->source, "options", build_options_json(m->options), "listing",
        m->listing, "kernels", m->entries);
    char *text = index ? json_dumps(index, JSON_INDENT(1) | JSON_ENSURE_ASCII) : NULL;
    json_decref(index);
    if (!text) return tb_fail_memory(error);
    m->sections[0] = (tb_section){TB_SECTION_INDEX, text, strlen(text)};
    tombac_status status = tb_artifact_build(m->sections, m->count + 1, bundle, error);
    free(text);
    return status;
}

static tombac_status list(maker *m, tombac_error **error)
{
    tb_process process = {0};
    tombac_status status = tool_compiler_run("list", m->compile, NULL, m->source, &process, error);
    if (status != TOMBAC_OK) return status;
    m->listing = json_loadb(tb_text_string(&process.output), process.output.size, 0, NULL);
    tb_text_free(&process.output);
    tb_text_free(&process.errors);
    return m->listing
               ? check_wanted(m, error)
               : tb_fail(error, TOMBAC_ERROR_COMPILER, "the compiler's list of kernels cannot be read");
}

/* The values of --set; their types are the source's to tell. */
static tombac_status read_constants(maker *m, tombac_error **error)
{
    tool_constants constants = {0};
    tombac_device *device = NULL;
    tombac_library *library = NULL;
    tombac_status status = TOMBAC_OK;
    if (m->options->constants.count) {
        tombac_compile_options compile = tool_compile_options(m->compile);
        status = tombac_device_open(NULL, &device, error);
        if (status == TOMBAC_OK)
            status = tombac_library_create_from_file(device, m->source, &compile, &library, error);
        if (status == TOMBAC_OK)
            status = tool_constants_read(&m->options->constants, library, &constants, error);
    }
    if (status == TOMBAC_OK && !(m->constants = constants_json(&constants))) status = tb_fail_memory(error);
    tool_constants_free(&constants);
    tombac_library_release(library);
    tombac_device_release(device);
    return status;
}

tombac_status build_make(const build_options *options, tb_text *bundle, tombac_error **error)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", options->source);
    char *slash = strrchr(folder, '/');
    *slash = 0;
    tool_compile moved = options->compile;
    moved.include_folders = (tool_words){0};
    maker m = {.options = options,
        .compile = &moved,
        .source = options->source + (slash - folder) + 1,
        .entries = json_array()};
    const char *root = *folder ? folder : "/";
    tombac_status status =
        move_folders(root, &options->compile.include_folders, &moved.include_folders, error);
    if (status == TOMBAC_OK) status = enter_folder(root, error);
    if (status == TOMBAC_OK) status = list(&m, error);
    if (status == TOMBAC_OK) status = read_constants(&m, error);
    if (status == TOMBAC_OK) status = compile_all(&m, error);
    if (status == TOMBAC_OK) status = write_bundle(&m, bundle, error);
    for (size_t i = 0; m.files && i < m.count; i++) tb_text_free(&m.files[i]);
    free(m.jobs);
    free(m.files);
    free(m.sections);
    json_decref(m.entries);
    json_decref(m.listing);
    json_decref(m.constants);
    for (size_t i = 0; i < moved.include_folders.count; i++) free((char *)moved.include_folders.items[i]);
    tool_words_free(&moved.include_folders);
    return status;
}
