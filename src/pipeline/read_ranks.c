/* Reads all ranks of a run: in threads, and in the processes of a world. */
#include "pipeline/read_ranks.h"

#include "base/core/bytes.h"
#include "base/core/invariant.h"
#include "base/io/input_stream.h"
#include "critical_path/call_chains.h"
#include "pipeline/analyzed_rank.h"
#include "pipeline/read_files.h"
#include "ranks/all_ranks.h"
#include "ranks/digest_file.h"
#include "ranks/rank_digest.h"
#include "replay/replay_model.h"
#include "sections/ranks/ranks_overview.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A rank that was read, and where it is. */
struct rank_place {
    int64_t rank; /* -1: not known */
    size_t place; /* of its file among all */
};

/* What the threads share. */
struct rank_taker {
    pthread_mutex_t lock;
    struct digest_set *set;
    const struct input_files *files; /* all of them */
    const struct rank_reading *reading;
    bool reports_sources; /* another process may have to read them once more */
    bool has_lowest;
    struct rank_place lowest; /* of the ranks read so far */
    struct rank_clocks_chosen chosen;
};

/* What is done with each trace. */
struct taking {
    struct rank_taker *taker;
    bool makes_digests;
    bool makes_courses;
    enum ranks_in_full in_full;
    int64_t rank; /* for ONE_RANK_IN_FULL: that one; -1: the lowest so far */
};

/* ---- one trace ------------------------------------------------------------------------------ */

/* Linear, and once for each trace: nothing beside reading it. */
static size_t place_of(const struct input_files *files, const char *path)
{
    size_t i = 0;

    while (i + 1 < files->count && strcmp(files->files[i].path, path) != 0)
        i++;
    return i;
}

/* Ranks that are not known come behind the others. Unsigned: an unknown rank, -1, is above all
 * others. */
static bool is_lower(const struct rank_place *a, const struct rank_place *b)
{
    return a->rank != b->rank ? (uint64_t)a->rank < (uint64_t)b->rank : a->place < b->place;
}

/* Whether full results of this rank may be wanted, as far as is known by now. Which rank is the
 * lowest is known only when all are read, but a trace is in memory once. So full results are
 * made for each trace that is the lowest so far; those of earlier candidates are dropped at the
 * end. With files in the order of ranks that is one. */
static bool may_be_wanted(const struct taking *taking, const struct trace *trace)
{
    struct rank_taker *taker = taking->taker;
    struct rank_place here = {.rank = trace->facts.rank,
                              .place = place_of(taker->files, trace_text(trace, trace->path))};
    bool is_lowest;

    if (taking->in_full != ONE_RANK_IN_FULL)
        return taking->in_full == EVERY_RANK_IN_FULL;
    if (taking->rank >= 0)
        return here.rank == taking->rank;
    pthread_mutex_lock(&taker->lock);
    is_lowest = !taker->has_lowest || !is_lower(&taker->lowest, &here);
    if (is_lowest) {
        taker->has_lowest = true;
        taker->lowest = here;
    }
    pthread_mutex_unlock(&taker->lock);
    return is_lowest;
}

/* Chains are for the path through several ranks. */
static bool may_have_others(const struct rank_taker *taker, const struct trace *trace)
{
    return taker->reading->in_full == NO_RANK_IN_FULL || taker->files->count > 1 ||
           trace->facts.process != 0;
}

/* One more than calls: the last chain goes from the last call to the end. Times move to the
 * base of the digest. */
static void copy_chains(struct rank_digest *digest, const struct call_chains *chains,
                        int64_t base_ns)
{
    size_t count = chains->call_count + 1;

    require_invariant(chains->call_count == digest->call_count, "calls are counted alike");
    digest->chains = arena_allocate(&digest->arena, count * sizeof *digest->chains);
    for (size_t i = 0; i < count; i++) {
        digest->chains[i].call = chains->chains[i].call;
        memcpy(digest->chains[i].parts_ns, chains->chains[i].parts_ns,
               sizeof digest->chains[i].parts_ns);
    }
    digest->chain_count = (uint32_t)count;
    digest->path_start_ns = chains->start_ns + base_ns;
    digest->path_end_ns = chains->end_ns + base_ns;
}

/* The chains of a rank for its digest: what the critical path of all ranks is made from. Adds
 * nothing where nothing ran on a device (NULL), where the replay is too far from the recording to
 * tell what waited for what, and where not all steps are in its graph: more than 100,000 pieces of
 * work. */
static void add_digest_chains(struct rank_digest *digest, const struct replay_model *simulation)
{
    SCOPED(call_chains) chains = {.call_count = 0};

    if (!simulation || simulation->is_refused || !simulation->part.is_all)
        return;
    find_call_chains(&chains, &simulation->graph);
    copy_chains(digest, &chains,
                digest->steps[0].start_ns - simulation->ledger->steps[0].window.start_ns);
}

/* The digest is made outside the lock, which is held only to put it into the set: making it is
 * the long part. */
static void keep_digest(struct rank_taker *taker, const struct trace *trace,
                        struct analyzed_rank *analyzed)
{
    const struct analysis_options *options = &taker->reading->plan->analysis;
    bool has_others = may_have_others(taker, trace);
    SCOPED(rank_digest) digest = {.is_alone = options->is_for_first_screen && !has_others};

    make_digest(&digest, trace, &analyzed->ledger, &analyzed->efficiency, &analyzed->description);
    if (has_others)
        add_digest_chains(&digest, analyzed_rank_replay(analyzed));
    pthread_mutex_lock(&taker->lock);
    digest_set_add(taker->set, &digest);
    if (taker->reports_sources)
        digest_set_add_source(taker->set, digest.rank,
                              place_of(taker->files, trace_text(trace, trace->path)));
    pthread_mutex_unlock(&taker->lock);
}

/* What the analyzed trace knows of its graph is gone afterwards. Only if all steps are in the
 * graph: a course of some would meet the others' collectives at the wrong ones. */
static void keep_course(struct rank_taker *taker, struct analyzed_rank *analyzed)
{
    const struct analysis_options *options = &taker->reading->plan->analysis;
    struct replay_model *simulation = analyzed_rank_replay(analyzed);
    struct rank_replay_input course = {0};

    if (!simulation || !simulation->part.is_all)
        return;
    rank_replay_input_collect(&course, &simulation->graph, options->scenarios,
                              options->scenario_count);
    pthread_mutex_lock(&taker->lock);
    rank_replay_inputs_add(taker->reading->courses, &course);
    pthread_mutex_unlock(&taker->lock);
}

/* Whether the device's windows fit where the host's marks were chosen. Per rank, whichever clock
 * it chose: for one clock of all ranks the device's has to fit on each. */
static bool device_clock_fits(const struct step_clocks *clocks)
{
    return clocks->is_known && clocks->without_work == 0 &&
           clocks->in_window_ns >= clocks->launched_ns / 100 * CLOCK_FITS_PERCENT;
}

/* A whole window has no marks, and no clock is chosen for it. */
static void note_clock(struct rank_taker *taker, const struct ledger *ledger)
{
    struct rank_clocks_chosen *chosen = &taker->chosen;

    if (ledger->source == WINDOW_WHOLE || ledger->clocks.launched_ns == 0)
        return;
    pthread_mutex_lock(&taker->lock);
    chosen->count[ledger->clocks.clock]++;
    chosen->is_device_fit = chosen->is_device_fit && device_clock_fits(&ledger->clocks);
    pthread_mutex_unlock(&taker->lock);
}

/* The share of a rank in the threads, as read_files gives them. */
static unsigned threads_of_rank(const struct rank_taker *taker)
{
    size_t files = taker->files->count;
    unsigned threads = taker->reading->threads;

    return files < threads ? threads / (unsigned)(files ? files : 1) : 1;
}

/* Known before the trace is analyzed, of which may_be_wanted needs that it could be. */
static bool is_surely_in_full(const struct taking *taking)
{
    return taking->in_full == EVERY_RANK_IN_FULL ||
           (taking->in_full == ONE_RANK_IN_FULL && taking->taker->files->count == 1);
}

/* The course comes last, for it takes the graph away from the analyzed trace. */
static bool collect_trace(struct results *results, const struct trace *trace, const void *context,
                          struct error *error)
{
    const struct taking *taking = context;
    const struct rank_reading *reading = taking->taker->reading;
    SCOPED(analyzed_rank) analyzed = {0};
    struct analysis_plan plan = *reading->plan;

    plan.analysis.threads = threads_of_rank(taking->taker);
    plan.attribution.threads = plan.analysis.threads;
    plan.attribution.begins_replay = is_surely_in_full(taking);
    if (!analyze_rank(&analyzed, trace, &plan.attribution, error))
        return false;
    note_clock(taking->taker, &analyzed.ledger);
    if (taking->makes_digests)
        keep_digest(taking->taker, trace, &analyzed);
    if (may_be_wanted(taking, trace)) {
        plan.analysis.has_other_ranks = may_have_others(taking->taker, trace);
        add_rank_sections(results, trace, &analyzed, &plan);
    }
    if (taking->makes_courses)
        keep_course(taking->taker, &analyzed);
    return true;
}

static void collect_failure(const struct input_file *file, const struct error *file_error,
                            const void *context)
{
    const struct taking *taking = context;

    if (taking->makes_digests)
        digest_set_add_problem(taking->taker->set,
                               &(struct digest_problem){.file = file->path,
                                                        .place = (int64_t)file->place,
                                                        .message = file_error->message,
                                                        .class = file_error->class});
}

/* The first screen of one file tells nothing of it. */
static bool needs_memory(const struct rank_taker *taker)
{
    const struct analysis_plan *plan = taker->reading->plan;

    return plan->with_memory || !plan->analysis.is_for_first_screen || taker->files->count > 1;
}

static void read_traces(struct results *results, const struct input_files *files,
                        const struct taking *taking)
{
    const struct rank_reading *reading = taking->taker->reading;
    static const struct capture_choice beside = {.count = 0};
    struct file_reading file_reading = {.threads = reading->threads,
                                        .shows_progress = reading->shows_progress,
                                        .keeps_memory = needs_memory(taking->taker),
                                        .use = collect_trace,
                                        .fail = collect_failure,
                                        .captures = reading->captures ? reading->captures : &beside,
                                        .context = taking};
    struct files_read outcome = {0};

    if (files->count > 0)
        read_files(&outcome, results, files, &file_reading);
}

/* ---- files of digests ----------------------------------------------------------------------- */

static bool is_digest_file(const struct input_file *file)
{
    SCOPED(input_stream) input = {0};
    struct input_window head;

    if (!input_stream_open(&input, file->path, false, NULL))
        return false;
    head = input_stream_peek(&input);
    return digest_set_recognises(head.text, head.length);
}

/* A problem is of no rank: its file's place among those given stands for it, so that problems
 * are told in the order of the files. */
static void read_digests(struct digest_set *set, const struct input_file *file)
{
    struct error error = {0};
    size_t count_before = set->count;
    SCOPED(input_stream) input = {0};
    bool is_open = input_stream_open(&input, file->path, false, &error);
    bool is_read = is_open && digest_set_read(set, &input, file->path, &error);

    if (is_read && (input.is_broken || input.is_followed))
        is_read = error_set(&error, ERROR_INPUT, "'%s': %s", file->path, input.breakage);
    if (!is_read)
        digest_set_add_problem(set, &(struct digest_problem){.file = file->path,
                                                             .place = (int64_t)file->place,
                                                             .message = error.message,
                                                             .class = ERROR_INPUT});
    for (size_t i = count_before; i < set->count; i++)
        if (set->records[i].kind == RECORD_PROBLEM)
            set->records[i].rank = (int64_t)file->place;
}

/* ---- which files this process reads --------------------------------------------------------- */

/* Paths belong to the files they come from. */
struct file_choice {
    struct input_files traces;
    size_t trace_count; /* of all processes */
};

static void choose_file(struct file_choice *choice, const struct input_file *file)
{
    choice->traces.files[choice->traces.count++] = *file;
    if (choice->traces.bytes_in_all >= 0)
        choice->traces.bytes_in_all =
            file->bytes < 0 ? -1 : choice->traces.bytes_in_all + file->bytes;
}

/* Every size-th trace from its own place on; digests are for the first process. In turn, not in
 * blocks: files of a folder are sorted by rank, and sizes differ by stage of the pipeline, so
 * that each process gets some of all. */
static struct file_choice share_of_process(struct digest_set *set, const struct input_files *files,
                                           const struct mpi_world *world)
{
    size_t size = world->size > 1 ? (size_t)world->size : 1;
    struct file_choice choice = {0};

    choice.traces.files = require_memory(calloc(files->count + 1, sizeof *choice.traces.files));
    for (size_t i = 0; i < files->count; i++) {
        if (is_digest_file(&files->files[i])) {
            if (world->place == 0)
                read_digests(set, &files->files[i]);
        } else if (choice.trace_count++ % size == (size_t)world->place) {
            choose_file(&choice, &files->files[i]);
        }
    }
    return choice;
}

/* ---- results of the ranks that are wanted --------------------------------------------------- */

/* Leaves the rank that is to be printed alone, where not all are. Ranks are sorted by now;
 * without a rank asked for, the first stays. */
static void choose_results(struct results *results, const struct rank_reading *reading,
                           bool prints_all)
{
    size_t chosen = 0;

    if (prints_all || results->rank_count == 0)
        return;
    while (reading->rank >= 0 && chosen + 1 < results->rank_count &&
           results->ranks[chosen].rank != reading->rank)
        chosen++;
    results->ranks = &results->ranks[chosen];
    results->rank_count = reading->rank < 0 || results->ranks[0].rank == reading->rank;
    results->is_rank_chosen = reading->rank >= 0;
}

static size_t count_digests(const struct digest_set *set)
{
    size_t count = 0;

    for (size_t i = 0; i < set->count; i++)
        count += set->records[i].kind == RECORD_RANK;
    return count;
}

/* The place of the file that holds the rank to be printed alone; SIZE_MAX where none does. As
 * is_lower orders them: the same rank is chosen by several processes as by one. */
static size_t place_of_wanted(const struct digest_set *set, int64_t rank)
{
    struct rank_place best = {.place = SIZE_MAX};

    for (size_t i = 0; i < set->count; i++) {
        struct rank_place here = {.rank = set->records[i].rank};

        if (!digest_source_decode(&here.place, &set->records[i]) ||
            (rank >= 0 && here.rank != rank))
            continue;
        if (best.place == SIZE_MAX || is_lower(&here, &best))
            best = here;
    }
    return best.place;
}

/* The first process reads once more what it is to print in full: another one may have read it.
 * What another process read is in its memory, as a digest it came here: full results and courses
 * need the trace itself, which is read again in this one. */
static void read_wanted(struct results *results, struct rank_taker *taker, bool prints_all)
{
    const struct rank_reading *reading = taker->reading;
    struct taking taking = {.taker = taker,
                            .in_full = prints_all ? EVERY_RANK_IN_FULL : ONE_RANK_IN_FULL,
                            .rank = reading->rank,
                            .makes_courses = reading->courses != NULL};
    size_t only = prints_all ? SIZE_MAX : place_of_wanted(taker->set, reading->rank);
    struct file_choice wanted = {0};

    wanted.traces.files =
        require_memory(calloc(taker->files->count + 1, sizeof *wanted.traces.files));
    for (size_t i = 0; i < taker->files->count; i++)
        if (prints_all || taking.makes_courses ? !is_digest_file(&taker->files->files[i])
                                               : i == only)
            choose_file(&wanted, &taker->files->files[i]);
    taker->has_lowest = false;
    read_traces(results, &wanted.traces, &taking);
    free(wanted.traces.files);
}

/* ---- all ------------------------------------------------------------------------------------ */

struct message_reader {
    struct digest_set *set;
    bool has_failed;
};

static void collect_message(void *argument, const void *bytes, size_t length)
{
    struct message_reader *reader = argument;

    if (!digest_set_decode(reader->set, bytes, length, "a message", NULL))
        reader->has_failed = true;
}

/* Digests only, some kilobytes a rank, go to the first process; the others have nothing to
 * print and empty their set. */
static bool exchange(struct digest_set *set, const struct mpi_world *world, struct error *error)
{
    struct bytes writer = {0};
    struct message_reader reader = {.set = set};
    struct mpi_receiver receiver = {.take = collect_message, .argument = &reader};
    bool is_done;

    if (world->size <= 1)
        return true;
    if (world->place > 0)
        digest_set_encode(&writer, set);
    is_done = mpi_world_gather(world, writer.bytes, writer.length, &receiver, error);
    bytes_clear(&writer);
    if (world->place > 0)
        digest_set_clear(set);
    if (is_done && reader.has_failed)
        return error_set(error, ERROR_FAILURE, "MPI changed a message between two processes");
    return is_done;
}

static bool wants_all(const struct rank_reading *reading, size_t rank_count)
{
    return reading->in_full == EVERY_RANK_HOWEVER_MANY ||
           (reading->in_full == EVERY_RANK_IN_FULL && rank_count <= RANKS_IN_FULL_MAX);
}

/* Two ways lead to full results. Alone, they are made while the trace is in memory; in a
 * world, the first process reads what is wanted once more after it knows all ranks. That all
 * are printed is decided twice: by the number of files before, and by the number of ranks when
 * it is known. */
static bool read_ranks_once(struct digest_set *set, struct results *results,
                            const struct input_files *files, const struct rank_reading *reading,
                            struct error *error)
{
    const struct mpi_world *world = reading->world;
    struct rank_taker taker = {.set = set,
                               .files = files,
                               .reading = reading,
                               .reports_sources = world->size > 1,
                               .chosen = {.is_device_fit = true}};
    struct file_choice share = share_of_process(set, files, world);
    bool is_alone = world->size <= 1;
    bool prints_all = wants_all(reading, share.trace_count);
    struct taking taking = {.taker = &taker,
                            .makes_digests = true,
                            .makes_courses = is_alone && reading->courses,
                            .rank = reading->rank};

    if (reading->in_full != NO_RANK_IN_FULL && is_alone)
        taking.in_full = prints_all && reading->rank < 0 ? EVERY_RANK_IN_FULL : ONE_RANK_IN_FULL;
    pthread_mutex_init(&taker.lock, NULL);
    read_traces(results, &share.traces, &taking);
    free(share.traces.files);
    if (!exchange(set, world, error)) {
        pthread_mutex_destroy(&taker.lock);
        return false;
    }
    digest_set_sort(set);
    prints_all = prints_all && reading->rank < 0 && wants_all(reading, count_digests(set));
    if (reading->in_full != NO_RANK_IN_FULL && !is_alone && world->place == 0)
        read_wanted(results, &taker, prints_all);
    digest_set_drop(set, RECORD_SOURCE);
    choose_results(results, reading, prints_all);
    if (reading->clocks)
        *reading->clocks = taker.chosen;
    pthread_mutex_destroy(&taker.lock);
    return true;
}

/* Ranks of one run chose different clocks, and their traces can be read once more. If some ranks
 * chose the host's marks and others the device's windows, a step is not the same time on all,
 * and who is late cannot be told. Reading once more costs as much as the first time; so it is
 * done only for one run, whose files can be read again. */
static bool are_cut_differently(struct digest_set *set, const struct input_files *files,
                                const struct rank_reading *reading,
                                const struct rank_clocks_chosen *chosen)
{
    SCOPED(all_ranks) run = {0};

    if (chosen->count[STEP_CLOCK_HOST] == 0 || chosen->count[STEP_CLOCK_DEVICE] == 0 ||
        reading->plan->attribution.ledger.clock != CLOCK_CHOICE_AUTO || reading->world->size > 1)
        return false;
    for (size_t i = 0; i < files->count; i++)
        if (files->files[i].bytes < 0)
            return false;
    all_ranks_init(&run, set, reading->layout);
    return run.other_runs == NULL;
}

/* The second time one clock is set for all: the device's if its windows fit everywhere, else
 * the host's. What the first reading left in the results is taken back, problems of this
 * reading included, or each would be told twice. */
bool read_ranks(struct digest_set *set, struct results *results, const struct input_files *files,
                const struct rank_reading *reading, struct error *error)
{
    struct rank_clocks_chosen chosen = {.is_device_fit = false};
    struct rank_reading alike = *reading;
    struct analysis_plan plan = *reading->plan;
    size_t problem_count = results->problem_count;
    bool keeps_decoded = set->keeps_decoded;

    alike.clocks = &chosen;
    if (!read_ranks_once(set, results, files, &alike, error))
        return false;
    if (reading->clocks)
        *reading->clocks = chosen;
    if (!are_cut_differently(set, files, reading, &chosen))
        return true;
    digest_set_clear(set);
    set->keeps_decoded = keeps_decoded;
    if (reading->courses)
        rank_replay_inputs_clear(reading->courses);
    results->ranks = NULL;
    results->rank_count = 0;
    results->problem_count = problem_count;
    plan.attribution.ledger.clock = chosen.is_device_fit ? CLOCK_CHOICE_DEVICE : CLOCK_CHOICE_HOST;
    alike.plan = &plan;
    alike.clocks = NULL;
    return read_ranks_once(set, results, files, &alike, error);
}

/* ---- what became of it ---------------------------------------------------------------------- */

struct problem_count {
    size_t failed;
    size_t used;
    size_t damaged;
    struct error first; /* the worst class, then the first file */
};

/* Over records, not over results: in a world other processes read most files. */
static struct problem_count count_problems(const struct digest_set *set)
{
    struct problem_count count = {0};
    SCOPED(arena) arena = {0};

    for (size_t i = 0; i < set->count; i++) {
        struct digest_problem problem;

        if (set->records[i].kind == RECORD_RANK) {
            count.used++;
            count.damaged += set->records[i].is_damaged;
            continue;
        }
        if (!digest_problem_decode(&problem, &set->records[i], &arena))
            continue;
        if (count.failed++ == 0 ||
            (count.first.class == ERROR_NO_DATA && problem.class != ERROR_NO_DATA))
            (void)error_set(&count.first, problem.class, "%s", problem.message);
    }
    return count;
}

bool has_any_rank(const struct digest_set *set, struct error *error)
{
    struct problem_count count = count_problems(set);

    if (count.used > 0)
        return true;
    *error = count.first;
    return count.failed > 0 ? false : error_set(error, ERROR_NO_DATA, "no rank in what was given");
}

static void note_problems(struct results *results, const struct digest_set *set)
{
    SCOPED(arena) arena = {0};

    for (size_t i = 0; i < set->count; i++) {
        struct digest_problem problem;

        if (digest_problem_decode(&problem, &set->records[i], &arena))
            results_add_warning(results, results_text(results, problem.message));
    }
}

/* One clock for all ranks: which, and how many would have had the other. Nothing is said where
 * all chose the host's marks, which is what everybody expects. */
static void add_clock_number(struct results *results, const struct rank_reading *reading)
{
    const struct rank_clocks_chosen *chosen = reading->clocks;
    enum step_clock_choice choice = reading->plan->attribution.ledger.clock;
    uint32_t host = chosen->count[STEP_CLOCK_HOST], device = chosen->count[STEP_CLOCK_DEVICE];
    bool is_device = choice == CLOCK_CHOICE_AUTO && host > 0 ? chosen->is_device_fit : device > 0;
    uint32_t others = is_device ? host : device;

    if (device == 0)
        return;
    section_add_number(
        results, results->overview,
        (struct number){"clock", "clock of the steps", value_text(is_device ? "device" : "host"),
                        others ? results_format(results,
                                                "one for all ranks; %u alone would have the %s's",
                                                others, is_device ? "host" : "device")
                               : "of all ranks"});
}

/* One rank alone, read from its trace, needs no overview. Of several traces of one rank, though,
 * all are listed: that they are doubles has to be said. */
static void add_overview(struct results *results, struct digest_set *set,
                         const struct rank_reading *reading)
{
    const struct analysis_options *options = &reading->plan->analysis;
    SCOPED(all_ranks) run = {0};

    all_ranks_init(&run, set, reading->layout);
    if (run.count + run.double_count <= 1 && results->rank_count > 0)
        return;
    results->overview =
        compare_ranks(results, &run, options->top,
                      &(struct ranks_changes){.courses = reading->courses,
                                              .scenarios = options->scenarios,
                                              .scenario_count = options->scenario_count});
    if (!run.other_runs)
        add_clock_number(results, reading);
}

/* Only the first process prints; the others are done when they have sent their digests. */
static bool read_and_compare(struct digest_set *set, struct results *results,
                             const struct input_files *files, const struct rank_reading *reading,
                             struct error *error)
{
    struct rank_clocks_chosen clocks = {.is_device_fit = false};
    struct rank_reading alike = *reading;

    alike.clocks = &clocks;
    if (!read_ranks(set, results, files, &alike, error))
        return false;
    if (reading->world->place > 0)
        return true;
    if (!has_any_rank(set, error))
        return false;
    if (reading->rank >= 0 && results->rank_count == 0)
        return error_set(error, ERROR_NO_DATA, "no trace of rank %lld among those given",
                         (long long)reading->rank);
    note_problems(results, set);
    note_passed_over(results, files, NULL);
    add_overview(results, set, &alike);
    return true;
}

/* Courses are kept for a change that was asked for, and for up to RANKS_REPLAYED_MAX ranks
 * without: then the cost of a straggler is replayed, too. Of more ranks their graphs would
 * fill the memory. */
bool read_run(struct digest_set *set, struct results *results, const struct input_files *files,
              const struct rank_reading *reading, struct error *error)
{
    SCOPED(rank_replay_inputs) courses = {0};
    struct rank_reading with_courses = *reading;

    set->keeps_decoded = true;
    if (reading->plan->analysis.scenario_count > 0 ||
        (files->count > 1 && files->count <= RANKS_REPLAYED_MAX))
        with_courses.courses = &courses;
    return read_and_compare(set, results, files, &with_courses, error);
}

bool check_ranks_read(const struct digest_set *set, struct error *error)
{
    struct problem_count count = count_problems(set);

    return check_files_read(&(struct files_read){.used_count = count.used,
                                                 .failed_count = count.failed,
                                                 .damaged_count = count.damaged,
                                                 .first_error = count.first},
                            error);
}
