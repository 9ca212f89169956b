/* Takes PyTorch's additions off the name of an NVTX range. */
#include "readers/nvtx_name.h"

#include "base/text/prefix.h"

#include <string.h>

enum field { FIELD_SEQUENCE, FIELD_OP_ID, FIELD_SIZES, FIELD_OTHER };

static const struct {
    const char *key;
    enum field field;
} fields[] = {
    {", seq = ", FIELD_SEQUENCE},      {", op_id = ", FIELD_OP_ID},
    {", sizes = ", FIELD_SIZES},       {", input_op_ids = ", FIELD_OTHER},
    {", seq=", FIELD_SEQUENCE},        {", stashed seq=", FIELD_OTHER},
    {", stashed seq = ", FIELD_OTHER}, {", trace_id = ", FIELD_OTHER},
};
enum { FIELD_COUNT = sizeof fields / sizeof *fields };

/* The next field at or behind `text`; NULL where there is none. PyTorch writes ", key = value"
 * behind the name (getNvtxStr in torch/csrc/profiler/util.cpp). A name may have commas of its
 * own, so each is tried. */
static const char *nvtx_name_find_field(const char *text, size_t *index)
{
    for (const char *comma = strchr(text, ','); comma; comma = strchr(comma + 1, ',')) {
        for (size_t i = 0; i < FIELD_COUNT; i++) {
            if (has_prefix(comma, fields[i].key)) {
                *index = i;
                return comma;
            }
        }
    }
    return NULL;
}

/* -1 where there is no number, or one that no id can be. */
static int64_t read_id(const char *text)
{
    int64_t id = 0;

    if (*text < '0' || *text > '9')
        return -1;
    for (; *text >= '0' && *text <= '9'; text++) {
        if (__builtin_mul_overflow(id, 10, &id) || __builtin_add_overflow(id, *text - '0', &id))
            return -1;
    }
    return id;
}

/* The length of the list that `text` begins with, brackets and all; 0 where it does not close. */
static size_t list_length(const char *text)
{
    size_t depth = 0;

    for (size_t i = 0; text[i]; i++) {
        if (text[i] == '[')
            depth++;
        else if (text[i] == ']' && depth > 0)
            depth--;
        if (depth == 0)
            return text[i] == ']' ? i + 1 : 0;
    }
    return 0;
}

/* User annotations get an op_id too, but are no ops: "Optimizer.step#AdamW.step", "my range". */
static bool is_name_of_operator(const char *name, size_t length)
{
    static const char engine[] = "autograd::engine::evaluate_function";
    static const char *const ranges[] = {
        "ProfilerStep", "Optimizer.", "nn:", "nccl:", "gloo:", "enumerate("};

    if (length >= sizeof engine - 1 && has_prefix(name, engine))
        return true;
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        if (has_prefix(name, ranges[i]))
            return false;
    }
    return !memchr(name, ' ', length) && !memchr(name, '#', length);
}

/* From left to right, each field's value ends at the next field: sizes are lists with commas
 * in them, so splitting at commas would cut them. */
struct nvtx_name nvtx_name_parse(const char *text)
{
    struct nvtx_name name = {
        .text = text, .length = strlen(text), .sequence_number = -1, .op_id = -1};
    size_t field = 0;
    const char *at = nvtx_name_find_field(text, &field);
    bool has_field = at != NULL;

    if (!at || at == text)
        return name;
    name.length = (size_t)(at - text);
    while (at) {
        const char *value = at + strlen(fields[field].key);

        if (fields[field].field == FIELD_SEQUENCE)
            name.sequence_number = read_id(value);
        else if (fields[field].field == FIELD_OP_ID)
            name.op_id = read_id(value);
        else if (fields[field].field == FIELD_SIZES && *value == '[') {
            name.sizes_length = list_length(value);
            name.sizes = name.sizes_length > 0 ? value : NULL;
        }
        at = nvtx_name_find_field(value, &field);
    }
    name.is_operator = has_field && is_name_of_operator(text, name.length);
    return name;
}

/* That sizes are there proves that record_shapes was on, which the database does not say
 * itself. */
void nvtx_name_apply(struct trace_builder *builder, struct found_event *event, const char *text)
{
    struct nvtx_name name = nvtx_name_parse(text);
    struct event_detail detail;

    event->name = string_pool_add(&builder->strings, name.text, name.length);
    event->kind = name.is_operator ? EVENT_OPERATOR : EVENT_ANNOTATION;
    if (name.sequence_number >= 0)
        event->sequence_number = name.sequence_number;
    if (name.op_id >= 0)
        event->external_id = name.op_id;
    if (!name.sizes)
        return;
    detail = event_detail_none();
    detail.input_shapes = string_pool_add(&builder->strings, name.sizes, name.sizes_length);
    event->detail = trace_builder_detail(builder, &detail);
    builder->facts.record_shapes = 1;
}
