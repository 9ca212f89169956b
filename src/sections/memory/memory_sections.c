/* What the sections of a recorded run's memory share. */
#include "sections/memory/memory_sections.h"

struct memory_peak memory_view_peak(const struct memory_view *view)
{
    return memory_peak_between(view->run, view->device, 0, view->run->blocks.change_count);
}

/* Steps are in order of their changes. */
uint32_t memory_step_of(const struct memory_run *run, uint32_t change)
{
    uint32_t found = NO_EVENT;

    for (uint32_t i = 0; i < run->step_count && run->steps[i].first_change <= change; i++)
        found = i;
    return found;
}

const char *memory_module_label(const char *name)
{
    return *name ? name : "(outside of modules)";
}
