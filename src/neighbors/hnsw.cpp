/* hnsw.cpp: hnswlib behind a C interface. Distances are ours: hnswlib would pick its instructions when it is compiled.
 */
#include "neighbors/hnsw.h"

#include <new>

/* Its prefetching reads one link past the end of a list. */
#define NO_MANUAL_VECTORIZATION
#include <hnswlib/hnswlib.h>

namespace {

struct Measure {
  comp__hnsw_distance distance;
  size_t dims;
};

float measure(const void *a, const void *b, const void *param) {
  const Measure *m = static_cast<const Measure *>(param);
  return m->distance(static_cast<const float *>(a), static_cast<const float *>(b), m->dims);
}

class Space : public hnswlib::SpaceInterface<float> {
public:
  Space(comp__hnsw_distance distance, size_t dims) : measure_{distance, dims} {}
  size_t get_data_size() override { return measure_.dims * sizeof(float); }
  hnswlib::DISTFUNC<float> get_dist_func() override { return measure; }
  void *get_dist_func_param() override { return &measure_; }

private:
  Measure measure_;
};

/* Runs `body`, turning exceptions into the numbers of hnsw.h. */
template <typename Body> int guarded(Body body) {
  try {
    body();
    return 0;
  } catch (const std::bad_alloc &) {
    return COMP__HNSW_MEMORY;
  } catch (const std::runtime_error &) { /* hnswlib's own name for a failed allocation */
    return COMP__HNSW_MEMORY;
  } catch (...) {
    return COMP__HNSW_OTHER;
  }
}

} // namespace

struct comp__hnsw {
  Space space;
  hnswlib::HierarchicalNSW<float> graph;
  comp__hnsw(comp__hnsw_distance distance, size_t dims, size_t n, size_t links, size_t effort)
      : space(distance, dims), graph(&space, n, links, effort) {}
};

int comp__hnsw_new(comp__hnsw **out, comp__hnsw_distance distance, size_t dims, size_t n, size_t links, size_t effort) {
  *out = nullptr;
  return guarded([&] { *out = new comp__hnsw(distance, dims, n, links, effort); });
}

void comp__hnsw_free(comp__hnsw *index) {
  delete index;
}

int comp__hnsw_add(comp__hnsw *index, const float *point, int32_t label) {
  return guarded([&] { index->graph.addPoint(point, static_cast<hnswlib::labeltype>(label)); });
}

void comp__hnsw_set_effort(comp__hnsw *index, size_t effort) {
  index->graph.setEf(effort);
}

/* As hnswlib's searchKnn(), which counts its steps in plain variables that threads would share. */
static auto near_points(const hnswlib::HierarchicalNSW<float> &graph, const float *point, size_t effort) {
  hnswlib::tableint best = graph.enterpoint_node_;
  float least = graph.fstdistfunc_(point, graph.getDataByInternalId(best), graph.dist_func_param_);
  for (int level = graph.maxlevel_; level > 0; level--)
    for (bool changed = true; changed;) {
      changed = false;
      hnswlib::linklistsizeint *links = graph.get_linklist(best, level);
      const hnswlib::tableint *ids = reinterpret_cast<const hnswlib::tableint *>(links + 1);
      for (int i = 0, n = graph.getListCount(links); i < n; i++) {
        float distance = graph.fstdistfunc_(point, graph.getDataByInternalId(ids[i]), graph.dist_func_param_);
        if (distance < least) {
          least = distance;
          best = ids[i];
          changed = true;
        }
      }
    }
  return graph.searchBaseLayerST<false, false>(best, point, effort);
}

int comp__hnsw_search(const comp__hnsw *index, int32_t *labels, size_t *found, const float *point, size_t k) {
  return guarded([&] {
    auto queue = near_points(index->graph, point, index->graph.ef_ > k ? index->graph.ef_ : k);
    while (queue.size() > k) queue.pop();
    *found = queue.size();
    for (size_t i = 0; !queue.empty(); queue.pop())
      labels[i++] = static_cast<int32_t>(index->graph.getExternalLabel(queue.top().second));
  });
}
