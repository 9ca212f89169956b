/* memory.log, as InternEvo's SimpleMemoryProfiler writes it. */
#include "memory/internevo_log.h"

#include "base/core/attributes.h"
#include "memory/internevo_tree.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Which layouts a record has, as bits by enum internevo_part. */
enum {
    LAYOUT_NONE = 0,
    LAYOUT_START = 1 << INTERNEVO_PARAMS | 1 << INTERNEVO_GRADS | 1 << INTERNEVO_OS_PARAMS,
    LAYOUT_ALL = (1 << INTERNEVO_PART_COUNT) - 1,
};

/* What a whole log is made of. */
struct log_writer {
    FILE *output;
    const struct memory_run *run;
    int32_t device;
    bool has_forward;      /* one was written */
    uint32_t base_changes; /* made at the end of the first forward: the base of activations */
    uint32_t last_step;    /* the moment of the last end of a step */
};

static double mebibytes(int64_t bytes)
{
    return (double)bytes / 1048576.0;
}

/* As Python's repr of a float: as few digits as give the same number, and a point. */
static void write_seconds(FILE *output, double seconds)
{
    char text[40];

    for (int digits = 1; digits <= 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, seconds);
        if (strtod(text, NULL) == seconds)
            break;
    }
    (void)fprintf(output, "time: %s%s\n", text, strpbrk(text, ".e") ? "" : ".0");
}

/* All below a node before what stands beside it. */
static void write_tree(FILE *output, const struct internevo_tree *tree)
{
    uint32_t node = 0;

    while (node != NO_NODE) {
        const struct internevo_node *at = &tree->nodes[node];

        (void)fprintf(output, "layer: %s, layer_mem: %.2f MB, total_mem: %.2f MB\n", at->path,
                      mebibytes(at->own_bytes), mebibytes(at->total_bytes));
        if (at->first_child != NO_NODE) {
            node = at->first_child;
            continue;
        }
        while (node != NO_NODE && tree->nodes[node].next_sibling == NO_NODE)
            node = tree->nodes[node].parent;
        if (node != NO_NODE)
            node = tree->nodes[node].next_sibling;
    }
}

static void internevo_log_write_summary(FILE *output, const int64_t bytes[INTERNEVO_PART_COUNT])
{
    int64_t total = 0;

    for (int part = 0; part < INTERNEVO_PART_COUNT; part++)
        total += bytes[part];
    (void)fprintf(output,
                  "---summary---\n"
                  "total_memory: %.2f MB\n"
                  "params_memory: %.2f MB, grads_memory: %.2f MB, os_params_memory: %.2f MB, "
                  "os_state_memory: %.2f MB, activation_memory: %.2f MB\n",
                  mebibytes(total), mebibytes(bytes[INTERNEVO_PARAMS]),
                  mebibytes(bytes[INTERNEVO_GRADS]), mebibytes(bytes[INTERNEVO_OS_PARAMS]),
                  mebibytes(bytes[INTERNEVO_OS_STATE]), mebibytes(bytes[INTERNEVO_ACTIVATIONS]));
}

static void write_layout(const struct log_writer *writer, const struct memory_moment *moment,
                         enum internevo_part part)
{
    struct internevo_tree tree = {.count = 0};

    internevo_tree_fill(&tree, writer->run, writer->device, part,
                        part == INTERNEVO_ACTIVATIONS ? writer->base_changes
                                                      : moment->change_count);
    (void)fprintf(writer->output, "%s_layout:\n", internevo_part_name(part));
    write_tree(writer->output, &tree);
    internevo_tree_clear(&tree);
}

static void internevo_log_write_record(const struct log_writer *writer,
                                       const struct memory_moment *moment, unsigned layouts)
{
    const struct memory_moment *first = &writer->run->blocks.moments[0];
    int64_t bytes[INTERNEVO_PART_COUNT];

    for (int part = 0; part < INTERNEVO_PART_COUNT; part++) {
        struct internevo_tree tree = {.count = 0};

        internevo_tree_fill(&tree, writer->run, writer->device, (enum internevo_part)part,
                            moment->change_count);
        bytes[part] = internevo_tree_bytes(&tree);
        internevo_tree_clear(&tree);
    }
    (void)fprintf(writer->output, "Memory State:\n");
    write_seconds(writer->output, (double)(moment->time_ns - first->time_ns) / 1e9);
    internevo_log_write_summary(writer->output, bytes);
    if (layouts)
        (void)fprintf(writer->output, "---Layout---\n");
    for (int part = 0; part < INTERNEVO_PART_COUNT; part++)
        if (layouts >> part & 1)
            write_layout(writer, moment, (enum internevo_part)part);
    (void)fprintf(writer->output, "\n");
}

/* The bits that a program's words stand for: "params,grads", "all". */
static unsigned layouts_asked(const char *words)
{
    unsigned layouts = LAYOUT_NONE;

    while (*words) {
        size_t length = strcspn(words, ",");

        for (int part = 0; part < INTERNEVO_PART_COUNT; part++) {
            const char *name = internevo_part_name((enum internevo_part)part);

            if (strlen(name) == length && memcmp(words, name, length) == 0)
                layouts |= 1U << part;
        }
        if (length == 3 && memcmp(words, "all", 3) == 0)
            layouts = LAYOUT_ALL;
        words += length;
        words += *words == ',';
    }
    return layouts;
}

static void write_moment(struct log_writer *writer, uint32_t index)
{
    const struct memory_moment *moment = &writer->run->blocks.moments[index];
    const struct memory_mark *mark = &writer->run->side->marks[moment->mark];

    if (!mark->is_in_log)
        return;
    switch (mark->point) {
    case POINT_START:
        internevo_log_write_record(writer, moment, LAYOUT_START);
        break;
    case POINT_FORWARD_END:
        if (!writer->has_forward)
            writer->base_changes = moment->change_count;
        internevo_log_write_record(writer, moment,
                                   writer->has_forward ? LAYOUT_NONE : 1U << INTERNEVO_ACTIVATIONS);
        writer->has_forward = true;
        break;
    case POINT_BACKWARD_END:
        internevo_log_write_record(writer, moment, LAYOUT_NONE);
        break;
    case POINT_STEP_END:
        internevo_log_write_record(
            writer, moment, index == writer->last_step ? LAYOUT_ALL : 1U << INTERNEVO_OS_STATE);
        break;
    case POINT_ASKED:
        internevo_log_write_record(writer, moment, layouts_asked(mark->options));
        break;
    case POINT_FORWARD_START:
    case POINT_OPTIMIZER_END:
        break;
    }
}

void internevo_log_write(FILE *output, const struct memory_run *run, int32_t device)
{
    struct log_writer writer = {
        .output = output, .run = run, .device = device, .last_step = UINT32_MAX};

    for (uint32_t i = 0; i < run->blocks.moment_count; i++)
        if (run->side->marks[run->blocks.moments[i].mark].point == POINT_STEP_END)
            writer.last_step = i;
    for (uint32_t i = 0; i < run->blocks.moment_count; i++)
        write_moment(&writer, i);
}
