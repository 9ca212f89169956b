/* Made traces with steps of 1 ms, and the advice on them. */
#include "support_advice.h"

#include <stdio.h>
#include <string.h>

extern const struct analysis advice_analysis;

void scene_begin(struct scene *scene, int steps)
{
    made_trace_init(&scene->made);
    scene->thread = made_thread(&scene->made, "1");
    scene->stream = made_stream(&scene->made, 0, 7);
    for (int64_t i = 0; i < steps; i++) {
        char name[32];

        (void)snprintf(name, sizeof name, "ProfilerStep#%d", (int)i);
        made_host_event(&scene->made, scene->thread, EVENT_ANNOTATION,
                        (struct made_event){name, i * STEP_NS, (i + 1) * STEP_NS});
    }
}

void scene_queued(struct scene *scene, const char *name, int64_t start_ns, int64_t end_ns)
{
    int64_t step_ns = start_ns / STEP_NS * STEP_NS;
    int64_t call_ns = start_ns - 50 * US > step_ns ? start_ns - 50 * US : step_ns;

    made_kernel(&scene->made, scene->thread, scene->stream,
                (struct made_event){"cudaLaunchKernel", call_ns, call_ns + 1 * US},
                (struct made_event){name, start_ns, end_ns});
}

void scene_live(struct scene *scene, const char *name, int64_t start_ns, int64_t end_ns)
{
    made_kernel(&scene->made, scene->thread, scene->stream,
                (struct made_event){"cudaLaunchKernel", start_ns, start_ns + 2 * US},
                (struct made_event){name, start_ns + LAUNCH_NS, end_ns});
}

/* `op`: name, shapes, types. */
void scene_operator(struct scene *scene, const char *const op[3], const char *kernel,
                    const int64_t range_ns[2])
{
    int64_t step_ns = range_ns[0] / STEP_NS * STEP_NS;
    int64_t call_ns = range_ns[0] - 50 * US > step_ns ? range_ns[0] - 50 * US : step_ns;

    made_operator(&scene->made, scene->thread,
                  (struct made_event){op[0], call_ns, call_ns + 10 * US}, op[1], op[2]);
    made_kernel(&scene->made, scene->thread, scene->stream,
                (struct made_event){"cudaLaunchKernel", call_ns + 1 * US, call_ns + 2 * US},
                (struct made_event){kernel, range_ns[0], range_ns[1]});
}

const struct section *scene_advice(struct scene *scene)
{
    made_trace_finish(&scene->made, WINDOW_CHOICE_AUTO);
    return made_section(&scene->made, &advice_analysis);
}

const struct finding *find_advice(const struct section *section, const char *id)
{
    for (size_t i = 0; i < section->finding_count; i++)
        if (strcmp(section->findings[i].estimate->id, id) == 0)
            return &section->findings[i];
    return NULL;
}
