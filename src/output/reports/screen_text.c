/* Words and numbers of a first screen. */
#include "output/reports/screen_text.h"

#include "base/core/apportion.h"
#include "base/text/format.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of parameters and multiply-adds: "124 M", "8.03 B". */
static const char *const count_units[6] = {"", "K", "M", "B", "T", "P"};

/* Measured, then written: vsnprintf twice with the arguments begun anew, as a va_list is used
 * up by the first. */
const char *screen_format(struct screen_builder *builder, const char *format, ...)
{
    va_list arguments;
    char *text;
    int length;

    va_start(arguments, format);
    length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    text = arena_allocate(builder->arena, (size_t)length + 1);
    va_start(arguments, format);
    vsnprintf(text, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return text;
}

/* Headlines are parts of sentences elsewhere; here each stands alone. Only ASCII letters are
 * made large, as others may begin a name. */
const char *screen_capitalized(struct screen_builder *builder, const char *sentence)
{
    size_t length = strlen(sentence);
    bool is_whole = length == 0 || strchr(".!?", sentence[length - 1]);
    bool is_small = sentence[0] >= 'a' && sentence[0] <= 'z';

    if (is_whole && !is_small)
        return sentence;
    return screen_format(builder, "%c%s%s", is_small ? sentence[0] - 'a' + 'A' : sentence[0],
                         sentence + 1, is_whole ? "" : ".");
}

const char *screen_duration(struct screen_builder *builder, const struct value *time)
{
    if (time->unit != UNIT_TIME_NS)
        return screen_value(builder, time);
    return screen_format(builder, "%s", format_duration(time->integer).text);
}

static const char *scaled(struct screen_builder *builder, double number, struct unit_scale scale)
{
    scale.decimals = three_digit_decimals(number / scale.factor);
    return screen_format(builder, "%s %s", format_scaled(number, scale).text, scale.unit);
}

/* "9,730": three digits, the rest are zeros. Three digits: 10^(floor(log10) - 2) is the value of
 * the third. */
static const char *rounded_number(struct screen_builder *builder, double number)
{
    double size = fabs(number);
    double step = size >= 1000 ? pow(10, floor(log10(size)) - 2) : 1;

    if (size >= 1000 && size < 9e15)
        return screen_format(builder, "%s",
                             format_count(llround(number / step) * llround(step)).text);
    return screen_format(builder, "%.*f", size == floor(size) ? 0 : three_digit_decimals(number),
                         number);
}

/* Counts are written out up to ten million: below that a reader compares digits, above it
 * sizes. */
const char *screen_value(struct screen_builder *builder, const struct value *value)
{
    double number;

    if (!value_is_number(value))
        return NULL;
    number = value_as_real(value);
    switch (value->unit) {
    case UNIT_TIME_NS:
        return screen_format(builder, "%s", format_short_time(value->integer).text);
    case UNIT_BYTES:
        return scaled(builder, number, bytes_scale(value->integer));
    case UNIT_BYTES_PER_SECOND:
        return scaled(builder, number, decimal_scale(number, bytes_per_second_units));
    case UNIT_FLOPS:
        return scaled(builder, number, decimal_scale(number, flops_units));
    case UNIT_FLOPS_PER_SECOND:
        return scaled(builder, number, decimal_scale(number, flops_per_second_units));
    case UNIT_FRACTION:
        return screen_format(builder, "%s", format_fraction(number).text);
    case UNIT_COUNT:
        if (number >= 1e7)
            return scaled(builder, number, decimal_scale(number, count_units));
        break;
    case UNIT_NUMBER:
    case UNIT_NONE:
    case UNIT_TEXT:
    case UNIT_NOT_KNOWN:
        break;
    }
    return rounded_number(builder, number);
}

void screen_add_figure_text(struct screen_builder *builder, const char *text)
{
    struct first_screen *screen = builder->screen;

    if (text && screen->figure_count < SCREEN_FIGURES_MAX)
        screen->figures[screen->figure_count++] = text;
}

void screen_add_figure(struct screen_builder *builder, const char *before, struct value value,
                       const char *after)
{
    const char *text = screen_value(builder, &value);

    if (text)
        screen_add_figure_text(builder, screen_format(builder, "%s%s%s", before, text, after));
}

void screen_add_answer(struct screen_builder *builder, const char *text)
{
    struct first_screen *screen = builder->screen;

    if (screen->answer_count < SCREEN_ANSWERS_MAX)
        screen->answers[screen->answer_count++] = text;
}

const char *screen_share_of(struct screen_builder *builder, double share, int64_t ns,
                            const char *span)
{
    struct value time = value_time_ns(ns);

    return screen_format(builder, "%s of %s %s (%s)", format_fraction(share).text,
                         strcmp(span, "step") == 0 ? "each" : "the", span,
                         screen_value(builder, &time));
}

static bool is_of_group(const struct screen_amount *a, const struct screen_amount *b)
{
    return strcmp(a->group, b->group) == 0;
}

static size_t group_size(const struct screen_amount *amounts, size_t count,
                         const struct screen_amount *of)
{
    size_t size = 0;

    for (size_t i = 0; i < count; i++)
        size += is_of_group(&amounts[i], of);
    return size;
}

/* Index of the smallest of those whose group has another; `count` where each is alone. Only rows
 * whose group has another can be gathered: a group of one row stands for itself. Quadratic in
 * some tens of rows. */
static size_t smallest_in_company(const struct screen_amount *amounts, size_t count)
{
    size_t smallest = count;

    for (size_t i = 0; i < count; i++) {
        if (amounts[i].is_gathered || group_size(amounts, count, &amounts[i]) < 2 ||
            (amounts[i].key && strcmp(amounts[i].key, "model") == 0 && amounts[i].amount > 0))
            continue; /* what is of use is said, however little it is */
        if (smallest == count || amounts[i].amount < amounts[smallest].amount)
            smallest = i;
    }
    return smallest;
}

static void remove_amount(struct screen_amount *amounts, size_t *count, size_t index)
{
    memmove(&amounts[index], &amounts[index + 1], (*count - index - 1) * sizeof *amounts);
    --*count;
}

/* Puts amount `index` into the last row of its group, which stands for the small ones: "other" from
 * the second on. The gathered row is the last of its group; from the second one on it loses its
 * own name. Amounts are added, so that the sum of the group stays. */
static void gather(struct screen_amount *amounts, size_t *count, size_t index)
{
    struct screen_amount gathered = amounts[index];
    size_t last = index;

    for (size_t i = 0; i < *count; i++) {
        if (!is_of_group(&amounts[i], &gathered))
            continue;
        if (amounts[i].is_gathered) {
            amounts[i].amount += gathered.amount;
            amounts[i].title = strcmp(gathered.group, "idle") == 0 ? "other causes" : "other";
            amounts[i].remark = amounts[i].key = NULL;
            amounts[i].is_several = true;
            remove_amount(amounts, count, index);
            return;
        }
        last = i > last ? i : last;
    }
    gathered.is_gathered = true;
    memmove(&amounts[index], &amounts[index + 1], (last - index) * sizeof *amounts);
    amounts[last] = gathered;
}

/* Leaves rows of nothing out, and puts small parts of a whole together until the chart can hold
 * them. From the smallest up, until all fit and none is below a percent. It ends, since each
 * round takes a row away or finds none that can be gathered. Without a sum to keep, rows are
 * simply cut. */
static size_t reduce(struct screen_amount *amounts, size_t count, int64_t whole, bool adds_up)
{
    for (size_t i = count; i-- > 0;)
        if (amounts[i].amount == 0)
            remove_amount(amounts, &count, i);
    while (adds_up) {
        size_t smallest = smallest_in_company(amounts, count);

        if (smallest == count ||
            (count <= SCREEN_ROWS_MAX && amounts[smallest].amount >= whole / 100))
            break;
        gather(amounts, &count, smallest);
    }
    return count < SCREEN_ROWS_MAX ? count : SCREEN_ROWS_MAX;
}

/* What is too small for a row of its own is shown as one, so that the chart adds up. */
static int64_t sum_below(const struct screen_amount *amounts, size_t count, int64_t least)
{
    int64_t sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += amounts[i].amount < least ? amounts[i].amount : 0;
    return sum;
}

/* Takes out the rows that would be printed as zero; together they are one row, where they are more
 * than `nothing`. Rows that would print as 0.0 add up to something: together they are a row, or,
 * below `nothing`, are left out. If there is no room for that row, all stay. */
static size_t without_zeros(struct screen_amount *amounts, size_t count, int64_t least,
                            int64_t nothing)
{
    struct screen_amount rest = {.group = "other",
                                 .title = "small parts",
                                 .amount = sum_below(amounts, count, least),
                                 .is_several = true};

    if (rest.amount > nothing && count == SCREEN_ROWS_MAX && amounts[count - 1].amount >= least)
        return count; /* there is no room for it */
    for (size_t i = count; i-- > 0;)
        if (amounts[i].amount < least)
            remove_amount(amounts, &count, i);
    if (rest.amount <= nothing)
        return count;
    if (count > 0 && amounts[0].group[0] == '\0') {
        rest.group = "";
        rest.title = "other";
    }
    amounts[count] = rest;
    return count + 1;
}

/* A row that a sentence names, too: it is to have the same digits there and here. */
static bool is_named(const struct screen_amount *amounts, size_t count, size_t index)
{
    const struct screen_amount *amount = &amounts[index];

    for (size_t i = 0; i < count; i++)
        if (amounts[i].amount > amount->amount)
            return amount->key &&
                   (strcmp(amount->key, "model") == 0 || strstr(amount->key, "kept"));
    return true;
}

/* Units of the last printed digit that the amounts have: they add up to `total`. Those that a
 * sentence names are rounded as anywhere else, and the others take the difference. Each row
 * rounded by itself, the sum would miss the total by some units of the last digit, and readers
 * add up. So the whole in units is apportioned by weight. Rows that a sentence quotes are
 * rounded as in the sentence; with only such rows the first takes the difference, and if they alone
 * exceed the total nothing is changed. */
static void printed_units(int64_t *units, const struct screen_amount *amounts, size_t count,
                          double per_unit, int64_t total)
{
    int64_t weights[SCREEN_ROWS_MAX], parts[SCREEN_ROWS_MAX];
    int64_t left = total, weight = 0;
    size_t next = 0;

    for (size_t i = 0; i < count; i++) {
        units[i] = llround((double)amounts[i].amount / per_unit);
        weights[i] = is_named(amounts, count, i) ? 0 : amounts[i].amount;
        left -= is_named(amounts, count, i) ? units[i] : 0;
        weight += weights[i];
    }
    if (weight == 0 && count > 0)
        units[0] += left;
    if (weight == 0 || left < 0)
        return;
    apportion_by_weight(parts, weights, count, left);
    for (; next < count; next++)
        units[next] = is_named(amounts, count, next) ? units[next] : parts[next];
}

/* Largest remainders are for parts of one sign. */
static bool can_apportion(const struct screen_amount *amounts, size_t count)
{
    bool has_some = false;

    for (size_t i = 0; i < count; i++) {
        if (amounts[i].amount < 0)
            return false;
        has_some = has_some || amounts[i].amount > 0;
    }
    return has_some;
}

static struct unit_scale chart_scale(int64_t largest, enum unit unit)
{
    struct unit_scale scale = unit == UNIT_BYTES     ? bytes_scale(largest)
                              : unit == UNIT_TIME_NS ? short_time_scale(largest)
                                                     : decimal_scale((double)largest, flops_units);

    return scale;
}

static double largest_of(const struct screen_amount *amounts, size_t count)
{
    double largest = 0;

    for (size_t i = 0; i < count; i++)
        largest = fmax(largest, fabs((double)amounts[i].amount));
    return largest;
}

/* The unit of the whole; that of the largest row where many rows would have one digit in it.
 * With the whole in minutes and parts in milliseconds all rows would print as 0.0: the scale
 * then fits the largest row. */
static struct unit_scale scale_of_parts(const struct screen_amount *amounts, size_t count,
                                        int64_t whole, enum unit unit)
{
    struct unit_scale scale = chart_scale(whole, unit);
    int64_t largest = 0;

    for (size_t i = 0; i < count; i++)
        if (!amounts[i].is_several && amounts[i].amount > largest)
            largest = amounts[i].amount;
    return largest > 0 && (double)largest / scale.factor < 0.0995 ? chart_scale(largest, unit)
                                                                  : scale;
}

/* In the last digit of amounts and of shares. */
static bool is_printed_as_zero(int64_t amount, double share, double per_unit)
{
    return fabs((double)amount) < per_unit / 2 && fabs(share) < 0.0005;
}

/* Reduced, scaled, rounded, then written: zeros are taken out before units are apportioned, or
 * the units of rows that are not shown would be missing from the sum. */
void screen_fill_chart(struct screen_builder *builder, const struct screen_amounts *given)
{
    struct screen_chart *chart = &builder->screen->chart;
    struct screen_amount *amounts = given->list;
    int64_t whole = given->whole;
    bool adds_up = given->adds_up;
    size_t count = reduce(amounts, given->count, whole, adds_up);
    int64_t units[SCREEN_ROWS_MAX], tenths[SCREEN_ROWS_MAX];
    struct unit_scale scale;
    double per_unit, largest;

    if (count == 0 || whole <= 0)
        return;
    largest = largest_of(amounts, count);
    scale = adds_up ? scale_of_parts(amounts, count, whole, given->unit)
                    : chart_scale((int64_t)largest, given->unit);
    adds_up = adds_up && can_apportion(amounts, count);
    scale.decimals = largest / scale.factor >= 9.995 ? 1 : 2;
    per_unit = scale.factor / pow(10, scale.decimals);
    if (adds_up) {
        int64_t rest = sum_below(amounts, count, (int64_t)per_unit);

        if (scale.decimals == 1 && rest > whole / 2000 && (double)rest < per_unit) {
            scale.decimals = 2; /* what is worth a tenth of a percent is not printed as 0.0 */
            per_unit /= 10;
        }
        count = without_zeros(amounts, count, (int64_t)fmax(per_unit, (double)whole / 1000),
                              whole / 2000);
        printed_units(units, amounts, count, per_unit, llround((double)whole / per_unit));
        printed_units(tenths, amounts, count, (double)whole / 1000, 1000);
    }
    for (size_t i = 0; i < count; i++) {
        double share = (double)amounts[i].amount / (double)whole;
        bool is_zero = adds_up ? units[i] == 0 && tenths[i] == 0
                               : is_printed_as_zero(amounts[i].amount, share, per_unit);

        if (is_zero)
            continue;
        chart->rows[chart->row_count++] = (struct screen_row){
            .group = amounts[i].group,
            .title = amounts[i].title,
            .share = share,
            .remark = amounts[i].remark,
            .key = amounts[i].key,
            .is_single = !amounts[i].is_several,
            .amount = screen_format(
                builder, "%s",
                format_scaled(adds_up ? (double)units[i] * per_unit : (double)amounts[i].amount,
                              scale)
                    .text),
            .percent = adds_up ? screen_format(builder, "%.1f", (double)tenths[i] / 10)
                               : screen_format(builder, "%.1f", 100 * share),
        };
    }
    chart->unit = scale.unit;
    chart->total =
        adds_up
            ? screen_format(builder, "%s",
                            format_scaled(round((double)whole / per_unit) * per_unit, scale).text)
            : NULL;
}
