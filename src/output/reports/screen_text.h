/* Words and numbers of a first screen: three digits each, and in a chart one unit. */
#ifndef FLOPLEDGER_OUTPUT_REPORTS_SCREEN_TEXT_H
#define FLOPLEDGER_OUTPUT_REPORTS_SCREEN_TEXT_H

#include "base/core/attributes.h"
#include "output/reports/first_screen.h"

const char *screen_format(struct screen_builder *builder, const char *format, ...)
    PRINTF_LIKE(2, 3);

/* The sentence with a capital letter at its beginning, and a full stop at its end. */
const char *screen_capitalized(struct screen_builder *builder, const char *sentence);

/* "174 ms", "22.5 GiB", "9,730", "118 GFLOP/s", "27.9 %": of three digits. NULL where the value is
 * no number. */
const char *screen_value(struct screen_builder *builder, const struct value *value);

/* "12 min 45 s", "3 h 46 min"; as screen_value below two minutes. */
const char *screen_duration(struct screen_builder *builder, const struct value *time);

/* Adds "<before><the value><after>" to the figures; nothing where the value is not known. */
void screen_add_figure(struct screen_builder *builder, const char *before, struct value value,
                       const char *after);
void screen_add_figure_text(struct screen_builder *builder, const char *text);

/* One sentence more of those that answer an option. */
void screen_add_answer(struct screen_builder *builder, const char *text);

/* "33.6 % of each step (58.7 ms)" */
const char *screen_share_of(struct screen_builder *builder, double share, int64_t ns,
                            const char *span);

/* A bar before it is written: what it stands for in the unit of the chart. */
struct screen_amount {
    const char *group;
    const char *title;
    const char *remark;
    const char *key;
    int64_t amount;   /* ns, bytes */
    bool is_gathered; /* the last of its group, which takes the small ones up */
    bool is_several;  /* it has taken some up */
};

/* The bars of a chart. */
struct screen_amounts {
    struct screen_amount *list; /* [count]; changed when they are gathered */
    size_t count;
    int64_t whole;
    enum unit unit;
    bool adds_up; /* they are parts of `whole`, all of it: then what is printed adds up */
};

/* Fills the chart with the amounts, in their order. Where there are more than a chart has rows, or
 * some are less than a hundredth of the whole, the smallest of a group are put together in its last
 * row. What would be printed as zero and is alone in its group goes into the last row of all. */
void screen_fill_chart(struct screen_builder *builder, const struct screen_amounts *given);

#endif
