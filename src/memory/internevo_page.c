/* Pages with a sunburst: rings of what is in what, as wide as its bytes. */
#include "base/core/array.h"
#include "base/core/attributes.h"
#include "base/core/invariant.h"
#include "base/text/format.h"
#include "memory/internevo.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory.log ------------------------------------------------------------------------------ */

/* memory.log, as InternEvo's SimpleMemoryProfiler writes it, with what memory was really for. */

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

/* As Python's repr of a float: as few digits as give the same number, and a point. As few digits
 * as read back as the same double, which is what Python's repr gives: 17 always do. */
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

/* All below a node before what stands beside it. Depth first without a stack, by parent and
 * sibling links. */
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

/* "MB" are MiB here, as InternEvo writes them: the file has to compare with its own. */
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

/* Activations are shown as they were at the end of the first forward, InternEvo's
 * activation_base. */
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

/* Each record has all five sums, whatever layouts were asked: that is the format. */
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

/* Which layouts a record has follows InternEvo's profiler: parameters at the start,
 * activations once, the optimizer's state at each step's end, everything at the last. */
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
            /* What is alive now is the base of activations in later records. */
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

/* ---- internevo page -------------------------------------------------------------------------- */

/* Deeper modules are too thin to see. A label needs a sector of some height, or it would lie
 * over its neighbors. */
enum { RINGS = 6, CENTRE = 500, COLORS = 8, LABEL_LEAST = 14 };

/* Arcs narrower than this (in radians) are in the table alone. */
static const double narrowest = 0.003;
static const double whole_turn = 6.283185307179586;

/* From the middle to the rim, in parts of the radius. */
static const double ring_bounds[RINGS + 1] = {0.10, 0.35, 0.55, 0.70, 0.80, 0.90, 0.97};
static const double radius = 475;

static const char *const page_files[INTERNEVO_PAGE_COUNT] = {
    "summary_sunburst.html", "params_memory_sunburst.html", "grads_memory_sunburst.html",
    "os_memory_sunburst.html", "activation_memory_sunburst.html"};
static const char *const page_titles[INTERNEVO_PAGE_COUNT] = {
    "Memory by kind", "Memory of parameters", "Memory of gradients", "Memory of the optimizer",
    "Memory of activations"};
static const char *const page_moments[INTERNEVO_PAGE_COUNT] = {
    ("Parameters and optimizer state at the end of the recording; gradients and activations where "
     "there are most of them, at the end of a backward and of a forward."),
    "At the end of the recording.", "At the end of the backward with most of them.",
    "At the end of the recording.", "At the end of the forward with most of them."};
static const char *const part_titles[INTERNEVO_PART_COUNT] = {"params", "grads", "os_params",
                                                              "os_state", "activation"};

const char *internevo_page_file(enum internevo_page page)
{
    return page_files[page];
}

/* ---- arcs ------------------------------------------------------------------------------------ */

/* One arc, or one line of the table. */
struct slice {
    const char *path;
    const char *name;
    int64_t bytes;
    int depth;        /* 0: the innermost ring; -1: all of it, in the table alone */
    double from_turn; /* 0...1, clockwise from the top */
    double to_turn;
    unsigned color;
};

struct slices {
    struct slice *slices; /* [count] */
    uint32_t count;
};

static void internevo_page_add_slice(struct slices *slices, struct slice slice)
{
    ARRAY_ADD(slices->slices, slices->count, slice);
}

/* Names come from the trace, so that all that HTML would read is written as characters;
 * control characters become spaces. */
static void internevo_page_write_text(FILE *output, const char *text, size_t most)
{
    for (size_t i = 0; text[i] && i < most; i++) {
        switch (text[i]) {
        case '<':
            (void)fputs("&lt;", output);
            break;
        case '>':
            (void)fputs("&gt;", output);
            break;
        case '&':
            (void)fputs("&amp;", output);
            break;
        case '"':
            (void)fputs("&quot;", output);
            break;
        default:
            (void)fputc((unsigned char)text[i] < ' ' ? ' ' : text[i], output);
            break;
        }
    }
}

static void write_point(FILE *output, const char *command, double angle, double distance)
{
    (void)fprintf(output, "%s%.2f %.2f", command, CENTRE + distance * sin(angle),
                  CENTRE - distance * cos(angle));
}

/* SVG arcs: outer edge clockwise, inner edge back. A full circle's ends would coincide, and
 * nothing would be drawn. */
static void write_arc(FILE *output, const struct slice *slice)
{
    double inner = ring_bounds[slice->depth] * radius;
    double outer = ring_bounds[slice->depth + 1] * radius;
    double from = slice->from_turn * whole_turn;
    double to = slice->to_turn * whole_turn;
    int is_large = to - from > whole_turn / 2;

    if (to - from > whole_turn - 0.0005) /* a whole ring has no ends to draw between */
        to = from + whole_turn - 0.0005;
    (void)fprintf(output, "<path class=\"c%u d%d\" d=\"", slice->color, slice->depth);
    write_point(output, "M", from, outer);
    (void)fprintf(output, "A%.2f %.2f 0 %d 1 ", outer, outer, is_large);
    write_point(output, "", to, outer);
    write_point(output, "L", to, inner);
    (void)fprintf(output, "A%.2f %.2f 0 %d 0 ", inner, inner, is_large);
    write_point(output, "", from, inner);
    (void)fputs("Z\"><title>", output);
    internevo_page_write_text(output, slice->path, SIZE_MAX);
    (void)fprintf(output, ": %s (%s bytes)</title></path>\n", format_bytes(slice->bytes).text,
                  format_count(slice->bytes).text);
}

/* Along the radius, where the arc is high enough for a line of text. 7.2 is the width of a
 * letter at this font size. Labels on the left half are turned, so that none stands on its head. */
static void internevo_page_write_label(FILE *output, const struct slice *slice)
{
    double inner = ring_bounds[slice->depth] * radius;
    double outer = ring_bounds[slice->depth + 1] * radius;
    double turn = (slice->from_turn + slice->to_turn) / 2;
    double height = (slice->to_turn - slice->from_turn) * whole_turn * (inner + outer) / 2;
    size_t fits = (size_t)((outer - inner) / 7.2);
    bool is_left = turn > 0.5;

    /* Fewer than three letters say nothing. */
    if (height < LABEL_LEAST || fits < 3)
        return;
    (void)fprintf(output, "<text transform=\"translate(%d %d) rotate(%.2f) translate(%.2f 0)%s\">",
                  CENTRE, CENTRE, turn * 360 - 90, (inner + outer) / 2,
                  is_left ? " rotate(180)" : "");
    if (strlen(slice->name) > fits) {
        internevo_page_write_text(output, slice->name, fits - 1);
        (void)fputs("…", output);
    } else {
        internevo_page_write_text(output, slice->name, SIZE_MAX);
    }
    (void)fputs("</text>\n", output);
}

/* ---- what is drawn --------------------------------------------------------------------------- */

/* All of a tree, its root in ring `depth`, or what is in the root where that is dropped (-1).
 * Nodes stand behind their parents, so each finds how far its parent's arc is used: one pass,
 * and children lie side by side in it. */
static void add_tree(struct slices *slices, const struct internevo_tree *tree, struct slice place,
                     unsigned first_color)
{
    double *starts = require_memory(calloc(tree->count + (size_t)1, sizeof *starts));
    double *used = require_memory(calloc(tree->count + (size_t)1, sizeof *used));
    unsigned *colors = require_memory(calloc(tree->count + (size_t)1, sizeof *colors));
    double turn_per_byte = tree->nodes[0].total_bytes ? (place.to_turn - place.from_turn) /
                                                            (double)tree->nodes[0].total_bytes
                                                      : 0;
    unsigned next_color = first_color;

    for (uint32_t i = 0; i < tree->count; i++) {
        const struct internevo_node *node = &tree->nodes[i];
        double turns = (double)node->total_bytes * turn_per_byte;
        int depth = place.depth + node->depth;

        starts[i] =
            node->parent == NO_NODE ? place.from_turn : starts[node->parent] + used[node->parent];
        if (node->parent != NO_NODE)
            used[node->parent] += turns;
        /* What is in a part has the color of the part. */
        colors[i] = depth > 0 ? colors[node->parent] : next_color;
        next_color += depth == 0;
        if (node->total_bytes > 0)
            internevo_page_add_slice(slices, (struct slice){.path = node->path,
                                                            .name = node->name,
                                                            .bytes = node->total_bytes,
                                                            .depth = depth,
                                                            .from_turn = starts[i],
                                                            .to_turn = starts[i] + turns,
                                                            .color = colors[i] % COLORS});
    }
    free(starts);
    free(used);
    free(colors);
}

/* The number of changes at the moment of this kind where most of the part is alive. The moment
 * with most of a kind, not the peak of all: that is what the page of the kind is asked for. */
static uint32_t fullest(const struct memory_run *run, int32_t device, enum memory_point point,
                        enum memory_kind kind)
{
    uint32_t best = run->blocks.change_count;
    int64_t most = -1;

    for (uint32_t i = 0; i < run->blocks.moment_count; i++) {
        const struct memory_moment *moment = &run->blocks.moments[i];
        int64_t bytes;

        if (run->side->marks[moment->mark].point != point)
            continue;
        bytes = memory_alive(run, device, moment->change_count).bytes[kind];
        if (bytes > most) {
            most = bytes;
            best = moment->change_count;
        }
    }
    return best;
}

/* Each part at the moment at which there is most of it: gradients when a backward ends,
 * activations when a forward does, the others at the end. */
static void fill_trees(struct internevo_tree trees[INTERNEVO_PART_COUNT],
                       const struct memory_run *run, int32_t device)
{
    for (int part = 0; part < INTERNEVO_PART_COUNT; part++) {
        uint32_t changes = run->blocks.change_count;

        if (part == INTERNEVO_GRADS)
            changes = fullest(run, device, POINT_BACKWARD_END, MEMORY_GRADIENT);
        else if (part == INTERNEVO_ACTIVATIONS)
            changes = fullest(run, device, POINT_FORWARD_END, MEMORY_ACTIVATION);
        internevo_tree_fill(&trees[part], run, device, (enum internevo_part)part, changes);
    }
}

/* Several trees around one middle, each with a root in the innermost ring. */
static void add_trees(struct slices *slices, const struct internevo_tree *trees, int first,
                      int last)
{
    int64_t total = 0;
    double turn = 0;

    for (int part = first; part <= last; part++)
        total += internevo_tree_bytes(&trees[part]);
    for (int part = first; part <= last && total > 0; part++) {
        double turns = (double)internevo_tree_bytes(&trees[part]) / (double)total;

        add_tree(slices, &trees[part],
                 (struct slice){.from_turn = turn, .to_turn = turn + turns, .depth = 0},
                 (unsigned)(part - first));
        turn += turns;
    }
}

/* Parts without bytes have no arc, but turns are summed over all, so that the ring closes. */
static void add_summary(struct slices *slices, const struct internevo_tree *trees)
{
    int64_t total = 0;
    double turn = 0;

    for (int part = 0; part < INTERNEVO_PART_COUNT; part++)
        total += internevo_tree_bytes(&trees[part]);
    for (int part = 0; part < INTERNEVO_PART_COUNT && total > 0; part++) {
        int64_t bytes = internevo_tree_bytes(&trees[part]);
        double turns = (double)bytes / (double)total;

        if (bytes > 0)
            internevo_page_add_slice(slices, (struct slice){.path = part_titles[part],
                                                            .name = part_titles[part],
                                                            .bytes = bytes,
                                                            .from_turn = turn,
                                                            .to_turn = turn + turns,
                                                            .color = (unsigned)part});
        turn += turns;
    }
}

/* ---- the page -------------------------------------------------------------------------------- */

static const char page_head[] =
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<style>\n"
    ":root{color-scheme:light dark}\n"
    "body{font:16px/1.5 system-ui,sans-serif;max-width:1000px;margin:2em auto;padding:0 1em}\n"
    "h1{font-size:1.5em;margin:0}svg{display:block;width:100%;height:auto;margin:1em auto}\n"
    "path{stroke:Canvas;stroke-width:1.5}path:hover{stroke:CanvasText}\n"
    "text{font-size:12px;text-anchor:middle;dominant-baseline:central;fill:#111;"
    "pointer-events:none}\n"
    ".c0{fill:#6f9fd8}.c1{fill:#f2b35e}.c2{fill:#7cc48d}.c3{fill:#e58f8f}.c4{fill:#b59ad6}"
    ".c5{fill:#6fc4c4}.c6{fill:#d6c05e}.c7{fill:#c99a7a}\n"
    ".d1{fill-opacity:.85}.d2{fill-opacity:.7}.d3{fill-opacity:.58}.d4{fill-opacity:.48}"
    ".d5{fill-opacity:.4}\n"
    "@media (prefers-color-scheme:dark){.d1,.d2,.d3,.d4,.d5{fill-opacity:.8}}\n"
    "table{border-collapse:collapse;width:100%}td,th{padding:.15em .6em;text-align:left}\n"
    "td+td,th+th{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}\n"
    "td:first-child{overflow-wrap:anywhere}tr:nth-child(even){background:#8881}\n</style>\n";

/* The same as the rings, for those who cannot see or hover them: exact bytes and readable
 * ones. */
static void internevo_page_write_table(FILE *output, const struct slices *slices)
{
    (void)fputs("<table><thead><tr><th>what</th><th>bytes</th><th></th></tr></thead><tbody>\n",
                output);
    for (uint32_t i = 0; i < slices->count; i++) {
        (void)fputs("<tr><td>", output);
        internevo_page_write_text(output, slices->slices[i].path, SIZE_MAX);
        (void)fprintf(output, "</td><td>%s</td><td>%s</td></tr>\n",
                      format_count(slices->slices[i].bytes).text,
                      format_bytes(slices->slices[i].bytes).text);
    }
    (void)fputs("</tbody></table>\n", output);
}

static bool is_drawn(const struct slice *slice)
{
    return slice->depth >= 0 && slice->depth < RINGS &&
           (slice->to_turn - slice->from_turn) * whole_turn >= narrowest;
}

/* From the middle to the outermost arc, and a little more. The picture ends at the outermost
 * arc, so a flat tree is not small in the middle of an empty page. */
static int drawn_reach(const struct slices *slices)
{
    double reach = ring_bounds[1];

    for (uint32_t i = 0; i < slices->count; i++)
        if (is_drawn(&slices->slices[i]) && ring_bounds[slices->slices[i].depth + 1] > reach)
            reach = ring_bounds[slices->slices[i].depth + 1];
    return (int)(reach * radius) + 5;
}

/* A table below the drawing: exact figures, and what is too thin to draw. */
static void internevo_page_write_page(FILE *output, enum internevo_page page,
                                      const struct slices *slices)
{
    int reach;

    (void)fprintf(
        output,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"UTF-8\">\n"
        "<title>%s</title>\n%s</head>\n<body>\n<h1>%s</h1>\n"
        "<p>%s Rings: what is in "
        "what; widths: bytes; a gap outside of an arc: what it holds itself. Exact figures "
        "are in the table below.</p>\n",
        page_titles[page], page_head, page_titles[page], page_moments[page]);
    if (slices->count == 0)
        (void)fputs("<p>Nothing of this kind was alive.</p>\n", output);
    reach = drawn_reach(slices);
    (void)fprintf(output,
                  "<svg viewBox=\"%d %d %d %d\" style=\"max-width:%dpx\" role=\"img\" "
                  "aria-label=\"%s: a sunburst of the table below\">\n",
                  CENTRE - reach, CENTRE - reach, 2 * reach, 2 * reach, 2 * reach,
                  page_titles[page]);
    for (uint32_t i = 0; i < slices->count; i++) {
        const struct slice *slice = &slices->slices[i];

        if (!is_drawn(slice))
            continue;
        write_arc(output, slice);
        internevo_page_write_label(output, slice);
    }
    (void)fputs("</svg>\n", output);
    internevo_page_write_table(output, slices);
    (void)fputs("</body>\n</html>\n", output);
}

/* A page is made of one tree, or of two side by side (the optimizer's). */
void internevo_page_write(FILE *output, const struct memory_run *run, int32_t device,
                          enum internevo_page page)
{
    struct internevo_tree trees[INTERNEVO_PART_COUNT] = {0};
    struct slices slices = {0};
    static const struct slice all = {.to_turn = 1, .depth = -1};

    fill_trees(trees, run, device);
    switch (page) {
    case INTERNEVO_SUMMARY:
        add_summary(&slices, trees);
        break;
    case INTERNEVO_PAGE_PARAMS:
        add_tree(&slices, &trees[INTERNEVO_PARAMS], all, 0);
        break;
    case INTERNEVO_PAGE_GRADS:
        add_tree(&slices, &trees[INTERNEVO_GRADS], all, 0);
        break;
    case INTERNEVO_PAGE_OS:
        add_trees(&slices, trees, INTERNEVO_OS_PARAMS, INTERNEVO_OS_STATE);
        break;
    case INTERNEVO_PAGE_ACTIVATION:
        add_tree(&slices, &trees[INTERNEVO_ACTIVATIONS], all, 0);
        break;
    }
    internevo_page_write_page(output, page, &slices);
    free(slices.slices);
    for (int part = 0; part < INTERNEVO_PART_COUNT; part++)
        internevo_tree_clear(&trees[part]);
}
