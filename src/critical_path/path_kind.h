/* What a link of the critical path is: which work, or which wait. */
#ifndef FLOPLEDGER_CRITICAL_PATH_PATH_KIND_H
#define FLOPLEDGER_CRITICAL_PATH_PATH_KIND_H

#include "ledger/account.h"
#include "ledger/host_activity.h"
#include "ledger/kernel_class.h"

enum path_group {
#define PATH_GROUP(id, key, words) PATH_GROUP_##id,
#include "critical_path/path_kind_list.def"
#undef PATH_GROUP
    PATH_GROUP_COUNT,
};

enum path_kind {
#define PATH_KIND(id, group, key, title, account) PATH_##id,
#include "critical_path/path_kind_list.def"
#undef PATH_KIND
    PATH_KIND_COUNT,
};

struct path_kind_description {
    const char *key;   /* in JSON */
    const char *title; /* on the screen */
    enum path_group group;
    enum account account; /* the nearest one of the ledger */
};

struct path_group_description {
    const char *key;
    const char *words;
};

extern const struct path_kind_description path_kinds[PATH_KIND_COUNT];
extern const struct path_group_description path_groups[PATH_GROUP_COUNT];

enum path_kind path_kind_of_device(enum kernel_class class);
enum path_kind path_kind_of_host(enum host_class class);

#endif
