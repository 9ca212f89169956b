/* Reads a file of measured rates. */
#include "cost/devices/measured_rates.h"

#include "base/io/whole_file.h"
#include "base/json/json_tree.h"
#include "cost/devices/find_device_peak.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* No device does more, or less: FLOPs or bytes in a second. */
static const double RATE_MAX = 1e18;
static const double RATE_MIN = 1e5;
/* The largest all-reduce is one of bandwidth beside the smallest. */
enum { REDUCED_TIMES_LEAST = 16 };
enum { SIZE_MAX_OF_MATMUL = 1 << 24 };

static double measured_real(const struct json_node *node, const char *key)
{
    const struct json_node *number = json_member(node, key);

    return number && number->kind == JSON_NUMBER ? strtod(number->text, NULL) : 0;
}

static const char *measured_rates_copy(struct measured_rates *rates, const char *text)
{
    return arena_copy_text(&rates->arena, text, strlen(text));
}

static bool is_matmul_size(int64_t size)
{
    return size > 0 && size <= SIZE_MAX_OF_MATMUL;
}

/* One of the file's matmuls; a type that is not known here is passed over, as a later version may
 * have it. The peak of a type is the fastest matmul of it. RATE_MAX and the sizes refuse a file
 * that was edited; NaN fails "not greater than 0". */
static bool add_matmul(struct measured_rates *rates, const struct json_node *entry,
                       struct error *error)
{
    struct measured_matmul matmul = {
        .type = peak_type_named(json_text_of(entry, "dtype", "")),
        .m = json_integer_of(entry, "m", 0),
        .n = json_integer_of(entry, "n", 0),
        .k = json_integer_of(entry, "k", 0),
        .flops_per_second = measured_real(entry, "flops_per_second"),
    };

    if (!is_matmul_size(matmul.m) || !is_matmul_size(matmul.n) || !is_matmul_size(matmul.k) ||
        !(matmul.flops_per_second > 0) ||
        (matmul.type < PEAK_TYPE_COUNT && matmul.flops_per_second < RATE_MIN) ||
        matmul.flops_per_second > RATE_MAX)
        return error_set(error, ERROR_INPUT,
                         "'%s': matmul %zu has no sizes or a rate that cannot be: measure again "
                         "('flopledger device --measure')",
                         rates->path, rates->count + 1);
    if (matmul.type == PEAK_TYPE_COUNT)
        return true;
    rates->matmuls[rates->count++] = matmul;
    rates->peaks[matmul.type] = fmax(rates->peaks[matmul.type], matmul.flops_per_second);
    return true;
}

/* A file without one is refused: it would give no rate, and the user would look for the reason
 * elsewhere. */
static bool read_matmuls(struct measured_rates *rates, const struct json_node *first,
                         struct error *error)
{
    size_t room = 1;

    for (const struct json_node *entry = first; entry; entry = entry->next)
        room++;
    rates->matmuls = arena_allocate(&rates->arena, room * sizeof *rates->matmuls);
    for (const struct json_node *entry = first; entry; entry = entry->next)
        if (!add_matmul(rates, entry, error))
            return false;
    if (rates->count > 0)
        return true;
    return error_set(error, ERROR_INPUT,
                     "'%s' has no measured matmul: 'flopledger device --measure' writes some",
                     rates->path);
}

/* The smallest all-reduce tells the latency, the largest the bandwidth: each of n devices sends
 * 2 (n - 1) / n of the bytes, whatever the algorithm. All of a file are of as many devices. */
static bool read_all_reduces(struct measured_rates *rates, const struct json_node *first,
                             struct error *error)
{
    int64_t least = INT64_MAX;
    int64_t most = 0;

    for (const struct json_node *entry = first; entry; entry = entry->next) {
        int64_t bytes = json_integer_of(entry, "bytes", 0);
        int64_t devices = json_integer_of(entry, "devices", 0);
        double seconds = measured_real(entry, "seconds");
        double rate = 2.0 * (double)bytes / fmax(seconds, 1e-18);

        if (bytes <= 0 || devices < 2 || devices > 1 << 20 || !(seconds > 0) || rate > RATE_MAX ||
            (rates->reduced_devices > 0 && devices != rates->reduced_devices))
            return error_set(error, ERROR_INPUT,
                             "'%s': an all-reduce has no bytes, devices or seconds that can be: "
                             "measure again ('flopledger device --measure')",
                             rates->path);
        rates->reduced_devices = devices;
        if (bytes < least)
            rates->reduced_seconds = seconds;
        if (bytes > most)
            rates->reduced_bytes_per_second = rate * (double)(devices - 1) / (double)devices;
        least = bytes < least ? bytes : least;
        most = bytes > most ? bytes : most;
    }
    return !first || most / REDUCED_TIMES_LEAST >= least ||
           error_set(error, ERROR_INPUT,
                     "'%s': all-reduces of one size tell no bandwidth beside the latency: measure "
                     "again ('flopledger device --measure')",
                     rates->path);
}

/* Threads are told of a processor only, where the rate depends on their number. Lengths are
 * bounded, as texts come from a file. */
static const char *how_measured(struct measured_rates *rates, const char *what)
{
    char text[512];

    if (rates->is_processor && rates->threads > 0)
        (void)snprintf(text, sizeof text, "measured: %s on %.200s, %" PRId64 " thread%s, %.32s",
                       what, rates->device, rates->threads, rates->threads == 1 ? "" : "s",
                       rates->date);
    else
        (void)snprintf(text, sizeof text, "measured: %s on %.200s, %.32s", what, rates->device,
                       rates->date);
    return measured_rates_copy(rates, text);
}

static void say_how_measured(struct measured_rates *rates)
{
    rates->how = how_measured(rates, "the fastest matmul");
    rates->how_memory = how_measured(rates, "a copy");
}

/* A rate that no device has is not believed: the file may have been edited. */
static bool parse_measured_rates(struct measured_rates *rates, const struct json_node *root,
                                 struct error *error)
{
    const char *kind = json_text_of(root, "kind", "");

    if (strcmp(json_text_of(root, "schema", ""), "flopledger-rates-1") != 0 ||
        (strcmp(kind, "cpu") != 0 && strcmp(kind, "gpu") != 0))
        return error_set(error, ERROR_INPUT,
                         "'%s' is no file of measured rates: 'flopledger device --measure FILE' "
                         "writes one",
                         rates->path);
    rates->is_processor = strcmp(kind, "cpu") == 0;
    rates->device =
        measured_rates_copy(rates, json_text_of(root, "device", "a device without a name"));
    rates->date = measured_rates_copy(rates, json_text_of(root, "date", "at a time not said"));
    rates->threads = json_integer_of(root, "threads", 0);
    rates->memory_bytes_per_second = measured_real(root, "memory_bytes_per_second");
    if (json_member(root, "memory_bytes_per_second") &&
        (!(rates->memory_bytes_per_second >= RATE_MIN) ||
         rates->memory_bytes_per_second > RATE_MAX))
        return error_set(error, ERROR_INPUT,
                         "'%s': the memory has a rate that cannot be: measure again ('flopledger "
                         "device --measure')",
                         rates->path);
    if (!read_matmuls(rates, json_items_of(root, "matmuls"), error) ||
        !read_all_reduces(rates, json_items_of(root, "all_reduces"), error))
        return false;
    say_how_measured(rates);
    return true;
}

/* The path is copied before parsing, since messages of the parser name it. */
bool measured_rates_read(struct measured_rates *rates, const char *path, struct error *error)
{
    struct arena tree = {0};
    const struct json_node *root;
    bool is_missing, is_read = false;
    size_t length;
    char *text = read_whole_file(path, &length, &is_missing, error);

    if (!text)
        return false;
    rates->path = measured_rates_copy(rates, path);
    root = json_tree_parse(&tree, text, length, error);
    if (root)
        is_read = parse_measured_rates(rates, root, error);
    else
        is_read = error_in(error, "cannot read the measured rates of '%s'", path);
    arena_clear(&tree);
    free(text);
    return is_read;
}

void measured_rates_clear(struct measured_rates *rates)
{
    arena_clear(&rates->arena);
    *rates = (struct measured_rates){0};
}

/* "bf16, fp32": the types that were measured. */
static void measured_rates_name_types(const struct measured_rates *rates, char *text, size_t room)
{
    size_t length = 0;

    text[0] = '\0';
    for (int type = 0; type < PEAK_TYPE_COUNT && length < room; type++)
        if (rates->peaks[type] > 0)
            length += (size_t)snprintf(text + length, room - length, "%s%s", length ? ", " : "",
                                       peak_type_name((enum peak_type)type));
}

/* A rate that was not measured is not taken from the table: the two would mix what is reached
 * with what is promised. */
bool measured_rates_peak(const struct measured_rates *rates, enum peak_type type, double *peak,
                         struct error *error)
{
    char types[128];

    *peak = rates->peaks[type];
    if (*peak > 0)
        return true;
    measured_rates_name_types(rates, types, sizeof types);
    return error_set(error, ERROR_USAGE,
                     "'%s' has no matmul of %s, but of %s: name one of these with --dtype, or "
                     "measure again",
                     rates->path, peak_type_name(type), types[0] ? types : "no type known here");
}

double measured_memory_rate(const struct measured_rates *rates, const struct device_peak *device,
                            const char **source)
{
    bool is_measured = rates && rates->memory_bytes_per_second > 0;
    bool is_in_table = device && device->memory_bytes_per_second > 0;

    if (source)
        *source = is_measured ? rates->how_memory : is_in_table ? device->name : NULL;
    if (is_measured)
        return rates->memory_bytes_per_second;
    return is_in_table ? device->memory_bytes_per_second : 0;
}

/* The same by spelling, or by the table: "NVIDIA H100 80GB HBM3" and "h100" are one device. */
bool measured_rates_check_device(const struct measured_rates *rates, const char *device,
                                 struct error *error)
{
    struct device_match match;
    const struct device_peak *named = find_device_peak(device, NULL, &match);

    if (!rates->is_processor && (strcasecmp(rates->device, device) == 0 ||
                                 (named && named == find_device_peak(rates->device, NULL, &match))))
        return true;
    return error_set(error, ERROR_USAGE,
                     "'%s' was measured on %s%s, and --device is '%s': name the device that was "
                     "measured, or leave --rates out",
                     rates->path, rates->is_processor ? "the processor " : "", rates->device,
                     device);
}
