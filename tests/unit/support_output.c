/* What is written to a stream, as text to compare. */
#include "support_output.h"

#include <stdlib.h>
#include <string.h>

void capture_begin(struct captured_output *output)
{
    output->stream = open_memstream(&output->text, &output->length);
    if (!output->stream)
        abort();
}

const char *capture_end(struct captured_output *output)
{
    if (fclose(output->stream) != 0)
        abort();
    output->stream = NULL;
    return output->text;
}

void captured_output_clear(struct captured_output *output)
{
    if (output->stream)
        (void)fclose(output->stream);
    free(output->text);
    memset(output, 0, sizeof *output);
}
