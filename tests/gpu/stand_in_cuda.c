/* Stands in for the part of libcuda.so.1 that tells the nodes of a graph under capture.
 *
 * stand_in_graph() takes lines, one a node, each behind the one before:
 *     kernel PLACE NAME GRID BLOCK     launched by a function (three numbers each)
 *     loaded PLACE NAME GRID BLOCK     by a kernel of a library
 *     memcpy PLACE, memset, empty, graph, conditional; lost: its questions fail
 * and about all of it: "status 0", not captured; "before 1", the first waits for the second;
 * "without v2", "without v3", of calls that have two versions; "programmatic 1",
 * edges have data; "without edges", nobody tells what waits for what. With HAS_CUDA_H it is
 * compiled against NVIDIA's own header. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAS_CUDA_H
#include <cuda.h>
#undef cuStreamGetCaptureInfo_v2
#undef cuGraphNodeGetDependencies
#define kernel_params CUDA_KERNEL_NODE_PARAMS_v2
#else
/* The names of NVIDIA's header. */
#define CUresult              int
#define CUstreamCaptureStatus int
#define CUgraphNodeType       int
#define cuuint64_t            uint64_t
#define CUstream              struct CUstream_st *
#define CUgraph               struct CUgraph_st *
#define CUgraphNode           struct CUgraphNode_st *
#define CUfunction            struct CUfunc_st *
#define CUkernel              struct CUkern_st *
#define CUcontext             struct CUctx_st *
#define CUgraphEdgeData       struct edge_data
#define kernel_params         struct kernel_node
struct CUstream_st;
struct CUgraph_st;
struct CUgraphNode_st;
struct CUfunc_st;
struct CUkern_st;
struct CUctx_st;
struct edge_data {
    unsigned char bytes[8];
};
struct kernel_node {
    CUfunction func;
    unsigned int gridDimX, gridDimY, gridDimZ;
    unsigned int blockDimX, blockDimY, blockDimZ;
    unsigned int sharedMemBytes;
    void **kernelParams;
    void **extra;
    CUkernel kern;
    CUcontext ctx;
};
enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_LOSSY_QUERY = 918,
    CUDA_ERROR_UNKNOWN = 999
};
#endif

_Static_assert(sizeof(kernel_params) == 72 && sizeof(CUgraphEdgeData) == 8, "as in graph_nodes.py");

enum { NODES_MAX = 64 };

struct node {
    char kind[16];
    char name[2048];
    unsigned int sizes[6];
};

static struct node nodes[NODES_MAX + 1]; /* from 1: 0 is no handle */
static size_t node_count;
static int status = 1, without, is_backward, is_programmatic, is_branched, is_without_edges;

void stand_in_graph(const char *text);

void stand_in_graph(const char *text)
{
    char *lines = strdup(text), *rest = lines;

    node_count = 0;
    status = 1;
    without = is_backward = is_programmatic = is_branched = is_without_edges = 0;
    for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
        struct node node = {0};
        unsigned int *s = node.sizes;

        if (strcmp(line, "without edges") == 0) {
            is_without_edges = 1;
            continue;
        }
        if (sscanf(line, "status %d", &status) == 1 ||
            sscanf(line, "before %d", &is_backward) == 1 ||
            sscanf(line, "programmatic %d", &is_programmatic) == 1 ||
            sscanf(line, "branched %d", &is_branched) == 1 ||
            sscanf(line, "without v%d", &without) == 1)
            continue;
        if (sscanf(line, "%15s %*d %2047s %u %u %u %u %u %u", node.kind, node.name, s, s + 1, s + 2,
                   s + 3, s + 4, s + 5) >= 1 &&
            node_count < NODES_MAX)
            nodes[++node_count] = node;
    }
    free(lines);
}

static size_t place_of(CUgraphNode node)
{
    return (size_t)(uintptr_t)node;
}

static CUresult fill(CUgraphNode *found, size_t *count, size_t first, size_t last)
{
    if (found)
        for (size_t i = first; i <= last; i++)
            found[i - first] = (CUgraphNode)(uintptr_t)i;
    *count = last + 1 - first;
    return CUDA_SUCCESS;
}

static CUresult capture_info(CUstreamCaptureStatus *told, CUgraph *graph)
{
    *told = (CUstreamCaptureStatus)status;
    *graph = (CUgraph)(uintptr_t)99;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *told, cuuint64_t *id,
                                   CUgraph *graph, const CUgraphNode **dependencies, size_t *count);
CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *told, cuuint64_t *id,
                                   CUgraph *graph, const CUgraphNode **dependencies, size_t *count)
{
    *id = 1;
    *dependencies = NULL;
    *count = 0;
    return without == 2 || (uintptr_t)stream != 7 ? CUDA_ERROR_UNKNOWN : capture_info(told, graph);
}

CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus *told, cuuint64_t *id,
                                   CUgraph *graph, const CUgraphNode **dependencies,
                                   const CUgraphEdgeData **edges, size_t *count);
CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus *told, cuuint64_t *id,
                                   CUgraph *graph, const CUgraphNode **dependencies,
                                   const CUgraphEdgeData **edges, size_t *count)
{
    *id = 1;
    *dependencies = NULL;
    *edges = NULL;
    *count = 0;
    return without == 3 || (uintptr_t)stream != 7 ? CUDA_ERROR_UNKNOWN : capture_info(told, graph);
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *found, size_t *count)
{
    return (uintptr_t)graph == 99 ? fill(found, count, 1, node_count) : CUDA_ERROR_UNKNOWN;
}

static CUresult dependencies_of(CUgraphNode node, CUgraphNode *found, size_t *count)
{
    size_t place = place_of(node);

    if (is_without_edges)
        return CUDA_ERROR_UNKNOWN;
    if (is_backward)
        return place == 1 ? fill(found, count, 2, 2) : fill(found, count, 1, 0);
    if (place == 1)
        return fill(found, count, 1, 0);
    return is_branched ? fill(found, count, 1, 1) : fill(found, count, place - 1, place - 1);
}

CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *found, size_t *count);
CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *found, size_t *count)
{
    return is_programmatic ? CUDA_ERROR_LOSSY_QUERY : dependencies_of(node, found, count);
}

/* As the reference of the driver's functions says: edges with data are never left out silently, and
 * nobody asks for edges without nodes. */
CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *found, CUgraphEdgeData *edges,
                                       size_t *count);
CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *found, CUgraphEdgeData *edges,
                                       size_t *count)
{
    if (without == 2)
        return CUDA_ERROR_UNKNOWN;
    if (is_programmatic && !edges)
        return CUDA_ERROR_LOSSY_QUERY;
    if (edges && !found)
        return CUDA_ERROR_INVALID_VALUE;
    if (edges)
        memset(edges, is_programmatic, sizeof *edges);
    return dependencies_of(node, found, count);
}

CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type)
{
    static const char *const kinds[] = {"kernel", "memcpy", "memset", "host", "graph", "empty"};
    const char *kind = nodes[place_of(node)].kind;

    if (strcmp(kind, "lost") == 0)
        return CUDA_ERROR_UNKNOWN;
    *type = (CUgraphNodeType)(strcmp(kind, "conditional") == 0 ? 13 : 0);
    for (int i = 0; i < 6; i++)
        if (strcmp(kind, kinds[i]) == 0)
            *type = (CUgraphNodeType)i;
    return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode handle, kernel_params *told);
CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode handle, kernel_params *told)
{
    const struct node *node = &nodes[place_of(handle)];

    memset(told, 0, sizeof *told);
    told->gridDimX = node->sizes[0];
    told->gridDimY = node->sizes[1];
    told->gridDimZ = node->sizes[2];
    told->blockDimX = node->sizes[3];
    told->blockDimY = node->sizes[4];
    told->blockDimZ = node->sizes[5];
    if (strcmp(node->kind, "loaded") == 0)
        told->kern = (CUkernel)(uintptr_t)place_of(handle);
    else
        told->func = (CUfunction)(uintptr_t)place_of(handle);
    return CUDA_SUCCESS;
}

CUresult cuFuncGetName(const char **name, CUfunction function)
{
    *name = nodes[(uintptr_t)function].name;
    return CUDA_SUCCESS;
}

CUresult cuKernelGetName(const char **name, CUkernel kernel)
{
    *name = nodes[(uintptr_t)kernel].name;
    return CUDA_SUCCESS;
}
