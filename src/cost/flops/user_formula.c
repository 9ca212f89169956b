/* Reads and applies the formulas that a user gives. */
#include "cost/flops/user_formula.h"

#include "base/core/attributes.h"
#include "base/core/invariant.h"
#include "cost/flops/op_call.h"
#include "cost/flops/saturating.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- expressions ----------------------------------------------------------------------------- */

/* Arithmetic over the sizes of an op's arguments, as users write it:
 * "2 * in0[0] * in0[1] * in1[-1]". */

/* What is wrong with a text, and where. */
struct expression_problem {
    size_t column; /* from 0 */
    const char *expected;
};

enum { OPEN_MAX = 64 };

/* An operator or bracket that waits for what comes behind it. */
struct open_operator {
    char sign; /* + - * / ( and m, M for the bracket of min and max */
    bool has_comma;
};

struct compilation {
    struct formula_expression *expression;
    struct expression_problem *problem;
    const char *text;
    size_t length;
    size_t at;
    struct open_operator open[OPEN_MAX];
    uint32_t open_count;
};

static bool formula_expression_expected(struct compilation *work, const char *what)
{
    work->problem->column = work->at;
    work->problem->expected = what;
    return false;
}

static char formula_expression_peek(struct compilation *work)
{
    while (work->at < work->length && (work->text[work->at] == ' ' || work->text[work->at] == '\t'))
        work->at++;
    return work->at < work->length ? work->text[work->at] : '\0';
}

/* Formulas compile to postfix steps once, and are evaluated for each different call by a
 * stack: no tree, no recursion, and bounds that are known here. */
static bool emit(struct compilation *work, struct expression_step step)
{
    if (work->expression->count == EXPRESSION_STEPS_MAX)
        return formula_expression_expected(work, "a shorter formula");
    work->expression->steps[work->expression->count++] = step;
    return true;
}

static bool emit_operator(struct compilation *work, char sign)
{
    static const char signs[] = "+-*/mM";
    static const enum step_kind kinds[] = {STEP_ADD,    STEP_SUBTRACT, STEP_MULTIPLY,
                                           STEP_DIVIDE, STEP_SMALLER,  STEP_LARGER};

    return emit(work, (struct expression_step){.kind = kinds[strchr(signs, sign) - signs]});
}

static bool push_open(struct compilation *work, char sign)
{
    if (work->open_count == OPEN_MAX)
        return formula_expression_expected(work, "fewer brackets");
    work->open[work->open_count++] = (struct open_operator){.sign = sign};
    return true;
}

/* Sums and products that leave 63 bits become TOO_LARGE and stay it, so that one test at the
 * end is enough. */
static bool formula_expression_take_number(struct compilation *work, int64_t *number)
{
    size_t start = work->at;

    *number = 0;
    for (; work->at < work->length && work->text[work->at] >= '0' && work->text[work->at] <= '9';
         work->at++)
        *number = plus(times(*number, 10), work->text[work->at] - '0');
    if (work->at == start)
        return formula_expression_expected(work, "a whole number");
    return *number != TOO_LARGE || formula_expression_expected(work, "a number below 2^63");
}

static bool parse_character(struct compilation *work, char character, const char *what)
{
    if (formula_expression_peek(work) != character)
        return formula_expression_expected(work, what);
    work->at++;
    return true;
}

/* A word right here. */
static bool formula_expression_take_word(struct compilation *work, const char *word)
{
    size_t length = strlen(word);

    if (work->length - work->at < length || memcmp(work->text + work->at, word, length) != 0)
        return false;
    work->at += length;
    return true;
}

/* The number of an argument: 0 to 255. */
static bool parse_argument(struct compilation *work, uint32_t *argument)
{
    int64_t number;

    if (!formula_expression_take_number(work, &number))
        return false;
    if (number > 255)
        return formula_expression_expected(work, "an argument below 256");
    *argument = (uint32_t)number;
    return true;
}

/* in2[-1]; `in` is taken already. */
static bool parse_size(struct compilation *work)
{
    struct expression_step step = {.kind = STEP_SIZE};
    bool is_negative;

    if (!parse_argument(work, &step.argument) ||
        !parse_character(work, '[', "'[': a size is in0[0], in0[-1]"))
        return false;
    is_negative = formula_expression_peek(work) == '-';
    work->at += is_negative;
    if (!formula_expression_take_number(work, &step.number) || !parse_character(work, ']', "']'"))
        return false;
    if (step.number > 64)
        return formula_expression_expected(work, "a dimension below 64");
    if (is_negative)
        step.number = -step.number;
    return emit(work, step);
}

/* (in2), or (2) where `is_number` */
static bool parse_question(struct compilation *work, enum step_kind kind, bool is_number)
{
    struct expression_step step = {.kind = kind};

    if (!parse_character(work, '(', "'('"))
        return false;
    (void)formula_expression_peek(work);
    if (!is_number && !formula_expression_take_word(work, "in"))
        return formula_expression_expected(work, "an argument: in0, in1, ...");
    if (!parse_argument(work, &step.argument) || !parse_character(work, ')', "')'"))
        return false;
    return emit(work, step);
}

static bool formula_expression_take_call(struct compilation *work, char sign)
{
    if (!parse_character(work, '(', "'('"))
        return false;
    return push_open(work, sign);
}

/* `is_complete`: a whole operand was read, not only what opens one. "min" and "max" stand behind
 * "in" on purpose: no word here begins another. */
static bool parse_operand(struct compilation *work, bool *is_complete)
{
    char first = formula_expression_peek(work);
    int64_t number;

    *is_complete = true;
    if (first >= '0' && first <= '9')
        return formula_expression_take_number(work, &number) &&
               emit(work, (struct expression_step){.kind = STEP_NUMBER, .number = number});
    if (formula_expression_take_word(work, "elements"))
        return parse_question(work, STEP_ELEMENTS, false);
    if (formula_expression_take_word(work, "rank"))
        return parse_question(work, STEP_RANK, false);
    if (formula_expression_take_word(work, "value"))
        return parse_question(work, STEP_VALUE, true);
    if (formula_expression_take_word(work, "in"))
        return parse_size(work);
    *is_complete = false;
    if (formula_expression_take_word(work, "min"))
        return formula_expression_take_call(work, 'm');
    if (formula_expression_take_word(work, "max"))
        return formula_expression_take_call(work, 'M');
    if (first == '(') {
        work->at++;
        return push_open(work, '(');
    }
    return formula_expression_expected(
        work, "a number, a size (in0[0]), elements(in0), rank(in0), value(0), min(, "
              "max( or '('");
}

static int strength_of(char sign)
{
    if (sign == '*' || sign == '/')
        return 2;
    return sign == '+' || sign == '-' ? 1 : 0;
}

/* Emits the operators that bind at least as much as `strength`. Dijkstra's shunting-yard:
 * operators wait until one that binds less comes; equal strength closes first, so that a - b - c
 * is (a - b) - c. */
static bool close_operators(struct compilation *work, int strength)
{
    while (work->open_count > 0 && strength_of(work->open[work->open_count - 1].sign) >= strength)
        if (!emit_operator(work, work->open[--work->open_count].sign))
            return false;
    return true;
}

/* The bracket of min or max is on the stack as their operator: it is emitted when it closes. */
static bool formula_expression_close_bracket(struct compilation *work)
{
    struct open_operator bracket;

    if (!close_operators(work, 1))
        return false;
    if (work->open_count == 0)
        return formula_expression_expected(work, "no ')' without its '('");
    bracket = work->open[work->open_count - 1];
    if (bracket.sign != '(' && !bracket.has_comma)
        return formula_expression_expected(work, "',': min and max have two arguments");
    work->open_count--;
    work->at++;
    return bracket.sign == '(' || emit_operator(work, bracket.sign);
}

/* Only max and min take two values: a comma elsewhere, or a second one, is a mistake at this
 * character. */
static bool parse_comma(struct compilation *work)
{
    struct open_operator *bracket;

    if (!close_operators(work, 1))
        return false;
    bracket = work->open_count > 0 ? &work->open[work->open_count - 1] : NULL;
    if (!bracket || bracket->sign == '(' || bracket->has_comma)
        return formula_expression_expected(work, "an operator or the end");
    bracket->has_comma = true;
    work->at++;
    return true;
}

/* Behind a whole operand: `wants_operand` is then whether another must follow. */
static bool formula_expression_take_operator(struct compilation *work, bool *wants_operand)
{
    char sign = formula_expression_peek(work);

    *wants_operand = sign != ')';
    if (sign == ')')
        return formula_expression_close_bracket(work);
    if (sign == ',')
        return parse_comma(work);
    if (strength_of(sign) == 0)
        return formula_expression_expected(work, "+, -, *, /, ')' or the end");
    if (!close_operators(work, strength_of(sign)))
        return false;
    work->at++;
    return push_open(work, sign);
}

/* `text` is `length` bytes. Operand and operator alternate: `wants_operand` is the whole state
 * of the grammar, since brackets are on the stack. */
static bool expression_compile(struct formula_expression *expression, const char *text,
                               size_t length, struct expression_problem *problem)
{
    struct compilation work = {
        .expression = expression, .problem = problem, .text = text, .length = length};
    bool wants_operand = true;
    bool is_complete;

    expression->count = 0;
    while (wants_operand || formula_expression_peek(&work) != '\0') {
        if (!wants_operand) {
            if (!formula_expression_take_operator(&work, &wants_operand))
                return false;
        } else {
            if (!parse_operand(&work, &is_complete))
                return false;
            wants_operand = !is_complete;
        }
    }
    if (!close_operators(&work, 1))
        return false;
    return work.open_count == 0 || formula_expression_expected(&work, "')'");
}

/* One operand that is not known makes the whole formula's result not known. */
static bool load_operand(const struct expression_step *step, const struct op_call *call,
                         int64_t *value)
{
    bool truth;

    switch (step->kind) {
    case STEP_NUMBER:
        *value = step->number;
        return true;
    case STEP_SIZE:
        *value = size_of(call, step->argument, (int)step->number);
        return *value >= 0;
    case STEP_ELEMENTS:
        *value = elements_of(call, step->argument);
        return *value >= 0;
    case STEP_RANK:
        *value = rank_of(call, step->argument);
        return *value >= 0;
    case STEP_VALUE:
        /* A truth is 0 or 1, so that a formula can multiply by it. */
        if (boolean_value(call, step->argument, &truth)) {
            *value = truth;
            return true;
        }
        return integer_value(call, step->argument, value);
    case STEP_ADD:
    case STEP_SUBTRACT:
    case STEP_MULTIPLY:
    case STEP_DIVIDE:
    case STEP_SMALLER:
    case STEP_LARGER:
        break;
    }
    return false;
}

/* Division rounds down, as Python's // does. An overflow becomes TOO_LARGE, which every later
 * step keeps, so the result is refused and never wrapped. */
static bool combine(enum step_kind kind, int64_t a, int64_t b, int64_t *result)
{
    bool is_large = a == TOO_LARGE || b == TOO_LARGE;

    switch (kind) {
    case STEP_ADD:
        is_large |= __builtin_add_overflow(a, b, result);
        break;
    case STEP_SUBTRACT:
        is_large |= __builtin_sub_overflow(a, b, result);
        break;
    case STEP_MULTIPLY:
        is_large |= __builtin_mul_overflow(a, b, result);
        break;
    case STEP_DIVIDE:
        /* Division by zero, and the one quotient that does not fit. */
        if (b == 0 || (a == INT64_MIN && b == -1))
            return false;
        *result = a / b - (a % b != 0 && (a < 0) != (b < 0));
        break;
    case STEP_SMALLER:
        *result = a < b ? a : b;
        return true;
    case STEP_LARGER:
        *result = a > b ? a : b;
        return true;
    case STEP_NUMBER:
    case STEP_SIZE:
    case STEP_ELEMENTS:
    case STEP_RANK:
    case STEP_VALUE:
        return false;
    }
    if (is_large)
        *result = TOO_LARGE;
    return true;
}

/* False where the call lacks an argument, a value is no number, or a division is by 0; `result` may
 * be TOO_LARGE, and is 0 where it would be negative. */
static bool expression_evaluate(const struct formula_expression *expression,
                                const struct op_call *call, int64_t *result)
{
    int64_t values[EXPRESSION_STEPS_MAX] = {0};
    uint32_t count = 0;

    for (uint32_t i = 0; i < expression->count; i++) {
        const struct expression_step *step = &expression->steps[i];

        if (step->kind < STEP_ADD) {
            if (!load_operand(step, call, &values[count++]))
                return false;
        } else {
            require_invariant(count >= 2, "an operator has two operands");
            count--;
            if (!combine(step->kind, values[count - 1], values[count], &values[count - 1]))
                return false;
        }
    }
    *result = values[0] < 0 ? 0 : values[0];
    return true;
}

/* ---- user formula ---------------------------------------------------------------------------- */

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

/* Sets the parts; false where there is no "=". "op [word] = expression": the op's name has no
 * space, the expression anything. */
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

/* A line may stand for an op that has one already ("bytes" beside "flops"): the second line
 * adds to it, or replaces it. */
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

/* Errors say the column, counted from the line's beginning, as an editor does. A later line
 * for the same operator replaces an earlier one. */
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

/* Checked at the end, as bytes may stand before FLOPs. */
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

/* The limit and the test for NUL refuse what is no text by mistake, such as a trace. */
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
