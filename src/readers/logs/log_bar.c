/* Progress bars as tqdm draws them. */
#include "readers/logs/log_bar.h"

/* "  10%" at the end of the text before '|': moves the end to before it. */
static bool parse_percentage(struct log_text *title)
{
    const char *at = title->end;

    if (at == title->at || at[-1] != '%')
        return false;
    for (at--; at > title->at && at[-1] >= '0' && at[-1] <= '9'; at--)
        continue;
    if (*at == '%')
        return false;
    while (at > title->at && at[-1] == ' ')
        at--;
    if (at > title->at && at[-1] == ':')
        at--;
    title->end = at;
    log_skip_spaces(title);
    return true;
}

/* Behind the percentage: "%|###   | 100/1000", or "% 100/1000" where no bar is drawn. `rest` begins
 * with the counts. */
static bool find_counts(struct log_text line, struct log_text *title, struct log_text *rest)
{
    *title = *rest = line;
    if (log_find(line, "%|", rest)) {
        title->end = rest->at - 1;
        return log_skip_past(rest, '|');
    }
    while (log_find(*rest, "% ", rest)) {
        title->end = rest->at - 1;
        if (rest->at < rest->end && *rest->at >= '0' && *rest->at <= '9')
            return true;
    }
    return false;
}

/* "Epoch 0: : 129it [43:14, 20.11s/it, v_num=0]", where it is not known how many there will be. */
static bool parse_counter(struct log_text line, struct log_bar *bar)
{
    struct log_text rest, number;
    const char *at;

    if (!log_find(line, "it [", &rest))
        return false;
    at = rest.at - 4;
    while (at > line.at && at[-1] >= '0' && at[-1] <= '9')
        at--;
    number = (struct log_text){at, rest.at - 4};
    if (!log_take_integer(&number, false, &bar->done) || number.at != number.end ||
        !log_take_clock(&rest, &bar->elapsed_ns) || !log_skip(&rest, ", "))
        return false;
    while (at > line.at && (at[-1] == ' ' || at[-1] == ':'))
        at--;
    bar->title = (struct log_text){line.at, at};
    log_skip_spaces(&bar->title);
    bar->total = 0;
    bar->rest = rest;
    return true;
}

/* The counter without a total first, as it has no percentage that could be found. */
bool log_take_bar(struct log_text line, struct log_bar *bar)
{
    struct log_text rest;

    if (parse_counter(line, bar))
        return true;
    if (!find_counts(line, &bar->title, &rest) || !parse_percentage(&bar->title))
        return false;
    if (!log_take_integer(&rest, false, &bar->done) || !log_skip(&rest, "/") ||
        !log_take_integer(&rest, false, &bar->total) || !log_skip(&rest, " [") ||
        !log_take_clock(&rest, &bar->elapsed_ns) || bar->done < 0)
        return false;
    bar->rest = rest;
    return true;
}

/* What rich draws bars of: spaces, and characters that are not ASCII. */
static void skip_drawing(struct log_text *text)
{
    while (text->at < text->end && (*text->at == ' ' || (unsigned char)*text->at >= 0x80))
        text->at++;
}

/* rich draws the epoch, the bar, counts, then the clocks; one that names no count or no clock
 * is another line. */
bool log_take_rich_bar(struct log_text line, struct log_bar *bar)
{
    struct log_text rest;
    int64_t number, last;

    bar->title = line;
    if (!log_find_word(line, "Epoch ", &rest) || !log_take_integer(&rest, false, &number) ||
        !log_skip(&rest, "/") || !log_take_integer(&rest, false, &last))
        return false;
    bar->title.end = rest.at;
    skip_drawing(&rest);
    if (!log_take_integer(&rest, false, &bar->done) || !log_skip(&rest, "/") ||
        !log_take_integer(&rest, false, &bar->total) || bar->done < 0)
        return false;
    log_skip_spaces(&rest);
    if (!log_take_clock(&rest, &bar->elapsed_ns))
        return false;
    bar->rest = rest;
    return true;
}
