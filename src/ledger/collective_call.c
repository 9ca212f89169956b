/* What a communication kernel does, from all that a trace may tell of it. */
#include "ledger/collective_call.h"

#include "base/text/prefix.h"

#include <ctype.h>
#include <string.h>

/* How far around a launch the collective's operator is looked for, in events of its thread. */
enum { LOOK_BACK_MAX = 256 };

static const struct {
    const char *key;
    const char *title;
    const char *part; /* of the name in small letters without '_' and '-'; the first that fits
                         counts */
} kinds[COLLECTIVE_KIND_COUNT] = {
    [COLLECTIVE_ALL_REDUCE] = {"all_reduce", "all-reduce", "allreduce"},
    [COLLECTIVE_REDUCE_SCATTER] = {"reduce_scatter", "reduce-scatter", "reducescatter"},
    [COLLECTIVE_ALL_GATHER] = {"all_gather", "all-gather", "allgather"},
    [COLLECTIVE_ALL_TO_ALL] = {"all_to_all", "all-to-all", "alltoall"},
    [COLLECTIVE_BROADCAST] = {"broadcast", "broadcast", "broadcast"},
    [COLLECTIVE_SEND_RECEIVE] = {"send_receive", "send/receive", "send"},
    [COLLECTIVE_GATHER] = {"gather", "gather", "gather"},
    [COLLECTIVE_SCATTER] = {"scatter", "scatter", "scatter"},
    [COLLECTIVE_BARRIER] = {"barrier", "barrier", "barrier"},
    [COLLECTIVE_REDUCE] = {"reduce", "reduce", "reduce"},
    [COLLECTIVE_OTHER] = {"other", "other communication", ""},
};

static const struct {
    const char *title;
    int64_t bytes;
    const char *names[6]; /* in NCCL metadata and in input types */
} element_types[] = {
    {"float32", 4, {"Float", "float"}},
    {"bfloat16", 2, {"BFloat16", "c10::BFloat16"}},
    {"float16", 2, {"Half", "c10::Half"}},
    {"float64", 8, {"Double", "double"}},
    {"int64", 8, {"Long", "long", "long int"}},
    {"int32", 4, {"Int", "int"}},
    {"int16", 2, {"Short", "short", "short int"}},
    {"int8", 1, {"Char", "signed char", "char"}},
    {"uint8", 1, {"Byte", "unsigned char"}},
    {"bool", 1, {"Bool", "bool"}},
    {"float8_e4m3fn", 1, {"Float8_e4m3fn", "c10::Float8_e4m3fn"}},
    {"float8_e5m2", 1, {"Float8_e5m2", "c10::Float8_e5m2"}},
    {"complex64", 8, {"ComplexFloat", "c10::complex<float>"}},
    {"complex128", 16, {"ComplexDouble", "c10::complex<double>"}},
};
enum { ELEMENT_TYPE_COUNT = sizeof element_types / sizeof *element_types };

const char *collective_kind_key(enum collective_kind kind)
{
    return kinds[kind].key;
}

const char *collective_kind_title(enum collective_kind kind)
{
    return kinds[kind].title;
}

/* "reduce" is in "allreduce" and "reducescatter", so it is asked last; the table's order is
 * the order of the search. Without '_' and '-' one part fits ncclDevKernel_AllReduce,
 * all_reduce and all-reduce. Behind '(' are a kernel's arguments, whose types may have such
 * words. */
enum collective_kind collective_kind_of_name(const char *name)
{
    char plain[128];
    size_t length = 0;

    for (; *name && *name != '(' && length + 1 < sizeof plain; name++)
        if (*name != '_' && *name != '-')
            plain[length++] = (char)(*name >= 'A' && *name <= 'Z' ? *name + ('a' - 'A') : *name);
    plain[length] = '\0';
    for (int k = 0; k < COLLECTIVE_OTHER; k++)
        if (strstr(plain, kinds[k].part))
            return (enum collective_kind)k;
    return strstr(plain, "recv") ? COLLECTIVE_SEND_RECEIVE : COLLECTIVE_OTHER;
}

/* Whole names only: "float" is the begin of "float8" and another type. */
static int find_element_type(const char *name, size_t length)
{
    for (int t = 0; t < (int)ELEMENT_TYPE_COUNT; t++)
        for (size_t i = 0; i < 6 && element_types[t].names[i]; i++)
            if (strlen(element_types[t].names[i]) == length &&
                memcmp(element_types[t].names[i], name, length) == 0)
                return t;
    return -1;
}

int element_type_count(void)
{
    return ELEMENT_TYPE_COUNT;
}

const char *element_type_title(int element_type)
{
    return element_types[element_type].title;
}

int64_t element_type_bytes(int element_type)
{
    return element_types[element_type].bytes;
}

/* What the recorder counted itself goes before the product; an overflow is "not known", no
 * number. */
int64_t collective_bytes(const struct collective_call *call)
{
    int64_t bytes;

    if (call->bytes >= 0)
        return call->bytes;
    if (call->elements < 0 || call->element_type < 0 ||
        __builtin_mul_overflow(call->elements, element_type_bytes(call->element_type), &bytes))
        return -1;
    return bytes;
}

/* Powers of two: class k + 1 holds the sizes from 2^(k-1) to 2^k - 1; 0 is "not known", 1 is
 * empty. */
uint32_t message_size_class(int64_t bytes)
{
    if (bytes < 0)
        return 0;
    return bytes == 0 ? 1 : 65u - (uint32_t)__builtin_clzll((unsigned long long)bytes);
}

/* The factors of nccl-tests (doc/PERFORMANCE.md, "Bus Bandwidth"): what crosses the slowest
 * link at least, over the message, whatever the algorithm. Two ranks reduce with 1, many with
 * almost 2. 0 says that the kind has no such factor; the caller then gives no bus bandwidth. */
double collective_bus_factor(enum collective_kind kind, int64_t group_size)
{
    double n = (double)group_size;

    switch (kind) {
    case COLLECTIVE_ALL_REDUCE:
        return 2 * (n - 1) / n;
    case COLLECTIVE_REDUCE_SCATTER:
    case COLLECTIVE_ALL_GATHER:
    case COLLECTIVE_ALL_TO_ALL:
    case COLLECTIVE_GATHER:
    case COLLECTIVE_SCATTER:
        return (n - 1) / n;
    case COLLECTIVE_BROADCAST:
    case COLLECTIVE_REDUCE:
    case COLLECTIVE_SEND_RECEIVE:
        return 1;
    case COLLECTIVE_BARRIER:
    case COLLECTIVE_OTHER:
        break;
    }
    return 0;
}

/* The shapes of one entry, while the text is read. */
struct shape_reader {
    int depth;
    int64_t product; /* of the numbers since the last bracket; -1 before the first */
    int64_t entry;   /* elements of the entry so far */
    bool is_too_large;
};

/* A product of -1 is one of no size yet; too large a number is noted, not wrapped into a small
 * one. */
static const char *read_number(struct shape_reader *reader, const char *text)
{
    int64_t number = 0;

    for (; isdigit((unsigned char)*text); text++)
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, *text - '0', &number))
            reader->is_too_large = true;
    if (reader->product < 0)
        reader->product = 1;
    if (__builtin_mul_overflow(reader->product, number, &reader->product))
        reader->is_too_large = true;
    return text;
}

static void collective_call_close_bracket(struct shape_reader *reader)
{
    if (reader->product >= 0 &&
        __builtin_add_overflow(reader->entry, reader->product, &reader->entry))
        reader->is_too_large = true;
    reader->product = -1;
    reader->depth--;
}

/* An operator's inputs are lists of lists ("[[[1024,8],[16]],[]]"): an entry of depth 1 may be
 * one tensor or a list of tensors, whose elements are summed, as a coalesced collective sends
 * them all. Numbers too large for 63 bits make the whole unknown, for the text comes from a
 * file. */
int64_t largest_tensor(const char *shapes, uint32_t *index)
{
    struct shape_reader reader = {.product = -1};
    int64_t largest = 0;
    uint32_t entry = 0;

    while (*shapes && !reader.is_too_large) {
        if (isdigit((unsigned char)*shapes)) {
            shapes = read_number(&reader, shapes);
            continue;
        }
        if (*shapes == '[') {
            reader.depth++;
            reader.product = -1;
        } else if (*shapes == ']') {
            collective_call_close_bracket(&reader);
            /* Back at depth 1 an entry is complete: one tensor, or a list whose tensors were
             * summed. */
            if (reader.depth == 1 && reader.entry > largest) {
                largest = reader.entry;
                *index = entry;
            }
            if (reader.depth == 1)
                reader.entry = 0;
        } else if (*shapes == ',' && reader.depth == 1) {
            entry++;
        }
        shapes++;
    }
    return largest > 0 && !reader.is_too_large ? largest : -1;
}

/* Number `index` of a list of strings as the trace writes it, ["float", "int"]. */
static int element_type_in_list(const char *types, uint32_t index)
{
    const char *start = strchr(types, '"');

    for (uint32_t i = 0; start; i++) {
        const char *end = strchr(start + 1, '"');

        if (!end)
            return -1;
        if (i == index)
            return find_element_type(start + 1, (size_t)(end - start - 1));
        start = strchr(end + 1, '"');
    }
    return -1;
}

static void parse_metadata(struct collective_call *call, const struct trace *trace, uint32_t index)
{
    const struct event_detail *detail = &trace->details[index];
    const char *name = trace_text(trace, detail->collective_name);
    const char *type = trace_text(trace, detail->element_type);

    call->detail = index;
    call->kind = collective_kind_of_name(name);
    call->elements =
        detail->in_elements > detail->out_elements ? detail->in_elements : detail->out_elements;
    call->element_type = find_element_type(type, strlen(type));
    /* A recorder that does not know the group writes 0. */
    if (detail->group_size > 0)
        call->group_size = detail->group_size;
}

/* The operator or range tells the kind, and its inputs the size. The range nccl:* has the input
 * alone: for an all-gather that is a part of the message only. */
static void collective_call_take_operator(struct collective_call *call, const struct trace *trace,
                                          const struct event *event)
{
    const struct event_detail *detail = &trace->details[event->detail];
    enum collective_kind kind = collective_kind_of_name(trace_text(trace, event->name));
    uint32_t index = 0;
    int64_t elements = largest_tensor(trace_text(trace, detail->input_shapes), &index);

    if (call->kind == COLLECTIVE_OTHER)
        call->kind = kind;
    if (elements < 0 || kind == COLLECTIVE_OTHER ||
        (event->kind == EVENT_ANNOTATION &&
         (kind == COLLECTIVE_ALL_GATHER || kind == COLLECTIVE_GATHER)))
        return;
    if (elements > call->elements) {
        call->elements = elements;
        call->element_type = element_type_in_list(trace_text(trace, detail->input_types), index);
    }
}

/* The operator that a program calls; record_param_comms and nccl:* ranges lie inside it. */
static bool is_collective_operator(const char *name)
{
    return has_prefix(name, "c10d::") || has_prefix(name, "_c10d_functional::");
}

/* Names of ranges that lie around launches for other reasons ("forward") must not say the
 * kind. */
static bool is_about_collectives(const struct event *event, const char *name)
{
    return (event->kind == EVENT_OPERATOR || event->kind == EVENT_ANNOTATION) &&
           (is_collective_operator(name) || has_prefix(name, "nccl") ||
            has_prefix(name, "record_param_comms"));
}

/* How many kernels are launched in the range: device events know their launch, not it them, so
 * calls of such names are counted. */
static int count_launches(const struct trace *trace, uint32_t range)
{
    const struct event *around = &trace->host[range];
    const struct track *track = &trace->tracks[around->track];
    int launches = 0;

    for (uint32_t i = range + 1; i < track->first_event + track->event_count &&
                                 trace->host[i].start_ns < event_end_ns(around);
         i++)
        launches += trace->host[i].kind == EVENT_RUNTIME_CALL &&
                    strstr(trace_text(trace, trace->host[i].name), "LaunchKernel") != NULL;
    return launches;
}

/* What a range of NCCL says of the call it is around. Several kernels that share the message of
 * several calls: none knows its part. */
static void collective_call_take_range(struct collective_call *call, const struct trace *trace,
                                       uint32_t range)
{
    const struct event_detail *detail = &trace->details[trace->host[range].detail];

    call->kind = collective_kind_of_name(trace_text(trace, detail->collective_name));
    call->group_size = detail->group_size;
    call->detail = trace->host[range].detail;
    if (detail->collective_calls == 1 || count_launches(trace, range) == 1)
        call->bytes = detail->bytes;
}

/* Sends and receives may be the parts of what the range around them is called. */
static void adopt_kind_around(struct collective_call *call, const char *name)
{
    enum collective_kind kind = collective_kind_of_name(name);

    if (call->kind == COLLECTIVE_SEND_RECEIVE && kind != COLLECTIVE_OTHER)
        call->kind = kind;
}

/* Looks at what is open around the launch, from the inside out. */
static void ask_launching_thread(struct collective_call *call, const struct trace *trace,
                                 uint32_t launch)
{
    const struct event *call_event = &trace->host[launch];
    uint32_t first = trace->tracks[call_event->track].first_event;
    uint32_t last = launch - first > LOOK_BACK_MAX ? launch - LOOK_BACK_MAX : first;

    for (uint32_t i = launch; i-- > last;) {
        const struct event *event = &trace->host[i];
        const char *name = trace_text(trace, event->name);

        /* Ended before the launch did: not around it. Walking back over starts meets inner
         * ranges first. */
        if (event_end_ns(event) < event_end_ns(call_event) || !is_about_collectives(event, name))
            continue;
        if (trace->details[event->detail].collective_calls > 0) {
            collective_call_take_range(call, trace, i);
            continue;
        }
        if (call->detail) {
            adopt_kind_around(call, name);
            continue;
        }
        if (trace->details[event->detail].collective_name) {
            parse_metadata(call, trace, event->detail);
            return;
        }
        collective_call_take_operator(call, trace, event);
        if (is_collective_operator(name))
            return;
    }
}

/* Metadata on the kernel itself (PyTorch >= 2.2 writes it there) is of this very call; else
 * what is open around the launch is asked; the kernel's own name is last, as one NCCL kernel
 * serves several kinds (send and receive make up all-to-all). */
struct collective_call describe_collective(const struct trace *trace, uint32_t device_event)
{
    struct collective_call call = {.kind = COLLECTIVE_OTHER,
                                   .group_size = -1,
                                   .elements = -1,
                                   .bytes = -1,
                                   .element_type = -1};
    const struct event *kernel = &trace->device[device_event];

    if (trace->details[kernel->detail].collective_name)
        parse_metadata(&call, trace, kernel->detail);
    else if (trace->launch[device_event] != NO_EVENT)
        ask_launching_thread(&call, trace, trace->launch[device_event]);
    if (call.kind == COLLECTIVE_OTHER)
        call.kind = collective_kind_of_name(trace_text(trace, kernel->name));
    return call;
}
