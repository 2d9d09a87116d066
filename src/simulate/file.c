/* file.c: a simulated data set on disk, written as it is made. The only file of this folder that knows of a
 * file format. */
#include "simulate/simulate.h"

#include "core/alloc.h"
#include "core/error.h"
#include "io/h5/h5ad_writer.h"
#include "io/options.h"
#include "simulate/tables.h"

typedef struct file_sink {
  const comp__sim_world *world;
  comp__h5ad_writer *writer;
  size_t x, states;
  size_t *truth; /* [conditions]: the writer's numbers of the layers */
} file_sink;

static comp_status file_begin(file_sink *sink, const comp__sim_world *world, const char *path, int compression) {
  const comp__simulate_options *o = &world->options;
  char name[128];
  comp_status status;
  sink->world = world;
  COMP__TRY(comp__alloc(&sink->truth, o->conditions, sizeof *sink->truth));
  COMP__TRY(comp__h5ad_writer_open(&sink->writer, path, o->cells, o->genes, compression));
  COMP__TRY(comp__h5ad_writer_add(&sink->x, sink->writer, "X", COMP_CSR, o->genes));
  COMP__TRY(comp__h5ad_writer_add(&sink->states, sink->writer, "obsm/truth_state", COMP_DENSE, o->programs));
  for (size_t k = 0; o->truth == COMP_TRUTH_ON && k < o->conditions; k++) {
    comp__sim_truth_name(name, sizeof name, "layers/", world, k);
    COMP__TRY(comp__h5ad_writer_add(&sink->truth[k], sink->writer, name, COMP_DENSE, o->genes));
  }
done:
  return status;
}

static comp_status file_take(void *raw, comp_context *context, const comp__sim_block *block) {
  file_sink *sink = raw;
  comp_status status;
  COMP__TRY(comp__h5ad_writer_append(context, sink->writer, sink->x, block->x));
  COMP__TRY(comp__h5ad_writer_append(context, sink->writer, sink->states, block->states));
  for (size_t k = 0; block->truth && k < sink->world->options.conditions; k++)
    COMP__TRY(comp__h5ad_writer_append(context, sink->writer, sink->truth[k], block->truth[k]));
done:
  return status;
}

static comp_status file_finish(file_sink *sink, comp_context *context) {
  const comp__simulate_options *o = &sink->world->options;
  comp__strings cell_names = {0}, gene_names = {0};
  comp_table *obs = NULL, *var = NULL;
  char record[SIM_RECORD_SIZE];
  comp_status status;
  COMP__TRY(comp__sim_names(&cell_names, "cell", o->cells));
  COMP__TRY(comp__sim_names(&gene_names, "gene", o->genes));
  COMP__TRY(comp_table_new(&obs, o->cells));
  COMP__TRY(comp_table_new(&var, o->genes));
  COMP__TRY(comp__sim_fill_obs(obs, sink->world));
  COMP__TRY(comp__sim_fill_var(var, sink->world));
  COMP__TRY(comp__sim_record(record, o));
  const comp__h5ad_tables tables = {&cell_names, obs, &gene_names, var, record};
  COMP__TRY(comp__h5ad_writer_finish(context, sink->writer, &tables));
done:
  comp__strings_release(&cell_names);
  comp__strings_release(&gene_names);
  comp_table_free(obs);
  comp_table_free(var);
  return status;
}

comp_status comp__simulate_file(comp_context *context, const char *path, const comp__simulate_options *options,
                                int compression, size_t block_cells) {
  comp__sim_world world = {0};
  file_sink sink = {0};
  comp_status status;
  COMP__TRY(comp__sim_world_init(&world, options));
  comp__sim_say_if_no_truth(context, options, &world);
  COMP__TRY(file_begin(&sink, &world, path, compression));
  COMP__TRY(comp__sim_each_block(context, &world, block_cells, file_take, &sink));
  COMP__TRY(file_finish(&sink, context));
done:
  comp__h5ad_writer_free(sink.writer);
  comp__free(sink.truth);
  comp__sim_world_release(&world);
  return status;
}

comp_status comp_simulate_file(comp_context *context, const char *path, const comp_options *options,
                               const comp_options *write) {
  COMP__NEED(context, path);
  comp__simulate_options plain;
  comp__write_options how;
  comp_status status = comp__options_resolve(&plain, &comp__simulate_kind, options);
  if (status == COMP_OK) status = comp__options_resolve(&how, &comp__write_kind, write);
  return status == COMP_OK ? comp__simulate_file(context, path, &plain, how.compression, 0) : status;
}
