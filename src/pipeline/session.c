/* How a report is made, from the paths on a command line to the sections of every rank. */
#include "pipeline/session.h"

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

unsigned session_threads(const struct session *session, int64_t asked)
{
    return asked > 0 ? (unsigned)asked : mpi_world_threads(&session->world, default_thread_count());
}

bool session_for_each_rank(struct session *session, const struct file_reading *reading,
                           struct error *error)
{
    read_files(&session->outcome, &session->results, &session->files, reading);
    if (session->outcome.used_count == 0) {
        *error = session->outcome.first_error;
        return false;
    }
    note_passed_over(&session->results, &session->files, NULL);
    return true;
}

bool session_summarize(struct session *session, struct rank_reading reading, struct error *error)
{
    reading.world = &session->world;
    return read_ranks(&session->summaries, &session->results, &session->files, &reading, error);
}

bool session_report(struct session *session, struct rank_reading reading, struct error *error)
{
    reading.world = &session->world;
    return read_run(&session->summaries, &session->results, &session->files, &reading, error);
}

bool print_session(struct session *session, int64_t rank, const struct page_settings *page,
                   struct error *error)
{
    struct results *results = &session->results;

    for (size_t i = 0; rank >= 0 && i < results->rank_count; i++)
        if (results->ranks[i].rank == rank)
            results->detailed_rank = i;
    return print_page(results, page, error) && session_check(session, error);
}

bool session_check(const struct session *session, struct error *error)
{
    if (session->outcome.used_count > 0)
        return check_files_read(&session->outcome, error);
    return check_ranks_read(&session->summaries, error);
}

void session_clear(struct session *session)
{
    results_clear(&session->results);
    digest_set_clear(&session->summaries);
    mpi_world_clear(&session->world);
    input_files_clear(&session->files);
}
