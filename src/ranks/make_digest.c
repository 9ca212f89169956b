/* Reduces a trace and its ledger to the digest of its rank. */
#include "base/core/hash_map.h"
#include "base/core/invariant.h"
#include "base/text/owned_text.h"
#include "cost/modules/model_description.h"
#include "ledger/collective_call.h"
#include "ledger/step_finder.h"
#include "ledger/step_ledger.h"
#include "ranks/rank_digest.h"
#include "ranks/rank_layout.h"
#include "trace/trace.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- tokens of a step ------------------------------------------------------------------------ */

/* How many tokens a rank's steps looked up: from the shapes of the embedding's calls. */

/* Tables that are told apart; what is looked up in further ones is left out. */
enum { TABLES_MAX = 8 };

/* Indices by step and table. */
struct look_ups {
    uint64_t tables[TABLES_MAX];
    uint32_t table_count;
    int64_t *sums; /* [step][TABLES_MAX] */
};

/* Behind "[8, 1024]" at `text`; its product, -1 where it is no such list. */
static const char *read_shape(const char *text, int64_t *product, uint64_t *key)
{
    *product = *text == '[' ? 1 : -1;
    *key = 14695981039346656037U; /* FNV-1a of its numbers */
    for (text += *text == '['; *product >= 0 && *text && *text != ']';) {
        int64_t number = 0;

        while (*text == ' ' || *text == ',')
            text++;
        if (!isdigit((unsigned char)*text)) {
            *product = -1;
            break;
        }
        for (; isdigit((unsigned char)*text); text++)
            number = number < STEP_TOKENS_MAX ? number * 10 + (*text - '0') : number;
        *key = (*key ^ (uint64_t)number) * 1099511628211U;
        if (__builtin_mul_overflow(*product, number, product) || *product > STEP_TOKENS_MAX)
            *product = -1;
    }
    if (*text != ']')
        *product = -1;
    return text + (*text == ']');
}

/* The shapes of a call, "[[50304, 768], [8, 1024], ...]": the number of indices, -1 where the text
 * is another; `table` is a key of the first shape. */
static int64_t embedded_indices(const char *shapes, uint64_t *table)
{
    int64_t weights, indices;
    uint64_t key;

    if (*shapes != '[')
        return -1;
    shapes = read_shape(shapes + 1, &weights, table);
    while (*shapes == ' ' || *shapes == ',')
        shapes++;
    if (weights < 0)
        return -1;
    (void)read_shape(shapes, &indices, &key);
    return indices;
}

/* The first TABLES_MAX tables are enough: token tables are looked up first in every model,
 * before positions and types. */
static void add_look_up(struct look_ups *look_ups, uint32_t step, uint64_t table, int64_t indices)
{
    int64_t *sum;
    uint32_t place = 0;

    while (place < look_ups->table_count && look_ups->tables[place] != table)
        place++;
    if (place == TABLES_MAX)
        return;
    if (place == look_ups->table_count)
        look_ups->tables[look_ups->table_count++] = table;
    sum = &look_ups->sums[(size_t)step * TABLES_MAX + place];
    if (*sum < STEP_TOKENS_MAX)
        *sum += indices;
}

/* By the operator on the host, whose shapes are recorded with record_shapes=True; without them
 * a step has no tokens here, and the model's description may say. */
static void find_look_ups(struct look_ups *look_ups, const struct trace *trace,
                          const struct ledger *ledger)
{
    struct step_finder finder = {.ledger = ledger};

    for (uint32_t i = 0; i < trace->host_count; i++) {
        const struct event *event = &trace->host[i];
        uint64_t table;
        int64_t indices;
        uint32_t step;

        if (event->kind != EVENT_OPERATOR || !event->detail ||
            strcmp(trace_text(trace, event->name), "aten::embedding") != 0)
            continue;
        step = step_finder_of_host(&finder, event->start_ns);
        indices =
            embedded_indices(trace_text(trace, trace->details[event->detail].input_shapes), &table);
        if (step != NO_STEP && indices > 0)
            add_look_up(look_ups, step, table, indices);
    }
}

/* Numbers beyond what a step can have are damage, and would spoil the sum of all ranks. */
static int64_t described_tokens(const struct model_description *description,
                                const struct ledger *ledger, uint32_t step)
{
    const struct described_step *described =
        describe_ledger_step(description, ledger, &ledger->steps[step]);

    return described && described->tokens > 0 && described->tokens < STEP_TOKENS_MAX
               ? described->tokens
               : -1;
}

/* Fills tokens[ledger->step_count]: what `description` says (it may be NULL), else the indices that
 * aten::embedding looked up in the table that the step used most (the others are of positions and
 * the like); -1 where neither tells. */
static void count_step_tokens(int64_t *tokens, const struct trace *trace,
                              const struct ledger *ledger,
                              const struct model_description *description)
{
    struct look_ups look_ups = {0};

    if (ledger->step_count == 0)
        return;
    look_ups.sums =
        require_memory(calloc((size_t)ledger->step_count * TABLES_MAX, sizeof *look_ups.sums));
    find_look_ups(&look_ups, trace, ledger);
    for (uint32_t i = 0; i < ledger->step_count; i++) {
        int64_t most = 0;

        for (uint32_t table = 0; table < look_ups.table_count; table++)
            if (look_ups.sums[(size_t)i * TABLES_MAX + table] > most)
                most = look_ups.sums[(size_t)i * TABLES_MAX + table];
        tokens[i] = described_tokens(description, ledger, i);
        if (tokens[i] < 0 && most > 0)
            tokens[i] = most;
    }
    free(look_ups.sums);
}

/* ---- make digest ----------------------------------------------------------------------------- */

/* Everything that is needed while a digest is made. */
struct digest_maker {
    struct rank_digest *digest;
    const struct trace *trace;
    const struct ledger *ledger;
    int64_t base_ns;              /* from the trace's clock to the digest's */
    struct hash_map group_of;     /* by name and ranks, or by stream */
    struct hash_map stream_place; /* by track: the place of its stream */
};

static const char *digest_keep_text(struct rank_digest *digest, const char *text)
{
    return arena_copy_text(&digest->arena, text, strlen(text));
}

/* Moves the trace's clock to 1970, where it says how far that is; 0 where no such time is. */
static int64_t base_of(const struct trace *trace, const struct ledger *ledger)
{
    int64_t base_ns = trace->facts.base_time_ns;
    int64_t last_ns = ledger->step_count ? ledger->steps[ledger->step_count - 1].window.end_ns : 0;

    return base_ns > 0 && base_ns < MEMORY_TIME_NS_MAX && last_ns < MEMORY_TIME_NS_MAX - base_ns
               ? base_ns
               : 0;
}

/* The id of the process whose threads recorded most. */
static const char *busiest_process(const struct trace *trace)
{
    const struct track *busiest = NULL;

    for (uint32_t i = 0; i < trace->track_count; i++)
        if (!trace->tracks[i].is_device && !trace->tracks[i].is_captured &&
            (!busiest || trace->tracks[i].event_count > busiest->event_count))
            busiest = &trace->tracks[i];
    return busiest ? trace_text(trace, busiest->process) : "";
}

/* Folders are of the machine that recorded: the file's name has those that it needs. */
static void collect_facts(struct digest_maker *maker, const struct efficiency *efficiency)
{
    struct rank_digest *digest = maker->digest;
    const struct trace *trace = maker->trace;
    const char *path = trace_text(trace, trace->path);
    const struct peak_choice *peaks = &efficiency->peaks;

    digest->rank = trace->facts.rank;
    digest->is_rank_by_order = trace->facts.is_rank_by_order;
    digest->world_size = trace->facts.world_size;
    coordinates_in_path(digest->coordinates, path);
    digest->device = maker->ledger->device;
    digest->source = maker->ledger->source;
    digest->file = digest_keep_text(digest, trace_file_name(trace));
    digest->hostname = digest_keep_text(digest, trace_text(trace, trace->facts.hostname));
    digest->device_name = digest_keep_text(digest, peaks->name ? peaks->name : "");
    digest->process = digest_keep_text(digest, busiest_process(trace));
    /* Of the table, as no trace tells it; 0 where the device is not known. */
    digest->link_bytes_per_second =
        peaks->device ? (int64_t)peaks->device->link_bytes_per_second : 0;
    digest->memory_bytes = -1;
    for (uint32_t i = 0; i < trace->device_list_count; i++)
        if (trace->devices[i].number == digest->device)
            digest->memory_bytes = trace->devices[i].memory_bytes;
    digest->between_steps_ns = maker->ledger->between_steps_ns;
    digest->damaged_events = (int64_t)trace->read.damaged_events;
    digest->is_truncated = trace->read.is_truncated || trace->read.ending != ENDING_CLEAN;
}

/* The largest that the allocator recorded while the trace went on: what came before is not
 * known. */
static void collect_memory(struct digest_maker *maker)
{
    struct rank_digest *digest = maker->digest;
    const struct memory_list *memory = &maker->trace->memory;

    digest->peak_allocated_bytes = digest->peak_reserved_bytes = -1;
    for (size_t i = 0; i < memory->count; i++) {
        const struct memory_event *event = &memory->events[i];

        if (digest->device < 0 || event->device != digest->device)
            continue;
        if (event->allocated_bytes > digest->peak_allocated_bytes)
            digest->peak_allocated_bytes = event->allocated_bytes;
        if (event->reserved_bytes > digest->peak_reserved_bytes)
            digest->peak_reserved_bytes = event->reserved_bytes;
    }
}

/* On one clock for all ranks that have one: the trace's base is added, which is 0 where a trace
 * tells none. FLOPs are rounded: the format has whole numbers. */
static void collect_steps(struct digest_maker *maker, const struct efficiency *efficiency,
                          const struct model_description *description)
{
    struct rank_digest *digest = maker->digest;
    const struct ledger *ledger = maker->ledger;
    int64_t *tokens = arena_allocate(&digest->arena, (size_t)ledger->step_count * sizeof *tokens);

    count_step_tokens(tokens, maker->trace, ledger, description);
    digest->steps =
        arena_allocate(&digest->arena, (size_t)ledger->step_count * sizeof *digest->steps);
    digest->step_count = ledger->step_count;
    for (uint32_t i = 0; i < ledger->step_count; i++) {
        const struct step_ledger *from = &ledger->steps[i];
        /* Executed FLOPs: imbalance between ranks is of what they do, recomputation included. */
        double flops = efficiency->steps ? efficiency->steps[i].flops.executed : 0;
        struct digest_step *to = &digest->steps[i];

        *to = (struct digest_step){
            .number = from->window.number,
            .start_ns = from->window.start_ns + maker->base_ns,
            .end_ns = from->window.end_ns + maker->base_ns,
            .communication_ns = from->communication_ns,
            .hidden_communication_ns = from->hidden_communication_ns,
            .flops = flops > 0 && flops < 9e18 ? (int64_t)(flops + 0.5) : -1,
            .tokens = tokens[i],
            .is_cut = from->window.is_cut,
        };
        memcpy(to->account_ns, from->account_ns, sizeof to->account_ns);
    }
}

/* ---- calls ---------------------------------------------------------------------------------- */

/* Texts are copied into the digest only for a group that is new: the trace goes, the digest
 * stays. */
static uint32_t add_group(struct digest_maker *maker, uint64_t key, struct digest_group group)
{
    struct rank_digest *digest = maker->digest;
    uint32_t index = hash_map_add(&maker->group_of, key, digest->group_count);

    if (index < digest->group_count)
        return index;
    group.name = digest_keep_text(digest, group.name);
    group.ranks = digest_keep_text(digest, group.ranks);
    ARENA_LIST_ADD(&digest->arena, digest->groups, digest->group_count, group);
    return index;
}

/* Without a name the stream tells the communicator; its place in the order of first use is
 * kept, not its number, as numbers differ between ranks. */
static uint32_t group_of_call(struct digest_maker *maker, const struct collective_call *call,
                              uint32_t track)
{
    const struct trace *trace = maker->trace;
    const struct event_detail *detail = &trace->details[call->detail];
    uint32_t place;

    if (call->detail && (detail->group_name || detail->group_ranks))
        return add_group(maker, pair_key(detail->group_name, detail->group_ranks),
                         (struct digest_group){.name = trace_text(trace, detail->group_name),
                                               .ranks = trace_text(trace, detail->group_ranks),
                                               .size = call->group_size,
                                               .stream = -1});
    place = hash_map_add(&maker->stream_place, track, (uint32_t)maker->stream_place.count);
    return add_group(
        maker, pair_key(UINT32_MAX, place),
        (struct digest_group){.name = "", .ranks = "", .size = call->group_size, .stream = place});
}

/* What the digest's last call sends and receives, where it is an all-to-all that tells. */
static void collect_exchange(struct digest_maker *maker, const struct collective_call *call)
{
    struct rank_digest *digest = maker->digest;
    const struct event_detail *detail = &maker->trace->details[call->detail];
    struct digest_exchange exchange = {.call = digest->call_count - 1};
    int64_t bytes;

    if (call->kind != COLLECTIVE_ALL_TO_ALL || !call->detail || call->element_type < 0 ||
        detail->in_elements < 0 || detail->out_elements < 0)
        return;
    bytes = element_type_bytes(call->element_type);
    if (detail->in_elements > EXCHANGE_BYTES_MAX / bytes ||
        detail->out_elements > EXCHANGE_BYTES_MAX / bytes)
        return;
    exchange.sent_bytes = detail->in_elements * bytes;
    exchange.received_bytes = detail->out_elements * bytes;
    ARENA_LIST_ADD(&digest->arena, digest->exchanges, digest->exchange_count, exchange);
}

/* Every communication kernel of the device in order of start, also those outside of steps:
 * joins count calls, and leaving some out on one rank would shift it against the others. */
static void collect_calls(struct digest_maker *maker)
{
    struct rank_digest *digest = maker->digest;
    const struct trace *trace = maker->trace;
    struct step_finder finder = {.ledger = maker->ledger};
    uint32_t count = 0;

    for (uint32_t i = 0; i < trace->device_count; i++)
        /* Of all devices, so an upper bound; the second pass keeps those of this one. */
        count += maker->ledger->classes[i] == KERNEL_COMMUNICATION;
    digest->calls = arena_allocate(&digest->arena, (size_t)count * sizeof *digest->calls);
    for (uint32_t i = 0; i < trace->device_count; i++) {
        const struct event *event = &trace->device[i];
        struct collective_call call;
        const struct event_detail *detail;
        uint32_t step;

        if (maker->ledger->classes[i] != KERNEL_COMMUNICATION ||
            trace->tracks[event->track].device != digest->device)
            continue;
        call = describe_collective(trace, i);
        detail = &trace->details[call.detail];
        step = step_finder_at(&finder, event->start_ns);
        digest->calls[digest->call_count++] = (struct digest_call){
            /* From the trace's clock to the digest's: starts are compared between ranks. */
            .start_ns = event->start_ns + maker->base_ns,
            .duration_ns = event->duration_ns,
            .bytes = collective_bytes(&call),
            /* Detail 0 is none, and its zeros would be a sequence and a rank. */
            .sequence = call.detail ? detail->sequence : -1,
            .source = call.detail ? detail->source_rank : -1,
            .destination = call.detail ? detail->destination_rank : -1,
            .group = group_of_call(maker, &call, event->track),
            /* Outside of the steps it still counts for the order, and for no step. */
            .step = step == NO_STEP ? -1 : (int32_t)step,
            .kind = (uint8_t)call.kind,
            .element_type = (int8_t)call.element_type,
        };
        collect_exchange(maker, &call);
    }
}

/* ---- stretches of exposed communication ----------------------------------------------------- */

/* Stretches that touch are one: accounts changed at the seam, which no digest tells of. */
static void add_interval(struct digest_maker *maker, struct digest_interval interval)
{
    struct rank_digest *digest = maker->digest;
    struct digest_interval *last =
        digest->exposed_count ? &digest->exposed[digest->exposed_count - 1] : NULL;

    if (last && last->end_ns == interval.start_ns && last->step == interval.step) {
        last->end_ns = interval.end_ns;
        return;
    }
    require_invariant(digest->exposed != NULL, "stretches were counted before they are kept");
    digest->exposed[digest->exposed_count++] = interval;
}

/* The stretches of one step. With `is_counting` set they are counted only, neighbours not joined.
 */
static size_t walk_step(struct digest_maker *maker, uint32_t step, bool is_counting)
{
    const struct class_timeline *timeline = &maker->ledger->timeline;
    const struct step_window *window = &maker->ledger->steps[step].window;
    size_t at = class_timeline_at(timeline, window->start_ns, 0);
    size_t count = 0;

    if (at == SIZE_MAX)
        at = 0;
    for (; at + 1 < timeline->count && timeline_start_ns(timeline, at) < window->end_ns; at++) {
        int64_t start_ns = timeline_start_ns(timeline, at);
        int64_t end_ns = timeline_start_ns(timeline, at + 1);
        uint32_t mask = timeline_mask(timeline, at);

        /* Exposed is where communication is the first class open, as the ledger's account has
         * it. */
        if (!mask || __builtin_ctz(mask) != KERNEL_COMMUNICATION)
            continue;
        if (start_ns < window->start_ns)
            start_ns = window->start_ns;
        if (end_ns > window->end_ns)
            end_ns = window->end_ns;
        count++;
        if (!is_counting)
            add_interval(maker, (struct digest_interval){.start_ns = start_ns + maker->base_ns,
                                                         .end_ns = end_ns + maker->base_ns,
                                                         .step = step});
    }
    return count;
}

/* Counted first, then kept: the arena gives one block of the right size. */
static void collect_exposed(struct digest_maker *maker)
{
    struct rank_digest *digest = maker->digest;
    size_t count = 0;

    for (uint32_t i = 0; i < digest->step_count; i++)
        count += walk_step(maker, i, true);
    digest->exposed = arena_allocate(&digest->arena, count * sizeof *digest->exposed);
    for (uint32_t i = 0; i < digest->step_count; i++)
        (void)walk_step(maker, i, false);
}

/* Calls are those of kernels of the device: a run on the processor has none. */
void make_digest(struct rank_digest *digest, const struct trace *trace, const struct ledger *ledger,
                 const struct efficiency *efficiency, const struct model_description *description)
{
    struct digest_maker maker = {
        .digest = digest, .trace = trace, .ledger = ledger, .base_ns = base_of(trace, ledger)};

    collect_facts(&maker, efficiency);
    collect_memory(&maker);
    collect_steps(&maker, efficiency, description);
    if (!ledger->is_cpu_only && !digest->is_alone) {
        collect_calls(&maker);
        collect_exposed(&maker);
    }
    hash_map_clear(&maker.group_of);
    hash_map_clear(&maker.stream_place);
}
