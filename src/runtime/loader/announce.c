/* gdb's JIT interface and perf's map; see announce.h.
 *
 * The interface is two names that the debugger knows: a function that it puts a breakpoint on, and a list that it reads
 * then. They are the process's, so they are visible, and the list is the one mutable variable of this library that is
 * not behind a device. */
#include "runtime/loader/announce.h"

#include "base/text.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- The interface, as gdb has it ---- */

typedef enum jit_action { JIT_NOACTION, JIT_REGISTER, JIT_UNREGISTER } jit_action;

struct jit_code_entry {
    struct jit_code_entry *next_entry, *prev_entry;
    const char *symfile_addr;
    uint64_t symfile_size;
};

struct jit_descriptor {
    uint32_t version, action_flag;
    struct jit_code_entry *relevant_entry, *first_entry;
};

#define VISIBLE __attribute__((visibility("default")))
extern VISIBLE struct jit_descriptor __jit_debug_descriptor;
VISIBLE struct jit_descriptor __jit_debug_descriptor = {.version = 1};
VISIBLE void __jit_debug_register_code(void);
__attribute__((noinline)) void __jit_debug_register_code(void)
{
    __asm__ volatile("" ::: "memory");
}

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;

struct rt_announcement {
    struct jit_code_entry entry;
    unsigned char object[]; /* the file as the debugger reads it */
};

static bool has_debug_information(const elf_object *object)
{
    for (size_t i = 1; i < object->section_count; i++)
        if (object->sections[i].sh_size && !strcmp(elf_section_name(object, i), ".debug_info")) return true;
    return false;
}

/* Writes where each section was loaded into the copy's section headers. */
static void fill_addresses(const loading *l, unsigned char *copy)
{
    Elf64_Ehdr header;
    memcpy(&header, copy, sizeof header);
    for (size_t i = 1; i < l->object.section_count; i++) {
        if (l->sections[i].part == PART_NONE) continue;
        Elf64_Addr address = (Elf64_Addr)(uintptr_t)l->sections[i].address;
        size_t at = header.e_shoff + i * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_addr);
        memcpy(copy + at, &address, sizeof address);
    }
}

static rt_announcement *tell_debugger(const loading *l)
{
    if (!has_debug_information(&l->object)) return NULL;
    rt_announcement *a = calloc(1, sizeof *a + l->object.size);
    if (!a) return NULL;
    memcpy(a->object, l->object.bytes, l->object.size);
    fill_addresses(l, a->object);
    a->entry.symfile_addr = (const char *)a->object;
    a->entry.symfile_size = l->object.size;
    pthread_mutex_lock(&list_lock);
    a->entry.next_entry = __jit_debug_descriptor.first_entry;
    if (a->entry.next_entry) a->entry.next_entry->prev_entry = &a->entry;
    __jit_debug_descriptor.first_entry = __jit_debug_descriptor.relevant_entry = &a->entry;
    __jit_debug_descriptor.action_flag = JIT_REGISTER;
    __jit_debug_register_code();
    __jit_debug_descriptor.action_flag = JIT_NOACTION;
    pthread_mutex_unlock(&list_lock);
    return a;
}

void rt_retract(rt_announcement *a)
{
    if (!a) return;
    pthread_mutex_lock(&list_lock);
    if (a->entry.prev_entry)
        a->entry.prev_entry->next_entry = a->entry.next_entry;
    else
        __jit_debug_descriptor.first_entry = a->entry.next_entry;
    if (a->entry.next_entry) a->entry.next_entry->prev_entry = a->entry.prev_entry;
    __jit_debug_descriptor.relevant_entry = &a->entry;
    __jit_debug_descriptor.action_flag = JIT_UNREGISTER;
    __jit_debug_register_code();
    __jit_debug_descriptor.action_flag = JIT_NOACTION;
    pthread_mutex_unlock(&list_lock);
    free(a);
}

/* ---- perf ---- */

/* START SIZE NAME, hexadecimal, a line for each function; one write, so that lines of threads do not mix. */
static void tell_perf(const loading *l)
{
    const char *wanted = getenv("TOMBAC_PERF");
    char path[64];
    tb_text text = {0};
    if (!wanted || !*wanted || !strcmp(wanted, "0")) return;
    for (size_t i = 1; i < l->object.symbol_count; i++) {
        const Elf64_Sym *s = &l->object.symbols[i];
        if (ELF64_ST_TYPE(s->st_info) != STT_FUNC || s->st_shndx == SHN_UNDEF || s->st_shndx >= l->object.section_count ||
            l->sections[s->st_shndx].part != PART_CODE)
            continue;
        tb_text_printf(&text, "%llx %llx %s: %s\n",
            (unsigned long long)((uintptr_t)l->sections[s->st_shndx].address + s->st_value),
            (unsigned long long)s->st_size, l->object.name, elf_symbol_name(&l->object, i));
    }
    snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
    int file = text.size && !text.bad ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
    if (file >= 0) {
        ssize_t written = write(file, text.data, text.size);
        (void)written; /* a full disk is no reason not to run */
        close(file);
    }
    tb_text_free(&text);
}

rt_announcement *rt_announce(const loading *l)
{
    tell_perf(l);
    return tell_debugger(l);
}
