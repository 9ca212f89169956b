/* TensorBoard's event files, and what its plugins read. The numbers of fields are those of its
 * message files: summary, tensor, plugins/hparams/api and plugin_data,
 * plugins/custom_scalar/layout. */
#include "output/exports/tensorboard_summary.h"

#include "base/core/attributes.h"
#include "base/core/bytes.h"

/* Fields of the message Event. */
enum { EVENT_WALL_TIME = 1, EVENT_STEP = 2, EVENT_FILE_VERSION = 3, EVENT_SUMMARY = 5 };

/* The mask is the format's own: the sum of bytes that hold sums themselves, as records within
 * records do, would else be weak. */
uint32_t masked_crc32c(const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < length; i++) {
        crc ^= at[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ UINT32_C(0x82F63B78) : crc >> 1;
    }
    crc = ~crc;
    return (crc >> 15 | crc << 17) + UINT32_C(0xA282EAD8);
}

static void event_file_write_number(FILE *output, uint64_t number, unsigned byte_count)
{
    for (unsigned i = 0; i < byte_count; i++)
        (void)fputc((int)(number >> (8 * i) & 0xFF), output);
}

/* The length has a sum of its own, so that a reader of a file that is still being written, or that
 * was cut, never skips by a length that is not whole. */
static void event_file_write_record(FILE *output, const struct bytes *event)
{
    unsigned char length[8];

    for (unsigned i = 0; i < sizeof length; i++)
        length[i] = (unsigned char)((uint64_t)event->length >> (8 * i));
    (void)fwrite(length, 1, sizeof length, output);
    event_file_write_number(output, masked_crc32c(length, sizeof length), 4);
    (void)fwrite(event->bytes, 1, event->length, output);
    event_file_write_number(output, masked_crc32c(event->bytes, event->length), 4);
}

/* The version is the first record of every file; TensorBoard reads no file without. */
void event_file_begin(FILE *output, double wall_seconds)
{
    SCOPED(bytes) event = {0};

    protobuf_double(&event, EVENT_WALL_TIME, wall_seconds);
    protobuf_text(&event, EVENT_FILE_VERSION, "brain.Event:2");
    event_file_write_record(output, &event);
}

void event_file_add(FILE *output, struct event_time time, const struct bytes *summary)
{
    SCOPED(bytes) event = {0};

    protobuf_double(&event, EVENT_WALL_TIME, time.wall_seconds);
    protobuf_integer(&event, EVENT_STEP, time.step);
    protobuf_message(&event, EVENT_SUMMARY, summary);
    event_file_write_record(output, &event);
}

enum { SUMMARY_VALUE = 1 };
enum { VALUE_TAG = 1, VALUE_TENSOR = 8, VALUE_METADATA = 9 };
enum { METADATA_PLUGIN = 1, METADATA_DESCRIPTION = 3, METADATA_CLASS = 4 };
enum { PLUGIN_NAME = 1, PLUGIN_CONTENT = 2 };
enum { TENSOR_TYPE = 1, TENSOR_SHAPE = 2, TENSOR_FLOATS = 5, TENSOR_STRINGS = 8 };
enum { SHAPE_DIMENSION = 2, DIMENSION_SIZE = 1 };
enum { TYPE_FLOAT = 1, TYPE_STRING = 7 };
enum { CLASS_SCALAR = 1, CLASS_TENSOR = 2 };
enum { LAYOUT_CATEGORY = 2, CATEGORY_TITLE = 1, CATEGORY_CHART = 2 };
enum { CHART_TITLE = 1, CHART_LINES = 2, LINES_TAG = 1 };
enum { HPARAMS_EXPERIMENT = 2, HPARAMS_START = 3, HPARAMS_END = 4 };
enum { EXPERIMENT_SETTING = 4, EXPERIMENT_METRIC = 5 };
enum { SETTING_NAME = 1, SETTING_TYPE = 4, METRIC_NAME = 1, METRIC_NAME_TAG = 2 };
enum { SETTING_IS_TEXT = 1, SETTING_IS_NUMBER = 3 };
enum { START_SETTING = 1, ENTRY_KEY = 1, ENTRY_VALUE = 2, ANY_NUMBER = 2, ANY_TEXT = 3 };
enum { END_STATUS = 1, STATUS_SUCCESS = 1 };

/* What reads a value, and how. */
struct value_reader {
    const char *plugin;
    const struct bytes *content; /* NULL: empty */
    const char *description;     /* NULL: none */
    int data_class;              /* CLASS_SCALAR, CLASS_TENSOR, or 0: not said */
};

/* `tensor` NULL: the metadata says it all. */
static void tensorboard_summary_add_value(struct bytes *summary, const char *tag,
                                          const struct value_reader *reader,
                                          const struct bytes *tensor)
{
    SCOPED(bytes) value = {0};
    SCOPED(bytes) metadata = {0};
    SCOPED(bytes) plugin = {0};

    protobuf_text(&value, VALUE_TAG, tag);
    if (tensor)
        protobuf_message(&value, VALUE_TENSOR, tensor);
    if (reader) {
        protobuf_text(&plugin, PLUGIN_NAME, reader->plugin);
        if (reader->content)
            protobuf_message(&plugin, PLUGIN_CONTENT, reader->content);
        protobuf_message(&metadata, METADATA_PLUGIN, &plugin);
        if (reader->description)
            protobuf_text(&metadata, METADATA_DESCRIPTION, reader->description);
        if (reader->data_class)
            protobuf_integer(&metadata, METADATA_CLASS, reader->data_class);
        protobuf_message(&value, VALUE_METADATA, &metadata);
    }
    protobuf_message(summary, SUMMARY_VALUE, &value);
}

/* A scalar is a tensor without dimensions; an empty shape has to be there all the same, for
 * without it the rank would be unknown. */
void summary_add_scalar(struct bytes *summary, const char *tag, double number,
                        const char *description)
{
    const struct value_reader reader = {
        .plugin = "scalars", .description = description, .data_class = CLASS_SCALAR};
    SCOPED(bytes) tensor = {0};
    const struct bytes no_dimensions = {0};

    protobuf_integer(&tensor, TENSOR_TYPE, TYPE_FLOAT);
    protobuf_message(&tensor, TENSOR_SHAPE, &no_dimensions);
    protobuf_packed_float(&tensor, TENSOR_FLOATS, (float)number);
    tensorboard_summary_add_value(summary, tag, description ? &reader : NULL, &tensor);
}

static void make_text_tensor(struct bytes *tensor, const struct bytes *text)
{
    protobuf_integer(tensor, TENSOR_TYPE, TYPE_STRING);
    protobuf_bytes(tensor, TENSOR_STRINGS, text->bytes, text->length);
}

/* TensorBoard takes a text as a tensor of strings with one dimension. */
void summary_add_text(struct bytes *summary, const char *tag, const char *text)
{
    const struct value_reader reader = {.plugin = "text", .data_class = CLASS_TENSOR};
    SCOPED(bytes) tensor = {0};
    SCOPED(bytes) shape = {0};
    SCOPED(bytes) dimension = {0};

    protobuf_integer(&tensor, TENSOR_TYPE, TYPE_STRING);
    protobuf_integer(&dimension, DIMENSION_SIZE, 1);
    protobuf_message(&shape, SHAPE_DIMENSION, &dimension);
    protobuf_message(&tensor, TENSOR_SHAPE, &shape);
    protobuf_text(&tensor, TENSOR_STRINGS, text);
    tensorboard_summary_add_value(summary, tag, &reader, &tensor);
}

/* ---- the page "Custom scalars" --------------------------------------------------------------- */

/* A chart has room for few patterns; the unused ones are empty and not written, as an empty
 * pattern would match every curve. */
static void add_chart(struct bytes *category, const struct scalar_chart *chart)
{
    SCOPED(bytes) message = {0};
    SCOPED(bytes) lines = {0};

    for (size_t i = 0; i < sizeof chart->patterns / sizeof *chart->patterns; i++)
        if (chart->patterns[i])
            protobuf_text(&lines, LINES_TAG, chart->patterns[i]);
    protobuf_text(&message, CHART_TITLE, chart->title);
    protobuf_message(&message, CHART_LINES, &lines);
    protobuf_message(category, CATEGORY_CHART, &message);
}

/* The layout is read from one text tensor under a tag that the plugin has fixed; there is one
 * in a run. */
void summary_add_layout(struct bytes *summary, const struct chart_category *categories,
                        size_t count)
{
    const struct value_reader reader = {.plugin = "custom_scalars", .data_class = CLASS_TENSOR};
    SCOPED(bytes) layout = {0};
    SCOPED(bytes) tensor = {0};

    for (size_t i = 0; i < count; i++) {
        SCOPED(bytes) category = {0};

        protobuf_text(&category, CATEGORY_TITLE, categories[i].title);
        for (size_t k = 0; k < categories[i].count; k++)
            add_chart(&category, &categories[i].charts[k]);
        protobuf_message(&layout, LAYOUT_CATEGORY, &category);
    }
    make_text_tensor(&tensor, &layout);
    tensorboard_summary_add_value(summary, "custom_scalars__config__", &reader, &tensor);
}

/* ---- the page "HParams" ---------------------------------------------------------------------- */

/* A value of the plugin: its data says it all, but a value needs a tensor. */
static void add_hparams_value(struct bytes *summary, const char *tag, unsigned field,
                              const struct bytes *part)
{
    SCOPED(bytes) content = {0};
    SCOPED(bytes) tensor = {0};
    const struct bytes no_dimensions = {0};
    const struct value_reader reader = {
        .plugin = "hparams", .content = &content, .data_class = CLASS_TENSOR};

    protobuf_message(&content, field, part);
    protobuf_integer(&tensor, TENSOR_TYPE, TYPE_FLOAT);
    protobuf_message(&tensor, TENSOR_SHAPE, &no_dimensions);
    protobuf_packed_float(&tensor, TENSOR_FLOATS, 0);
    tensorboard_summary_add_value(summary, tag, &reader, &tensor);
}

/* Every setting is declared, known or not: the table has the same columns for all runs. */
static void make_experiment(struct bytes *experiment, const struct hyperparameter *settings,
                            size_t count, const char *const *metric_tags)
{
    for (size_t i = 0; i < count; i++) {
        SCOPED(bytes) setting = {0};

        protobuf_text(&setting, SETTING_NAME, settings[i].name);
        protobuf_integer(&setting, SETTING_TYPE,
                         settings[i].is_text ? SETTING_IS_TEXT : SETTING_IS_NUMBER);
        protobuf_message(experiment, EXPERIMENT_SETTING, &setting);
    }
    for (; *metric_tags; metric_tags++) {
        SCOPED(bytes) metric = {0};
        SCOPED(bytes) name = {0};

        protobuf_text(&name, METRIC_NAME_TAG, *metric_tags);
        protobuf_message(&metric, METRIC_NAME, &name);
        protobuf_message(experiment, EXPERIMENT_METRIC, &metric);
    }
}

/* Values of one run: those that are not known are not in the map. */
static void make_session_start(struct bytes *session, const struct hyperparameter *settings,
                               size_t count)
{
    for (size_t i = 0; i < count; i++) {
        SCOPED(bytes) entry = {0};
        SCOPED(bytes) value = {0};

        if (!settings[i].is_known)
            continue;
        if (settings[i].is_text)
            protobuf_text(&value, ANY_TEXT, settings[i].text);
        else
            protobuf_double(&value, ANY_NUMBER, settings[i].number);
        protobuf_text(&entry, ENTRY_KEY, settings[i].name);
        protobuf_message(&entry, ENTRY_VALUE, &value);
        protobuf_message(session, START_SETTING, &entry);
    }
}

/* Three values by the plugin's own tags: what there is, where this run begins with which
 * settings, and that it ended well; without the last TensorBoard shows it as running. */
void summary_add_hyperparameters(struct bytes *summary, const struct hyperparameter *settings,
                                 size_t count, const char *const *metric_tags)
{
    SCOPED(bytes) experiment = {0};
    SCOPED(bytes) start = {0};
    SCOPED(bytes) end = {0};

    make_experiment(&experiment, settings, count, metric_tags);
    make_session_start(&start, settings, count);
    protobuf_integer(&end, END_STATUS, STATUS_SUCCESS);
    add_hparams_value(summary, "_hparams_/experiment", HPARAMS_EXPERIMENT, &experiment);
    add_hparams_value(summary, "_hparams_/session_start_info", HPARAMS_START, &start);
    add_hparams_value(summary, "_hparams_/session_end_info", HPARAMS_END, &end);
}
