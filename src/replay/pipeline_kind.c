/* The operations of a pipelined step. */
#include "replay/pipeline_job.h"

static const struct {
    const char *name;
    const char *label;
    bool communicates;
} kinds[] = {
#define PIPELINE_OP(id, name, is_communication, label) {name, label, is_communication},
#include "replay/pipeline_op_list.def"
#undef PIPELINE_OP
};

const char *pipeline_kind_name(enum pipeline_kind kind)
{
    return kinds[kind].name;
}

const char *pipeline_kind_label(enum pipeline_kind kind)
{
    return kinds[kind].label;
}

bool pipeline_kind_communicates(enum pipeline_kind kind)
{
    return kinds[kind].communicates;
}
