/* `flopledger export chrome` and `perfetto`: the traces themselves, with the ledger as tracks. */
#include "base/core/arena.h"
#include "base/core/invariant.h"
#include "base/core/out_of_memory.h"
#include "base/io/input_stream.h"
#include "base/io/output_file.h"
#include "base/text/utf8.h"
#include "output/exports/chrome_tracks.h"
#include "output/exports/export_format.h"
#include "output/exports/perfetto_parts.h"
#include "output/results/device_words.h"
#include "pipeline/graph_captures.h"
#include "pipeline/subcommands.h"
#include "readers/open_trace.h"
#include "readers/torch_profiler/torch_profiler_copy.h"
#include "readers/torch_profiler/torch_profiler_reading.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Correlations have 32 bits; a reader may keep ids as doubles, of 53. */
#define IDS_PER_TRACE ((int64_t)1 << 40)

/* A file on its way out. */
struct chrome_file {
    FILE *output;
    bool is_merged;     /* several traces: things are moved apart */
    bool has_events;    /* a comma is needed before the next */
    bool in_events;     /* the array is open */
    bool skips_members; /* those of a trace behind the first: of the outermost object */
    struct arena arena;
    FILE *trailer; /* members behind the first trace's events, for the end */
    char *trailer_text;
    size_t trailer_size;
    int64_t base_time_ns; /* of the first trace */
    size_t index;         /* of the trace being written */
    struct chrome_place place;
    int64_t lost_events;
    bool is_cut;
};

/* ---- one event of a merged file -------------------------------------------------------------- */

/* A change of an event's text. */
struct edit {
    const char *from; /* what is replaced: [from, to) */
    const char *to;
    char text[64];
};

struct event_edits {
    const struct chrome_file *file;
    struct edit edits[5];
    int count;
    bool is_process_name;
    struct event_member args;
};

static bool key_is(const struct event_member *member, const char *key)
{
    return member->key_length == strlen(key) && memcmp(member->key, key, member->key_length) == 0;
}

/* The caller has made sure of room: one edit for each of the keys that look_at_member knows,
 * and one for the name. */
static struct edit *add_edit(struct event_edits *edits, const char *from, const char *to)
{
    struct edit *edit = &edits->edits[edits->count++];

    *edit = (struct edit){.from = from, .to = to};
    return edit;
}

/* "7" and "\"stream 7\"" of a process: a number is moved, a text gets the rank in front.
 * Processes of different ranks may have one number, on different machines: each trace's are
 * moved by more than a machine has. Numbers from OWN_PID on are our own tracks. */
static void move_pid(struct event_edits *edits, const struct event_member *member)
{
    char *end;
    long long pid = strtoll(member->value, &end, 10);

    if (*member->value == '"') {
        struct edit *edit = add_edit(edits, member->value + 1, member->value + 1);

        (void)snprintf(edit->text, sizeof edit->text, "%s", edits->file->place.prefix);
    } else if (end == member->value + member->value_length && pid >= 0 && pid < OWN_PID) {
        struct edit *edit = add_edit(edits, member->value, member->value + member->value_length);

        (void)snprintf(edit->text, sizeof edit->text, "%lld",
                       pid + (long long)edits->file->index * PIDS_PER_TRACE);
    }
}

/* Numbers of flows, which are the file's, not the process's. Flows join by their id over the
 * whole file, so that arrows of one trace would end in another. */
static void move_id(struct event_edits *edits, const struct event_member *member)
{
    char *end;
    long long id = strtoll(member->value, &end, 10);

    if (end != member->value + member->value_length || id < 0 || id >= IDS_PER_TRACE)
        return;
    (void)snprintf(add_edit(edits, member->value, member->value + member->value_length)->text,
                   sizeof(char[64]), "%lld",
                   id + (long long)edits->file->index * (long long)IDS_PER_TRACE);
}

/* In microseconds, with up to three decimals: as much as a shift of nanoseconds needs. Decimal
 * text to decimal text, in whole nanoseconds: a double of microseconds since 1970 has 53 bits,
 * which is a quarter of a microsecond, too coarse for kernels. Whatever would overflow stays as
 * it is. */
static void move_time(struct event_edits *edits, const struct event_member *member)
{
    int64_t shift_ns = edits->file->place.shift_ns;
    bool is_quoted = *member->value == '"';
    const char *at = member->value + is_quoted;
    char *end;
    long long us = strtoll(at, &end, 10);
    int64_t ns = 0;
    int digits = 0;

    if (shift_ns == 0 || end == at)
        return;
    for (const char *c = end + (*end == '.'); *end == '.' && *c >= '0' && *c <= '9' && digits < 3;
         c++)
        ns = 10 * ns + (*c - '0'), digits++;
    for (; digits < 3; digits++)
        ns *= 10;
    if (__builtin_mul_overflow((int64_t)us, 1000, &us) ||
        __builtin_add_overflow((int64_t)us, *at == '-' ? -ns : ns, &ns) ||
        __builtin_add_overflow(ns, shift_ns, &ns))
        return;
    (void)snprintf(add_edit(edits, member->value, member->value + member->value_length)->text,
                   sizeof(char[64]), "%s%" PRId64 ".%03d", ns < 0 && ns > -1000 ? "-" : "",
                   ns / 1000, (int)llabs(ns % 1000));
}

/* Keys of an event are few and each stands once; where a broken file repeats them, what is
 * beyond the room stays unmoved. */
static void look_at_member(void *context, const struct event_member *member)
{
    struct event_edits *edits = context;

    if (edits->count == (int)(sizeof edits->edits / sizeof *edits->edits))
        return; /* a key stands twice */
    if (key_is(member, "pid"))
        move_pid(edits, member);
    else if (key_is(member, "id"))
        move_id(edits, member);
    else if (key_is(member, "ts"))
        move_time(edits, member);
    else if (key_is(member, "args"))
        edits->args = *member;
    else if (key_is(member, "name"))
        edits->is_process_name = member->value_length == strlen("\"process_name\"") &&
                                 memcmp(member->value, "\"process_name\"", 14) == 0;
}

/* args of process_name: {"name": "python"} */
static void export_chrome_look_at_name(void *context, const struct event_member *member)
{
    struct event_edits *edits = context;

    if (key_is(member, "name") && *member->value == '"' && edits->count < 5)
        (void)snprintf(add_edit(edits, member->value + 1, member->value + 1)->text,
                       sizeof(char[64]), "%s", edits->file->place.prefix);
}

static int by_place(const void *left, const void *right)
{
    const struct edit *a = left;
    const struct edit *b = right;

    return (a->from > b->from) - (a->from < b->from);
}

/* The text is copied as it stands, with only the changed bytes replaced: everything else that
 * a profiler wrote, known to us or not, comes out as it went in. Edits are sorted by place,
 * and do not overlap, as each is within the value of another key. */
static void write_moved(const struct chrome_file *file, const char *text, size_t length)
{
    struct event_edits edits = {.file = file};
    const char *at = text;

    (void)walk_event_members(text, length, look_at_member, &edits);
    if (edits.is_process_name && edits.args.value && *edits.args.value == '{')
        (void)walk_event_members(edits.args.value, edits.args.value_length,
                                 export_chrome_look_at_name, &edits);
    qsort(edits.edits, (size_t)edits.count, sizeof *edits.edits, by_place);
    for (int i = 0; i < edits.count; i++) {
        (void)fwrite(at, 1, (size_t)(edits.edits[i].from - at), file->output);
        (void)fputs(edits.edits[i].text, file->output);
        at = edits.edits[i].to;
    }
    (void)fwrite(at, 1, (size_t)(text + length - at), file->output);
}

/* ---- the text of a trace --------------------------------------------------------------------- */

/* Members before the events come first in the file; the array is opened by the first event, or
 * at the end of a trace without any. */
static void open_events(struct chrome_file *file)
{
    if (!file->in_events)
        (void)fputs("\"traceEvents\": [\n", file->output);
    file->in_events = true;
}

static bool is_plain(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < ' ' || (unsigned char)text[i] > '~')
            return false;
    return true;
}

/* Some profilers write names as they are: control characters in strings, bytes that are no UTF-8.
 * Our reader takes them, JSON does not. Returns a copy in `arena` that JSON takes, too. Six
 * bytes for each is the most that is needed ("\u001f"). Outside strings control characters are
 * white space and stay. A backslash takes what it escapes with it, so that an escaped quotation
 * mark does not end the string. */
static const char *repair_event(struct arena *arena, const char *text, size_t *length)
{
    char *copy = arena_allocate(arena, 6 * *length + INPUT_PADDING);
    char *to = copy;
    bool is_in_string = false;

    for (size_t i = 0; i < *length;) {
        struct utf8_character c = utf8_decode(text + i, *length - i);
        size_t taken = c.length;

        if (c.code == '"' && c.is_valid)
            is_in_string = !is_in_string;
        if (!c.is_valid) {
            to = stpcpy(to, "\xEF\xBF\xBD");
        } else if (is_in_string && c.code < ' ') {
            to += sprintf(to, "\\u%04x", (unsigned)c.code);
        } else {
            if (is_in_string && c.code == '\\' && i + 1 < *length && is_plain(text + i + 1, 1))
                taken = 2; /* with what it escapes */
            memcpy(to, text + i, taken);
            to += taken;
        }
        i += taken;
    }
    *length = (size_t)(to - copy);
    return copy;
}

/* Most events are plain ASCII and are not copied: one look at the bytes, then they are
 * written. */
static void export_chrome_take_event(void *context, const char *text, size_t length)
{
    struct chrome_file *file = context;
    struct arena arena = {0};

    open_events(file);
    if (file->has_events)
        (void)fputs(",\n", file->output);
    file->has_events = true;
    if (!is_plain(text, length))
        text = repair_event(&arena, text, &length);
    if (file->is_merged)
        write_moved(file, text, length);
    else
        (void)fwrite(text, 1, length, file->output);
    arena_clear(&arena);
}

/* Members after the events, as some writers put them, are kept for the end: our own tracks
 * have to go into the same array before it is closed. Of merged traces only the first one's
 * are taken, as a key must stand once. The mark of an earlier export is dropped, since this
 * file has its own. */
static void export_chrome_take_member(void *context, const char *key, const char *value)
{
    struct chrome_file *file = context;

    if (file->skips_members || strcmp(key, EXPORT_MARK) == 0)
        return;
    if (file->in_events)
        (void)fprintf(file->trailer, ",\n\"%s\": %s", key, value);
    else
        (void)fprintf(file->output, "\"%s\": %s,\n", key, value);
}

/* ---- one trace ------------------------------------------------------------------------------- */

/* Read twice, once for the ledger and once for its text: the text is never in memory as a
 * whole, and a pipe could not be read again. */
static bool is_chrome_trace(const struct trace *trace, struct error *error)
{
    if (trace->read.file_bytes < 0)
        return error_set(error, ERROR_USAGE,
                         "export chrome reads each trace twice: name files, not standard input "
                         "nor a pipe");
    return strcmp(trace->read.format, "torch-profiler") == 0 ||
           error_set(error, ERROR_INPUT,
                     "'%s' is no trace of torch.profiler: only these can be exported as one; "
                     "'flopledger export perfetto' takes it",
                     trace_text(trace, trace->path));
}

/* Traces count microseconds from a base of their own; they are moved to that of the first
 * trace. A difference that does not fit is taken as none. */
static void export_chrome_find_place(struct chrome_file *file, const struct trace *trace)
{
    char prefix[40] = "";

    if (file->is_merged && trace->facts.rank >= 0)
        (void)snprintf(prefix, sizeof prefix, "rank %" PRId64 ": ", trace->facts.rank);
    else if (file->is_merged)
        (void)snprintf(prefix, sizeof prefix, "trace %zu: ", file->index);
    if (file->index == 0)
        file->base_time_ns = trace->facts.base_time_ns;
    file->place = (struct chrome_place){
        .first_pid = OWN_PID + (int64_t)file->index * PIDS_PER_TRACE,
        .prefix = arena_copy_text(&file->arena, prefix, strlen(prefix)),
    };
    if (__builtin_sub_overflow(trace->facts.base_time_ns, file->base_time_ns,
                               &file->place.shift_ns))
        file->place.shift_ns = 0;
}

/* Analyzed before anything is written, so that a trace that cannot be used leaves no half of
 * it in the file. */
static bool write_trace(struct chrome_file *file, const struct trace *trace,
                        const struct chrome_plan *plan, struct error *error)
{
    SCOPED(analyzed_rank) analyzed = {0};
    struct trace_text_sink sink = {file, export_chrome_take_member, export_chrome_take_event};
    struct trace_text_loss loss;

    if (!is_chrome_trace(trace, error) ||
        !analyze_rank(&analyzed, trace, &plan->attribution, error))
        return false;
    export_chrome_find_place(file, trace);
    /* One file has one head: that of the first trace. */
    file->skips_members = file->index > 0;
    if (!copy_trace_text(trace_text(trace, trace->path), &sink, &loss, error))
        return false;
    file->lost_events += loss.damaged_events;
    file->is_cut = file->is_cut || loss.is_cut;
    open_events(file);
    if (!file->has_events)
        (void)fputs("{}", file->output);
    file->has_events = true;
    chrome_write_tracks(file->output,
                        &(struct chrome_source){trace, &analyzed.ledger, &analyzed.costs,
                                                &analyzed.efficiency,
                                                device_speakers(trace, &analyzed.efficiency.peaks)},
                        &file->place, OWN_CATEGORY);
    file->index++;
    return true;
}

/* Each trace is read, written and let go before the next: memory is that of the largest. The
 * mark of the export is the first member, where whoever reads it back finds it in the first
 * bytes. */
static bool write_traces(struct chrome_file *file, const struct input_files *files,
                         const struct chrome_plan *plan, struct error *error)
{
    static const struct capture_choice beside = {.count = 0};

    (void)fprintf(file->output, "{\n\"%s\": \"%s\",\n", EXPORT_MARK, FLOPLEDGER_VERSION);
    for (size_t i = 0; i < files->count; i++) {
        struct read_options options = {.threads = plan->threads};
        SCOPED(trace) trace = {0};
        SCOPED(results) unread = {0}; /* the report says which captures could not be read */

        results_init(&unread);
        if (!open_trace(&trace, files->files[i].path, &options, error) ||
            !attribute_graphs_of(&trace, &beside, &unread, error))
            return false;
        if (plan->rank >= 0 && trace.facts.rank != plan->rank)
            continue;
        if (!write_trace(file, &trace, plan, error))
            return false;
    }
    if (file->index == 0)
        return error_set(error, ERROR_NO_DATA, "no trace of rank %lld among those given",
                         (long long)plan->rank);
    (void)fflush(file->trailer);
    (void)fprintf(file->output, "\n]%s\n}\n", file->trailer_text);
    return true;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* What must stand behind the events is gathered meanwhile: it is known only once all were
 * read. */
static bool write_content(FILE *output, const struct input_files *files,
                          const struct chrome_plan *plan, struct chrome_file *file,
                          struct error *error)
{
    bool is_done;

    file->output = output;
    file->is_merged = files->count > 1 && plan->rank < 0;
    file->trailer = require_memory(open_memstream(&file->trailer_text, &file->trailer_size));
    is_done = write_traces(file, files, plan, error);
    if (fclose(file->trailer) != 0)
        end_out_of_memory();
    free(file->trailer_text);
    arena_clear(&file->arena);
    return is_done;
}

static bool export_chrome_write_packed(FILE *target, const struct input_files *files,
                                       const struct chrome_plan *plan, struct chrome_file *file,
                                       struct error *error)
{
    FILE *packed = packed_output_open(target);
    bool is_done = write_content(packed, files, plan, file, error);

    (void)fclose(packed); /* what `target` did not take shows there */
    return is_done;
}

/* A damaged input makes a file and an error both: what could be read is worth having, and a
 * script must learn that it is not all. */
bool export_chrome(const char *path, const struct input_files *files,
                   const struct chrome_plan *plan, struct error *error)
{
    SCOPED(output_file) output = {0};
    struct chrome_file file = {.output = NULL};
    size_t length = strlen(path);
    bool is_packed = length > 3 && strcmp(path + length - 3, ".gz") == 0;

    if (!output_file_open(&output, path, error))
        return false;
    if (!(is_packed ? export_chrome_write_packed : write_content)(output.stream, files, plan, &file,
                                                                  error) ||
        !output_file_close(&output, error))
        return false;
    if (file.lost_events == 0 && !file.is_cut)
        return true;
    return error_set(
        error, ERROR_PARTIAL,
        "part of the input is damaged, and not in the export: pieces that are no JSON: "
        "%" PRId64 "%s",
        file.lost_events, file.is_cut ? "; a file ends in the middle" : "");
}

struct perfetto_file {
    FILE *output;
    const struct chrome_plan *plan;
    uint32_t written;
    bool is_merged;  /* several traces */
    bool is_partial; /* one of them is damaged */
};

/* One file may hold several processes of a run (parts), which become traces of their own here. */
static bool write_part(struct perfetto_file *file, struct trace_source *source, uint32_t part,
                       struct error *error)
{
    static const struct capture_choice beside = {.count = 0};
    const struct read_options options = {
        .threads = file->plan->threads, .part = part, .part_count = source->part_count};
    struct perfetto_place place = {.index = file->written, .prefix = ""};
    SCOPED(analyzed_rank) analyzed = {0};
    SCOPED(trace) trace = {0};
    SCOPED(results) unread = {0}; /* the report says which captures could not be read */
    char prefix[40];

    results_init(&unread);
    if (!open_trace_part(&trace, source, &options, error))
        return false;
    if (trace.read.merged_processes > 1) /* shows only when it was read */
        source->part_count = trace.read.merged_processes;
    if (!attribute_graphs_of(&trace, &beside, &unread, error))
        return false;
    if (file->plan->rank >= 0 && trace.facts.rank != file->plan->rank)
        return true;
    if (!analyze_rank(&analyzed, &trace, &file->plan->attribution, error))
        return false;
    place.speakers = device_speakers(&trace, &analyzed.efficiency.peaks);
    if (file->is_merged || source->part_count > 1) {
        (void)snprintf(
            prefix, sizeof prefix, trace.facts.rank >= 0 ? "rank %lld: " : "trace %lld: ",
            trace.facts.rank >= 0 ? (long long)trace.facts.rank : (long long)file->written);
        place.prefix = prefix;
    }
    perfetto_write_trace(file->output, &trace, &analyzed.ledger, &place);
    file->is_partial |= read_is_partial(&trace.read);
    file->written++;
    return true;
}

/* Several files in one: their tracks need a name before them, unless a single rank was chosen. */
static bool write_sources(struct perfetto_file *file, const struct input_files *files,
                          struct error *error)
{
    file->is_merged = files->count > 1 && file->plan->rank < 0;
    for (size_t i = 0; i < files->count; i++) {
        SCOPED(trace_source) source = {0};

        if (!trace_source_open(&source, files->files[i].path, error))
            return false;
        for (uint32_t part = 0; part < source.part_count; part++)
            if (!write_part(file, &source, part, error))
                return false;
    }
    return file->written > 0 ||
           error_set(error, ERROR_NO_DATA, "no trace of rank %" PRId64 " among those given",
                     file->plan->rank);
}

/* Errors of the packed stream show in the file below it, which is closed and checked last. */
bool export_perfetto(const char *path, const struct input_files *files,
                     const struct chrome_plan *plan, struct error *error)
{
    SCOPED(output_file) output = {0};
    struct perfetto_file file = {.plan = plan};
    size_t length = strlen(path);
    bool is_packed = length > 3 && strcmp(path + length - 3, ".gz") == 0;
    bool is_done;

    if (!output_file_open(&output, path, error))
        return false;
    file.output = is_packed ? packed_output_open(output.stream) : output.stream;
    is_done = write_sources(&file, files, error);
    if (is_packed)
        (void)fclose(file.output); /* what the file did not take shows there */
    if (!is_done || !output_file_close(&output, error))
        return false;
    return !file.is_partial ||
           error_set(error, ERROR_PARTIAL,
                     "part of the input is damaged, and not in the export: 'flopledger inspect' "
                     "says which");
}
