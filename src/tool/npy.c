/* NumPy's array files; see npy.h. */
#include "tool/npy.h"

#include "base/file.h"
#include "tool/cursor.h"

#include <string.h>

static const char magic[] = "\x93NUMPY";
enum { MAGIC_SIZE = sizeof magic - 1 };

/* What a header says. */
typedef struct npy_header {
    bool has_type, has_order, has_shape;
    bool swapped, fortran;
    tombac_type type;
    size_t dimension_count, shape[TOOL_MAX_DIMENSIONS];
} npy_header;

typedef struct npy_reader {
    const char *name;
    tool_cursor cursor;
    npy_header header;
    tombac_error **error;
} npy_reader;

static tombac_status damaged(npy_reader *r, const char *what)
{
    return tb_fail(r->error, TOMBAC_ERROR_IO, "'%s' is not a valid .npy file: %s", r->name, what);
}

/* A Python string literal without escapes. */
static bool take_string(tool_cursor *c, const char **text, size_t *length)
{
    char quote = tool_cursor_peek(c);
    if (quote != '\'' && quote != '"') return false;
    const char *start = ++c->at;
    const char *end = memchr(start, quote, (size_t)(c->end - start));
    if (!end || memchr(start, '\\', (size_t)(end - start))) return false;
    *text = start;
    *length = (size_t)(end - start);
    c->at = end + 1;
    return true;
}

static tombac_type type_of(const char *code, size_t length)
{
    static const struct {
        const char *code;
        tombac_type type;
    } known[] = {{"b1", TOMBAC_TYPE_BOOL}, {"i1", TOMBAC_TYPE_I8}, {"u1", TOMBAC_TYPE_U8},
        {"i2", TOMBAC_TYPE_I16}, {"u2", TOMBAC_TYPE_U16}, {"i4", TOMBAC_TYPE_I32}, {"u4", TOMBAC_TYPE_U32},
        {"i8", TOMBAC_TYPE_I64}, {"u8", TOMBAC_TYPE_U64}, {"f2", TOMBAC_TYPE_F16}, {"f4", TOMBAC_TYPE_F32},
        {"f8", TOOL_TYPE_F64}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (length == 2 && memcmp(code, known[i].code, 2) == 0) return known[i].type;
    return TOMBAC_TYPE_OTHER;
}

static tombac_status read_type(npy_reader *r)
{
    const char *code;
    size_t length;
    if (tool_cursor_peek(&r->cursor) == '[') {
        return tb_fail(r->error, TOMBAC_ERROR_ARGUMENT,
            "'%s' holds a structured array; save its bytes with a.view(numpy.uint8)", r->name);
    }
    if (!take_string(&r->cursor, &code, &length)) return damaged(r, "its descr is no string");
    char order = length ? code[0] : 0;
    bool ordered = order == '<' || order == '>' || order == '=' || order == '|';
    r->header.type = ordered ? type_of(code + 1, length - 1) : TOMBAC_TYPE_OTHER;
    r->header.swapped = order == '>';
    r->header.has_type = true;
    if (r->header.type != TOMBAC_TYPE_OTHER) return TOMBAC_OK;
    return tb_fail(r->error, TOMBAC_ERROR_ARGUMENT, "'%s' holds elements of type '%.*s', which no kernel has",
        r->name, length > 40 ? 40 : (int)length, code);
}

static tombac_status read_order(npy_reader *r)
{
    const char *word;
    size_t length = tool_cursor_word(&r->cursor, &word);
    r->header.fortran = length == 4 && memcmp(word, "True", 4) == 0;
    if (!r->header.fortran && !(length == 5 && memcmp(word, "False", 5) == 0))
        return damaged(r, "its fortran_order is neither True nor False");
    r->header.has_order = true;
    return TOMBAC_OK;
}

static tombac_status read_shape(npy_reader *r)
{
    npy_header *h = &r->header;
    if (!tool_cursor_take(&r->cursor, '(')) return damaged(r, "its shape is no tuple");
    while (!tool_cursor_take(&r->cursor, ')')) {
        if (h->dimension_count == TOOL_MAX_DIMENSIONS) return damaged(r, "its shape has too many dimensions");
        if (!tool_cursor_size(&r->cursor, &h->shape[h->dimension_count]))
            return damaged(r, "its shape holds no size");
        h->dimension_count++;
        if (tool_cursor_peek(&r->cursor) == ')') continue;
        if (!tool_cursor_take(&r->cursor, ',')) return damaged(r, "its shape has no comma between sizes");
    }
    h->has_shape = true;
    return TOMBAC_OK;
}

static bool is_key(const char *key, size_t length, const char *wanted)
{
    return strlen(wanted) == length && memcmp(key, wanted, length) == 0;
}

/* The header is a Python dictionary with three keys, in any order. */
static tombac_status read_dictionary(npy_reader *r)
{
    tool_cursor *c = &r->cursor;
    if (!tool_cursor_take(c, '{')) return damaged(r, "its header is no dictionary");
    while (!tool_cursor_take(c, '}')) {
        const char *key;
        size_t length;
        if (!take_string(c, &key, &length) || !tool_cursor_take(c, ':'))
            return damaged(r, "its header has no key");
        tombac_status status;
        if (is_key(key, length, "descr") && !r->header.has_type)
            status = read_type(r);
        else if (is_key(key, length, "fortran_order") && !r->header.has_order)
            status = read_order(r);
        else if (is_key(key, length, "shape") && !r->header.has_shape)
            status = read_shape(r);
        else
            status = damaged(r, "its header has a key that is unknown or given twice");
        if (status != TOMBAC_OK) return status;
        if (tool_cursor_peek(c) == '}') continue;
        if (!tool_cursor_take(c, ',')) return damaged(r, "its header has no comma between keys");
    }
    if (!tool_cursor_done(c)) return damaged(r, "its header has text behind the dictionary");
    if (!r->header.has_type || !r->header.has_order || !r->header.has_shape)
        return damaged(r, "its header lacks descr, fortran_order or shape");
    return TOMBAC_OK;
}

/* Finds the header's text and where the data begin. */
static tombac_status find_header(npy_reader *r, const unsigned char *bytes, size_t size, size_t *data)
{
    if (size < 10 || memcmp(bytes, magic, MAGIC_SIZE) != 0) return damaged(r, "it does not begin like one");
    unsigned major = bytes[6], minor = bytes[7];
    if (major < 1 || major > 3 || minor != 0) {
        return tb_fail(r->error, TOMBAC_ERROR_ARGUMENT,
            "'%s' is of .npy format version %u.%u; 1.0 to 3.0 are known", r->name, major, minor);
    }
    size_t start = major == 1 ? 10 : 12, length = bytes[8] | (size_t)bytes[9] << 8;
    if (size < start) return damaged(r, "it ends within its header");
    if (major > 1) length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    if (length > size - start) return damaged(r, "it ends within its header");
    r->cursor = (tool_cursor){(const char *)bytes + start, (const char *)bytes + start + length};
    *data = start + length;
    return TOMBAC_OK;
}

static void copy_elements(tool_array *array, const unsigned char *bytes, bool swapped)
{
    size_t width = tool_type_size(array->type);
    if (array->size) memcpy(array->data, bytes, array->size);
    if (!swapped) return;
    for (size_t i = 0; i < array->size; i += width) {
        for (size_t k = 0; k < width / 2; k++) {
            unsigned char kept = array->data[i + k];
            array->data[i + k] = array->data[i + width - 1 - k];
            array->data[i + width - 1 - k] = kept;
        }
    }
}

tombac_status tool_npy_parse(
    const char *name, const void *bytes, size_t size, tool_array *array, tombac_error **error)
{
    npy_reader r = {.name = name, .error = error};
    size_t start = 0;
    tombac_status status = find_header(&r, bytes, size, &start);
    if (status == TOMBAC_OK) status = read_dictionary(&r);
    if (status != TOMBAC_OK) return status;
    if (r.header.fortran && r.header.dimension_count > 1) {
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT,
            "'%s' is in Fortran order; save numpy.ascontiguousarray of it", name);
    }
    size_t count = 1, need = 0;
    bool overflow = false, empty = false;
    for (size_t i = 0; i < r.header.dimension_count; i++) {
        if (r.header.shape[i] == 0)
            empty = true;
        else
            overflow = __builtin_mul_overflow(count, r.header.shape[i], &count) || overflow;
    }
    overflow = __builtin_mul_overflow(empty ? 0 : count, tool_type_size(r.header.type), &need) || overflow;
    if (overflow || need > size - start) {
        return tb_fail(error, TOMBAC_ERROR_IO,
            "'%s' is cut short: its shape needs more than the %zu bytes of data in it", name, size - start);
    }
    if (need < size - start)
        return tb_fail(
            error, TOMBAC_ERROR_IO, "'%s' has %zu bytes behind its data", name, size - start - need);
    tool_array made = {
        .type = r.header.type, .vector_length = 1, .dimension_count = r.header.dimension_count};
    memcpy(made.shape, r.header.shape, sizeof made.shape);
    status = tool_array_allocate(&made, error);
    if (status != TOMBAC_OK) return status;
    copy_elements(&made, (const unsigned char *)bytes + start, r.header.swapped);
    *array = made;
    return TOMBAC_OK;
}

tombac_status tool_npy_read(const char *path, tool_array *array, tombac_error **error)
{
    tb_text bytes = {0};
    tombac_status status = tb_file_read(path, 0, &bytes, error);
    if (status == TOMBAC_OK) status = tool_npy_parse(path, tb_text_string(&bytes), bytes.size, array, error);
    tb_text_free(&bytes);
    return status;
}

static const char *code_of(tombac_type type)
{
    switch ((int)type) {
    case TOMBAC_TYPE_BOOL: return "|b1";
    case TOMBAC_TYPE_I8: return "|i1";
    case TOMBAC_TYPE_U8: return "|u1";
    case TOMBAC_TYPE_I16: return "<i2";
    case TOMBAC_TYPE_U16: return "<u2";
    case TOMBAC_TYPE_BF16: return "<u2";
    case TOMBAC_TYPE_I32: return "<i4";
    case TOMBAC_TYPE_U32: return "<u4";
    case TOMBAC_TYPE_I64: return "<i8";
    case TOMBAC_TYPE_U64: return "<u8";
    case TOMBAC_TYPE_F16: return "<f2";
    case TOMBAC_TYPE_F32: return "<f4";
    case (int)TOOL_TYPE_F64: return "<f8";
    default: return NULL;
    }
}

tombac_status tool_npy_build(const tool_array *array, tb_text *out, tombac_error **error)
{
    const char *code = code_of(array->type);
    if (!code) return tb_fail(error, TOMBAC_ERROR_ARGUMENT, ".npy files cannot hold this type");
    tb_text header = {0};
    tb_text_printf(&header, "{'descr': '%s', 'fortran_order': False, 'shape': (", code);
    for (size_t i = 0; i < array->dimension_count; i++) tb_text_printf(&header, "%zu, ", array->shape[i]);
    if (array->vector_length > 1) tb_text_printf(&header, "%u, ", array->vector_length);
    size_t dimensions = array->dimension_count + (array->vector_length > 1);
    if (!header.bad && dimensions)
        header.size -= dimensions == 1 ? 1 : 2; /* as numpy writes it: (3,) and (3, 4) */
    tb_text_puts(&header, "), }");
    while ((MAGIC_SIZE + 4 + header.size + 1) % 64) tb_text_putc(&header, ' ');
    tb_text_putc(&header, '\n');
    tb_text_append(out, magic, MAGIC_SIZE);
    const unsigned char version[4] = {1, 0, (unsigned char)header.size, (unsigned char)(header.size >> 8)};
    tb_text_append(out, version, sizeof version);
    tb_text_append(out, tb_text_string(&header), header.size);
    tb_text_append(out, array->data, array->size);
    bool bad = header.bad || out->bad;
    tb_text_free(&header);
    return bad ? tb_fail_memory(error) : TOMBAC_OK;
}

tombac_status tool_npy_write(const char *path, const tool_array *array, tombac_error **error)
{
    tb_text bytes = {0};
    tombac_status status = tool_npy_build(array, &bytes, error);
    if (status == TOMBAC_OK) status = tb_file_write_atomic(path, bytes.data, bytes.size, error);
    tb_text_free(&bytes);
    return status;
}
