/* Reads and applies the formulas that a user gives. */
#include "cost/flops/user_formula.h"

#include "base/core/invariant.h"
#include "cost/flops/saturating.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char why_user_formula[] =
    "the formula given for it asks for an argument or value that this call does not have";

enum { FORMULA_FILE_BYTES_MAX = 1 << 20 };

/* One line, cut into its parts. */
struct formula_line {
    const char *start;
    size_t length;
    size_t op_length;
    const char *word; /* "bytes", "pointwise", "flops" or nothing */
    size_t word_length;
    const char *expression;
};

static bool user_formula_is_space(char character)
{
    return character == ' ' || character == '\t' || character == '\r';
}

/* Sets the parts; false where there is no "=". */
static bool cut_line(struct formula_line *line)
{
    const char *equals = memchr(line->start, '=', line->length);
    const char *at = line->start;

    if (!equals)
        return false;
    while (at < equals && !user_formula_is_space(*at))
        at++;
    line->op_length = (size_t)(at - line->start);
    while (at < equals && user_formula_is_space(*at))
        at++;
    line->word = at;
    while (at < equals && !user_formula_is_space(*at))
        at++;
    line->word_length = (size_t)(at - line->word);
    while (at < equals && user_formula_is_space(*at))
        at++;
    line->expression = equals + 1;
    return line->op_length > 0 && at == equals;
}

static bool word_is(const struct formula_line *line, const char *word)
{
    return strlen(word) == line->word_length && memcmp(line->word, word, line->word_length) == 0;
}

static struct user_formula *formula_of(struct user_formulas *formulas, const char *op,
                                       size_t length)
{
    struct user_formula *formula;

    for (formula = formulas->first; formula; formula = formula->next)
        if (strlen(formula->op) == length && memcmp(formula->op, op, length) == 0)
            return formula;
    formula = arena_allocate(&formulas->arena, sizeof *formula);
    formula->op = arena_copy_text(&formulas->arena, op, length);
    formula->kind = COST_MATRIX;
    formula->next = formulas->first;
    formulas->first = formula;
    return formula;
}

static bool user_formula_add_line(struct user_formulas *formulas, struct formula_line *line,
                                  struct error *error)
{
    struct expression_problem problem = {0};
    struct formula_expression expression;
    struct user_formula *formula;
    size_t length;

    if (!cut_line(line))
        return error_set(error, ERROR_INPUT,
                         "expected a line like 'my::op = 2 * in0[0] * in1[1]', with 'bytes' or "
                         "'pointwise' before the '=' where it is meant");
    if (line->word_length > 0 && !word_is(line, "bytes") && !word_is(line, "pointwise") &&
        !word_is(line, "flops"))
        return error_set(error, ERROR_INPUT,
                         "'%.*s' stands between the op and '=': only 'flops', 'bytes' and "
                         "'pointwise' may",
                         (int)line->word_length, line->word);
    length = line->length - (size_t)(line->expression - line->start);
    if (!expression_compile(&expression, line->expression, length, &problem))
        return error_set(error, ERROR_INPUT, "column %zu: expected %s",
                         (size_t)(line->expression - line->start) + problem.column + 1,
                         problem.expected);
    formula = formula_of(formulas, line->start, line->op_length);
    if (word_is(line, "bytes")) {
        formula->has_bytes = true;
        formula->bytes = expression;
        return true;
    }
    formula->has_flops = true;
    formula->flops = expression;
    formula->kind = word_is(line, "pointwise") ? COST_POINTWISE : COST_MATRIX;
    return true;
}

/* Without spaces around it and what follows a '#'. */
static struct formula_line trim_line(const char *text, size_t length)
{
    const char *remark = memchr(text, '#', length);

    if (remark)
        length = (size_t)(remark - text);
    while (length > 0 && user_formula_is_space(*text)) {
        text++;
        length--;
    }
    while (length > 0 && user_formula_is_space(text[length - 1]))
        length--;
    return (struct formula_line){.start = text, .length = length};
}

bool user_formulas_add(struct user_formulas *formulas, const char *name, const char *text,
                       struct error *error)
{
    unsigned number = 1;

    for (const char *at = text; *at; number++) {
        size_t length = strcspn(at, "\n");
        struct formula_line line = trim_line(at, length);

        if (line.length > 0 && !user_formula_add_line(formulas, &line, error))
            return error_in(error, "cannot read formulas '%s': line %u", name, number);
        at += length;
        at += *at == '\n';
    }
    for (const struct user_formula *formula = formulas->first; formula; formula = formula->next)
        if (!formula->has_flops)
            return error_set(error, ERROR_INPUT,
                             "cannot read formulas '%s': '%s' has a line for its bytes and none "
                             "for its FLOPs",
                             name, formula->op);
    return true;
}

bool user_formulas_read(struct user_formulas *formulas, const char *path, struct error *error)
{
    FILE *file = fopen(path, "re");
    char *text;
    size_t length;
    bool is_read;

    if (!file)
        return error_set(error, ERROR_INPUT, "cannot read formulas '%s': %s", path,
                         strerror(errno));
    text = require_memory(malloc(FORMULA_FILE_BYTES_MAX + 1));
    length = fread(text, 1, FORMULA_FILE_BYTES_MAX + 1, file);
    is_read = !ferror(file);
    (void)fclose(file);
    if (!is_read || length > FORMULA_FILE_BYTES_MAX || memchr(text, '\0', length)) {
        free(text);
        return error_set(error, ERROR_INPUT,
                         "cannot read formulas '%s': it is no text file of up to 1 MiB", path);
    }
    text[length] = '\0';
    is_read = user_formulas_add(formulas, path, text, error);
    free(text);
    return is_read;
}

const struct user_formula *user_formulas_find(const struct user_formulas *formulas, const char *op)
{
    if (!formulas)
        return NULL;
    for (const struct user_formula *formula = formulas->first; formula; formula = formula->next)
        if (strcmp(formula->op, op) == 0)
            return formula;
    return NULL;
}

bool user_formula_count(struct op_cost *cost, const struct op_call *call,
                        const struct user_formula *formula)
{
    int64_t flops;
    int64_t bytes = -1;

    if (!expression_evaluate(&formula->flops, call, &flops))
        return not_counted(cost, why_user_formula);
    if (formula->has_bytes && !expression_evaluate(&formula->bytes, call, &bytes))
        bytes = -1;
    if (formula->kind == COST_POINTWISE)
        return plain_cost(cost, COST_POINTWISE, flops, bytes);
    (void)matrix_cost(cost, flops / 2, bytes);
    if (flops == TOO_LARGE)
        return not_counted(cost, why_too_large);
    cost->flops = cost->model_flops = cost->masked_flops = flops; /* odd numbers too */
    return true;
}

void user_formulas_clear(struct user_formulas *formulas)
{
    arena_clear(&formulas->arena);
    *formulas = (struct user_formulas){0};
}
