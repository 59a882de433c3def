/* src/base: strings, errors, files and child processes. */
#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "base/text.h"

#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void text_grows_and_stays_terminated(void **state)
{
    tb_text text = {0};
    assert_string_equal(tb_text_string(&text), "");
    for (int i = 0; i < 1000; i++) tb_text_printf(&text, "%d,", i);
    tb_text_putc(&text, '!');
    assert_int_equal(text.size, 10 * 2 + 90 * 3 + 900 * 4 + 1);
    assert_int_equal(strlen(text.data), text.size);
    char *taken = tb_text_take(&text);
    assert_null(text.data);
    assert_int_equal(strncmp(taken, "0,1,2,", 6), 0);
    free(taken);
}

static void text_turns_bad_on_overflow_and_stays_so(void **state)
{
    tb_text text = {0};
    tb_text_puts(&text, "kept");
    tb_text_append(&text, "x", SIZE_MAX - 2);
    assert_true(text.bad);
    tb_text_puts(&text, "ignored");
    assert_string_equal(tb_text_string(&text), "kept");
    assert_null(tb_text_take(&text));
}

static void empty_text_can_be_taken(void **state)
{
    tb_text text = {0};
    char *taken = tb_text_take(&text);
    assert_string_equal(taken, "");
    free(taken);
}

static void errors_carry_facts(void **state)
{
    tombac_error *error = NULL;
    assert_int_equal(tb_fail(&error, TOMBAC_ERROR_BINDING, "argument '%s' is missing", "a"), TOMBAC_ERROR_BINDING);
    tb_error_set_kernel(&error, "add");
    tb_error_set_location(&error, "add.metal", 3, 7);
    assert_int_equal(tombac_error_status(error), TOMBAC_ERROR_BINDING);
    assert_string_equal(tombac_error_message(error), "argument 'a' is missing");
    assert_string_equal(tombac_error_kernel(error), "add");
    assert_string_equal(tombac_error_file(error), "add.metal");
    assert_int_equal(tombac_error_line(error), 3);
    assert_int_equal(tombac_error_column(error), 7);
    tombac_error_release(error);
}

static void errors_may_be_unwanted_or_static(void **state)
{
    assert_int_equal(tb_fail(NULL, TOMBAC_ERROR_IO, "nobody reads this"), TOMBAC_ERROR_IO);
    tombac_error *error = NULL;
    assert_int_equal(tb_fail_memory(&error), TOMBAC_ERROR_MEMORY);
    tb_error_set_kernel(&error, "ignored");
    assert_null(tombac_error_kernel(error));
    assert_string_equal(tombac_error_message(error), "out of memory");
    tombac_error_release(error);
    tombac_error_release(NULL);
    assert_int_equal(tombac_error_status(NULL), TOMBAC_OK);
}

static void every_status_has_its_own_name(void **state)
{
    for (int a = TOMBAC_OK; a <= TOMBAC_ERROR_ARTIFACT; a++) {
        assert_string_not_equal(tombac_status_name((tombac_status)a), "unknown status");
        for (int b = 0; b < a; b++)
            assert_string_not_equal(tombac_status_name((tombac_status)a), tombac_status_name((tombac_status)b));
    }
    assert_string_equal(tombac_status_name((tombac_status)999), "unknown status");
}

static void files_round_trip_and_are_replaced_whole(void **state)
{
    char folder[] = "/tmp/tombac-base-XXXXXX";
    assert_non_null(mkdtemp(folder));
    tb_text path = {0}, read = {0};
    tombac_error *error = NULL;
    tb_text_printf(&path, "%s/a/b/c", folder);
    assert_int_equal(tb_folder_create(path.data, &error), TOMBAC_OK);
    assert_int_equal(tb_folder_create(path.data, &error), TOMBAC_OK);
    tb_text_puts(&path, "/file");
    assert_int_equal(tb_file_write_atomic(path.data, "one\0two", 7, &error), TOMBAC_OK);
    assert_int_equal(tb_file_write_atomic(path.data, "three", 5, &error), TOMBAC_OK);
    assert_int_equal(tb_file_read(path.data, 0, &read, &error), TOMBAC_OK);
    assert_string_equal(read.data, "three");
    assert_int_equal(tb_file_read(path.data, 4, &read, &error), TOMBAC_ERROR_IO);
    assert_non_null(strstr(tombac_error_message(error), "larger than 4 bytes"));
    tombac_error_release(error);
    unlink(path.data);
    error = NULL;
    assert_int_equal(tb_file_read(path.data, 0, &read, &error), TOMBAC_ERROR_IO);
    assert_non_null(strstr(tombac_error_message(error), "No such file"));
    tombac_error_release(error);
    tb_text_free(&path), tb_text_free(&read);
}

static int run(tb_process *process, const char *const *arguments, tombac_error **error)
{
    process->arguments = arguments;
    return (int)tb_process_run(process, error);
}

/* The end of this pipe closes when every process that holds it is gone. */
static void children_end_with_their_parent(void **state)
{
    int alive[2];
    char byte;
    assert_int_equal(pipe(alive), 0);
    pid_t parent = fork();
    if (parent == 0) {
        close(alive[0]);
        tb_process process = {.arguments = NULL};
        char command[64];
        snprintf(command, sizeof command, "echo >&%d; exec sleep 100", alive[1]);
        _exit(run(&process, (const char *[]){"sh", "-c", command, NULL}, NULL));
    }
    assert_true(parent > 0);
    close(alive[1]);
    assert_int_equal(read(alive[0], &byte, 1), 1); /* the child runs */
    kill(parent, SIGKILL);
    assert_int_equal(waitpid(parent, NULL, 0), parent);
    struct pollfd polled = {alive[0], POLLIN, 0};
    bool closed = false;
    while (!closed && poll(&polled, 1, 20000) == 1) closed = read(alive[0], &byte, 1) == 0;
    assert_true(closed);
    close(alive[0]);
}

static void children_are_fed_and_drained(void **state)
{
    size_t size = 3 << 20; /* more than any pipe holds: feeding and draining must interleave */
    char *data = malloc(size);
    memset(data, 'x', size);
    tb_process process = {.input = data, .input_size = size};
    tombac_error *error = NULL;
    assert_int_equal(run(&process, (const char *[]){"cat", NULL}, &error), TOMBAC_OK);
    assert_int_equal(process.exit_status, 0);
    assert_int_equal(process.output.size, size);
    assert_memory_equal(process.output.data, data, size);
    tb_text_free(&process.output), tb_text_free(&process.errors);
    free(data);
}

static void a_child_that_does_not_read_is_no_broken_pipe(void **state)
{
    char *data = calloc(1, 1 << 20);
    tb_process process = {.input = data, .input_size = 1 << 20};
    tombac_error *error = NULL;
    assert_int_equal(run(&process, (const char *[]){"sh", "-c", "exec 0<&-; echo out; echo err >&2; exit 7", NULL}, &error), TOMBAC_OK);
    assert_int_equal(process.exit_status, 7);
    assert_string_equal(process.output.data, "out\n");
    assert_string_equal(process.errors.data, "err\n");
    tb_text_free(&process.output), tb_text_free(&process.errors);
    free(data);
}

static void children_fail_by_name(void **state)
{
    tb_process process = {0};
    tombac_error *error = NULL;
    assert_int_equal(run(&process, (const char *[]){"/no/such/program", NULL}, &error), TOMBAC_ERROR_NOT_FOUND);
    assert_non_null(strstr(tombac_error_message(error), "/no/such/program"));
    tombac_error_release(error);
    error = NULL;
    process = (tb_process){.time_limit = 0.2};
    assert_int_equal(run(&process, (const char *[]){"sh", "-c", "sleep 30 & sleep 30", NULL}, &error), TOMBAC_ERROR_TIMEOUT);
    assert_true(process.timed_out);
    tombac_error_release(error);
    process = (tb_process){0};
    assert_int_equal(run(&process, (const char *[]){"sh", "-c", "kill -SEGV $$", NULL}, &error), TOMBAC_OK);
    assert_int_equal(process.exit_status, 128 + SIGSEGV);
}

/* The child of a killed caller dies with it, although it is in a process group of its own. */
static void children_do_not_outlive_their_caller(void **state)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t caller = fork();
    if (caller == 0) {
        close(ends[0]);
        char script[64];
        snprintf(script, sizeof script, "echo started >&%d; sleep 30", ends[1]);
        tb_process process = {0};
        run(&process, (const char *[]){"sh", "-c", script, NULL}, NULL);
        _exit(0);
    }
    close(ends[1]);
    char line[16];
    assert_int_equal(read(ends[0], line, sizeof line), 8); /* the child runs and holds the pipe's other end */
    kill(caller, SIGKILL);
    assert_int_equal(read(ends[0], line, sizeof line), 0); /* end of file: nobody holds it any more */
    close(ends[0]);
    waitpid(caller, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_grows_and_stays_terminated),
        cmocka_unit_test(text_turns_bad_on_overflow_and_stays_so),
        cmocka_unit_test(empty_text_can_be_taken),
        cmocka_unit_test(errors_carry_facts),
        cmocka_unit_test(errors_may_be_unwanted_or_static),
        cmocka_unit_test(every_status_has_its_own_name),
        cmocka_unit_test(files_round_trip_and_are_replaced_whole),
        cmocka_unit_test(children_end_with_their_parent),
        cmocka_unit_test(children_are_fed_and_drained),
        cmocka_unit_test(a_child_that_does_not_read_is_no_broken_pipe),
        cmocka_unit_test(children_fail_by_name),
        cmocka_unit_test(children_do_not_outlive_their_caller),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
