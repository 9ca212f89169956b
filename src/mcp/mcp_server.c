/* A server of the Model Context Protocol on standard input and output. */
#include "mcp/mcp_server.h"

#include "base/core/array.h"
#include "base/core/attributes.h"
#include "base/core/error.h"
#include "base/io/packed_folder.h"
#include "base/json/json_tree.h"
#include "base/json/json_writer.h"
#include "mcp/question.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- the child program ----------------------------------------------------------------------- */

/* Runs this program once more with other words, and keeps what it prints: so is an answer to a
 * client the very same that the command line gives, and a file that takes all memory, or for ever,
 * ends the child alone. */

struct child_answer {
    char *output; /* what it printed, with a NUL behind it */
    size_t length;
    char errors[2048]; /* the beginning of what it said is wrong */
};

/* The page of a command: beyond this it is no answer that anybody could read. */
enum { OUTPUT_BYTES_MAX = 256 * 1024 * 1024, READ_BYTES = 64 * 1024 };

extern char **environ;

struct child {
    pid_t process;
    int output; /* read from; -1: its end was reached */
    int errors;
};

/* /proc/self/exe: the very program, even where another was installed meanwhile. Standard input
 * is empty, for it belongs to the protocol. */
static bool child_start(struct child *child, char *const words[], struct error *error)
{
    posix_spawn_file_actions_t actions;
    int output[2], errors[2];
    int problem;

    if (pipe2(output, O_CLOEXEC) != 0)
        return error_set(error, ERROR_FAILURE, "cannot make a pipe: %s", strerror(errno));
    if (pipe2(errors, O_CLOEXEC) != 0) {
        (void)close(output[0]);
        (void)close(output[1]);
        return error_set(error, ERROR_FAILURE, "cannot make a pipe: %s", strerror(errno));
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, errors[1], STDERR_FILENO);
    problem = posix_spawn(&child->process, "/proc/self/exe", &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    (void)close(output[1]);
    (void)close(errors[1]);
    child->output = output[0];
    child->errors = errors[0];
    if (problem == 0)
        return true;
    (void)close(output[0]);
    (void)close(errors[0]);
    return error_set(error, ERROR_FAILURE, "cannot run /proc/self/exe: %s", strerror(problem));
}

static int64_t child_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Takes up what there is to read; false at the end of the pipe. */
static bool read_output(int pipe, struct child_answer *answer)
{
    ssize_t got;

    answer->output = array_resize(answer->output, answer->length + READ_BYTES + 1, 1);
    got = read(pipe, answer->output + answer->length, READ_BYTES);
    answer->length += got > 0 ? (size_t)got : 0;
    answer->output[answer->length] = '\0';
    return got > 0 || (got < 0 && errno == EINTR);
}

/* What is beyond the buffer is read and dropped: a child that waits for room in its pipe would
 * never end. */
static bool read_errors(int pipe, struct child_answer *answer)
{
    char bytes[sizeof answer->errors];
    size_t length = strlen(answer->errors);
    ssize_t got = read(pipe, bytes, sizeof bytes);
    size_t room = sizeof answer->errors - 1 - length;

    if (got > 0) {
        memcpy(answer->errors + length, bytes, (size_t)got < room ? (size_t)got : room);
        answer->errors[length + ((size_t)got < room ? (size_t)got : room)] = '\0';
    }
    return got > 0 || (got < 0 && errno == EINTR);
}

/* The words of an error, without the program's name before them and the line's end behind. */
static void tidy_errors(struct child_answer *answer)
{
    static const char name[] = "flopledger: ";
    size_t skipped = strncmp(answer->errors, name, sizeof name - 1) == 0 ? sizeof name - 1 : 0;
    size_t length = strlen(answer->errors) - skipped;

    memmove(answer->errors, answer->errors + skipped, length + 1);
    while (length > 0 && answer->errors[length - 1] == '\n')
        answer->errors[--length] = '\0';
}

/* Reads both pipes to their ends. Both pipes at once: reading one to its end first would block a
 * child that fills the other. */
static bool child_await(struct child *child, int seconds, struct child_answer *answer,
                        struct error *error)
{
    int64_t deadline_ms = child_now_ms() + (int64_t)seconds * 1000;
    struct pollfd pipes[2] = {{.fd = child->output, .events = POLLIN},
                              {.fd = child->errors, .events = POLLIN}};

    while (pipes[0].fd >= 0 || pipes[1].fd >= 0) {
        int64_t left_ms = deadline_ms - child_now_ms();

        if (left_ms <= 0)
            return error_set(error, ERROR_FAILURE,
                             "there was no answer within %d seconds (--time-limit allows more)",
                             seconds);
        if (answer->length > OUTPUT_BYTES_MAX)
            return error_set(error, ERROR_FAILURE, "the answer is longer than %d MiB",
                             OUTPUT_BYTES_MAX / 1024 / 1024);
        if (poll(pipes, 2, left_ms < 1000 ? (int)left_ms : 1000) <= 0)
            continue;
        if (pipes[0].revents && !read_output(pipes[0].fd, answer))
            pipes[0].fd = -1;
        if (pipes[1].revents && !read_errors(pipes[1].fd, answer))
            pipes[1].fd = -1;
    }
    return true;
}

/* `words` begins with the program's name and ends with NULL. False with `error` set where the child
 * cannot be run, was killed, printed too much, or took longer than `seconds`. Clear the answer in
 * any case. Killed without asking if it took too long: it holds nothing that would have to be
 * put in order. */
static bool child_program_run(char *const words[], int seconds, struct child_answer *answer,
                              struct error *error)
{
    struct child child = {.output = -1, .errors = -1};
    int status = 0;
    bool is_done;

    if (!child_start(&child, words, error))
        return false;
    is_done = child_await(&child, seconds, answer, error);
    if (!is_done)
        (void)kill(child.process, SIGKILL);
    while (waitpid(child.process, &status, 0) < 0 && errno == EINTR) {
    }
    (void)close(child.output);
    (void)close(child.errors);
    tidy_errors(answer);
    if (is_done && WIFSIGNALED(status))
        return error_set(error, ERROR_FAILURE, "the command was ended by signal %d (%s)",
                         WTERMSIG(status), strsignal(WTERMSIG(status)));
    return is_done;
}

static void child_answer_clear(struct child_answer *answer)
{
    free(answer->output);
    *answer = (struct child_answer){0};
}

/* ---- mcp server ------------------------------------------------------------------------------ */

enum { MESSAGE_BYTES_MAX = 1 << 20 };
enum {
    PARSE_ERROR = -32700,
    INVALID_REQUEST = -32600,
    NO_METHOD = -32601,
    BAD_PARAMETERS = -32602
};

#define RESOURCE_SCHEME "flopledger://docs/"

/* The newest first: it is offered to a client that asks for none of them. */
static const char *const versions[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};

/* Sent once at the beginning of a session: in which order to ask, and how to read what is not
 * there. */
static const char instructions[] =
    "Begin with report (a trace, a folder of traces or a capture), or inspect where a file is not "
    "known. The findings stand most expensive first, each with its confidence and what to try; "
    "check one by what_if before you change a program, and by compare after it. A number that is "
    "not there is not known: the answer says what would tell it. Times are in ns, shares of 1.";

/* ---- messages ------------------------------------------------------------------------------- */

/* The id as it was given; null where it could not be read. */
static void write_message_id(struct json_writer *writer, const struct json_node *id)
{
    if (id)
        mcp_copy_value(writer, "id", id, SIZE_MAX - 1);
    else
        json_null(writer, "id");
}

static void begin_message(struct json_writer *writer, const struct json_node *id)
{
    json_begin_object(writer, NULL, JSON_ON_ONE_LINE);
    json_text(writer, "jsonrpc", "2.0");
    write_message_id(writer, id);
}

/* One message is one line (MCP, "stdio transport"), flushed, since the client waits for it. */
static void end_message(struct json_writer *writer)
{
    json_end_object(writer); /* and the end of the line */
    (void)fflush(writer->output);
}

static void answer_error(FILE *output, const struct json_node *id, int code, const char *message)
{
    struct json_writer writer = {.output = output};

    begin_message(&writer, id);
    json_begin_object(&writer, "error", JSON_ON_ONE_LINE);
    json_integer(&writer, "code", code);
    json_text(&writer, "message", message);
    json_end_object(&writer);
    end_message(&writer);
}

static void begin_answer(struct json_writer *writer, const struct json_node *id)
{
    begin_message(writer, id);
    json_begin_object(writer, "result", JSON_ON_ONE_LINE);
}

static void end_answer(struct json_writer *writer)
{
    json_end_object(writer);
    end_message(writer);
}

/* ---- methods -------------------------------------------------------------------------------- */

/* The version that the client asks for, where it is known, else the newest, as the protocol
 * has it. */
static void answer_initialize(const struct json_node *id, const struct json_node *parameters,
                              FILE *output)
{
    const char *wanted = json_text_of(parameters, "protocolVersion", "");
    struct json_writer writer = {.output = output};
    const char *version = versions[0];

    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        if (strcmp(versions[i], wanted) == 0)
            version = versions[i];
    begin_answer(&writer, id);
    json_text(&writer, "protocolVersion", version);
    json_begin_object(&writer, "capabilities", JSON_ON_ONE_LINE);
    json_begin_object(&writer, "tools", JSON_ON_ONE_LINE);
    json_end_object(&writer);
    json_begin_object(&writer, "resources", JSON_ON_ONE_LINE);
    json_end_object(&writer);
    json_end_object(&writer);
    json_begin_object(&writer, "serverInfo", JSON_ON_ONE_LINE);
    json_text(&writer, "name", "flopledger");
    json_text(&writer, "title", "flopledger");
    json_text(&writer, "version", FLOPLEDGER_VERSION);
    json_end_object(&writer);
    json_text(&writer, "instructions", instructions);
    end_answer(&writer);
}

static void answer_tools_list(const struct json_node *id, FILE *output)
{
    struct json_writer writer = {.output = output};

    begin_answer(&writer, id);
    mcp_write_tools(&writer);
    end_answer(&writer);
}

/* All at once and without a cursor: pages of documentation are a few dozen. */
static void answer_resources_list(const struct json_node *id, FILE *output)
{
    struct json_writer writer = {.output = output};

    begin_answer(&writer, id);
    json_begin_array(&writer, "resources", JSON_ON_ONE_LINE);
    for (size_t i = 0; i < packed_docs.count; i++) {
        char uri[512];

        (void)snprintf(uri, sizeof uri, RESOURCE_SCHEME "%s", packed_docs.files[i].name);
        json_begin_object(&writer, NULL, JSON_ON_ONE_LINE);
        json_text(&writer, "uri", uri);
        json_text(&writer, "name", packed_docs.files[i].name);
        json_text(&writer, "mimeType", "text/markdown");
        json_integer(&writer, "size", (int64_t)packed_docs.files[i].bytes);
        json_end_object(&writer);
    }
    json_end_array(&writer);
    end_answer(&writer);
}

static void answer_templates_list(const struct json_node *id, FILE *output)
{
    struct json_writer writer = {.output = output};

    begin_answer(&writer, id);
    json_begin_array(&writer, "resourceTemplates", JSON_ON_ONE_LINE);
    json_end_array(&writer);
    end_answer(&writer);
}

/* The pages are packed as one block and unpacked as one: an agent reads few of them, and
 * holding them all would cost every session. */
static void write_resource(FILE *output, const struct json_node *id, const char *uri,
                           const struct packed_file *file)
{
    struct json_writer writer = {.output = output};
    char *all = packed_folder_unpack(&packed_docs);
    char *text = require_memory(strndup(all + file->at, file->bytes));

    begin_answer(&writer, id);
    json_begin_array(&writer, "contents", JSON_ON_ONE_LINE);
    json_begin_object(&writer, NULL, JSON_ON_ONE_LINE);
    json_text(&writer, "uri", uri);
    json_text(&writer, "mimeType", "text/markdown");
    json_text(&writer, "text", text);
    json_end_object(&writer);
    json_end_array(&writer);
    end_answer(&writer);
    free(text);
    free(all);
}

/* -32002 is the code that the protocol has for a resource that is not there. */
static void answer_resources_read(const struct json_node *id, const struct json_node *parameters,
                                  FILE *output)
{
    const char *uri = json_text_of(parameters, "uri", "");
    size_t scheme = sizeof RESOURCE_SCHEME - 1;

    for (size_t i = 0; i < packed_docs.count; i++) {
        if (strncmp(uri, RESOURCE_SCHEME, scheme) == 0 &&
            strcmp(packed_docs.files[i].name, uri + scheme) == 0) {
            write_resource(output, id, uri, &packed_docs.files[i]);
            return;
        }
    }
    answer_error(output, id, -32002, "there is no such resource: resources/list has all");
}

/* ---- tools/call ----------------------------------------------------------------------------- */

static void write_text_content(struct json_writer *writer, const char *text)
{
    json_begin_object(writer, NULL, JSON_ON_ONE_LINE);
    json_text(writer, "type", "text");
    json_text(writer, "text", text);
    json_end_object(writer);
}

/* A text that an error is told by, or the JSON text of an answer, and then the answer itself. What
 * the command said beside it, that a file is damaged, say, is a text of its own. */
static void answer_call(FILE *output, const struct json_node *id, const char *text,
                        const struct json_node *answer, const char *remark)
{
    struct json_writer writer = {.output = output};

    begin_answer(&writer, id);
    json_begin_array(&writer, "content", JSON_ON_ONE_LINE);
    write_text_content(&writer, text);
    if (remark[0])
        write_text_content(&writer, remark);
    json_end_array(&writer);
    if (answer)
        mcp_copy_value(&writer, "structuredContent", answer, SIZE_MAX - 1);
    json_boolean(&writer, "isError", !answer);
    end_answer(&writer);
}

/* What of the command's output is wanted, as JSON text; NULL with `error` set. free() it. */
static char *make_answer(const struct mcp_call *call, const struct child_answer *child,
                         struct arena *arena, struct error *error)
{
    const struct json_node *report = NULL;
    char *text = NULL;
    size_t length = 0;
    FILE *memory = require_memory(open_memstream(&text, &length));
    struct json_writer writer = {.output = memory};
    bool is_made;

    if (!call->is_text)
        report = json_tree_parse(arena, child->output, child->length, error);
    is_made = call->is_text ? mcp_write_text_answer(&writer, child->output, child->length,
                                                    &call->wanted, error)
                            : report && mcp_write_answer(&writer, report, &call->wanted, error);
    (void)fclose(memory);
    if (is_made && length > 0 && text[length - 1] == '\n')
        text[length - 1] = '\0';
    if (is_made)
        return text;
    free(text);
    return NULL;
}

/* Runs the command, whose answer `child` keeps; NULL with `error` set where it has none. */
static char *run_call(const struct mcp_server *server, const struct mcp_call *call,
                      struct child_answer *child, struct arena *arena, struct error *error)
{
    if (!child_program_run(call->words, server->seconds_max, child, error))
        return NULL;
    if (child->length > 0)
        return make_answer(call, child, arena, error);
    (void)error_set(error, ERROR_INPUT, "%s",
                    child->errors[0] ? child->errors : "the command printed nothing");
    child->errors[0] = '\0';
    return NULL;
}

/* Errors of a tool are answers with isError, which the model sees; errors of the protocol are
 * for the client. */
static void answer_tools_call(const struct mcp_server *server, const struct json_node *id,
                              const struct json_node *parameters, FILE *output)
{
    SCOPED(arena) arena = {0};
    const char *name = json_text_of(parameters, "name", "");
    const struct mcp_tool *tool = mcp_find_tool(name);
    struct child_answer child = {0};
    SCOPED(mcp_call) call = {.wanted = {.limit = 0}};
    struct error error = {0};
    char *text = NULL;

    if (!tool) {
        answer_error(output, id, BAD_PARAMETERS, "there is no such tool: tools/list has all");
        return;
    }
    if (mcp_understand(&call, tool, json_member(parameters, "arguments"), server->root, &error))
        text = run_call(server, &call, &child, &arena, &error);
    answer_call(output, id, text ? text : error.message,
                text ? json_tree_parse(&arena, text, strlen(text), &error) : NULL, child.errors);
    free(text);
    child_answer_clear(&child);
}

/* ---- the server ----------------------------------------------------------------------------- */

/* A method that is not known gets an error, not silence: a client waits for an answer to each
 * id. */
static void answer_request(const struct mcp_server *server, const char *method,
                           const struct json_node *id, const struct json_node *parameters,
                           FILE *output)
{
    struct json_writer writer = {.output = output};

    if (strcmp(method, "initialize") == 0) {
        answer_initialize(id, parameters, output);
    } else if (strcmp(method, "ping") == 0) {
        begin_answer(&writer, id);
        end_answer(&writer);
    } else if (strcmp(method, "tools/list") == 0) {
        answer_tools_list(id, output);
    } else if (strcmp(method, "tools/call") == 0) {
        answer_tools_call(server, id, parameters, output);
    } else if (strcmp(method, "resources/list") == 0) {
        answer_resources_list(id, output);
    } else if (strcmp(method, "resources/read") == 0) {
        answer_resources_read(id, parameters, output);
    } else if (strcmp(method, "resources/templates/list") == 0) {
        answer_templates_list(id, output);
    } else {
        answer_error(output, id, NO_METHOD, "there is no such method");
    }
}

/* A notification has no id and gets no answer, whatever it says (JSON-RPC 2.0). */
void mcp_answer_message(const struct mcp_server *server, const char *message, size_t length,
                        FILE *output)
{
    SCOPED(arena) arena = {0};
    struct error error = {0};
    const struct json_node *request = json_tree_parse(&arena, message, length, &error);
    const struct json_node *id = json_member(request, "id");
    const char *method = json_text_of(request, "method", NULL);
    bool has_id = id && (id->kind == JSON_STRING || (id->kind == JSON_NUMBER && id->is_integer));

    if (!request)
        answer_error(output, NULL, PARSE_ERROR, error.message);
    else if (request->kind == JSON_OBJECT && method && !id)
        return; /* a notification */
    else if (request->kind == JSON_OBJECT && !method && has_id &&
             (json_member(request, "result") || json_member(request, "error")))
        return; /* an answer, to nothing that was asked */
    else if (!method || !has_id)
        answer_error(output, has_id ? id : NULL, INVALID_REQUEST,
                     "a request is an object with \"method\" and an \"id\" that is a text or a "
                     "whole number");
    else
        answer_request(server, method, id, json_member(request, "params"), output);
}

/* Bytes of the next line without its end, at most MESSAGE_BYTES_MAX; -1 at the end of the input,
 * -2 where it is longer: all of it is then read. A line that is too long is read to its end, so
 * that the next message is found. */
static ssize_t read_message(FILE *input, char *message)
{
    size_t length = 0;
    bool is_too_long = false;
    int byte;

    while ((byte = getc(input)) != EOF && byte != '\n') {
        if (length < MESSAGE_BYTES_MAX)
            message[length++] = (char)byte;
        else
            is_too_long = true;
    }
    if (byte == EOF && length == 0)
        return -1;
    return is_too_long ? -2 : (ssize_t)length;
}

/* A message that is longer than the room cannot be read for its id, so its answer has none.
 * Lines that hold a carriage return alone come from clients that end lines as Windows does. */
void mcp_serve(const struct mcp_server *server, FILE *input, FILE *output)
{
    char *message = array_resize(NULL, MESSAGE_BYTES_MAX, 1);
    ssize_t length;

    while ((length = read_message(input, message)) != -1) {
        if (length == -2)
            answer_error(output, NULL, PARSE_ERROR, "the message is longer than 1 MiB");
        else if (length > 0 && !(length == 1 && message[0] == '\r'))
            mcp_answer_message(server, message, (size_t)length, output);
    }
    free(message);
}
