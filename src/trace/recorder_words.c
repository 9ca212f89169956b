/* What to do about what a recording lacks, in the words of the program that made it. */
#include "trace/recorder_words.h"

#include "base/io/files_seen.h"
#include "base/text/prefix.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Only flopledger run tells what the modules and the batches are. */
#define NEEDS_DESCRIPTION "needs capture.json beside the trace: flopledger run"

/* Of a trace that `flopledger run` wrote. */
static const struct recorder_words of_flopledger_run = {
    .cut = "record it again, and let the program end by itself: what is missing cannot be told "
           "from the part that is there",
    .warm_up = "usual in a window of a longer run: record later steps, as --steps 10-14",
    .less_overhead = "record later steps (--steps), without --stacks",
    .marks = "record it again: flopledger run marks steps by the optimizer's, or by --step-of",
    .few_steps = "record at least 5 steps: flopledger run --steps 4-8",
    .device = "flopledger run records every device that torch sees: another profiler (nsys, DCGM) "
              "may hold the device's counters",
    .no_device = "if the run used a GPU: see that torch.cuda.is_available() holds where it ran",
    .operators = "record it again: flopledger run records operators",
    .shapes = "record without --no-shapes",
    .needs_shapes = "needs shapes: record without --no-shapes",
    .flops = "record without --no-shapes",
    .modules = "record without --no-markers",
    .model = "needs the model in capture.json: it lists none with these modules",
    .batch = "needs the steps in capture.json: it lists none of these",
    .stacks = "record with --stacks: flopledger run --stacks (it slows the steps)",
    .collectives = "record with a newer PyTorch (2.2 and later write the NCCL metadata)",
    .message_size = "needs the NCCL metadata of PyTorch 2.2 or later, or no --no-shapes",
    .group_size = "needs the group size, in the NCCL metadata of PyTorch 2.2 or later",
    .element_type = "needs the NCCL metadata of PyTorch 2.2 or later, or no --no-shapes",
    .memory = "record with --memory: flopledger run --memory",
};

static const struct recorder_words recorders[] = {
    {
        .format = "nsight-systems",
        .cut = "let 'nsys export' finish, and copy the file again: what is missing cannot be told "
               "from the part that is there",
        .warm_up = "usual in a window of a longer run: start recording a step earlier (--delay, "
                   "--capture-range)",
        .less_overhead =
            "start recording later (--delay, --capture-range), and trace less (--trace)",
        .marks = "put each iteration into a range: torch.cuda.nvtx.range(f\"iteration {i}\"); or "
                 "name ranges that are there with --step-range",
        .few_steps = "record at least 5 steps (--duration, --capture-range)",
        .device = "profile with --trace=cuda,nvtx, and let the recorded window hold work of the "
                  "GPU",
        .no_device = "if the run used a GPU: profile with --trace=cuda,nvtx",
        .host = "profile all processes that launch, with --trace=cuda,nvtx,osrt",
        .operators = "run the steps inside torch.autograd.profiler.emit_nvtx(), or profile with "
                     "--pytorch=autograd-nvtx",
        .shapes = "torch.autograd.profiler.emit_nvtx(record_shapes=True), or "
                  "--pytorch=autograd-shapes-nvtx",
        .needs_shapes = "needs shapes: emit_nvtx(record_shapes=True)",
        .flops = "torch.autograd.profiler.emit_nvtx(record_shapes=True), or "
                 "--pytorch=autograd-shapes-nvtx; or record with flopledger run",
        .modules = "put ranges around layers, torch.cuda.nvtx.range(\"layer1\"), beside those of "
                   "emit_nvtx",
        .model = NEEDS_DESCRIPTION,
        .batch = NEEDS_DESCRIPTION,
        .stacks = "put NVTX ranges around what the loop does between operators; --trace=osrt tells "
                  "what it waits for in the operating system",
        .collectives = "export with 'nsys export --type sqlite --include-blobs=true': NCCL tells "
                       "them in the payloads of its own NVTX ranges",
        .message_size = "needs the payloads of NCCL's own NVTX ranges ('nsys export --type sqlite "
                        "--include-blobs=true'), and one kind of call for a kernel",
        .group_size = "needs NCCL's payloads ('nsys export --include-blobs=true') and the "
                      "communicator's start in the recording",
        .element_type = "Nsight Systems does not record it",
        .memory = "traces of torch.profiler with profile_memory=True have allocations",
    },
    {
        .format = "xplane",
        .cut = "let jax.profiler.stop_trace() return, and copy the file again: what is missing "
               "cannot be told from the part that is there",
        .warm_up = "usual in a window of a longer run: start the trace a step earlier",
        .less_overhead = "start the trace some steps later, and record fewer Python frames",
        .marks = "put each step into jax.profiler.StepTraceAnnotation(\"train\", step_num=i); or "
                 "name ranges that are there with --step-range",
        .few_steps = "record at least 5 steps between start_trace and stop_trace",
        .device = "let steps run between start_trace and stop_trace, and wait for their results "
                  "(block_until_ready)",
        .no_device = "if the run used a GPU or TPU: see that jax.devices() names it",
        .host = "record the host, too: ProfileOptions().host_tracer_level = 2",
        .operators = "record with a newer JAX: ops are told by the stats of launches and of ops",
        .shapes = "TPUs tell the shapes of ops, and so do programs (HLO) that are in the trace",
        .needs_shapes = "needs the programs (HLO) in the trace, or a TPU",
        .flops = "calls of libraries tell no FLOPs; of all other ops the programs (HLO) in the "
                 "trace do",
        .modules = "put parts of the model into jax.named_scope(\"layer1\")",
        .model = "JAX does not record it",
        .batch = "JAX does not record it",
        .stacks = "record Python frames: ProfileOptions().python_tracer_level = 1",
        .collectives = "JAX does not record it",
        .message_size = "JAX does not record it",
        .group_size = "JAX does not record it",
        .element_type = "JAX does not record it",
        .memory = "jax.profiler.save_device_memory_profile() has allocations",
    },
    {
        .format = "rocprofv3",
        .cut = "let rocprofv3 finish, and copy the file again: what is missing cannot be told from "
               "the part that is there",
        .warm_up = "usual in a window of a longer run: start recording a step earlier "
                   "(--collection-period)",
        .less_overhead = "start recording later (--collection-period), and trace less",
        .marks = "put each iteration into a range, torch.cuda.nvtx.range(f\"iteration {i}\"), and "
                 "record with --marker-trace; or name ranges that are there with --step-range",
        .few_steps = "record at least 5 steps (--collection-period)",
        .device = "record with rocprofv3 --kernel-trace --memory-copy-trace",
        .no_device = "if the run used a GPU: rocprofv3 --kernel-trace --memory-copy-trace",
        .host = "record with rocprofv3 --hip-trace --marker-trace: calls that launch, and ranges",
        .operators = "run the steps inside torch.autograd.profiler.emit_nvtx(), and record with "
                     "rocprofv3 --hip-trace --marker-trace",
        .shapes = "torch.autograd.profiler.emit_nvtx(record_shapes=True), with --marker-trace",
        .needs_shapes = "needs shapes: emit_nvtx(record_shapes=True), with --marker-trace",
        .flops = "torch.autograd.profiler.emit_nvtx(record_shapes=True), with --hip-trace "
                 "--marker-trace; or record with flopledger run",
        .modules = "record it with flopledger run, which marks each call of a module",
        .model = NEEDS_DESCRIPTION,
        .batch = NEEDS_DESCRIPTION,
        .stacks =
            "record with --hip-trace --marker-trace, and put ranges around what the loop does "
            "between operators",
        .collectives = "rocprofv3 records no sizes of collectives: flopledger run does",
        .message_size = "rocprofv3 does not record it: flopledger run does",
        .group_size = "rocprofv3 does not record it: flopledger run does",
        .element_type = "rocprofv3 does not record it",
        .memory = "traces of torch.profiler with profile_memory=True have allocations",
    },
    {
        .format = "rpd",
        .cut = "let the program finish, and copy the file again: what is missing cannot be told "
               "from the part that is there",
        .warm_up = "usual in a window of a longer run: start recording a step earlier "
                   "(rpdTracerControl)",
        .less_overhead = "record a few steps alone: loadTracer.sh, and start() and stop() of "
                         "rpdTracerControl around them",
        .marks = "put each iteration into a range, torch.cuda.nvtx.range(f\"iteration {i}\"); or "
                 "name ranges that are there with --step-range",
        .few_steps = "record at least 5 steps between start() and stop() of rpdTracerControl",
        .device = "let work of the GPU run between start() and stop() of rpdTracerControl",
        .no_device = "if the run used a GPU: see that the file was made once, by runTracer.sh or "
                     "loadTracer.sh, and not anew by the program",
        .operators = "record with rpdTracerControl(nvtx=True), or run the steps inside "
                     "torch.autograd.profiler.emit_nvtx()",
        .shapes = "torch.autograd.profiler.emit_nvtx(record_shapes=True): rpdTracerControl(nvtx="
                  "True) records operators without shapes",
        .needs_shapes = "needs shapes: emit_nvtx(record_shapes=True)",
        .flops = "torch.autograd.profiler.emit_nvtx(record_shapes=True); or record with "
                 "flopledger run",
        .modules = "record it with flopledger run, which marks each call of a module",
        .model = NEEDS_DESCRIPTION,
        .batch = NEEDS_DESCRIPTION,
        .stacks = "record with rpdTracerControl(nvtx=True), and put ranges around what the loop "
                  "does between operators",
        .collectives = "RPD records no sizes of collectives: flopledger run does",
        .message_size = "RPD does not record it: flopledger run does",
        .group_size = "RPD does not record it: flopledger run does",
        .element_type = "RPD does not record it",
        .memory = "traces of torch.profiler with profile_memory=True have allocations",
    },
    {
        .format = "ascend", /* no reader's: see recorder_words_for */
        .cut = "let torch_npu's profiler finish its analysis of the recording, and copy the file "
               "again: what is missing cannot be told from the part that is there",
        .warm_up = "usual in a window of a longer run: use a warm-up step in the schedule",
        .less_overhead = "more warm-up steps in the profiler's schedule, no with_stack",
        .marks = "call prof.step() at the end of each iteration, with "
                 "schedule=torch_npu.profiler.schedule(wait=1, warmup=1, active=5)",
        .few_steps = "record at least 5 steps: schedule(wait=1, warmup=1, active=5)",
        .device = "add torch_npu.profiler.ProfilerActivity.NPU to 'activities'",
        .no_device = "if the run used an NPU: torch_npu.profiler records it, torch.profiler alone "
                     "does not",
        .operators = "add torch_npu.profiler.ProfilerActivity.CPU to 'activities'",
        .shapes = "record with record_shapes=True",
        .needs_shapes = "needs record_shapes=True",
        .flops = "record with record_shapes=True",
        .modules = "torch_npu's profiler records no calls of modules",
        .model = "torch_npu's profiler does not record it",
        .batch = "torch_npu's profiler does not record it",
        .stacks = "record a few steps with with_stack=True (it slows the run)",
        .collectives = "record with record_shapes=True",
        .message_size = "needs record_shapes=True",
        .group_size = "torch_npu's profiler does not record it",
        .element_type = "needs record_shapes=True",
        .memory = "torch_npu writes allocations into files of their own, which are not read",
    },
    {
        .format = "proton", /* no reader's: see recorder_words_for */
        .cut = "let proton.finalize() return, and copy the file again: what is missing cannot be "
               "told from the part that is there",
        .warm_up = "usual in a window of a longer run: start the session a step earlier",
        .less_overhead = "start the session some steps later",
        .marks = "put each step into a scope: proton.scope(f\"step_{i}\"); or name scopes that are "
                 "there with --step-range",
        .few_steps = "record at least 5 steps between proton.start() and proton.finalize()",
        .device = "let kernels run between proton.start() and proton.finalize(), with the backend "
                  "cupti or roctracer",
        .no_device = "if the run used a GPU: proton.start(backend=\"cupti\") or \"roctracer\"",
        .operators = "Proton records scopes and no operators: torch.profiler and flopledger run do",
        .shapes = "record it with flopledger run",
        .needs_shapes = "needs shapes, which Proton does not record",
        .flops = "record it with flopledger run, or with data=\"tree\", which sums up what "
                 "launch_metadata says",
        .modules = "record it with flopledger run, which marks each call of a module",
        .model = NEEDS_DESCRIPTION,
        .batch = NEEDS_DESCRIPTION,
        .stacks = "put scopes around what the loop does between kernels: proton.scope(\"...\")",
        .collectives = "Proton does not record it: torch.profiler does",
        .message_size = "Proton does not record it",
        .group_size = "Proton does not record it",
        .element_type = "Proton does not record it",
        .memory = "traces of torch.profiler with profile_memory=True have allocations",
    },
    {
        .format = "pipeline-timings",
        .cut = "let the run finish writing it: what is missing cannot be told from the part that "
               "is there",
        .warm_up = "usual in a window of a longer run: leave out the first steps (--steps)",
        .less_overhead = "these timings cost little: look at later steps (--steps)",
        .marks = "each step has a key of its own in such a file",
        .few_steps = "record at least 5 steps",
        .device = "record the stages with torch.profiler or flopledger run",
        .no_device = "record the stages with torch.profiler or flopledger run",
        .operators = "record the stages with torch.profiler or flopledger run: these timings hold "
                     "forwards and backwards, not what is between them",
        .shapes = "record the stages with flopledger run",
        .needs_shapes = "needs a recording by flopledger run",
        .flops = "record the stages with flopledger run",
        .modules = "record the stages with flopledger run, which marks each call of a module",
        .model = NEEDS_DESCRIPTION,
        .batch = NEEDS_DESCRIPTION,
        .stacks = "record the stages with torch.profiler or flopledger run",
        .collectives = "record the stages with torch.profiler or flopledger run",
        .message_size = "these timings do not tell it: torch.profiler's traces do",
        .group_size = "these timings do not tell it: torch.profiler's traces do",
        .element_type = "these timings do not tell it: torch.profiler's traces do",
        .memory = "traces of torch.profiler with profile_memory=True have allocations",
    },
    {
        .cut = "let the profiler finish writing (leave the 'with profile(...)' block, wait for the "
               "trace handler) and copy the "
               "file again; how much is missing cannot be told from the part that is there",
        .warm_up = "usual in a window of a longer run: use a warm-up step in the schedule",
        .less_overhead = "more warm-up steps in the profiler's schedule, no with_stack",
        .marks = "call prof.step() at the end of each iteration, with "
                 "schedule=torch.profiler.schedule(wait=1, warmup=1, active=5)",
        .few_steps = "record at least 5 steps: schedule(wait=1, warmup=1, active=5)",
        .device = "add ProfilerActivity.CUDA (or XPU, HPU) to 'activities'; if it is there: "
                  "another profiler (nsys, DCGM) may hold "
                  "the device's counters",
        .no_device =
            "if the run used a GPU: activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]",
        .operators = "add ProfilerActivity.CPU to 'activities'",
        .shapes = "record with record_shapes=True",
        .needs_shapes = "needs record_shapes=True",
        .flops = "record it with flopledger run, or with record_shapes=True",
        .modules = "record it with flopledger run, which marks each call of a module",
        .model = NEEDS_DESCRIPTION,
        .batch = NEEDS_DESCRIPTION,
        .stacks = "record a few steps with with_stack=True (it slows the run)",
        .collectives = "record with a newer PyTorch (2.2 and later write the NCCL metadata)",
        .message_size = "needs the NCCL metadata of PyTorch 2.2 or later, or record_shapes=True",
        .group_size = "needs the group size, in the NCCL metadata of PyTorch 2.2 or later",
        .element_type = "needs the NCCL metadata of PyTorch 2.2 or later, or record_shapes=True",
        .memory = "record with profile_memory=True to see allocations",
    },
};

/* capture.json lies beside it. */
static bool is_of_flopledger_run(const struct trace *trace)
{
    const char *path = trace_text(trace, trace->path);
    const char *slash = strrchr(path, '/');
    char beside[PATH_MAX];
    int length = snprintf(beside, sizeof beside, "%.*scapture.json",
                          slash ? (int)(slash - path) + 1 : 0, path);

    if (length > 0 && (size_t)length < sizeof beside)
        files_seen_note(beside);
    return length > 0 && (size_t)length < sizeof beside && access(beside, R_OK) == 0;
}

/* The last entry has no format and stands for torch.profiler. */
const struct recorder_words *recorder_words_for(const struct trace *trace)
{
    const struct recorder_words *words = recorders;
    const char *format = trace ? trace->read.format : "";

    if (trace && is_of_flopledger_run(trace))
        return &of_flopledger_run;
    /* Its JSON is read as torch.profiler's, which it looks like. */
    if (trace && trace->facts.platform == PLATFORM_NPU)
        format = "ascend";
    /* Other recorders write these forms, too. */
    if (trace && (has_prefix(format, "perfetto") || has_prefix(format, "torch-profiler")) &&
        (has_prefix(trace->read.recorder, "rocprof") || has_prefix(trace->read.recorder, "Proton")))
        format = trace->read.recorder[0] == 'P' ? "proton" : "rocprofv3";
    while (words->format && !has_prefix(format, words->format))
        words++;
    return words;
}
