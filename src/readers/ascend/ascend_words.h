/* The words of Ascend's recorders (torch_npu, msprof), the same in their JSON and in their
 * databases. */
#ifndef FLOPLEDGER_READERS_ASCEND_ASCEND_WORDS_H
#define FLOPLEDGER_READERS_ASCEND_ASCEND_WORDS_H

#include "base/core/hash_map.h"
#include "base/core/string_pool.h"
#include "trace/trace_builder.h"

#include <stdint.h>

/* Private. */
struct ascend_stream {
    int64_t device;
    int64_t stream;
    uint32_t thread;
    uint32_t track;
};

/* More streams than these are looked up each time. */
enum { ASCEND_KNOWN_STREAMS = 64 };

/* What is known of words of one builder: tasks are many, and their words few. A zeroed one is
 * empty; of a builder's strings, whose ids words are. */
struct ascend_words {
    struct hash_map types;  /* type of a task: what it tells; private */
    struct hash_map shapes; /* as torch_npu writes them: as torch.profiler does */
    struct hash_map data_types;
    struct hash_map threads; /* of a database: globalTid: its track */
    uint32_t last_type;      /* what was asked for last; private, as this: */
    uint32_t last_known;     /* 0: none was */
    int64_t last_thread;
    uint32_t last_track;
    struct ascend_stream streams[ASCEND_KNOWN_STREAMS];
    uint32_t stream_count;
};

void ascend_words_clear(struct ascend_words *words);

/* What a task of the device is, by its type: "AI_CORE" is a kernel, "SDMA" a copy, "NOTIFY_WAIT" a
 * wait, which is no work; by its name where the type is not told ("Other"). EVENT_DEVICE_OTHER
 * where it is not known. */
enum event_kind ascend_task_kind(struct ascend_words *words, const struct string_pool *strings,
                                 uint32_t type, uint32_t name);

/* Details of such a task: the vector cores and the processors do no matrix work. Index in the
 * builder's details; `bytes` of a copy, -1: not told. */
uint32_t ascend_task_detail(struct ascend_words *words, struct trace_builder *builder,
                            uint32_t type, int64_t bytes);

/* The kind of a collective in the name of one: "allReduce" of "hcom_allReduce__428_0_1"; the name
 * itself where it has another form. In `strings`. */
uint32_t ascend_collective_name(struct string_pool *strings, const char *name);

/* The whole name of a collective without the numbers of the call: "hcom_allReduce". */
uint32_t ascend_kernel_name(struct string_pool *strings, const char *name);

/* A type of elements as PyTorch names it: "Float" for "FP32"; 0 where it is not known. */
uint32_t ascend_element_type(struct string_pool *strings, const char *type);

/* The type that ENUM_HCCL_DATA_TYPE gives that number: "FP32"; empty where it gives none. */
const char *ascend_type_of_number(int64_t number);

/* Shapes or types as torch_npu writes them ("8,64;\r\n64") in the words of torch.profiler ("[[8,
 * 64], [64]]"). Of shapes: 0 where they are in another form. */
uint32_t ascend_shapes(struct string_pool *strings, const char *shapes);
uint32_t ascend_types(struct string_pool *strings, const char *types);

/* The same of a string of the pool. */
uint32_t ascend_known_shapes(struct ascend_words *words, struct string_pool *strings,
                             uint32_t shapes);
uint32_t ascend_known_types(struct ascend_words *words, struct string_pool *strings,
                            uint32_t types);

/* `before` and the number, in `strings`. */
uint32_t ascend_number_text(struct string_pool *strings, const char *before, int64_t number);

uint32_t ascend_thread(struct ascend_words *words, struct trace_builder *builder, int64_t global);

/* `thread`: its name, 0: the stream's number. */
uint32_t ascend_stream(struct ascend_words *words, struct trace_builder *builder, int64_t device,
                       int64_t stream, uint32_t thread);

#endif
