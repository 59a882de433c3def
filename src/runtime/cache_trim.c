/* Keeping the compile cache below its limit; see cache.h. Files that other processes remove meanwhile do not
 * matter, and a reader that has a removed file open still reads all of it. */
#include "runtime/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { STALE_SECONDS = 3600 }; /* after this a temporary file was left by a process that died */

typedef struct entry {
    char *path;
    struct timespec used;
    uint64_t size;
} entry;

typedef struct entries {
    entry *list;
    size_t count, capacity;
    uint64_t total;
} entries;

static bool is_entry(const char *name)
{
    const char *dot = strchr(name, '.');
    return dot && (strcmp(dot, ".index") == 0 || strcmp(dot, ".data") == 0 || strcmp(dot, ".cubin") == 0);
}

static void keep(entries *all, const char *folder, const char *name, const struct stat *facts)
{
    if (all->count == all->capacity) {
        size_t capacity = all->capacity ? 2 * all->capacity : 256;
        entry *list = realloc(all->list, capacity * sizeof *list);
        if (!list) return;
        all->list = list;
        all->capacity = capacity;
    }
    tb_text path = {0};
    tb_text_printf(&path, "%s/%s", folder, name);
    entry e = {tb_text_take(&path), facts->st_mtim, (uint64_t)facts->st_size};
    if (!e.path) return;
    all->list[all->count++] = e;
    all->total += e.size;
}

/* Collects the entries of one folder; other files there are what died writers left. */
static void scan(entries *all, const char *path)
{
    DIR *folder = opendir(path);
    if (!folder) return;
    time_t now = time(NULL);
    for (struct dirent *item; (item = readdir(folder));) {
        struct stat facts;
        if (item->d_name[0] == '.' || fstatat(dirfd(folder), item->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (!S_ISREG(facts.st_mode)) continue;
        if (is_entry(item->d_name))
            keep(all, path, item->d_name, &facts);
        else if (now - facts.st_mtim.tv_sec > STALE_SECONDS)
            unlinkat(dirfd(folder), item->d_name, 0);
    }
    closedir(folder);
}

static void scan_all(entries *all, const char *folder)
{
    tb_text path = {0};
    tb_text_printf(&path, "%s/v1/", folder);
    size_t length = path.size;
    DIR *root = path.bad ? NULL : opendir(path.data);
    for (struct dirent *item; root && (item = readdir(root));) {
        if (item->d_name[0] == '.') continue;
        path.data[path.size = length] = 0;
        tb_text_puts(&path, item->d_name);
        if (path.bad) break;
        scan(all, path.data);
    }
    if (root) closedir(root);
    tb_text_free(&path);
}

static int older_first(const void *left, const void *right)
{
    const struct timespec *a = &((const entry *)left)->used, *b = &((const entry *)right)->used;
    if (a->tv_sec != b->tv_sec) return a->tv_sec < b->tv_sec ? -1 : 1;
    return (a->tv_nsec > b->tv_nsec) - (a->tv_nsec < b->tv_nsec);
}

void rt_cache_trim(const rt_cache *cache)
{
    entries all = {0};
    scan_all(&all, cache->folder);
    if (all.total > cache->limit) {
        /* Down to nine tenths, so that not every later run has to remove something. */
        uint64_t goal = cache->limit - cache->limit / 10;
        qsort(all.list, all.count, sizeof *all.list, older_first);
        for (size_t i = 0; i < all.count && all.total > goal; i++) {
            unlink(all.list[i].path);
            all.total -= all.list[i].size;
        }
    }
    for (size_t i = 0; i < all.count; i++) free(all.list[i].path);
    free(all.list);
}
