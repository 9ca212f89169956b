/* `flopledger flops --model`: what a model costs by its config.json alone. */
#ifndef FLOPLEDGER_COMMANDS_MODEL_FLOPS_H
#define FLOPLEDGER_COMMANDS_MODEL_FLOPS_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "commands/model_settings.h"
#include "commands/page_options.h"

#include <stdbool.h>

/* Reads what the settings name, and prints the page. */
MUST_USE bool print_model_flops(struct model_settings *settings, const struct page_settings *page,
                                struct error *error);

/* The name of an option that is of use with --model only, and was given; NULL: none was. */
const char *option_of_model(const struct model_settings *settings);

#endif
