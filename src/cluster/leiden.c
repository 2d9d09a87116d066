/* leiden.c: asks the module `leiden` for clusters. */
#include "cluster/leiden.h"

#include "core/error.h"
#include "core/module.h"

comp_status comp__leiden(int32_t *membership, size_t *clusters, const comp__weighted_graph *graph, double resolution,
                         uint64_t seed) {
  const void *table;
  const char *problem = NULL;
  comp_status status = comp__module_table(&table, COMP__MODULE_LEIDEN, sizeof(comp__leiden_table));
  if (status != COMP_OK) return status;
  const comp__leiden_table *leiden = table;
  status = leiden->cluster(membership, clusters, graph, resolution, seed, &problem);
  return status == COMP_OK ? COMP_OK : comp__error(status, "Leiden clustering failed: %s", problem);
}
