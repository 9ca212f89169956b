/* The words of Ascend's recorders (torch_npu, msprof), the same in their JSON and in their
 * databases. */
#ifndef FLOPLEDGER_READERS_ASCEND_ASCEND_WORDS_H
#define FLOPLEDGER_READERS_ASCEND_ASCEND_WORDS_H

#include "base/core/string_pool.h"
#include "trace/trace_builder.h"

#include <stdint.h>

/* What a task of the device is, by its type: "AI_CORE" is a kernel, "SDMA" a copy, "NOTIFY_WAIT" a
 * wait, which is no work; by its name where the type is not told ("Other"). EVENT_DEVICE_OTHER
 * where it is not known. */
enum event_kind ascend_task_kind(const char *type, const char *name);

/* Details of such a task: the vector cores and the processors do no matrix work. Index in the
 * builder's details; `bytes` of a copy, -1: not told. */
uint32_t ascend_task_detail(struct trace_builder *builder, const char *type, int64_t bytes);

/* The kind of a collective in the name of one: "allReduce" of "hcom_allReduce__428_0_1"; the name
 * itself where it has another form. In `strings`. */
uint32_t ascend_collective_name(struct string_pool *strings, const char *name);

/* The whole name of a collective without the numbers of the call: "hcom_allReduce". */
uint32_t ascend_kernel_name(struct string_pool *strings, const char *name);

/* A type of elements as PyTorch names it: "Float" for "FP32"; 0 where it is not known. */
uint32_t ascend_element_type(struct string_pool *strings, const char *type);

/* Shapes or types as torch_npu writes them ("8,64;\r\n64") in the words of torch.profiler ("[[8,
 * 64], [64]]"). Of shapes: 0 where they are in another form. */
uint32_t ascend_shapes(struct string_pool *strings, const char *shapes);
uint32_t ascend_types(struct string_pool *strings, const char *types);

#endif
