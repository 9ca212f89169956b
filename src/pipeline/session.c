/* How a report is made, from the paths on a command line to the sections of every rank. */
#include "pipeline/session.h"

#include "base/io/files_seen.h"
#include "pipeline/read_ranks.h"

#include <stdlib.h>
#include <string.h>

bool session_open(struct session *session, char **operands, int count, struct error *error)
{
    results_init(&session->results);
    return find_input_files(&session->files, operands, count, error);
}

bool session_join(struct session *session, struct error *error)
{
    return mpi_world_join(&session->world, error);
}

bool session_prints(const struct session *session)
{
    return session->world.place == 0;
}

/* What the user asks for is not divided among processes of a node: he may know better. */
unsigned session_threads(const struct session *session, int64_t asked)
{
    return asked > 0 ? (unsigned)asked : mpi_world_threads(&session->world, default_thread_count());
}

/* ---- answers that are kept ------------------------------------------------------------------ */

static void add_question_text(struct bytes *to, const char *text)
{
    bytes_add(to, text, strlen(text) + 1);
}

/* What the folders hold was looked at for this question, too, with what the page says of it: they
 * need not be looked at again. With the ranks that names told: the same files in another folder
 * may be other ranks. */
static void add_question_files(struct bytes *to, const struct input_files *files)
{
    SCOPED(results) said = {0};

    for (size_t i = 0; i < files->count; i++) {
        add_question_text(to, files->files[i].path);
        bytes_add_zigzag(to, files->files[i].rank);
    }
    results_init(&said);
    note_passed_over(&said, files, NULL);
    results_to_bytes(to, &said);
}

/* A pipe is read once; several processes have one answer together. A pipe has no content that
 * could be looked at again. */
static bool can_be_kept(const struct session *session)
{
    for (size_t i = 0; i < session->files.count; i++)
        if (session->files.files[i].bytes < 0)
            return false;
    return session->world.size <= 1;
}

/* The question holds everything from the command line that changes the answer, the width and
 * colors excluded: what is kept are results, not their print. Watching begins here, so that
 * every file that is looked at from now on belongs to the answer. */
bool session_ask(struct session *session, const struct cache_choice *choice,
                 const struct session_question *question, struct error *error)
{
    const char *named = getenv(ANSWER_CACHE_FOLDER_VARIABLE);
    struct bytes asked = {0};

    if (choice->is_refused || !(choice->is_wanted || (named && *named)) || !can_be_kept(session))
        return true;
    if (!answer_cache_open(&session->cache, error))
        return false;
    session->keeps_page = page_can_be_kept(question->page);
    add_question_text(&asked, question->command);
    bytes_add(&asked, &session->keeps_page, sizeof session->keeps_page);
    bytes_add(&asked, choice->asked.bytes, choice->asked.length);
    bytes_add(&asked, question->of_page, sizeof question->of_page);
    add_question_files(&asked, &session->files);
    answer_cache_ask(&session->cache, &asked, question->threads);
    answer_cache_watch(&session->cache);
    for (size_t i = 0; i < sizeof question->files / sizeof *question->files; i++)
        if (question->files[i])
            files_seen_note(question->files[i]);
    bytes_clear(&asked);
    return true;
}

static bool session_is_answered(struct session *session)
{
    session->is_kept =
        answer_cache_find(&session->cache, &session->results, &session->page, &session->kept_check);
    return session->is_kept;
}

/* With how it ended: a kept answer of damaged input must end with the same exit status. */
static void session_keep(struct session *session)
{
    struct error check = {0};

    (void)session_check(session, &check);
    answer_cache_keep(&session->cache, &session->results, &session->page, &check);
}

/* A page is kept when it is printed. */
static void session_keep_results(struct session *session)
{
    if (!session->keeps_page)
        session_keep(session);
}

/* ---- ranks ---------------------------------------------------------------------------------- */

/* If nothing could be used, nothing is kept. */
bool session_for_each_rank(struct session *session, const struct file_reading *reading,
                           struct error *error)
{
    if (session_is_answered(session))
        return true;
    read_files(&session->outcome, &session->results, &session->files, reading);
    if (session->outcome.used_count == 0) {
        *error = session->outcome.first_error;
        return false;
    }
    note_passed_over(&session->results, &session->files, NULL);
    session_keep_results(session);
    return true;
}

bool session_summarize(struct session *session, struct rank_reading reading, struct error *error)
{
    reading.world = &session->world;
    return read_ranks(&session->summaries, &session->results, &session->files, &reading, error);
}

/* Where an answer was found, nothing is read: its page is already in the results. What was
 * read anew is kept for the next who asks. */
bool session_report(struct session *session, struct rank_reading reading, struct error *error)
{
    reading.world = &session->world;
    if (session_is_answered(session))
        return true;
    if (!read_run(&session->summaries, &session->results, &session->files, &reading, error))
        return false;
    session_keep_results(session);
    return true;
}

/* With --rank the page is of that rank; of a rank that is not there the page stays what it
 * was. */
bool print_session(struct session *session, int64_t rank, const struct page_settings *page,
                   struct error *error)
{
    struct results *results = &session->results;

    for (size_t i = 0; rank >= 0 && i < results->rank_count; i++)
        if (results->ranks[i].rank == rank)
            results->detailed_rank = i;
    if (session->keeps_page && !session->page.text) {
        if (!finish_page(&session->page, results, page, error))
            return false;
        session_keep(session);
    }
    return (session->page.text ? print_finished_page(&session->page, page, error)
                               : print_page(results, page, error)) &&
           session_check(session, error);
}

/* A kept answer was checked when it was made. */
bool session_check(const struct session *session, struct error *error)
{
    if (session->is_kept) {
        *error = session->kept_check;
        return error->class == ERROR_NONE;
    }
    if (session->outcome.used_count > 0)
        return check_files_read(&session->outcome, error);
    return check_ranks_read(&session->summaries, error);
}

void session_clear(struct session *session)
{
    answer_cache_clear(&session->cache);
    results_clear(&session->results);
    digest_set_clear(&session->summaries);
    mpi_world_clear(&session->world);
    input_files_clear(&session->files);
}
