/* chunks.c: runs of rows of one condition. */
#include "model/chunks.h"

static size_t most_chunks(size_t rows, size_t conditions) {
  return rows / COMP__PAIR_ROWS + conditions;
}

size_t comp__chunks_size(size_t rows, size_t conditions) {
  size_t most = most_chunks(rows, conditions);
  return comp__workspace_size(most + 1, sizeof(size_t)) + comp__workspace_size(most, sizeof(size_t));
}

void comp__chunks_cut(comp__chunks *out, comp__workspace *workspace, const comp__penalty_input *input) {
  size_t most = most_chunks(input->rows, input->conditions);
  out->begin = comp__workspace_take(workspace, most + 1, sizeof *out->begin);
  out->condition = comp__workspace_take(workspace, most, sizeof *out->condition);
  out->count = 0;
  for (size_t k = 0; k < input->conditions; k++)
    for (size_t i = input->start[k]; i < input->start[k + 1]; i += COMP__PAIR_ROWS) {
      out->begin[out->count] = i;
      out->condition[out->count++] = k;
    }
  out->begin[out->count] = input->rows;
}
